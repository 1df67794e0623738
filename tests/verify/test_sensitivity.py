"""Values that rounding decides are told from values that mean something else."""

from pathlib import Path

import pytest

from chainer2torch.verify.script.script_report import Step
from chainer2torch.verify.script.verify_script import verify_script
from chainer2torch.verify.judge.sensitivity import decided_by_rounding
from tests.support import model_batch

# The bias in front of the batch normalization has no gradient but rounding, which Adam and the decay blow up; what the
# running mean has not followed yet shows in the validation.
SCRIPT = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training
from chainer.training import extensions


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(6, 8)
            self.bn = L.BatchNormalization(8)
            self.out = L.Linear(8, 3)

    def forward(self, x):
        return self.out(F.relu(self.bn(self.fc(x))))


rng = np.random.RandomState(0)
data = [(rng.rand(6).astype("f"), np.int32(i % 3)) for i in range(32)]
model = L.Classifier(Net())
optimizer = chainer.optimizers.Adam(1e-2).setup(model)
optimizer.add_hook(chainer.optimizer.WeightDecay(1e-3))
train = chainer.iterators.SerialIterator(data, 8)
valid = chainer.iterators.SerialIterator(data, 8, repeat=False, shuffle=False)
trainer = training.Trainer(training.StandardUpdater(train, optimizer), (14, "iteration"), out="result")
trainer.extend(extensions.Evaluator(valid, model), trigger=(1, "iteration"))
trainer.run()
"""


def _verified(tmp_path):
    return verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=300)


def test_what_chainer_does_not_repeat_itself_is_not_verified(tmp_path):
    model_batch.migrated(tmp_path, SCRIPT)
    report = _verified(tmp_path)
    text = "\n".join(report.lines())
    assert report.double is not None and "validation/main/loss" in report.double.undecided, text
    assert "not verified: validation/main/loss: rounding decides it" in text
    assert report.ok and "EQUAL in float64" in text and not any(n.startswith("loss") for n in report.double.undecided)


def test_another_meaning_is_still_found(tmp_path):
    model_batch.migrated(tmp_path, SCRIPT)
    script = Path(tmp_path / "out" / "net.py")
    text = script.read_text()
    assert "eps=2e-05" in text
    script.write_text(text.replace("eps=2e-05", "eps=1e-05"))
    report = _verified(tmp_path)
    assert not report.ok and "the difference is one of meaning" in "\n".join(report.lines())


def _step(name, chainer, torch):
    return Step(1, 0, name, chainer, torch)


@pytest.mark.parametrize("itself, found", [(1.0, set()), (1 + 1e-9, set()), (1 + 1e-4, {"a"})])
def test_only_as_far_as_chainer_from_itself(itself, found):
    steps = [_step("a", 1.0, 1 + 1e-3), _step("b", 1.0, 1 + 1e-3)]
    nudged = [_step("a", 1.0, itself), _step("b", 1.0, 1.0)]
    assert set(decided_by_rounding({"a", "b"}, steps, nudged)) == found
