"""Iterators with Chainer's batches: the same items in the same order for the same NumPy seed.

They count epochs themselves (``epoch``, ``is_new_epoch``, ``epoch_detail``) and a repeating iterator fills the last
batch of an epoch with the first items of the next, both of which ``torch.utils.data.DataLoader`` does not do.
"""

from __future__ import annotations

import concurrent.futures
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from chainer2torch.compat.serializers.state import SerializableState


class Iterator(SerializableState):
    """Base class of iterators over batches. Source: chainer.dataset.Iterator."""

    def __del__(self) -> None:
        self.finalize()

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        """The next batch."""
        raise NotImplementedError

    def next(self) -> Any:
        """The next batch."""
        return self.__next__()

    def finalize(self) -> None:
        """Ends workers, where the iterator has any."""

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.finalize()


class OrderSampler:
    """Base class of functions ``(current_order, current_position) -> order`` of the next epoch.

    Source: chainer.iterators.OrderSampler.
    """

    def __call__(self, current_order: np.ndarray, current_position: int) -> np.ndarray:
        """The order of the next epoch, of the same length."""
        raise NotImplementedError


class ShuffleOrderSampler(OrderSampler):
    """A new permutation for each epoch, from NumPy's global generator or from ``random_state``.

    Source: chainer.iterators.ShuffleOrderSampler.
    """

    def __init__(self, random_state: Any = None) -> None:
        self._random = np.random if random_state is None else random_state

    def __call__(self, current_order: np.ndarray, current_position: int) -> np.ndarray:
        """A permutation of ``len(current_order)`` positions."""
        order: np.ndarray = self._random.permutation(len(current_order))
        return order

    def __getstate__(self) -> dict[str, Any]:
        return {"_random": None if self._random is np.random else self._random}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(state["_random"])  # type: ignore[misc]


class _Position(NamedTuple):
    """Where an iterator stands: the next item, the epochs done, whether the last batch ended one, the order."""

    current_position: int
    epoch: int
    is_new_epoch: bool
    order: np.ndarray | None


class _OrderedIterator(Iterator):
    """What the three iterators share: order, epochs, wrap-around and state. Subclasses say how items are read."""

    _order_keys = "order", "_order"  # the name in files, and the one in files of other versions

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool,
        shuffle: bool | None,
        order_sampler: Callable[[np.ndarray, int], np.ndarray] | None,
    ) -> None:
        if shuffle is not None and order_sampler is not None:
            raise ValueError(
                "`shuffle` is not `None` and a custom `order_sampler` is set. Please set `shuffle` to "
                "`None` to use the custom order sampler."
            )
        if order_sampler is None and (shuffle is None or shuffle):
            order_sampler = ShuffleOrderSampler()
        self.dataset = dataset
        self.batch_size = batch_size
        self.repeat = repeat
        self.shuffle = shuffle
        self.order_sampler = order_sampler
        self.reset()

    def reset(self) -> None:
        """Goes back to the start, with a new order."""
        order = None
        if self.order_sampler is not None:
            order = self.order_sampler(np.arange(len(self.dataset)), 0)
        self._state = _Position(0, 0, False, order)
        self._previous_epoch_detail = -1.0

    def _advance(self, state: _Position) -> tuple[_Position, np.ndarray | None]:
        """The position after the next batch and the indices of the batch (None: there is no batch any more)."""
        start, epoch, _, order = state
        if not self.repeat and epoch > 0:
            return state, None
        size = len(self.dataset) if order is None else len(order)
        if self.repeat and size == 0:
            raise ValueError("Epoch size must be positive for an iterator that repeats.")
        parts = []
        end = start + self.batch_size
        is_new_epoch = False
        while end >= size:  # the batch reaches the end of the epoch, perhaps of several
            parts.append(np.arange(start, size) if order is None else order[start:size])
            if order is not None and self.order_sampler is not None:
                next_order = self.order_sampler(order, start)
                if len(next_order) != len(order):
                    raise ValueError("The size of order does not match the size of the previous order.")
                order = next_order
            epoch += 1
            is_new_epoch = True
            start = 0
            if not self.repeat:
                end = 0
                break
            end -= size
        parts.append(np.arange(start, end) if order is None else order[start:end])
        return _Position(end, epoch, is_new_epoch, order), np.concatenate(parts)

    @property
    def _epoch_size(self) -> int:
        return len(self.dataset) if self._state.order is None else len(self._state.order)

    @property
    def current_position(self) -> int:
        """Number of items of the current epoch that were given out."""
        return self._state.current_position

    @property
    def epoch(self) -> int:
        """Number of epochs done."""
        return self._state.epoch

    @property
    def is_new_epoch(self) -> bool:
        """Whether the last batch ended an epoch."""
        return self._state.is_new_epoch

    @property
    def epoch_detail(self) -> float:
        """Epochs done, with the fraction of the current one."""
        return self.epoch + self.current_position / self._epoch_size

    @property
    def previous_epoch_detail(self) -> float | None:
        """``epoch_detail`` before the last batch; None before the first."""
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the position, in the layout of Chainer's iterators."""
        position = serializer("current_position", self.current_position)
        epoch = serializer("epoch", self.epoch)
        is_new_epoch = serializer("is_new_epoch", self.is_new_epoch)
        order = self._state.order
        if order is not None:
            order = order.copy()
            first, second = self._order_keys
            try:
                order = serializer(first, order)
            except KeyError:
                order = serializer(second, order)
        self._state = _Position(position, epoch, is_new_epoch, order)
        try:
            previous = serializer("previous_epoch_detail", self._previous_epoch_detail)
        except KeyError:  # files of early versions
            previous = epoch + (position - self.batch_size) / self._epoch_size
            previous = max(previous, 0.0) if self.epoch_detail > 0 else -1.0
        self._previous_epoch_detail = -1.0 if previous is None else previous
        self._restart()

    def _restart(self) -> None:
        """Forgets batches that were read ahead, after the position changed."""


class SerialIterator(_OrderedIterator):
    """Reads each batch when it is asked for.

    Args:
        dataset: a sequence of examples.
        batch_size: examples in a batch.
        repeat: go on for ever; otherwise StopIteration after one epoch, whose last batch may be smaller.
        shuffle: draw a new order for each epoch from NumPy's global generator; None means True unless there is an
            ``order_sampler``.
        order_sampler: function ``(order, position) -> order`` of the next epoch.
    Raises:
        ValueError: ``shuffle`` and ``order_sampler`` are both given.
    Source: chainer.iterators.SerialIterator.
    """

    def __init__(
        self, dataset: Any, batch_size: int, repeat: bool = True, shuffle: bool | None = None, order_sampler: Any = None
    ) -> None:
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def __next__(self) -> list[Any]:
        """The next batch, a list of examples."""
        self._previous_epoch_detail = self.epoch_detail
        self._state, indices = self._advance(self._state)
        if indices is None:
            raise StopIteration
        return [self.dataset[index] for index in indices]

    next = __next__


class MultithreadIterator(_OrderedIterator):
    """Reads the next batch in threads while the current one is used; otherwise as :class:`SerialIterator`.

    Source: chainer.iterators.MultithreadIterator.
    """

    _order_keys = "_order", "order"

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_threads: int = 1,
        order_sampler: Any = None,
    ) -> None:
        self.n_threads = n_threads
        self._pool: concurrent.futures.ThreadPoolExecutor | None = None
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def reset(self) -> None:
        """Goes back to the start, with a new order."""
        super().reset()
        self._restart()

    def _restart(self) -> None:
        self._pending: tuple[_Position, list[Any] | None] | None = None

    def finalize(self) -> None:
        """Ends the threads."""
        self._restart()
        pool, self._pool = getattr(self, "_pool", None), None
        if pool is not None:
            pool.shutdown(wait=False)

    def _prefetch(self) -> None:
        state, indices = self._advance(self._state)
        if indices is None:
            self._pending = state, None
            return
        if self._pool is None:
            self._pool = concurrent.futures.ThreadPoolExecutor(self.n_threads)
        self._pending = state, [self._pool.submit(self.dataset.__getitem__, index) for index in indices]

    def __next__(self) -> list[Any]:
        """The next batch, a list of examples."""
        if self._pending is None:
            self._prefetch()
        assert self._pending is not None
        self._previous_epoch_detail = self.epoch_detail
        self._state, futures = self._pending
        if futures is None:
            self._pending = None
            raise StopIteration
        batch = [future.result() for future in futures]
        self._prefetch()
        return batch

    next = __next__
