"""What projects of Chainer's time take for granted does not keep their classes from being compared."""

import sys

import pytest

from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.worker import roots, search_values
from tests.support import model_batch

NET = """
import chainer
import chainer.functions as F
import chainer.links as L

try:
    import cupy as xp
except ImportError:
    import numpy as xp

FACTOR = float(xp.zeros(2).sum()) + 2.0


class Asks(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 3))

    def __call__(self, x):
        return FACTOR * self.fc(x)


class Tagger(chainer.Chain):
    def __init__(self):
        super().__init__(rnn=L.NStepLSTM(1, 6, 5, dropout=0.5, use_cudnn=False), out=L.Linear(5, 3))

    def __call__(self, xs, train=False):
        _, _, ys = self.rnn(None, None, [F.tanh(x) for x in xs], train=train)
        return [self.out(y) for y in ys]


class Block(chainer.Chain):
    def __init__(self, n_in, n_out, ksize=None):
        super().__init__()
        with self.init_scope():
            self.conv = L.Convolution2D(n_in, n_out, ksize=ksize)

    def __call__(self, x):
        return F.relu(self.conv(x))


class Growing(chainer.Chain):
    def __init__(self):
        super().__init__(fc=L.Linear(8, 8))
        self.past = None

    def __call__(self, x):
        h = self.fc(x)
        if self.past is not None:
            h = F.concat((h, self.past), axis=0) + h
        self.past = h
        return h


def build():
    return Block(3, 4, ksize=1), Block(4, 5, ksize=1)
"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    root = tmp_path_factory.mktemp("projects")
    src = root / "src"
    (src / "cmd" / "cmd").mkdir(parents=True)  # Python has a module of that name
    (src / "net.py").write_text(NET)
    shadowed = NET[: NET.index("class Tagger")].replace("class Asks", "class Shadowed")
    (src / "cmd" / "cmd" / "cmd.py").write_text(shadowed)
    return verify_models(src, model_batch.migrated_tree(src, root / "out"), steps=2)


@pytest.mark.parametrize("target", ["net:Asks", "net:Tagger", "net:Block", "net:Growing", "cmd.cmd.cmd:Shadowed"])
def test_a_class_is_compared(report, target):
    outcomes = [outcome for outcome in report.outcomes if outcome.pair.row == target]
    assert outcomes and {outcome.status for outcome in outcomes} == {PASSED}, (report.lines(True), report.left)


def test_an_argument_that_every_call_gives_is_given(report):
    notes = [note for outcome in report.outcomes if outcome.pair.row == "net:Block" for note in outcome.notes]
    assert any("Block(8, 8, 1)" in note or "Block(3, 4, ksize=1)" in note for note in notes), notes


def test_steps_that_the_original_cannot_make_are_told(report):
    notes = [note for outcome in report.outcomes if outcome.pair.row == "net:Growing" for note in outcome.notes]
    assert any(note.startswith("steps were compared until the original stops: step 1: InvalidType") for note in notes)


def test_a_folder_that_is_no_package_is_one_where_something_else_has_its_name(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "modules", dict(sys.modules))
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "net.py").write_text("HERE = 1\n")
    (tmp_path / "other.py").write_text("")
    folders = roots.Roots(str(tmp_path))
    folders.enter("code.net")
    assert sys.modules["code"].__path__ == [str(tmp_path / "code")]
    folders.enter("other")
    assert not hasattr(sys.modules.get("code"), "__path__")


def test_images_grow_to_what_a_layer_wants():
    class Refused(TypeError):
        expect, actual = "x.shape[1] == W.shape[1]", "512 != 25088"

    image = search_values.array("float32", (4, 3, 32, 32))
    first, _ = next(search_values.repairs({"x": image}, {}, Refused()))
    assert first["x"]["shape"] == [4, 3, 224, 224]
    error = AssertionError("Height in the output should be positive.")
    sides = [found["x"]["shape"][-1] for found, _ in search_values.repairs({"x": image}, {}, error)]
    assert sides[:3] == [64, 96, 128]
