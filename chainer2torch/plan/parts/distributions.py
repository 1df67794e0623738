"""Chainer's distributions in the native style: torch's own, where the project asks them for nothing else."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import HostArray, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.host_arrays import tensor_of
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.plain_distributions import (
    BERNOULLI,
    INDEPENDENT,
    NORMAL,
    axes_of,
    is_number,
    plain_class,
    plain_distributions,
    wraps_bernoulli,
)
from chainer2torch.rules.table import Row

_TORCH = "torch.distributions"
_SHARED = "chainer.Distribution."


def distribution(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``D.Normal(loc, log_scale=s)``: ``torch.distributions.Normal(loc, torch.exp(s))``, else the helper."""
    assert isinstance(node, (ast.Name, ast.Attribute))
    call = context.source.parents.get(node)
    plain = row.name in plain_distributions(context)
    if not isinstance(call, ast.Call) or call.func is not node:
        if plain:
            _decide(context, decisions, node, node, f"{_TORCH}.{row.name.rpartition('.')[2]}", row)
        else:
            emit_value(context, decisions, node, row)
        return
    if not plain:
        emit_call(context, decisions, call, row, node)
        return
    first, second = ("loc", "scale") if row.name != INDEPENDENT else ("base", "reinterpreted_batch_ndims")
    given = dict(zip((first, second), call.args)) | {str(k.arg): k.value for k in call.keywords}
    if row.name == INDEPENDENT:
        axes = second if second in given else str(axes_of(context.analysis, call))
        _decide(context, decisions, call, node, f"{_TORCH}.Independent(base, {axes})", row, given)
        return
    if row.name == NORMAL:
        scale = "scale" if "scale" in given else "torch.exp(log_scale)"
        template = f"{_TORCH}.Normal(loc, {scale})"
    else:
        checked = given.get("binary_check")
        never = checked is None or isinstance(checked, ast.Constant) and checked.value is False
        template = f"{_TORCH}.Bernoulli(logits=logit, validate_args={'False' if never else 'binary_check'})"
    for name, value in given.items():
        _as_tensor(context, decisions, name, value)
    _decide(context, decisions, call, node, template, row, given)


def member(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``d.sample(k)``, ``d.prob(x)``, ``d.entropy`` of such a distribution; of another they stay."""
    assert isinstance(node, ast.Attribute)
    call = context.source.parents.get(node)
    called = isinstance(call, ast.Call) and call.func is node
    cls = plain_class(context, node.value)
    if cls is None:
        decisions.mark(node, row, row.name, row.state, row.note)
        return
    name = row.name.removeprefix(_SHARED)
    if name == "entropy":
        _decide(context, decisions, node, node, "d.entropy()", row, {"d": node.value})
        return
    assert called and isinstance(call, ast.Call)
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    operands = {"d": node.value, **dict(zip(("x",), given))}
    if name in ("sample", "sample_n"):
        shape = "" if not given else "(x,)" if is_number(context.kind(given[0])) else "x"
        _decide(context, decisions, call, node, f"d.rsample({shape})", row, operands)
        return
    _as_tensor(context, decisions, name, given[0])
    # torch's has a gradient by the value, Chainer's Bernoulli none
    binary = cls == BERNOULLI or cls == INDEPENDENT and wraps_bernoulli(context.analysis, context.kind(node.value))
    value = "x.detach()" if binary and _may_have_gradient(context, given[0]) else "x"
    _decide(context, decisions, call, node, f"d.log_prob({value}){'.exp()' if name == 'prob' else ''}", row, operands)


def divergence(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``chainer.kl_divergence(q, p)``: torch's own, of its distributions."""
    assert isinstance(node, (ast.Name, ast.Attribute))
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
    elif len(call.args) == 2 and all(plain_class(context, argument) is not None for argument in call.args):
        _decide(context, decisions, node, node, f"{_TORCH}.kl_divergence", row)
    else:
        emit_call(context, decisions, call, row, node)


def _as_tensor(context: Context, decisions: Decisions, name: str, value: ast.expr) -> None:
    """An array of the host, which Chainer's take, too, as a tensor."""
    kinds = options(context.kind(value))
    if name != "binary_check" and all(isinstance(k, (HostArray, Tensor)) for k in kinds):
        if any(isinstance(k, HostArray) for k in kinds):
            decisions.wrap(value, tensor_of(context, value))


def _may_have_gradient(context: Context, value: ast.expr) -> bool:
    kinds = options(context.kind(value))
    return not all(isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in kinds)


def _decide(
    context: Context,
    decisions: Decisions,
    replaced: ast.expr,
    node: ast.expr,
    template: str,
    row: Row,
    operands: dict[str, ast.expr] | None = None,
) -> None:
    decisions.replace(replaced, template, {name: context.operand(value) for name, value in (operands or {}).items()})
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state, row.note)


__all__ = ["distribution", "divergence", "member"]
