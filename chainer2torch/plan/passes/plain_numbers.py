"""Elements of arrays where Python wants a number: ``round(x.mean(), 3)``, ``json.dump({'loss': x.mean()}, f)``.

NumPy's numbers can be rounded, and its float64 is a float of Python's; a tensor is neither. Its arrays know
``divmod(a, 2)``, and ``+a`` is a new one.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import HostArray, Kind, Ref, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddKeyword
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.written_kinds import holds_arrays
from chainer2torch.plan.questions.perhaps import may_be_array

_ROUND = Ref("builtins.round")
_DIVMOD, _CODE = Ref("builtins.divmod"), "C2T320"
_WRITERS = (Ref("json.dump"), Ref("json.dumps"))


def run(context: Context) -> Decisions:
    """Has the tensor give its number."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        if not isinstance(call, ast.Call) or not call.args or isinstance(call.args[0], ast.Starred):
            continue
        callee, given = context.kind(call.func), context.kind(call.args[0])
        if callee == _ROUND and _may_be_array(given):
            wrap(context, decisions, call.args[0], "value.item()")
        elif callee == _ROUND and may_be_array(context, call.args[0]):
            wrap(context, decisions, call.args[0], "compat.shown(value)")
        elif callee in _WRITERS and holds_arrays(given) and not any(k.arg in (None, "default") for k in call.keywords):
            decisions.edit(call, AddKeyword(context.source.span(call), "default", "float"))
        elif callee == _DIVMOD and len(call.args) == 2 and not context.migrated:
            _divmod(context, decisions, call)
    for node in context.source.of(ast.UnaryOp):
        if isinstance(node.op, ast.UAdd) and _is_array(context.kind(node.operand)) and not context.migrated:
            wrap(context, decisions, node.operand, "value.clone()")  # `+x` is a new array
    return decisions


def _divmod(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``divmod(a, 2)``, which tensors do not know."""
    kinds = [options(context.kind(side)) for side in call.args]
    if not any(all(isinstance(k, Tensor) for k in side) for side in kinds):
        return
    parts = [part for side in call.args for part in nodes_of(side)]
    if not any(isinstance(part, (ast.Call, ast.NamedExpr, ast.Starred, ast.Await)) for part in parts):
        left, right = map(context.operand, call.args)
        decisions.replace(call, "(left // right, left % right)", {"left": left, "right": right})
        return
    decisions.mark(call, None, "builtins.divmod", "manual", "tensors have no divmod: write `a // b` and `a % b`", _CODE)


def _may_be_array(kind: Kind) -> bool:
    """Whether it is a tensor, or an element of one of NumPy's arrays for other callers: both have ``item()``."""
    kinds = options(kind)
    arrays = all(isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in kinds)
    return arrays and any(isinstance(k, Tensor) for k in kinds)


def _is_array(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and k.array for k in options(kind))
