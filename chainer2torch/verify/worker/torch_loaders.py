"""PyTorch's loaders take the orders that both sides get: the declared difference ``shuffle-order``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import RandomSampler

from . import batch_order


def loaders_in_order(seed: int) -> None:
    """What shuffles its examples asks ``batch_order`` for the order of each epoch."""
    orders = batch_order.Orders(seed)
    make = RandomSampler.__init__

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        orders.know(self, len(self.data_source))

    def iterate(self: Any) -> Iterator[int]:
        return iter(orders.next(self, len(self.data_source)).tolist())

    RandomSampler.__init__ = made  # type: ignore[method-assign]
    RandomSampler.__iter__ = iterate  # type: ignore[method-assign]
