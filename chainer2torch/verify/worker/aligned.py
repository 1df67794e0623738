"""Layers one by one with synchronised inputs: each module's output is kept, and Chainer's handed on in its place.

So errors do not add up: what differs differs by itself, whatever comes before it.
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

    ``reference`` has Chainer's arrays; ``paths`` the path in Chainer of a module where that is not its own name.
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
            return None if path == "/" else _instead(output, key, reference)

        handles.append(module.register_forward_hook(hook))
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _instead(output: Any, key: str, reference: Mapping[str, Any]) -> Any:
    """Chainer's values in the place of an output; the output itself where they do not fit it."""
    if isinstance(output, torch.Tensor):
        array = reference[key] if key in reference else None
        if array is None or array.size != output.numel():
            return output
        return torch.from_numpy(_laid_out(numpy.array(array), output.detach().cpu().numpy())).to(output)
    if type(output) in (list, tuple):
        return type(output)(_instead(item, f"{key}/{i}", reference) for i, item in enumerate(output))
    return output


def _laid_out(array: numpy.ndarray, like: numpy.ndarray) -> numpy.ndarray:
    """The values in the layout of a port: in its order of axes, which is the one that is nearest to what it has."""
    if array.shape == like.shape or not 1 < like.ndim <= _MOST_AXES:
        return array.reshape(like.shape)
    found = []
    for axes in itertools.permutations(range(like.ndim)):
        turned = array.reshape([like.shape[axis] for axis in axes]).transpose(numpy.argsort(axes))
        found.append((float(numpy.abs(turned - like).sum()), axes, turned))
    return numpy.ascontiguousarray(min(found, key=lambda one: one[:2])[2])
