"""Models of a folder of scripts are imported as its scripts import them: with what stands beside them."""

import argparse
import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from chainer2torch.verify.models.verify_models import verify_models
from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.worker.roots import Roots
from chainer2torch.verify.models.trials import helpers_root

NET = """
import chainer
import chainer.functions as F
import chainer.links as L
from parts import FACTOR


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 4)

    def forward(self, x):
        return F.leaky_relu(self.l(x)) * FACTOR
"""


HIDDEN = """

    def serialize(self, serializer):
        super().serialize(serializer)
        self.__dict__['l'].serialize(serializer['l'])
"""


@pytest.fixture
def tree(tmp_path):
    src = tmp_path / "src"
    for name, factor in (("one", 2), ("two", 3)):
        (src / name).mkdir(parents=True)
        (src / name / "parts.py").write_text(f"FACTOR = {factor}\n", encoding="utf-8")
        (src / name / "net.py").write_text(NET, encoding="utf-8")
    # A file that a package of its name hides, and a model that saves itself in a way that the port cannot.
    (src / "one" / "hidden.py").write_text(NET + HIDDEN, encoding="utf-8")
    (src / "one" / "hidden").mkdir()
    (src / "one" / "hidden" / "__init__.py").write_text("", encoding="utf-8")
    return src


def _migrate(src: Path, out: Path) -> None:
    command = [sys.executable, "-m", "chainer2torch", "migrate", str(src), "-o", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode in (0, 1), result.stdout + result.stderr  # 1: something is marked


def test_folders_of_scripts_have_their_own_neighbours(tree, tmp_path):
    out = tmp_path / "out"
    _migrate(tree, out)
    report = verify_models(tree, out, steps=1)
    hidden = "one/hidden.py:Net"
    assert {(o.pair.row, o.status) for o in report.outcomes} == {
        ("one.net:Net", PASSED),
        ("two.net:Net", PASSED),
        (hidden, PASSED),
    }
    notes = {note.partition(": ")[0] for o in report.outcomes if o.pair.row == hidden for note in o.notes}
    assert "its own serialize raises, and was left out" in notes
    port = out / "two" / "parts.py"
    port.write_text("FACTOR = 5\n", encoding="utf-8")
    report = verify_models(tree, out, steps=1)
    assert {o.pair.row for o in report.outcomes if o.status != PASSED} == {"two.net:Net"}


def test_a_module_sees_the_folders_around_its_packages(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    for name in ("parse_args", "parse_known_args"):  # the workers' imports change them
        monkeypatch.setattr(argparse.ArgumentParser, name, getattr(argparse.ArgumentParser, name))
    for name in ("code/pack/__init__.py", "code/pack/net.py", "code/parts/net.py", "code/train.py", "net.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("", encoding="utf-8")
    roots = Roots(str(tmp_path))
    code, parts, tree = str(tmp_path / "code"), str(tmp_path / "code" / "parts"), str(tmp_path)
    assert [roots.inside(m) for m in ("code.pack.net", "code.pack", "code.train", "code.parts.net", "net", "json")] == [
        [code],
        [code],
        [code],
        [parts, code],
        [],
        [],
    ]
    assert roots.enter("code.train") and not roots.enter("code.pack.net") and sys.path[:2] == [code, tree]
    assert roots.enter("code.parts.net") and sys.path[:3] == [parts, code, tree]
    assert roots.enter("net") and sys.path[0] == tree and code not in sys.path
    pack = str(tmp_path / "code" / "pack")  # a package whose scripts import each other by their own names
    assert roots.enter("code.pack.net", "code/pack") and sys.path[:3] == [code, pack, tree]
    (tmp_path / "code" / "pack" / "chainer_compat.py").write_text("", encoding="utf-8")
    (tmp_path / "top" / "inner").mkdir(parents=True)  # a folder without __init__.py goes with the package around it
    for name in ("top/__init__.py", "top/inner/net.py", "top/net.py"):
        (tmp_path / name).write_text("", encoding="utf-8")
    for module in ("top.inner.net", "code.train", "top.inner.net", "top.net"):
        roots.enter(module)
        assert importlib.import_module(module).__name__ == module
    assert (helpers_root(tmp_path, "code.pack.net"), helpers_root(tmp_path, "net")) == ("code/pack", "")
