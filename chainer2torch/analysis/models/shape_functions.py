"""The ranks and dtypes of what Chainer's functions return, where a row's ``returns`` cannot say it.

An entry is a small function of the kinds of the parameters, by the name in ``chainer.functions``. A rank that does not
show is None: the value is still a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import NONE, Const, Kind, Lst, Tensor, Tup, UNKNOWN
from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.analysis.models.array_operators import indexed_rank
from chainer2torch.analysis.models.shapes import (
    axes_in,
    broadcast_rank,
    common_dtype,
    common_rank,
    dtype_within,
    parts_of,
    plus,
    product_rank,
    rank_of,
    rank_of_shape,
    reduced_rank,
    squeezed_rank,
)

Bound = Mapping[str, Kind]
_Model = Callable[[Bound], Kind | None]


def shape_function(name: str, bound: Bound) -> Kind | None:
    """What ``chainer.functions.<name>`` returns; None: the rule's ``returns`` says it."""
    model = _MODELS.get(name)
    return model(bound) if model is not None else None


def _x(bound: Bound) -> tuple[int | None, str | None]:
    x = bound.get("x")
    return rank_of(x), dtype_within(x)


def _as_x(bound: Bound) -> Kind:
    return Tensor(*_x(bound))


def _like_x(change: Callable[[Bound, int | None], int | None]) -> _Model:
    """A function that keeps the dtype of ``x``; ``change`` gives the rank."""

    def model(bound: Bound) -> Kind:
        rank, dtype = _x(bound)
        return Tensor(change(bound, rank), dtype)

    return model


def _pieces(bound: Bound) -> Kind:
    """``F.split_axis``: parts of the same rank."""
    return Lst(Tensor(*_x(bound)))


def _joined(more: int) -> Callable[[Bound], Tensor]:
    """``F.concat`` and ``F.stack``: Chainer demands that all have the same rank and dtype."""

    def model(bound: Bound) -> Tensor:
        parts = parts_of(bound.get("xs"))
        dtype = next((d for d in map(dtype_within, parts) if d is not None), None)
        return Tensor(plus(common_rank(parts), more), dtype)

    return model


def _at_least(least: int) -> _Model:
    """``F.vstack``, ``F.dstack``: as for concat, with so many axes at least."""

    def model(bound: Bound) -> Kind:
        parts = parts_of(bound.get("xs"))
        rank = common_rank(parts)
        return Tensor(None if rank is None else max(rank, least), common_dtype(parts))

    return model


def _elementwise(*names: str) -> _Model:
    def model(bound: Bound) -> Kind:
        kinds = [bound.get(name, UNKNOWN) for name in names]
        return Tensor(broadcast_rank(kinds), common_dtype(kinds))

    return model


def _added(bound: Bound) -> Kind:
    parts = parts_of(bound.get("xs"))
    return Tensor(broadcast_rank(parts) if parts else None, common_dtype(parts))


def _broadcast(bound: Bound) -> Kind | None:
    values = bound.get("args")
    if not isinstance(values, Tup):
        return None
    if len(values.items) == 1:  # one value comes back by itself
        return parse_spec("like x", {"x": values.items[0]})
    rank = broadcast_rank(list(values.items))
    return Tup(tuple(Tensor(rank, dtype_within(kind)) for kind in values.items)) if values.items else None


def _tiled(bound: Bound, rank: int | None) -> int | None:
    reps = axes_in(bound.get("reps"))
    return max(rank, reps) if rank is not None and reps is not None else None


def _flattened_without_axis(bound: Bound, rank: int | None) -> int | None:
    """``F.cumsum``, ``F.repeat``: without an axis of everything in one row."""
    axis = bound.get("axis", NONE)
    if axis == NONE:
        return 1
    return rank if axes_in(axis) is not None else None


def _product(bound: Bound) -> Kind:
    a, b = rank_of(bound.get("a")), rank_of(bound.get("b"))
    # early versions made matrices of vectors
    rank = product_rank(a, b) if a is not None and b is not None and a > 1 and b > 1 else None
    return Tensor(rank, common_dtype([bound.get("a", UNKNOWN), bound.get("b", UNKNOWN)]))


def _tensordot(bound: Bound) -> Kind:
    axes = bound.get("axes", Const(2))
    gone: int | None = None
    if isinstance(axes, Const) and isinstance(axes.value, int):
        gone = axes.value
    elif isinstance(axes, Tup) and axes.items:
        gone = axes_in(axes.items[0])
    a, b = rank_of(bound.get("a")), rank_of(bound.get("b"))
    return Tensor(plus(a + b, -2 * gone) if a is not None and b is not None and gone is not None else None)


def _einsum(bound: Bound) -> Kind:
    operands = bound.get("operands")
    formula = operands.items[0] if isinstance(operands, Tup) and operands.items else UNKNOWN
    text = formula.value if isinstance(formula, Const) and isinstance(formula.value, str) else ""
    _, arrow, result = text.replace(" ", "").partition("->")
    return Tensor(len(result) if arrow and "." not in result else None)


def _linear(bound: Bound) -> Kind:
    axes = bound.get("n_batch_axes", Const(1))
    known = isinstance(axes, Const) and isinstance(axes.value, int)
    return Tensor(axes.value + 1 if known else None)  # type: ignore[attr-defined]


def _embedded(bound: Bound) -> Kind:
    return Tensor(plus(rank_of(bound.get("x")), 1), dtype_within(bound.get("W")))


def _position(bound: Bound) -> Kind:
    return Tensor(reduced_rank(rank_of(bound.get("x")), bound.get("axis"), None), "int64")


def _loss(whole: frozenset[str], parts: Callable[[Bound], int | None] = lambda bound: None) -> _Model:
    """A loss: one number unless ``reduce`` says otherwise; ``parts`` is the rank of what is not reduced then."""

    def model(bound: Bound) -> Kind:
        how = bound.get("reduce")
        said = how.value if isinstance(how, Const) else None
        return Tensor(0 if said in whole else parts(bound) if said == "no" else None, "floating")

    return model


def _states(states: int) -> _Model:
    """``F.n_step_lstm``: the last states of all layers, and a list of what each sequence gave."""

    def model(bound: Bound) -> Kind:
        return Tup((*(Tensor(3),) * states, Lst(Tensor(2))))

    return model


def _cell(bound: Bound) -> Kind:
    """``F.lstm``: the next state and the output, shaped as the state before."""
    c = bound.get("c_prev")
    return Tup((Tensor(rank_of(c), dtype_within(c)),) * 2)


_SHAPE_KEPT = ("pad", "flip", "copy", "rollaxis", "swapaxes", "transpose", "moveaxis", "permutate")
_REDUCTIONS = ("sum", "mean", "average", "max", "min", "prod", "logsumexp")
_BY_SHAPE = ("reshape", "broadcast_to", "sum_to", "as_strided")
_MEAN = frozenset({"mean"})
_SUM = frozenset({"sum", "mean"})
_POOLING = {
    f"{name}_pooling_{n}d": _like_x(lambda bound, rank, n=n: n + 2)  # type: ignore[misc]
    for name in ("average", "max")
    for n in (1, 2, 3)
}
_MODELS: Mapping[str, _Model] = {
    **_POOLING,
    **dict.fromkeys(_SHAPE_KEPT, _as_x),
    **dict.fromkeys(
        _REDUCTIONS, _like_x(lambda bound, rank: reduced_rank(rank, bound.get("axis"), bound.get("keepdims")))
    ),
    **dict.fromkeys(_BY_SHAPE, _like_x(lambda bound, rank: rank_of_shape(bound.get("shape")))),
    "add": _added,
    "argmax": _position,
    "argmin": _position,
    "bernoulli_nll": _loss(_SUM, lambda bound: rank_of(bound.get("x"))),
    "broadcast": _broadcast,
    "cast": lambda bound: Tensor(rank_of(bound.get("x")), dtype_of(bound.get("typ"))),
    "concat": _joined(0),
    "contrastive": _loss(_MEAN),
    "cumprod": _like_x(_flattened_without_axis),
    "cumsum": _like_x(_flattened_without_axis),
    "diagonal": _like_x(lambda bound, rank: plus(rank, -1)),
    "dstack": _at_least(3),
    "einsum": _einsum,
    "embed_id": _embedded,
    "expand_dims": _like_x(lambda bound, rank: plus(rank, axes_in(bound.get("axis")))),
    "gaussian_kl_divergence": _loss(_SUM, lambda bound: rank_of(bound.get("mean"))),
    "gaussian_nll": _loss(_SUM, lambda bound: rank_of(bound.get("x"))),
    "get_item": _like_x(lambda bound, rank: indexed_rank(rank, bound.get("slices", UNKNOWN))),
    "hinge": _loss(_MEAN),
    "hstack": _at_least(1),
    "linear": _linear,
    "lstm": _cell,
    "matmul": _product,
    "maximum": _elementwise("x1", "x2"),
    "minimum": _elementwise("x1", "x2"),
    "n_step_bigru": _states(1),
    "n_step_bilstm": _states(2),
    "n_step_birnn": _states(1),
    "n_step_gru": _states(1),
    "n_step_lstm": _states(2),
    "n_step_rnn": _states(1),
    "pad_sequence": _joined(1),
    "repeat": _like_x(_flattened_without_axis),
    "separate": lambda bound: Lst(Tensor(plus(_x(bound)[0], -1), _x(bound)[1])),
    "sigmoid_cross_entropy": _loss(_MEAN, lambda bound: rank_of(bound.get("x"))),
    "softmax_cross_entropy": _loss(_MEAN, lambda bound: rank_of(bound.get("t"))),
    "split_axis": _pieces,
    "squeeze": _like_x(lambda bound, rank: squeezed_rank(rank, bound.get("axis"))),
    "stack": _joined(1),
    "tensordot": _tensordot,
    "tile": _like_x(_tiled),
    "transpose_sequence": lambda bound: Lst(_joined(0)(bound)),
    "triplet": _loss(_MEAN),
    "vstack": _at_least(2),
    "where": lambda bound: Tensor(
        broadcast_rank([bound.get(name, UNKNOWN) for name in ("condition", "x", "y")]),
        common_dtype([bound.get("x", UNKNOWN), bound.get("y", UNKNOWN)]),
    ),
}
