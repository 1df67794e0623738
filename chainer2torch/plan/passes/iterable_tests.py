"""``isinstance(x, Iterable)`` and ``hasattr(x, '__iter__')``: Chainer's Variables are no iterables, tensors are."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Ref, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.places import function_of

_ROW = "collections.abc.Iterable"
_CLASSES = frozenset(
    f"{module}.{name}"
    for module in ("collections", "collections.abc", "typing")
    for name in ("Collection", "Container", "Iterable", "Reversible")
)
_EITHER = "it is an array at times, of which this is true in Chainer"
_MEMBERS = frozenset({"__array__", "__contains__", "__iter__", "__reversed__"})


def run(context: Context) -> Decisions:
    """Adds ``and not isinstance(x, torch.Tensor)`` where a Variable may be asked."""
    decisions = Decisions(context)
    row = context.rules.python[_ROW]
    for call in context.source.of(ast.Call):
        template = _template(context, call)
        if template and isinstance(call.args[0], (ast.Name, ast.Attribute)) and _may_be_variable(context, call):
            operands = {"x": context.operand(call.args[0]), "asked": context.operand(call.args[1])}
            decisions.replace(call, f"{template} and not isinstance(x, torch.Tensor)", operands)
            kinds = options(context.kind(call.args[0]))
            both = any(isinstance(kind, Tensor) and kind.array for kind in kinds)
            decisions.mark(call.func, row, row.name, "review" if both else row.state, _EITHER if both else "")
    return decisions


def _template(context: Context, call: ast.Call) -> str:
    if len(call.args) != 2 or call.keywords:
        return ""
    kind, asked = context.kind(call.func), call.args[1]
    if kind == Ref("builtins.hasattr") and isinstance(asked, ast.Constant) and asked.value in _MEMBERS:
        return "hasattr(x, asked)"
    classes = asked.elts if isinstance(asked, ast.Tuple) else [asked]
    kinds = [context.kind(cls) for cls in classes]
    if kind != Ref("builtins.isinstance") or any(context.reference(cls) for cls in classes):
        return ""
    found = any(isinstance(k, Ref) and k.name in _CLASSES for k in kinds)
    return "isinstance(x, asked)" if found else ""


def _may_be_variable(context: Context, call: ast.Call) -> bool:
    """Whether a value is a Variable at times; of one that is not known, whether the function itself asks for that."""
    value = call.args[0]
    kinds = options(context.kind(value))
    if any(isinstance(kind, Tensor) and not kind.array for kind in kinds):
        return True
    scope = function_of(context, call)
    return UNKNOWN in kinds and any(
        len(other.args) == 2
        and ast.unparse(other.args[0]) == ast.unparse(value)
        and context.kind(other.func) == Ref("builtins.isinstance")
        and context.reference(other.args[1]) in ("chainer.Variable", "chainer.Parameter")
        and function_of(context, other) is scope
        for other in context.source.of(ast.Call)
    )


__all__ = ["run"]
