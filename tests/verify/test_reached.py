"""Which files of a tree a script runs: what the others do decides nothing of its comparison."""

from pathlib import Path

import pytest

from chainer2torch.verify.script import printed, reached

FILES = {
    "train.py": b"import os\nfrom models import (net,\n    parts as p)\n",
    "models/__init__.py": b"",
    "models/net.py": b"from .layers import Block\n",
    "models/layers.py": b"",
    "models/parts.py": b"",
    "other.py": b"import net2\n",
    "net2.py": b"",
    "config/small.py": b"",
    "book.ipynb": b'{"source": [\n    "from models import net\\n",\n    "x = 1"]}',
    "named.py": b"import importlib\nm = importlib.import_module('net' + '2')\n",
}


@pytest.mark.parametrize(
    "script, words, expected",
    [
        ("train.py", [], {"train.py", "models/__init__.py", "models/net.py", "models/layers.py", "models/parts.py"}),
        ("other.py", [], {"other.py", "net2.py"}),
        ("other.py", ["config/small.py", "-g", "1"], {"other.py", "net2.py", "config/small.py"}),
        ("book.ipynb", [], {"book.ipynb", "models/__init__.py", "models/net.py", "models/layers.py"}),
        ("named.py", [], set(FILES)),
        ("absent.py", [], set(FILES)),
    ],
)
def test_a_script_reaches_what_it_imports(script: str, words: list[str], expected: set[str]) -> None:
    files = {Path(name): name.encode() + b"\n" + text for name, text in FILES.items()}
    found = reached.texts(files, Path(script), words)
    assert {text.split(b"\n")[0].decode() for text in found} == expected


@pytest.mark.parametrize(
    "chainer, torch, differs",
    [
        ("variable([[0.5 1.5]\n          [2.5 3.5]])\ndone", "[[0.5 1.5]\n [2.5 3.5]]\ndone", False),
        ("variable W([[0.5 1.5]\n            [2.5 3.5]])", "[[0.5 1.5]\n [2.5 3.5]]", False),
        ("variable([[0.5 1.5]\n          [2.5 3.5]])", "[[0.5 1.5]\n [2.5 3.25]]", True),
    ],
)
def test_variables_over_several_lines_are_their_arrays(chainer: str, torch: str, differs: bool) -> None:
    """The declared difference ``variable-text``: what is printed of a Variable is its array."""
    steps: list[tuple[float | None, float | None]] = []
    problems: list[str] = []
    printed.compare(chainer, torch, lambda *step: steps.append(step[3:]), problems)
    assert not problems
    assert any(a != b for a, b in steps) == differs
