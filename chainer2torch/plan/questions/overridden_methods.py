"""Methods of links that the project's classes write themselves: what is rewritten elsewhere must not pass them by."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Kind
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.rows import receiver_kinds
from chainer2torch.rules.table import Row


def is_super(node: ast.AST) -> bool:
    """Whether an expression is ``super()`` with or without arguments."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def overridden(analysis: Analysis) -> dict[str, list[ClassInfo]]:
    """The methods that classes of links of the project have in place of Chainer's, and these classes."""
    found: dict[str, list[ClassInfo]] = {}
    for cls in analysis.classes.values():
        if analysis.derives(cls, "chainer.Link"):
            for name in cls.methods:
                found.setdefault(name, []).append(cls)
    return found


def may_be_own(context: Context, node: ast.Attribute, kinds: list[Kind]) -> bool:
    """Whether one of the project's own methods may be what is called here, though the receiver's class has none.

    ``for link in self: link.cleargrads()``, or ``self.params()`` in a class that others derive from.
    """
    owners = context.analysis.once(overridden).get(node.attr)
    if not owners or is_super(node.value):
        return False
    return any(
        isinstance(kind, Inst)
        and context.analysis.is_link(kind)
        and not _is_made_here(kind)
        and any(_is_a(context.analysis, owner, kind.cls) for owner in owners)
        for kind in kinds
    )


def _is_a(analysis: Analysis, owner: ClassInfo, cls: str | ClassInfo) -> bool:
    """Whether an object of the first class may be what is known by the second, which may be above Chainer's Chain."""
    return analysis.derives(owner, cls) if isinstance(cls, str) else cls in analysis.mro(owner)


def _is_made_here(kind: Inst) -> bool:
    """Whether the class itself was called: then it is no other class."""
    return bool(kind.site) and (isinstance(kind.cls, ClassInfo) or kind.cls.startswith("chainer.links."))


def own_row(context: Context, node: ast.Attribute, row: Row) -> Row:
    """The row of a called method: the one that asks at run time, where a method of the user's may be meant."""
    if may_be_own(context, node, receiver_kinds(context, node)):
        return context.rules.rows.get(f"?.{node.attr}", row)
    return row
