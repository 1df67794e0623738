"""Members of Chainer's objects for which there is no rule: what the object became may lack them."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.stages import later

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

# links and functions have rooms of their own; the members of their classes are the user's more often than Chainer's
_ELSEWHERE = ("chainer.Link", "chainer.FunctionNode", "chainer.Variable")


def without_rule(plan: Plan, node: ast.Attribute) -> None:
    """Marks ``optimizer.check_nan_in_grads()``: Chainer's own, and no rule says what takes its place."""
    if node.attr.startswith("__") or not isinstance(node.ctx, ast.Load):
        return
    for kind in options(plan.analysis.kind(node.value)):
        owner = _owner(plan, kind, node.attr)
        if owner is not None and node.attr not in plan.analysis.once(stored):
            row = plan.rules.rows[owner]
            if later(plan, node, row, f"{owner}.{node.attr}"):
                return
            plan.mark(
                node,
                None,
                f"{owner}.{node.attr}",
                "manual",
                f"no rule for this member of {owner.rpartition('.')[2]}; what it became may have none of this name",
                row.code,
            )
            return


def overridden(plan: Plan) -> None:
    """Marks the methods of the user's classes that Chainer calls and nothing calls any more (``update_one_cpu``)."""
    for node in plan.source.of(ast.ClassDef):
        info = plan.analysis.classes.get(node)
        if info is None:
            continue
        theirs = [plan.rules.canonical(c) for c in plan.analysis.mro(info) if isinstance(c, str)]
        if any(plan.rules.is_subclass(c, e) for c in theirs for e in _ELSEWHERE):
            continue
        for name, method in info.methods.items():
            row = next((row for c in theirs for row in [plan.rules.member(c, name)] if row is not None), None)
            if row is not None and row.state == "manual" and not later(plan, method.node, row, row.name):
                plan.mark(method.node, row, row.name, "manual", row.note)


def _owner(plan: Plan, kind: Kind, name: str) -> str | None:
    """Chainer's class from which an object must have a member; None if it may be another's, or needs no rule."""
    cls = kind.cls if isinstance(kind, Inst) else kind.info if isinstance(kind, Class) else None
    if cls is None:
        return None
    classes = plan.analysis.mro(cls)
    own = [c for c in classes if isinstance(c, ClassInfo)]
    if any(name in c.methods or name in c.attrs or not _known_bases(plan, c) for c in own):
        return None
    theirs = [plan.rules.canonical(c) for c in classes if isinstance(c, str) and c.startswith("chainer.")]
    if not theirs or any(plan.rules.is_subclass(c, e) for c in theirs for e in _ELSEWHERE):
        return None
    if any(plan.rules.member(c, name) is not None or plan.rules.keeps(c, name) for c in theirs):
        return None
    if isinstance(cls, str) and _has_subclass_with(plan, theirs[0], name):
        return None
    return next((c for c in theirs if c in plan.rules.rows and plan.rules.rows[c].base), None)


def _has_subclass_with(plan: Plan, cls: str, name: str) -> bool:
    """Whether an object that is at least of Chainer's class may be of one derived from it that has the member."""
    member = f".{name}"
    return any(
        row.endswith(member) and plan.rules.is_subclass(row.removesuffix(member), cls) for row in plan.rules.rows
    )


def _known_bases(plan: Plan, cls: ClassInfo) -> bool:
    """Whether all that a class inherits is in sight: a decorator or a base from elsewhere may give it any member."""
    return (
        not cls.node.decorator_list
        and "__getattr__" not in cls.methods
        and all(
            isinstance(b, Class)
            or isinstance(b, Ref)
            and (b.name in plan.analysis.libraries or b.name == "builtins.object")
            for base in cls.bases
            for b in options(base)
        )
    )


def stored(analysis: Analysis) -> frozenset[str]:
    """The attributes that the project's files assign."""
    return frozenset(
        n.attr
        for module in analysis.project.modules.values()
        for n in module.source.of(ast.Attribute)
        if isinstance(n.ctx, ast.Store)
    )


__all__ = ["stored", "without_rule"]
