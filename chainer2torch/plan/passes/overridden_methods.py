"""Methods of links that the project's classes write themselves: what is rewritten elsewhere must not pass them by."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Kind
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.edits import Operand

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan

# helpers that ask a module for its own method first: `super()` itself tells them where to begin
_ASK_SUPER = ("compat.addgrads(", "compat.copyparams(", "compat.namedparams(", "compat.params(", "compat.zerograds(")


def is_super(node: ast.AST) -> bool:
    """Whether an expression is ``super()`` with or without arguments."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def instance(plan: Plan, receiver: ast.expr | None, template: str) -> Operand | None:
    """What a helper gets for ``super()``, which has no attributes of the instance: the instance itself."""
    if (
        not isinstance(receiver, ast.Call)
        or not is_super(receiver)
        or not template.startswith("compat.")
        or template.startswith(_ASK_SUPER)
    ):
        return None
    if len(receiver.args) == 2:
        return plan.operand(receiver.args[1])
    method = plan.source.enclosing(receiver, ast.FunctionDef)
    if isinstance(method, ast.FunctionDef) and method.args.args:
        return Operand(code=method.args.args[0].arg)
    return None


def overridden(analysis: Analysis) -> dict[str, list[ClassInfo]]:
    """The methods that classes of links of the project have in place of Chainer's, and these classes."""
    found: dict[str, list[ClassInfo]] = {}
    for cls in analysis.classes.values():
        if analysis.derives(cls, "chainer.Link"):
            for name in cls.methods:
                found.setdefault(name, []).append(cls)
    return found


def may_be_own(plan: Plan, node: ast.Attribute, kinds: list[Kind]) -> bool:
    """Whether one of the project's own methods may be what is called here, though the receiver's class has none.

    ``for link in self: link.cleargrads()``, or ``self.params()`` in a class that others derive from.
    """
    owners = plan.analysis.once(overridden).get(node.attr)
    if not owners or is_super(node.value):
        return False
    return any(
        isinstance(kind, Inst)
        and plan.analysis.is_link(kind)
        and not _is_made_here(kind)
        and any(kind.cls in plan.analysis.mro(owner) for owner in owners)
        for kind in kinds
    )


def _is_made_here(kind: Inst) -> bool:
    """Whether the class itself was called: then it is no other class."""
    return bool(kind.site) and (isinstance(kind.cls, ClassInfo) or kind.cls.startswith("chainer.links."))
