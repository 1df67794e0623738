"""The folders that a file adds to ``sys.path``, as far as its text says them."""

from __future__ import annotations

import ast
import posixpath
from collections.abc import Iterable, Mapping
from typing import Any

from chainer2torch.analysis.values import dataclass

_ADDING = {"append": 0, "insert": 1}  # which argument is the folder
_SAME = frozenset({"abspath", "realpath", "normpath", "expanduser", "resolve", "absolute", "str", "fspath", "Path"})
_FOLDERS = {"pardir": "..", "curdir": ".", "sep": "/"}
_STEPS = 4  # names that stand for names


@dataclass(frozen=True)
class PathEdit:
    """``sys.path.append(folder)``, ``sys.path.insert(0, folder)``.

    ``folder`` is relative to that of the file where ``by_file`` says so, else to the one in which the program is
    started. ``line`` is its last line where it stands in the head of the file, else 0.
    """

    folder: str
    by_file: bool
    line: int = 0


@dataclass(frozen=True)
class _Place:
    """A path that is known: relative to a folder, as the text says it."""

    path: str
    by_file: bool


def path_edits(calls: Iterable[ast.AST], assigned: Mapping[str, ast.expr]) -> list[tuple[ast.Call, PathEdit]]:
    """The calls among some that add a folder, with what they add.

    ``assigned`` are the values of the names that the file binds once.
    """
    found = []
    for call in calls:
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or not _is_path(call.func.value):
            continue
        position = _ADDING.get(call.func.attr, -1)
        if position < 0 or len(call.args) <= position:
            continue
        place = _Reader(assigned).read(call.args[position])
        if place is not None and not place.path.startswith(("/", "~")):
            found.append((call, PathEdit(posixpath.normpath(place.path or "."), place.by_file)))
    return found


def _is_path(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute)
        and node.attr == "path"
        and isinstance(node.value, ast.Name)
        and (node.value.id in ("sys", "_sys"))
    )


class _Reader:
    """Reads the text of a path."""

    def __init__(self, assigned: Mapping[str, ast.expr]):
        self.assigned = assigned
        self.steps = 0

    def read(self, node: ast.expr) -> _Place | None:
        """The path that an expression gives; None: it cannot be told."""
        if isinstance(node, ast.Constant):
            return _Place(node.value, False) if isinstance(node.value, str) else None
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Attribute):
            return self._attribute(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        if isinstance(node, ast.BinOp):
            return self._operator(node)
        return self._call(node) if isinstance(node, ast.Call) else None

    def _name(self, name: str) -> _Place | None:
        if name == "__file__":
            return _Place("this.py", True)
        self.steps += 1
        value = self.assigned.get(name)
        return self.read(value) if value is not None and self.steps <= _STEPS else None

    def _attribute(self, node: ast.Attribute) -> _Place | None:
        if node.attr in _FOLDERS:
            return _Place(_FOLDERS[node.attr], False)
        return _above(self.read(node.value)) if node.attr == "parent" else None

    def _subscript(self, node: ast.Subscript) -> _Place | None:
        """``os.path.split(path)[0]``, ``path.parents[1]``."""
        index: Any = node.slice.value if isinstance(node.slice, ast.Constant) else None
        if isinstance(node.value, ast.Call) and _last(node.value.func) == "split" and index == 0 and node.value.args:
            return _above(self.read(node.value.args[0]))
        if isinstance(node.value, ast.Attribute) and node.value.attr == "parents" and isinstance(index, int):
            place = self.read(node.value.value)
            for _ in range(index + 1):
                place = _above(place)
            return place
        return None

    def _operator(self, node: ast.BinOp) -> _Place | None:
        left, right = self.read(node.left), self.read(node.right)
        if left is None or right is None or right.by_file:
            return None
        if isinstance(node.op, ast.Div):
            return _Place(posixpath.join(left.path, right.path), left.by_file)
        if not isinstance(node.op, ast.Add):
            return None
        whole = left.path + right.path  # of a folder that is empty, as `dirname(__file__)` may be, too
        return _Place("." + whole if left.by_file and not left.path else whole, left.by_file)

    def _call(self, node: ast.Call) -> _Place | None:
        name = _last(node.func)
        if name in ("getcwd", "cwd") and not node.args:
            return _Place(".", False)
        method = isinstance(node.func, ast.Attribute) and not node.args
        given = [node.func.value] if isinstance(node.func, ast.Attribute) and method else node.args
        places = [self.read(argument) for argument in given]
        if not places or places[0] is None:
            return None
        first = places[0]
        if name in _SAME and len(places) == 1:
            return first
        if name == "dirname" and len(places) == 1:
            return _above(first)
        if name == "join" and all(place is not None and not place.by_file for place in places[1:]):
            return _Place(posixpath.join(first.path, *(p.path for p in places[1:] if p is not None)), first.by_file)
        return None


def _above(place: _Place | None) -> _Place | None:
    """The folder of a path: as ``dirname`` gives it, and above the folder that is meant where nothing is left."""
    if place is None:
        return None
    path = place.path.rstrip("/")
    if path in ("", ".") or path.rpartition("/")[2] == "..":
        return _Place(posixpath.join(path, ".."), place.by_file)
    return _Place(posixpath.dirname(path), place.by_file)


def _last(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


__all__ = ["PathEdit", "path_edits"]
