"""False alarms that models of public repositories raised: layers that were not called, deques, float32 only."""

import subprocess
import sys
from pathlib import Path

import pytest

from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.models.verify_models import verify_models

WAITING = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Convolution2D(None, 2, 3)
            self.up = L.Deconvolution2D(None, 2, 3)
            self.more = L.Linear(None, 2)

    def __call__(self, x):
        return F.resize_images(self.a(x), (5, 5))

    def upsampled(self, x):
        return self.more(self.up(self.a(x)))
"""

KEPT = """
import collections
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 3)
        self.seen = collections.deque(maxlen=2)

    def __call__(self, x):
        self.seen.append(self.l(x))
        return F.batch_matmul(F.stack(self.seen, axis=1), F.tanh(self.l(x)))
"""


def _migrated(src: Path, out: Path) -> None:
    command = [sys.executable, "-m", "chainer2torch", "migrate", str(src), "-o", str(out)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [(WAITING, "nn.LazyConv2d(2, 3)", "nn.LazyConv2d(2, 3, padding=1)"), (KEPT, "maxlen=2", "maxlen=1")],
)
def test_it_is_proved_in_both_dtypes_and_a_fault_is_found(tmp_path, text, old, new):
    src, out = tmp_path / "src", tmp_path / "out"
    src.mkdir()
    (src / "net.py").write_text(text, encoding="utf-8")
    _migrated(src, out)
    report = verify_models(src, out, steps=2)
    assert [o.status for o in report.outcomes] == [PASSED] * 4
    port = (out / "net.py").read_text(encoding="utf-8")
    assert old in port
    (out / "net.py").write_text(port.replace(old, new), encoding="utf-8")
    assert PASSED not in {o.status for o in verify_models(src, out, steps=2).outcomes}


def test_helpers_beside_scripts_in_a_package(tmp_path):
    """The scripts of a folder with ``__init__.py`` import each other by their own names, and the helpers so, too."""
    src, out = tmp_path / "src", tmp_path / "out"
    (src / "cgi-bin" / "nets").mkdir(parents=True)
    (src / "cgi-bin" / "nets" / "__init__.py").write_text("", encoding="utf-8")
    text = KEPT.replace("F.tanh(self.l(x))", "F.maximum(self.l(x), x)")
    (src / "cgi-bin" / "nets" / "net.py").write_text(text, encoding="utf-8")
    (src / "cgi-bin" / "nets" / "train.py").write_text("import net\nprint(net.Net())\n", encoding="utf-8")
    _migrated(src, out)
    assert (out / "cgi-bin" / "nets" / "chainer_compat.py").exists()
    assert [o.status for o in verify_models(src, out, steps=1).outcomes] == [PASSED] * 4
