"""Members of Chainer's objects for which there is no rule: what the object became may lack them."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.keeping import later
from chainer2torch.plan.questions.own_members import has_own_member
from chainer2torch.plan.questions.stored import stored

# links and functions have rooms of their own; the members of their classes are the user's more often than Chainer's
ELSEWHERE = ("chainer.Link", "chainer.FunctionNode", "chainer.Variable")


def without_rule(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """Marks ``optimizer.check_nan_in_grads()``: Chainer's own, and no rule says what takes its place."""
    if node.attr.startswith("__") or not isinstance(node.ctx, ast.Load):
        return
    for kind in options(context.analysis.kind(node.value)):
        owner = _owner(context, kind, node.attr)
        if owner is not None and node.attr not in context.analysis.once(stored):
            row = context.rules.rows[owner]
            if later(context, decisions, node, row, f"{owner}.{node.attr}"):
                return
            decisions.mark(
                node,
                None,
                f"{owner}.{node.attr}",
                "manual",
                f"no rule for this member of {owner.rpartition('.')[2]}; what it became may have none of this name",
                row.code,
            )
            return


def _owner(context: Context, kind: Kind, name: str) -> str | None:
    """Chainer's class from which an object must have a member; None if it may be another's, or needs no rule."""
    cls = kind.cls if isinstance(kind, Inst) else kind.info if isinstance(kind, Class) else None
    if cls is None:
        return None
    classes = context.analysis.mro(cls)
    own = [c for c in classes if isinstance(c, ClassInfo)]
    if any(name in c.methods or name in c.attrs or not _known_bases(context, c) for c in own):
        return None
    theirs = [context.rules.canonical(c) for c in classes if isinstance(c, str) and c.startswith("chainer.")]
    if not theirs or any(context.rules.is_subclass(c, e) for c in theirs for e in ELSEWHERE):
        return None
    if any(context.rules.member(c, name) is not None or context.rules.keeps(c, name) for c in theirs):
        return None
    if has_own_member(context.analysis, context.rules.canonical(cls) if isinstance(cls, str) else cls, name):
        return None
    if isinstance(cls, str) and _has_subclass_with(context, theirs[0], name):
        return None
    return next((c for c in theirs if c in context.rules.rows and context.rules.rows[c].base), None)


def _has_subclass_with(context: Context, cls: str, name: str) -> bool:
    """Whether an object that is at least of Chainer's class may be of one derived from it that has the member."""
    member = f".{name}"
    return any(
        row.endswith(member) and context.rules.is_subclass(row.removesuffix(member), cls) for row in context.rules.rows
    )


def _known_bases(context: Context, cls: ClassInfo) -> bool:
    """Whether all that a class inherits is in sight: a decorator or a base from elsewhere may give it any member."""
    return (
        not cls.node.decorator_list
        and "__getattr__" not in cls.methods
        and all(
            isinstance(b, Class)
            or isinstance(b, Ref)
            and (b.name in context.analysis.libraries or b.name == "builtins.object")
            for base in cls.bases
            for b in options(base)
        )
    )
