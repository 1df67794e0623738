"""The rank of what a batch normalization gets, where no call of it says so: a convolution of its size stands beside it.

That is evidence, and no proof. It needs none: nn.BatchNorm2d refuses an input of any other rank.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import MappingProxyType

from chainer2torch.plan.context import Context

_NORMALIZATION = "chainer.links.BatchNormalization"
_SIZES = ("size", "out_channels")
_RANKS = MappingProxyType(
    {
        "chainer.links.Convolution1D": 3,
        "chainer.links.Convolution2D": 4,
        "chainer.links.Convolution3D": 5,
        "chainer.links.Deconvolution1D": 3,
        "chainer.links.Deconvolution2D": 4,
        "chainer.links.Deconvolution3D": 5,
        "chainer.links.DilatedConvolution2D": 4,
    }
)


def rank_beside(context: Context, call: ast.Call) -> int | None:
    """The rank of the convolutions that the same function makes with as many outputs, if nothing else has that size."""
    if context.choices.style != "native" or context.reference(call.func) != _NORMALIZATION:
        return None
    size = _output(call, 0)
    scope = context.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)
    if size is None or scope is None:
        return None
    ranks: set[int | None] = set()
    for other in ast.walk(scope):
        name = context.reference(other.func) if isinstance(other, ast.Call) else None
        if not isinstance(other, ast.Call) or name == _NORMALIZATION or size not in set(_given(other)):
            continue
        if name is None or name not in _RANKS:
            return None  # what a Linear of that size gives may be what is normalized
        if _output(other, 1) == size:
            ranks.add(_RANKS[name])
    return ranks.pop() if len(ranks) == 1 else None


def _output(call: ast.Call, position: int) -> str | None:
    """The text of a size: an argument at a position, or by its name."""
    by_name = [k.value for k in call.keywords if k.arg in _SIZES]
    found = [*call.args[position : position + 1], *by_name]
    return ast.unparse(found[0]) if found else None


def _given(call: ast.Call) -> Iterator[str]:
    yield from (ast.unparse(argument) for argument in (*call.args, *(k.value for k in call.keywords)))


__all__ = ["rank_beside"]
