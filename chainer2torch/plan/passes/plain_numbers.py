"""Elements of arrays where Python wants a number: ``round(x.mean(), 3)``, ``json.dump({'loss': x.mean()}, f)``.

NumPy's numbers can be rounded, and its float64 is a float of Python's; a tensor is neither.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Kind, Ref, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddKeyword
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.written_values import holds_arrays

_ROUND = Ref("builtins.round")
_WRITERS = (Ref("json.dump"), Ref("json.dumps"))


def run(context: Context) -> Decisions:
    """Has the tensor give its number."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        if not isinstance(call, ast.Call) or not call.args or isinstance(call.args[0], ast.Starred):
            continue
        callee, given = context.kind(call.func), context.kind(call.args[0])
        if callee == _ROUND and _is_array(given):
            wrap(context, decisions, call.args[0], "value.item()")
        elif callee in _WRITERS and holds_arrays(given) and not any(k.arg in (None, "default") for k in call.keywords):
            decisions.edit(call, AddKeyword(context.source.span(call), "default", "float"))
    return decisions


def _is_array(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and k.array for k in options(kind))
