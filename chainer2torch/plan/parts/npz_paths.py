"""Files that ``save_npz`` gets as a ``pathlib.Path``: NumPy writes another one then, whose name ends in ``.npz``."""

from __future__ import annotations

import ast
from enum import Enum

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching

_ENDING = ".npz"
_MAKERS = frozenset({"Path", "PosixPath", "PurePath"})
_GIVE_PATHS = frozenset({"absolute", "expanduser", "joinpath", "resolve", "with_name", "with_suffix"})
_OF_PATHS = _GIVE_PATHS | {"exists", "is_dir", "is_file", "mkdir", "parent", "parents", "stem", "suffix", "unlink"}


class Named(Enum):
    """What is known of a file's name."""

    AS_GIVEN = "a text, a file, or a path with the ending"
    WITHOUT = "a path whose last part is a literal without the ending"
    UNKNOWN = "a path, with or without the ending"


def named(context: Context, file: ast.expr) -> tuple[Named, ast.Constant | None]:
    """How NumPy names a file, and the literal that lacks the ending."""
    if not _is_path(context, file):
        return Named.AS_GIVEN, None
    last = _last(file)
    values = reaching(context, file) if isinstance(file, ast.Name) else [file]
    if values and all(_ends(_last(value)) for value in values):
        return Named.AS_GIVEN, None
    if isinstance(last, ast.Constant) and isinstance(last.value, str):
        return Named.WITHOUT, last
    return Named.UNKNOWN, None


def _is_path(context: Context, node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.Div)  # nothing else that names a file can be divided
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in _MAKERS:
            return _is_of_pathlib(context)
        return isinstance(node.func, ast.Attribute) and name in _GIVE_PATHS and _is_path(context, node.func.value)
    if not isinstance(node, (ast.Name, ast.Attribute)) or not _is_of_pathlib(context):
        return False
    if isinstance(node, ast.Name) and any(_is_path(context, v) for v in reaching(context, node) if v is not node):
        return True
    scope = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    text = ast.unparse(node)
    return any(
        isinstance(n, ast.Attribute) and n.attr in _OF_PATHS and ast.unparse(n.value) == text for n in nodes_of(scope)
    )


def _is_of_pathlib(context: Context) -> bool:
    return "pathlib" in context.source.text


def _last(node: ast.expr) -> ast.expr:
    """The expression of the last part of a path."""
    while True:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            node = node.right
        elif isinstance(node, ast.Call) and node.args and _called(node) in {*_MAKERS, "joinpath", "with_suffix"}:
            node = node.args[-1]
        else:
            return node


def _called(node: ast.Call) -> str:
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _ends(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        node = node.func.value
    if isinstance(node, ast.BinOp):
        node = node.left if isinstance(node.op, ast.Mod) else node.right
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[-1]
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.endswith(_ENDING)


__all__ = ["Named", "named"]
