"""Layers in lists that get what an L.Linear before them gives: rows, whoever calls them one after the other.

``Net(L.Linear(n, 5), ReLU(), L.Linear(5, 3))``, ``[L.Linear(n, h), L.Linear(h, h)]``: the second says in the same words
how many values it gets as the first says how many it gives. The first one of a list flattens what it gets itself.
"""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.context import Context
from chainer2torch.rules.signature import BindError

_LINEAR = "chainer.links.Linear"
_KEEPING_ROWS = frozenset({"chainer.links.BatchNormalization"})
# words of what gives something else than rows of the same length
_OF_OTHERS = re.compile(r"conv|pool|shape|expand|axis|axes|stack|concat|merge|split|tile|embed|maxout|crelu", re.I)


def gets_rows(context: Context, call: ast.Call) -> bool:
    """Whether a layer stands behind an L.Linear in a list, with nothing between them that gives no rows."""
    items = _list_around(context, call)
    if context.choices.style != "native" or items is None:
        return False
    between = 0
    for item in reversed(items[: items.index(call)]):
        if _is_linear(context, item):
            assert isinstance(item, ast.Call)
            first, own = sizes(context, item), sizes(context, call)
            if first is None or own is None or first[1] != own[0]:
                return False
            # layers of one shape beside each other may also be called with the same input
            return bool(between) or first[0] != first[1] or gets_rows(context, item)
        if not keeps_rows(context, item):
            return False
        between += 1
    return False


def _list_around(context: Context, call: ast.Call) -> list[ast.expr] | None:
    """The list in which a layer is made, or the arguments of the call that makes what holds it."""
    parent = context.source.parents.get(call)
    if isinstance(parent, (ast.List, ast.Tuple)):
        return parent.elts
    if (
        isinstance(parent, ast.Call)
        and call in parent.args
        and not any(isinstance(a, ast.Starred) for a in parent.args)
    ):
        return parent.args
    return None


def _is_linear(context: Context, node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and options(context.kind(node)) != () and _classes(context, node) == {_LINEAR}


def _classes(context: Context, node: ast.expr) -> set[object]:
    return {k.cls if isinstance(k, Inst) else None for k in options(context.kind(node))}


def keeps_rows(context: Context, node: ast.expr) -> bool:
    """Whether what an item of a list gives is rows where it gets rows, as far as its words tell."""
    if context.analysis.is_link(context.kind(node)):
        return _classes(context, node) <= _KEEPING_ROWS
    return not isinstance(node, ast.Starred) and not _OF_OTHERS.search(ast.unparse(node))


def sizes(context: Context, call: ast.Call) -> tuple[str, str] | None:
    """``in_size`` and ``out_size`` of an L.Linear in its own words; None where it does not say both."""
    row = context.rules.rows[_LINEAR]
    try:
        bound = row.signature.bind(call.args, call.keywords) if row.signature is not None else None
    except BindError:
        return None
    given = [
        bound.given.get(name) if bound is not None and not bound.starred else None for name in ("in_size", "out_size")
    ]
    first, second = given
    return None if first is None or second is None else (ast.unparse(first), ast.unparse(second))


__all__ = ["gets_rows", "keeps_rows", "sizes"]
