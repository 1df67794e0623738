"""Which imports of Chainer nobody needs any more once the edits are made."""
from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.edits import RemoveImport
from chainer2torch.plan.sites import Plan


def unused_imports(plan: Plan) -> frozenset[str]:
    """Plans the removal of imports whose names are all replaced; gives those names."""
    uses = _remaining_uses(plan)
    removable: set[str] = set()
    keep: set[str] = set()
    found: list[tuple[ast.Import | ast.ImportFrom, int, str]] = []
    for statement in plan.source.nodes:
        if not isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        for i, alias in enumerate(statement.names):
            name = alias.asname or alias.name.split(".")[0]
            if plan.skipped.node(statement) or not _is_chainer(plan, statement, alias):
                keep.add(name)
            elif alias.name == "*":
                if isinstance(statement, ast.ImportFrom) and not plan.star_used(statement):
                    found.append((statement, i, "*"))
            else:
                found.append((statement, i, name))
    for statement in {s for s, _, _ in found}:
        gone = frozenset(i for s, i, name in found if s is statement and name not in uses)
        removable |= {name for s, i, name in found if s is statement and i in gone}
        if gone:
            plan.edits[statement] = RemoveImport(plan.source.start(statement), gone)
        else:
            plan.edits.pop(statement, None)
    return frozenset(removable - keep)


def _is_chainer(plan: Plan, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    if alias.name == "*":
        return isinstance(statement, ast.ImportFrom) and not statement.level and \
            (statement.module or "") in plan.analysis.libraries
    kind = plan.analysis.bindings.get(alias)
    return isinstance(kind, Ref) and kind.name in plan.analysis.libraries


def _remaining_uses(plan: Plan) -> set[str]:
    gone = {n for top in plan.removed for n in ast.walk(top)}
    uses: set[str] = set()
    for node in plan.source.nodes:
        if isinstance(node, ast.Name):
            if not isinstance(node.ctx, ast.Store) and node not in plan.consumed and node not in gone:
                uses.add(node.id)
        elif isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            uses.update(c.value for c in ast.walk(node.value)
                        if isinstance(c, ast.Constant) and isinstance(c.value, str))
    return uses
