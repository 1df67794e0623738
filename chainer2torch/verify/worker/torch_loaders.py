"""PyTorch's loaders take the orders that both sides get: the declared difference ``shuffle-order``."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from torch.utils.data import RandomSampler

from . import batch_order


@contextlib.contextmanager
def in_order(seed: int) -> Iterator[batch_order.Orders]:
    """:func:`loaders_in_order` for the time of a block, which gets the orders: in a process of many programs."""
    make, iterate = RandomSampler.__init__, RandomSampler.__iter__
    orders = batch_order.Orders(seed)
    loaders_in_order(seed, orders)
    try:
        yield orders
    finally:
        RandomSampler.__init__, RandomSampler.__iter__ = make, iterate  # type: ignore[method-assign]


def loaders_in_order(seed: int, orders: batch_order.Orders | None = None) -> None:
    """What shuffles its examples asks ``batch_order`` for the order of each epoch."""
    orders = orders or batch_order.Orders(seed)
    make = RandomSampler.__init__

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        orders.know(self, len(self.data_source))

    def iterate(self: Any) -> Iterator[int]:
        return iter(orders.next(self, len(self.data_source)).tolist())

    RandomSampler.__init__ = made  # type: ignore[method-assign]
    RandomSampler.__iter__ = iterate  # type: ignore[method-assign]
