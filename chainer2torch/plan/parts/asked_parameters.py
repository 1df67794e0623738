"""By which of Chainer's names a call of ``getattr`` asks a link, where its layers have others now."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Const, Inst, Kind, Ref, Scalar, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.questions.asked_names import OF_LINKS, RENAMED, STATISTICS

_HOLDERS = frozenset({"chainer.Link", "chainer.Chain", "chainer.ChainList", "chainer.Sequential"})


def asked_name(context: Context, call: ast.Call) -> str | None:
    """Chainer's name, or one of those, that a link is asked for: `getattr(bn, k) for k in ('avg_mean', 'avg_var')`."""
    owners, named = options(context.analysis.kind(call.args[0])), context.analysis.kind(call.args[1])
    open_owner = all(k == UNKNOWN or isinstance(k, Inst) and k.cls == "chainer.Link" for k in owners)
    if open_owner and named in (UNKNOWN, Scalar("str")) and _is_child(context, call.args[0]):
        return "W"
    if named in (UNKNOWN, Scalar("str")):  # computed: what is known to be one of Chainer's layers has no other names
        layers = all(isinstance(k, Inst) and isinstance(k.cls, str) and is_layer(context, k, "W") for k in owners)
        own = any(isinstance(k, Inst) and (k.cls in _HOLDERS or _is_chain(context, k)) for k in owners)
        return "W" if layers and not own and not any(_stays_chainers(context, k) for k in owners) else None
    for option in options(named):
        name = str(option.value) if isinstance(option, Const) else ""
        layer = any(isinstance(k, Inst) and is_layer(context, k, name) for k in owners)
        if name in OF_LINKS and (owners == (UNKNOWN,) or layer) or name in RENAMED and layer:
            return name
    return None


def _is_child(context: Context, node: ast.expr) -> bool:
    """Whether a value is a child that a Chain of the project gives by a computed name: ``getattr(model, name)``."""
    if isinstance(node, ast.Name):
        values = reaching(context, node)
        return bool(values) and all(not isinstance(v, ast.Name) and _is_child(context, v) for v in values)
    if isinstance(node, ast.Subscript):
        holder = node.value
    elif isinstance(node, ast.Call) and len(node.args) > 1 and context.kind(node.func) == Ref("builtins.getattr"):
        holder = node.args[0]
    else:
        return False
    return all(isinstance(k, Inst) and _is_chain(context, k) for k in options(context.kind(holder)))


def _is_chain(context: Context, kind: Inst) -> bool:
    """Whether a link is made of others: a computed name may be that of one of them."""
    return context.analysis.derives(kind.cls, "chainer.Chain")


def _stays_chainers(context: Context, kind: Kind) -> bool:
    """Whether a link has no form here: what still makes one makes Chainer's own, as `CaffeFunction`."""
    row = context.rules.rows.get(kind.cls) if isinstance(kind, Inst) and isinstance(kind.cls, str) else None
    return row is not None and row.state == "manual"


def is_layer(context: Context, kind: Inst, name: str) -> bool:
    """Whether a link may have a parameter of Chainer's of that name: none of its own classes makes one."""
    return context.analysis.derives(kind.cls, "chainer.Link") and not any(
        isinstance(c, ClassInfo) and name in c.attrs.keys() - STATISTICS for c in context.analysis.mro(kind.cls)
    )


__all__ = ["asked_name", "is_layer"]
