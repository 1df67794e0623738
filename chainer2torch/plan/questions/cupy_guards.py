"""``try: import cupy`` with another way where CuPy is missing: a program asks so whether there is a GPU."""

from __future__ import annotations

import ast

from chainer2torch.analysis.models.xp_modules import XP
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_ABSENT = frozenset({"BaseException", "Exception", "ImportError", "ModuleNotFoundError"})


def cupy_guard(block: ast.Try) -> ast.ExceptHandler | None:
    """The handler of a ``try`` that imports CuPy and does nothing else that can fail; None for any other."""
    if block.orelse or block.finalbody or len(block.handlers) != 1:
        return None
    imports = [s for s in block.body if isinstance(s, (ast.Import, ast.ImportFrom))]
    if not imports or not all(is_cupy(s) for s in imports):
        return None
    if not all(isinstance(s, (ast.Assign, ast.Import, ast.ImportFrom)) and not _calls(s) for s in block.body):
        return None
    handler = block.handlers[0]
    return handler if handler.name is None and _catches_nothing_else(handler.type) else None


def chosen_module(context: Context, block: ast.Try) -> tuple[ast.Import, ast.Import, str] | None:
    """``try: import cupy as xp`` / ``except ImportError: import numpy as xp``: both imports, and the name.

    Beside them, values may be assigned: ``use_gpu = True``, and the handler may do what it likes. None if the name has
    another meaning somewhere in the file.
    """
    handler = cupy_guard(block)
    if handler is None:
        return None
    found = [[s for s in body if isinstance(s, ast.Import)] for body in (block.body, handler.body)]
    if [len(imports) for imports in found] != [1, 1]:
        return None
    cupy, numpy = found[0][0], found[1][0]
    names = [(alias.name, alias.asname or alias.name) for alias in (*cupy.names, *numpy.names)]
    if [name for name, _ in names] != ["cupy", "numpy"] or names[0][1] != names[1][1]:
        return None
    name = names[0][1]
    used = [n for n in context.source.named.get(name, ()) if isinstance(n.ctx, ast.Load)]
    return (cupy, numpy, name) if all(context.analysis.kind(n) == XP for n in used) else None


def is_cupy(statement: ast.stmt) -> bool:
    """Whether an import names CuPy and nothing else."""
    if isinstance(statement, ast.ImportFrom):
        return not statement.level and (statement.module or "").split(".")[0] == "cupy"
    return isinstance(statement, ast.Import) and all(a.name.split(".")[0] == "cupy" for a in statement.names)


def _calls(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Call) for node in nodes_of(statement))


def catches_absence(caught: ast.expr | None) -> bool:
    """Whether a handler takes the error that a missing module raises."""
    return any(name is None or isinstance(name, ast.Name) and name.id in _ABSENT for name in _names(caught))


def _catches_nothing_else(caught: ast.expr | None) -> bool:
    return all(name is None or isinstance(name, ast.Name) and name.id in _ABSENT for name in _names(caught))


def _names(caught: ast.expr | None) -> list[ast.expr | None]:
    return [*caught.elts] if isinstance(caught, ast.Tuple) else [caught]
