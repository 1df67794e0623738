"""Layers one by one with synchronised inputs: each module's output is kept, and Chainer's handed on in its place.

So errors do not add up: what differs differs by itself, whatever comes before it. In the backward pass the gradient
that comes back to each output is kept, and Chainer's handed on: a layer that differs there, too, differs by itself.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy
import torch

from . import torch_snippets, wire

_MOST_AXES = 4


@contextlib.contextmanager
def aligned(
    model: torch.nn.Module, calls: Sequence[Mapping[str, Any]], reference: Mapping[str, Any], paths: Mapping[str, str]
) -> Iterator[dict[str, numpy.ndarray]]:
    """Collects the outputs of the modules in a block by the keys of Chainer's ``calls``, under ``sync/``.

    ``reference`` has Chainer's arrays; ``paths`` the path in Chainer of a module where that is not its own name. What
    comes back to the outputs, if the block differentiates, is under ``sync/back/``.
    """
    waiting: dict[str, list[str]] = {}
    for call in calls:
        waiting.setdefault(call["path"], []).append(call["key"])
    found: dict[str, numpy.ndarray] = {}
    handles = []
    for name, module in model.named_modules():
        path = paths.get(name, "/" + name.replace(".", "/"))

        def hook(module: torch.nn.Module, args: Any, output: Any, path: str = path) -> Any:
            keys = waiting.get(path)
            if not keys:
                return None
            key = keys.pop(0)
            for own, array in wire.flat_arrays(key, output, torch_snippets.array_of).items():
                found["sync/" + own] = array
            if path == "/":
                return None
            # Of what a module keeps as its state a part of the gradient comes back another way.
            keeps = any(value is output for value in vars(module).values())
            return _instead(output, key, reference, None if keeps else found)

        handles.append(module.register_forward_hook(hook))
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _instead(output: Any, key: str, reference: Mapping[str, Any], found: dict[str, numpy.ndarray] | None) -> Any:
    """Chainer's values in the place of an output; the output itself where they do not fit it.

    The gradient passes as if nothing had been replaced; where ``found`` collects it, Chainer's takes its place.
    """
    if isinstance(output, torch.Tensor):
        array = reference[key] if key in reference else None
        if array is None or array.size != output.numel():
            return output
        values = torch.from_numpy(_laid_out(numpy.array(array), output.detach().cpu().numpy())).to(output)
        if not output.requires_grad:
            return values
        replaced = _Replaced.apply(output, values)
        if found is None:
            return replaced

        def comes_back(gradient: torch.Tensor) -> torch.Tensor | None:
            own = gradient.detach().cpu().numpy().copy()
            found["sync/back/" + key] = own
            back = reference["back/" + key] if "back/" + key in reference else None
            if back is None or back.size != own.size:
                return None
            return torch.from_numpy(_laid_out(numpy.array(back), own)).to(gradient)

        replaced.register_hook(comes_back)
        return replaced
    if type(output) in (list, tuple):
        return type(output)(_instead(item, f"{key}/{i}", reference, found) for i, item in enumerate(output))
    return output


class _Replaced(torch.autograd.Function):
    """Other values, and the gradient of the first ones."""

    @staticmethod
    def forward(ctx: Any, output: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """The values."""
        return values

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        """What comes back, for the output."""
        return gradients[0], None


def _laid_out(array: numpy.ndarray, like: numpy.ndarray) -> numpy.ndarray:
    """The values in the layout of a port: in its order of axes, which is the one that is nearest to what it has."""
    if array.shape == like.shape or not 1 < like.ndim <= _MOST_AXES:
        return array.reshape(like.shape)
    found = []
    for axes in itertools.permutations(range(like.ndim)):
        turned = array.reshape([like.shape[axis] for axis in axes]).transpose(numpy.argsort(axes))
        found.append((float(numpy.abs(turned - like).sum()), axes, turned))
    return numpy.ascontiguousarray(min(found, key=lambda one: one[:2])[2])
