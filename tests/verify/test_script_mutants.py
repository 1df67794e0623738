"""Mutants of a migrated training script: each is caught by its values, at the iteration where it first shows."""

import re

import pytest

from chainer2torch.verify.script import verify_script
from tests.support import chainer_once, model_batch

TRAIN = """
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
            self.l1 = L.Linear(6, 12)
            self.bn = L.BatchNormalization(12)
            self.l2 = L.Linear(12, 3)

    def forward(self, x):
        return self.l2(F.dropout(F.relu(self.bn(self.l1(x))), 0.2))


class Updater(training.updaters.StandardUpdater):
    def update_core(self):
        optimizer = self.get_optimizer("main")
        x, t = self.converter(self.get_iterator("main").next(), self.device)
        loss = optimizer.target(x, t)
        optimizer.target.cleargrads()
        loss.backward()
        optimizer.update()


def main():
    rng = np.random.RandomState(5)
    x, t = rng.rand(46, 6).astype("f"), rng.randint(0, 3, 46).astype("i")
    data = chainer.datasets.TupleDataset(x, t)
    train_iter = chainer.iterators.SerialIterator(data, 8)
    test_iter = chainer.iterators.SerialIterator(data, 8, repeat=False, shuffle=False)
    model = L.Classifier(Net())
    optimizer = chainer.optimizers.MomentumSGD(0.1, 0.8)
    optimizer.setup(model)
    optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.01))
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(0.5))
    trainer = training.Trainer(Updater(train_iter, optimizer), (12, "iteration"))
    trainer.extend(extensions.Evaluator(test_iter, model), trigger=(4, "iteration"))
    trainer.extend(extensions.ExponentialShift("lr", 0.5), trigger=(3, "iteration"))
    trainer.extend(extensions.LogReport(trigger=(4, "iteration")))
    trainer.run()


if __name__ == "__main__":
    main()
"""
FIRST = r"DIFFERENT: first at iteration {}, {}: "
LOSS = FIRST.format(1, "loss")
# mutant: (text, in its place, where)
MUTANTS = {
    "learning rate": ("MomentumSGD(0.1, 0.8)", "MomentumSGD(0.11, 0.8)", FIRST.format(2, "loss")),
    "momentum": ("MomentumSGD(0.1, 0.8)", "MomentumSGD(0.1, 0.9)", FIRST.format(3, "loss")),
    "dropped hook": ("    optimizer.add_hook(compat.GradientClipping(0.5))\n", "", FIRST.format(2, "loss")),
    "weight decay": ("WeightDecay(0.01)", "WeightDecay(0.001)", FIRST.format(3, "loss")),
    "order of hooks": (
        "compat.WeightDecay(0.01))\n    optimizer.add_hook(compat.GradientClipping(0.5))",
        "compat.GradientClipping(0.5))\n    optimizer.add_hook(compat.WeightDecay(0.01))",
        FIRST.format(3, "loss"),
    ),
    "trigger of the shift": ("trigger=(3, 'iteration')", "trigger=(4, 'iteration')", FIRST.format(5, "loss")),
    "trigger of the evaluator": (
        "(test_iter, model), trigger=(4, ",
        "(test_iter, model), trigger=(5, ",
        r"(validation/main/loss|result/log)",
    ),
    "batches not shuffled": ("SerialIterator(data, 8)\n", "SerialIterator(data, 8, shuffle=False)\n", LOSS),
    "test mode left on": (
        "        loss.backward()\n",
        "        loss.backward()\n        optimizer.target.eval()\n",
        FIRST.format(2, "loss"),
    ),
    "gradients not cleared": ("zero_grad(", "named_parameters(", FIRST.format(3, "loss")),
    "the log": ("LogReport(trigger=(4, ", "LogReport(trigger=(6, ", "result/log: 3 entries under Chainer"),
}


@pytest.fixture(scope="module")
def emitted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("script")
    text = model_batch.migrated(folder, TRAIN).replace('"', "'")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            verify_script.worker_process, "run_worker", chainer_once.cached(tmp_path_factory.mktemp("chainer"))
        )
        yield folder, text


def _run(emitted, text):
    folder, _ = emitted
    (folder / "out" / "net.py").write_text(text)
    return verify_script.verify_script(folder / "original", folder / "out", ["net.py"], timeout=200, float64=False)


def test_what_is_emitted_is_equal(emitted):
    report = _run(emitted, emitted[1])
    assert report.exit_code == 0 and report.iterations == 12, "\n".join(report.lines())
    assert {"main/loss", "validation/main/loss"} <= {step.name for step in report.steps}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught_and_located(emitted, name):
    before, after, where = MUTANTS[name]
    assert before in emitted[1], f"{before!r} is not in\n{emitted[1]}"
    report = _run(emitted, emitted[1].replace(before, after))
    text = "\n".join(report.lines())
    assert report.exit_code == 1, text
    assert re.search(where, text), text
