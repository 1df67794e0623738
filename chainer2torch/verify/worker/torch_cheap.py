"""Modules whose large parameters start with zeros: drawing them takes longer than all else, and Chainer's take their
place.
"""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch

# As of Chainer's side: see cheap_layers.
_LARGE = 100_000
_DRAWS = ("normal_", "uniform_")


@contextlib.contextmanager
def cheap_first_values() -> Iterator[None]:
    """Within it, large parameters are zeros in place of random numbers."""
    for name in _DRAWS:
        setattr(torch.Tensor, name, _cheap(getattr(torch.Tensor, name)))
    try:
        yield
    finally:
        for name in _DRAWS:
            delattr(torch.Tensor, name)


def _cheap(draw: Callable[..., Any]) -> Callable[..., Any]:
    def cheap(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if tensor.numel() < _LARGE or not isinstance(tensor, torch.nn.Parameter):
            return draw(tensor, *args, **kwargs)
        return tensor.zero_()

    return cheap
