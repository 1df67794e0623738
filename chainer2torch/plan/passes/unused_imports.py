"""Which imports of Chainer nobody needs any more once the edits are made."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.scopes import Scope
from chainer2torch.plan.edits import RemoveImport
from chainer2torch.plan.sites import Plan


def unused_imports(plan: Plan) -> frozenset[str]:
    """Plans the removal of imports whose names are all replaced; gives those names."""
    removable: set[str] = set()
    keep: set[str] = set()
    found: list[tuple[ast.Import | ast.ImportFrom, int, str]] = []
    for statement in plan.source.of(ast.Import, ast.ImportFrom):
        for i, alias in enumerate(statement.names):
            name = alias.asname or alias.name.split(".")[0]
            if plan.skipped.node(statement) or not is_chainer(plan, statement, alias):
                keep.add(name)
            elif alias.name == "*":
                if (
                    isinstance(statement, ast.ImportFrom)
                    and not plan.star_used(statement)
                    and plan.taken <= plan.module.env.keys()
                ):
                    found.append((statement, i, "*"))
            else:
                found.append((statement, i, name))
    uses = _uses(plan, {name for _, _, name in found})
    uses |= {(plan.source.tree, name) for name in plan.taken}
    for statement in {s for s, _, _ in found}:
        gone = frozenset(
            i for s, i, name in found if s is statement and (plan.scope(s.names[i], name), name) not in uses
        )
        removable |= {name for s, i, name in found if s is statement and i in gone}
        if gone:
            plan.edits[statement] = RemoveImport(plan.source.start(statement), gone)
        else:
            plan.edits.pop(statement, None)
    return frozenset(removable - keep)


def is_chainer(plan: Plan, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether an alias of an import binds a name of Chainer's."""
    if alias.name == "*":
        return (
            isinstance(statement, ast.ImportFrom)
            and not statement.level
            and (statement.module or "") in plan.analysis.libraries
        )
    kind = plan.analysis.bindings.get(alias)
    return isinstance(kind, Ref) and kind.name in plan.analysis.libraries


def idle_imports(plan: Plan, output: list[ast.AST]) -> frozenset[str]:
    """Plans the removal of NumPy, CuPy and copy where the source uses them and the output does not; gives the names."""
    statements = [
        s
        for s in plan.source.of(ast.Import, ast.ImportFrom)
        if not plan.skipped.node(s) and any(_is_replaced(s, alias) for alias in s.names)
    ]
    if not statements:
        return frozenset()
    before, after = _loaded(plan.source.of(ast.Name, ast.Assign)), _loaded(output) | plan.taken
    idle: set[str] = set()
    for statement in statements:
        gone = {
            i: alias.asname or alias.name
            for i, alias in enumerate(statement.names)
            if _is_replaced(statement, alias) and (name := alias.asname or alias.name) in before and name not in after
        }
        if gone:
            old = plan.edits.get(statement)
            already = old.aliases if isinstance(old, RemoveImport) else frozenset()
            plan.edits[statement] = RemoveImport(plan.source.start(statement), already | gone.keys())
            idle |= set(gone.values())
    return frozenset(idle)


_REPLACED = frozenset({"numpy", "cupy", "copy"})  # modules of which calls are rewritten


def _is_replaced(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    if isinstance(statement, ast.Import):
        return alias.name in _REPLACED
    return statement.module == "copy" and not statement.level and alias.name != "*"


def _loaded(nodes: Sequence[ast.AST]) -> set[str]:
    names = {n.id for n in nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Store)}
    for node in nodes:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            names |= {c.value for c in ast.walk(node.value) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return names


def remaining_uses(plan: Plan) -> frozenset[str]:
    """The names of the module that the file still reads once the edits are made, and those in its ``__all__``."""
    return frozenset(name for scope, name in _uses(plan) if scope in (None, plan.source.tree))


def _uses(plan: Plan, names: Collection[str] | None = None) -> set[tuple[Scope, str]]:
    """The scopes and names that are read once the edits are made: of some names, or of all."""
    gone = {n for top in plan.removed for n in ast.walk(top)}
    uses = plan.needed | {
        (plan.scope(node, node.id), node.id)
        for node in plan.source.of(ast.Name)
        if (names is None or node.id in names)
        and not isinstance(node.ctx, ast.Store)
        and node not in plan.consumed
        and node not in gone
    }
    for statement in plan.source.of(ast.Assign):
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in statement.targets):
            uses.update(
                (plan.source.tree, c.value)
                for c in ast.walk(statement.value)
                if isinstance(c, ast.Constant) and isinstance(c.value, str)
            )
    return uses
