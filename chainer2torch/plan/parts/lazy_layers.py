"""``layer.W.initialize(shape)``: a lazy layer of torch's gets all of its shapes at once, not one parameter alone."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.rules.table import Row

_LAYERS = frozenset({f"chainer.links.{name}" for name in ("Linear", "Convolution2D", "Convolution1D", "Convolution3D")})


def initialize(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """The weight of a layer of Chainer's that is known; any other parameter has its initializer with it."""
    call = context.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        decisions.mark(node, row, row.name, "manual", "a method that is passed as a value")
        return
    weight, given = node.value, [*call.args, *(keyword.value for keyword in call.keywords)]
    if isinstance(weight, ast.Attribute) and weight.attr == "W" and len(given) == 1:
        kinds = options(context.analysis.kind(weight.value))
        if all(isinstance(kind, Inst) and kind.cls in _LAYERS for kind in kinds):
            operands = {"layer": context.operand(weight.value), "shape": context.operand(given[0])}
            decisions.replace(call, "native.initialize_layer(layer, shape)", operands)
            decisions.mark(node, row, row.name, row.state, row.note)
            return
    emit_call(context, decisions, call, row, node, receiver=weight)


__all__ = ["initialize"]
