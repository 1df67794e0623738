"""The layout of the package: no room has a file name twice, and no file is much longer than 400 lines."""

import collections
from pathlib import Path

import chainer2torch

PACKAGE = Path(chainer2torch.__file__).parent
# each of its folders is a room: they treat the same subjects (calls, links, names), one question or step each
_ROOMS_INSIDE = ("plan", "cli", "port", "verify")
_LINES = 410


def files():
    return [path.relative_to(PACKAGE) for path in PACKAGE.rglob("*.py") if path.name != "__init__.py"]


def room(path):
    return path.parts[:2] if path.parts[0] in _ROOMS_INSIDE and len(path.parts) > 2 else path.parts[:1]


def test_no_room_has_a_file_name_twice():
    names = collections.Counter((room(path), path.name) for path in files())
    assert [name for name, count in names.items() if count > 1] == []


def test_files_are_short():
    lines = {path: (PACKAGE / path).read_text(encoding="utf-8").count("\n") for path in files()}
    assert {path: count for path, count in lines.items() if count > _LINES} == {}
