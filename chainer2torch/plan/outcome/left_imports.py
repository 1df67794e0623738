"""Imports of Chainer that stay for what could not be converted: they must not keep the rest of the file from running.

A left import at the top of a module is put into ``try: ... except ImportError: pass``. Where Chainer is not installed,
the module is imported and what was converted works; a line that still needs Chainer, which has a marker above it,
raises a NameError. Nothing goes wrong silently: the name must have no other meaning in the file, and no other file
takes it from this one.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import GuardImport, Remove
from chainer2torch.plan.outcome.unused_imports import Removals

_ROOTS = frozenset({"chainer", "chainermn", "chainerx"})
_ABSENT = frozenset({"ImportError", "ModuleNotFoundError"})


def left_imports(context: Context, removals: Removals, others: frozenset[str]) -> Iterator[GuardImport]:
    """The guards of the imports of Chainer that stay at the top of a file; other files take ``others`` from it."""
    foreign = {
        _bound(alias)
        for statement in context.source.of(ast.Import, ast.ImportFrom)
        for alias in statement.names
        if not _is_chainer(context, alias)
    }
    taken = foreign | context.source.assigned | others | _exported(context)
    for line in _lines(context):
        left = [alias for statement in line for alias in _staying(context, statement, removals)]
        if left and all(
            alias is not None
            and _is_chainer(context, alias)
            and not hasattr(builtins, _bound(alias))
            and _bound(alias) not in taken
            for alias in left
        ):
            yield GuardImport(context.source.start(line[0]))


def _lines(context: Context) -> Iterator[list[ast.stmt]]:
    """The statements at the top of the module, those that share a line together."""
    line: list[ast.stmt] = []
    for statement in context.source.tree.body:
        if line and statement.lineno > (line[-1].end_lineno or 0):
            yield line
            line = []
        line.append(statement)
    yield line


def _staying(context: Context, statement: ast.stmt, removals: Removals) -> list[ast.alias | None]:
    """The aliases of an import that stay; None for anything else that stays."""
    if not isinstance(statement, (ast.Import, ast.ImportFrom)) or context.skipped.node(statement):
        return [None]
    gone = removals.get(statement, frozenset())
    return [alias for i, alias in enumerate(statement.names) if i not in gone]


def _exported(context: Context) -> set[str]:
    """The names that ``__all__`` holds: what the module promises must be there."""
    return {
        c.value
        for statement in context.source.of(ast.Assign)
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in statement.targets)
        for c in ast.walk(statement.value)
        if isinstance(c, ast.Constant) and isinstance(c.value, str)
    }


def empty_guards(context: Context, removals: Removals) -> Iterator[Remove]:
    """The removal of ``try: import chainer; except ImportError: chainer = None`` when all of its imports go."""
    for block in context.source.of(ast.Try):
        bound = {_bound(a) for s in block.body if isinstance(s, (ast.Import, ast.ImportFrom)) for a in s.names}
        if block.orelse or block.finalbody or not all(_does_nothing(handler, bound) for handler in block.handlers):
            continue
        if all(
            isinstance(statement, (ast.Import, ast.ImportFrom))
            and len(removals.get(statement, ())) == len(statement.names)
            for statement in block.body
        ):
            yield Remove(context.source.start(block))


def _does_nothing(handler: ast.ExceptHandler, bound: Collection[str]) -> bool:
    """Whether a handler does nothing but give constants to the names that the imports bind."""
    return (
        isinstance(handler.type, ast.Name)
        and handler.type.id in _ABSENT
        and all(
            isinstance(s, ast.Pass)
            or isinstance(s, ast.Assign)
            and isinstance(s.value, ast.Constant)
            and all(isinstance(t, ast.Name) and t.id in bound for t in s.targets)
            for s in handler.body
        )
    )


def _is_chainer(context: Context, alias: ast.alias) -> bool:
    """Whether an alias binds a module or name of Chainer's own; a star binds names that nobody knows."""
    kind = context.analysis.bindings.get(alias)
    return alias.name != "*" and isinstance(kind, Ref) and kind.name.split(".")[0] in _ROOTS


def _bound(alias: ast.alias) -> str:
    return alias.asname or alias.name.split(".")[0]
