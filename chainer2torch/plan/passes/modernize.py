"""Names that today's Python, NumPy and Pillow have dropped: the migrated program has to run on these.

The rows are those of kind ``dropped`` (``rules/python/dropped_*.toml``). A name that another one means the same as
becomes that one; what has no equal stays and is marked. ``--no-modernize`` leaves all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import GuardImport, ReplaceImport
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.table import Row

_GUARDS = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "Exception"})


def run(context: Context) -> Decisions:
    """Renames what has another name today."""
    decisions = Decisions(context)
    for statement in context.source.of(ast.Import, ast.ImportFrom):
        if not _is_tried(context, statement):
            _import(context, decisions, statement)
    names = context.analysis.names_in(context.source)
    rows = {name: _dropped(context, name) for name in {name for _, name in names}}
    for node, name in names:
        row = rows[name]
        if row is None or _is_inside(context, node) or isinstance(node.ctx, ast.Store) or _is_tried(context, node):
            continue
        if isinstance(node, ast.Name) and node.id in context.imported and row.state != "manual" and not _is_helper(row):
            continue  # its import is what changes
        parent = context.source.parents.get(node)
        call = parent if isinstance(parent, ast.Call) and parent.func is node else None
        # another pass may have said of a call of NumPy's what its arguments become: the name is gone all the same
        parts = (Part.EDIT,) if row.name.startswith("numpy.") else (Part.EDIT, Part.SITE)
        with decisions.provided(free=tuple((part, n) for n in (node, call) if n for part in parts)):
            if call is not None and row.signature is not None:
                emit_call(context, decisions, call, row, node)
            else:
                emit_value(context, decisions, node, row)
            state = decisions.state(node)
            if state in ("review", "manual"):
                decisions.refine(node, row, state, row.note)
    return decisions


def _is_inside(context: Context, node: ast.Name | ast.Attribute) -> bool:
    """Whether a longer name around a dropped one is dropped, too."""
    parent = context.source.parents.get(node)
    outer = context.kind(parent) if isinstance(parent, ast.Attribute) else None
    return isinstance(outer, Ref) and _dropped(context, outer.name) is not None


def _dropped(context: Context, name: str) -> Row | None:
    if name.split(".")[0] == "distutils" and PurePosixPath(context.module.path).name == "setup.py":
        return None  # setuptools, which runs that file, brings it
    found = context.rules.python.get(name)
    if found is None:
        parts = name.split(".")
        patterns = (".".join([*parts[:count], "*"]) for count in range(len(parts) - 1, 0, -1))
        found = next((row for p in patterns if (row := context.rules.python.get(p)) and row.kind == "dropped"), None)
    return found if found is not None and found.kind == "dropped" else None


def _import(context: Context, decisions: Decisions, statement: ast.Import | ast.ImportFrom) -> None:
    """``from collections import Callable`` and ``import xml.etree.cElementTree as ET``."""
    gone: dict[int, str] = {}
    manual = 0
    for i, alias in enumerate(statement.names):
        dotted = _dotted(statement, alias)
        row = (_dropped(context, dotted) or _dropped(context, f"{dotted}.*")) if dotted else None
        if row is None:
            continue
        new = _statement(statement, alias, row)
        if "." not in alias.name and _has_helpers(context, dotted):
            continue  # the import of what helpers take the place of goes with its last use
        if row.state == "manual" or _is_helper(row):
            manual += 1  # its uses are marked
        elif new is None:
            decisions.mark(statement, row, row.name, "manual", "import its module, and name it there")
        else:
            gone[i] = new
            decisions.mark(statement, row, row.name, row.state, row.note)
    if manual == len(statement.names) and context.source.parents.get(statement) is context.source.tree:
        names = [(alias.asname or alias.name.split(".")[0], _bound_to(statement, alias)) for alias in statement.names]
        # `import scipy.misc` binds scipy, of which there is more
        standing = tuple((name, what) for name, what in names if "." in what or _dropped(context, f"{what}.*"))
        decisions.edit(statement, GuardImport(context.source.start(statement), standing))
    if gone:
        decisions.edit(statement, ReplaceImport(context.source.start(statement), frozenset(gone), tuple(gone.values())))


def _has_helpers(context: Context, module: str) -> bool:
    """Whether helpers take the place of all that a file names of a module, as far as their signatures go."""
    named = context.analysis.names_in(context.source)
    used = [
        (node, name)
        for node, name in named
        if name == module and _dropped(context, name) or name.startswith(f"{module}.")
    ]
    rows = [(node, _dropped(context, name)) for node, name in used]
    return bool(rows) and all(row is not None and _is_helper(row) and _fits(context, node, row) for node, row in rows)


def _fits(context: Context, node: ast.AST, row: Row) -> bool:
    call = context.source.parents.get(node)
    return row.value is not None or isinstance(call, ast.Call) and call.func is node and len(call.args) == 2


def _is_helper(row: Row) -> bool:
    return any(case.torch.startswith("compat.") for case in row.cases)


def _dotted(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    if isinstance(statement, ast.Import):
        return alias.name
    return "" if statement.level or not statement.module else f"{statement.module}.{alias.name}"


def _bound_to(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> str:
    """What the name that an import binds stands for; ``import distutils.spawn`` binds ``distutils``."""
    dotted = _dotted(statement, alias)
    return dotted.split(".")[0] if isinstance(statement, ast.Import) and not alias.asname else dotted


def _statement(statement: ast.Import | ast.ImportFrom, alias: ast.alias, row: Row) -> str | None:
    """The import that binds the same name to what the row has for it."""
    value = row.value or ""
    module, _, name = value.rpartition(".")
    if not value.replace(".", "").isidentifier():
        return None
    if isinstance(statement, ast.Import):
        return f"import {value} as {alias.asname}" if alias.asname else f"import {value}"
    if not module:
        return None
    bound = alias.asname or alias.name
    return f"from {module} import {name}" + (f" as {bound}" if bound != name else "")


def _is_tried(context: Context, node: ast.AST) -> bool:
    """Whether a program does without the name where it is missing."""
    return any(
        isinstance(outer, ast.Try) and any(_catches(handler) for handler in outer.handlers)
        for outer in context.source.ancestors(node)
    )


def _catches(handler: ast.ExceptHandler) -> bool:
    return handler.type is None or not _GUARDS.isdisjoint(_names(handler.type))


def _names(node: ast.expr) -> Iterator[str]:
    for part in nodes_of(node):
        if isinstance(part, ast.Name):
            yield part.id
