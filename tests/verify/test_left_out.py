"""Packages that a script imports and that are not installed: left out on both sides, but for values."""

import pytest

from chainer2torch.verify.script.verify_script import verify_script
from chainer2torch.verify.worker import missing
from tests.support import model_batch

SCRIPT = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import no_such_protocol
from no_such_drawing.pictures import save

net = L.Linear(3, 2)
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(net)
rng = np.random.RandomState(0)
with no_such_protocol.Writer("log") as writer:
    writer.every = 2
    for i in range(3):
        x = rng.rand(4, 3).astype("f")
        loss = F.sum(net(x) ** 2)
        net.cleargrads()
        loss.backward()
        optimizer.update()
        writer.add(loss=float(loss.data), step=i)
        save(x, "picture.png")
"""


def _report(tmp_path, script):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(script)
    out = model_batch.migrated_tree(tmp_path / "src", tmp_path / "out")
    return verify_script(tmp_path / "src", out, ["train.py"], iterations=3, timeout=100)


def test_what_only_writes_is_left_out(tmp_path):
    report = _report(tmp_path, SCRIPT)
    assert report.ok and len(report.steps) == 3
    assert report.left_out == ["no_such_drawing", "no_such_protocol"]
    assert any(line.startswith("not installed, and left out") for line in report.lines())


def test_a_value_of_it_stops_the_script(tmp_path):
    report = _report(tmp_path, SCRIPT.replace("0.1)", "no_such_protocol.rate() * 0.1)"))
    assert not report.ok and "no_such_protocol.rate() is needed here" in report.problems[0]


def test_what_a_stand_in_gives():
    bar, other = missing._Quiet("tqdm.tqdm"), missing._Quiet("words.scores")
    assert list(bar([1, 2], desc="epoch")) == [1, 2]
    assert other(3, 4).more.of_it(5) is not None
    for use in (iter, bool, float, len, str, lambda it: it == 1, lambda it: it[0], lambda it: it + 1):
        with pytest.raises(ModuleNotFoundError, match="is needed here"):
            use(other(3))
    with pytest.raises(ModuleNotFoundError):  # as a decorator it would take the place of what computes
        other(_report)
