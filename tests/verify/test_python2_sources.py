"""Originals of Python 2 run as Python 3, and ``/`` means what it meant."""

import builtins

import numpy as np
import pytest

from chainer2torch.verify.python2_sources import as_python3, readable
from chainer2torch.verify.script.verify_script import verify_script
from chainer2torch.verify.worker import old_names
from tests.support import model_batch


def _as_python3(text):
    return as_python3("a.py", text, {"a.py": text})


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("7 / 2", 3),
        ("7 / 2.0", 3.5),
        ("-7 / 2", -4),
        ("(7 / 2) / (4 / 3)", 3),
        ("1 + 9 / 2 / 2.0 * (8 / 3)", 5.0),
        ("np.arange(4) / 2", [0, 0, 1, 1]),
        ("np.arange(4) / 2.", [0, 0.5, 1, 1.5]),
    ],
)
def test_division(line, value):
    old_names.restore()
    new = _as_python3(f"print 'x'\nfound = {line}\n")
    names = {"np": np, "print": lambda *_: None}
    exec(new, names)
    assert np.array_equal(names["found"], value)


def test_division_in_place():
    old_names.restore()
    new = _as_python3("print 'x'\na /= 2\nb.x[0] /= 2\nwhole /= 2\n")
    held = type("Held", (), {"x": [7]})()
    part = np.array([1.0, 3.0])
    names = {"print": lambda *_: None, "a": 7, "b": held, "whole": part}
    exec(new, names)
    assert names["a"] == 3 and held.x == [3]
    assert names["whole"] is part and list(part) == [0.5, 1.5]
    assert builtins._python2_division(3, 2) == 1


def test_what_needs_nothing_stays():
    assert _as_python3("x = 7 / 2\n") is None
    assert _as_python3("from __future__ import division\nprint 'x'\nx = 7 / 2\n").endswith("x = 7 / 2\n")
    assert _as_python3("print 'x'\nx = = 2\n") is None


def test_the_tree_stays_as_it_is(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "old.py").write_text("print 'x'\n")
    (tmp_path / "sub" / "data.bin").write_bytes(b"\0\1")
    (tmp_path / "sub" / "new.py").write_text("import old\n")
    with readable(tmp_path) as copy:
        assert copy != tmp_path and copy.name == tmp_path.name
        assert (copy / "old.py").read_text() == "print('x')\n"
        assert (copy / "sub" / "data.bin").read_bytes() == b"\0\1"
        # a link out of the tree would not be read as one of its sources
        assert not (copy / "sub" / "new.py").is_symlink() and (copy / "sub" / "data.bin").is_symlink()
    assert not copy.exists() and (tmp_path / "old.py").read_text() == "print 'x'\n"
    (tmp_path / "old.py").unlink()
    with readable(tmp_path) as same:
        assert same == tmp_path


def test_a_file_that_files_of_python2_import_divides_as_they_do(tmp_path):
    """It parses under Python 3 as well; one interpreter runs both."""
    for name, text in (("old", "import net\nprint net.half(7)\n"), ("net", HALF), ("other", HALF)):
        (tmp_path / f"{name}.py").write_text(text)
    with readable(tmp_path) as copy:
        assert (copy / "net.py").read_text() == "def half(x):\n    return _python2_division(x , 2)\n"
        assert (copy / "other.py").read_text() == HALF


HALF = "def half(x):\n    return x / 2\n"
SCRIPT = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np

total = 7
net = L.Linear(total / 2, 2)
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(net)
for i in xrange(3):
    x = np.random.randn(4, total / 2).astype('f')
    loss = F.sum(net(chainer.Variable(x)) ** 2) / (total / 2)
    net.zerograds()
    loss.backward()
    optimizer.update()
    print "loss", loss.data
"""


def test_a_script_of_python2_beside_its_migration(tmp_path):
    code = model_batch.migrated(tmp_path, SCRIPT)
    (tmp_path / "out" / "net.py").write_text(code)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=100)
    assert report.exit_code == 0 and report.iterations == 3, "\n".join(report.lines())
