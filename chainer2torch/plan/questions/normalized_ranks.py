"""The rank of what a batch normalization gets, where no call of it says so: the layers beside it are evidence.

That is no proof. It needs none: nn.BatchNorm2d refuses an input of any other rank, nn.BatchNorm1d that of a 2-d map.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence
from types import MappingProxyType

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_NORMALIZATION = "chainer.links.BatchNormalization"
_LINEAR = "chainer.links.Linear"
_OF_ANY_RANK = frozenset({"chainer.links.ConvolutionND", "chainer.links.DeconvolutionND"})
_SIZES = ("size", "out_channels", "out_size")
_RANKS = MappingProxyType(
    {
        "chainer.links.Convolution1D": 3,
        "chainer.links.Convolution2D": 4,
        "chainer.links.Convolution3D": 5,
        "chainer.links.Deconvolution1D": 3,
        "chainer.links.Deconvolution2D": 4,
        "chainer.links.Deconvolution3D": 5,
        "chainer.links.DepthwiseConvolution2D": 4,
        "chainer.links.DilatedConvolution2D": 4,
        _LINEAR: 2,
    }
)


@dataclasses.dataclass(frozen=True)
class _Layer:
    rank: int
    place: int
    output: str | None
    given: frozenset[str]


def rank_beside(context: Context, call: ast.Call) -> int | None:
    """The rank that the layers of a class, else those of its file, speak for; None where they say nothing of one.

    Those that have as many outputs say it, or else convolutions of one kind with no linear layer before it, from which
    the input might come.
    """
    if context.choices.style != "native" or context.reference(call.func) != _NORMALIZATION:
        return None
    size = _output(call, 0)
    function = context.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)
    if size is None or function is None:
        return None
    scopes = (function, context.source.enclosing(call, ast.ClassDef), context.source.tree)
    for scope in scopes:
        layers = list(_layers(context, scope)) if scope is not None else []
        if layers:
            return _rank_of(layers, size, context.source.start(call))
    return None


def _rank_of(layers: Sequence[_Layer], size: str, place: int) -> int | None:
    maps = [layer for layer in layers if layer.rank > 2]
    made = {layer.rank for layer in layers if layer.output == size}
    if made == {2} and all(layer.place > place for layer in layers if layer.output == size):
        return None  # a linear layer behind it is not what its input comes from
    if made:
        return made.pop() if len(made) == 1 else None
    taken = {layer.rank for layer in maps if size in layer.given}
    ranks = taken or {layer.rank for layer in maps}
    if not taken and any(layer.rank == 2 and layer.place < place for layer in layers):
        return None  # an output of another text may have that size
    return ranks.pop() if len(ranks) == 1 else None


def _layers(context: Context, scope: ast.AST) -> Iterator[_Layer]:
    for node in nodes_of(scope):
        if not isinstance(node, ast.Call) or (name := context.reference(node.func)) is None:
            continue
        place = context.source.start(node)
        if name in _RANKS:
            yield _Layer(_RANKS[name], place, _output(node, 1), frozenset(_given(node)))
        elif name in _OF_ANY_RANK and (axes := _axes(node)) is not None:
            yield _Layer(axes + 2, place, _output(node, 2), frozenset(_given(node)))


def _axes(call: ast.Call) -> int | None:
    """The number of spatial axes that ``L.ConvolutionND(ndim, ...)`` says."""
    said = next((k.value for k in call.keywords if k.arg == "ndim"), call.args[0] if call.args else None)
    return said.value if isinstance(said, ast.Constant) and type(said.value) is int else None


def _output(call: ast.Call, position: int) -> str | None:
    """The text of a size: an argument at a position, or by its name; ``L.Linear(n)`` has one argument only."""
    by_name = [k.value for k in call.keywords if k.arg in _SIZES]
    found = [*call.args[position : position + 1], *by_name, *(call.args[:1] if len(call.args) == 1 else ())]
    return ast.unparse(found[0]) if found else None


def _given(call: ast.Call) -> Iterator[str]:
    yield from (ast.unparse(argument) for argument in (*call.args, *(k.value for k in call.keywords)))


__all__ = ["rank_beside"]
