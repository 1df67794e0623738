"""Which row of the rules decides on a reference: by the name itself, or by what a method or attribute is asked of."""

from __future__ import annotations

import ast
import builtins

from chainer2torch.analysis.kinds import Class, Dct, Inst, Kind, Lst, Tensor, Tup, options, scalar_type
from chainer2torch.analysis.models.array_kinds import asked
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.rules.table import Row

# parameters of links: a class that makes its own computes with them itself
PARAMETERS = frozenset({"W", "b", "beta", "gamma"})


def row_at(context: Context, node: ast.AST) -> Row | None:
    """The row of a reference; None where there is none, or where the kinds of the receiver have different ones."""
    name = context.reference(node)
    if name is not None:
        return context.rules.rows.get(name)
    if not isinstance(node, ast.Attribute):
        return None
    rows = [row_of_kind(context, kind, node.attr) for kind in receiver_kinds(context, node)]
    first = rows[0] if rows else None
    if first is None or not all(row is not None and same_rule(row, first) for row in rows):
        return None
    return first


def same_rule(one: Row, other: Row) -> bool:
    """Whether two rows say the same of different names."""
    return one.name == other.name or (one.cases, one.set) == (other.cases, other.set)


def receiver_kinds(context: Context, node: ast.Attribute) -> list[Kind]:
    """What an attribute may be asked of.

    `loss = 0` before a loop that adds to it: a number has no backward(), so the receiver is the other kind.
    """
    kinds = dict.fromkeys(asked(kind, node.attr) for kind in options(context.kind(node.value)))
    return [kind for kind in kinds if not _lacks(kind, node.attr)]


def row_of_kind(context: Context, kind: Kind, name: str) -> Row | None:
    """The row of ``receiver.name`` for one kind of receiver."""
    if isinstance(kind, Tensor):
        # what a model is given may be an array, and what only an array has is asked of an array
        row = None if kind.array else context.rules.member("chainer.Variable", name)
        return row or context.rules.member("numpy.ndarray", name)
    if isinstance(kind, Class):
        kind = Inst(kind.info)
    if not isinstance(kind, Inst):
        return None
    for owner in context.analysis.mro(kind.cls):
        if isinstance(owner, str):
            row = context.rules.member(owner, name)
            if row is not None:
                return row
        elif name in owner.methods:
            return None
        elif name in owner.attrs and not _is_of_base(context, kind.cls, name):
            return None
    return None


def _is_of_base(context: Context, cls: str | ClassInfo, name: str) -> bool:
    """Whether what a class assigns is an attribute of the layer of Chainer's that it derives from.

    Parameters are left out: a class that makes its own computes with them itself.
    """
    base = next((c for c in context.analysis.mro(cls) if isinstance(c, str)), "")
    row = context.rules.member(base, name) if base.startswith("chainer.links.") else None
    return row is not None and row.attribute and name not in PARAMETERS


def _lacks(kind: Kind, attribute: str) -> bool:
    """Whether a plain value or a container has no such attribute."""
    for container, held in ((Tup, tuple), (Lst, list), (Dct, dict)):
        if isinstance(kind, container):
            return not hasattr(held, attribute)
    name = scalar_type(kind)
    if name is None:
        return False
    owner = type(None) if name == "NoneType" else getattr(builtins, name, object)
    return not hasattr(owner, attribute)
