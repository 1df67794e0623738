"""Iterators that give Chainer's batches in Chainer's order, where a loop over a DataLoader does not do."""

from __future__ import annotations

import collections
import concurrent.futures
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader


class Iterator:
    """The base of iterators over batches: ``__next__`` gives one. Source: chainer.dataset.Iterator."""

    def __iter__(self) -> Iterator:
        return self

    def __next__(self) -> Any:
        raise NotImplementedError

    def next(self) -> Any:
        return self.__next__()

    def finalize(self) -> None:
        pass

    def __enter__(self) -> Iterator:
        return self

    def __exit__(self, *exc: Any) -> None:
        self.finalize()


class SerialIterator(Iterator):
    """Lists of examples, shuffled by NumPy's generator; the last batch of an epoch is filled from the next one.

    ``order_sampler(order, position)`` gives the order of the next epoch. Source: chainer.iterators.SerialIterator.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        order_sampler: Callable[..., Any] | None = None,
    ) -> None:
        if shuffle is not None and order_sampler is not None:
            raise ValueError("shuffle and order_sampler exclude each other")
        self.dataset, self.batch_size, self.repeat, self.shuffle = dataset, batch_size, repeat, shuffle
        if order_sampler is None and shuffle is not False:
            order_sampler = shuffled
        self.order_sampler = order_sampler
        self.reset()

    def reset(self) -> None:
        self.current_position, self.epoch, self.is_new_epoch, self._previous = 0, 0, False, -1.0
        self._order = self.order_sampler and self.order_sampler(np.arange(len(self.dataset)), 0)

    def __next__(self) -> Any:
        self._previous = self.epoch_detail
        return [self.dataset[index] for index in self._indices()]

    next = __next__

    def _indices(self) -> list[int]:
        if self.epoch and not self.repeat:
            raise StopIteration
        order = np.arange(len(self.dataset)) if self._order is None else self._order
        start, end = self.current_position, self.current_position + self.batch_size
        indices = list(order[start:end])
        self.is_new_epoch = end >= len(order)
        while end >= len(order):
            self.epoch += 1
            if self.order_sampler is not None:
                self._order = order = self.order_sampler(order, start)
            end = end - len(order) if self.repeat else 0
            start = 0
            indices.extend(order[:end])
            if not self.repeat:
                break
        self.current_position = end
        return indices

    @property
    def epoch_detail(self) -> float:
        return self.epoch + self.current_position / len(self.dataset if self._order is None else self._order)

    @property
    def previous_epoch_detail(self) -> float | None:
        return None if self._previous < 0 else self._previous

    def state_dict(self) -> dict[str, Any]:
        order = None if self._order is None else torch.as_tensor(self._order)
        return {
            "counts": (self.current_position, self.epoch, self.is_new_epoch, self._previous),
            "order": order,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.current_position, self.epoch, self.is_new_epoch, self._previous = state["counts"]
        self._order = None if state["order"] is None else state["order"].numpy()


def shuffled(order: Any, position: int) -> np.ndarray:
    """A new order for each epoch, from NumPy's global generator. Source: chainer.iterators.ShuffleOrderSampler."""
    return np.random.permutation(len(order))


class MultithreadIterator(SerialIterator):
    """A SerialIterator whose examples are read in threads. Source: chainer.iterators.MultithreadIterator."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_threads: int = 1,
        order_sampler: Any = None,
    ) -> None:
        self._pool = concurrent.futures.ThreadPoolExecutor(n_threads)
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def __next__(self) -> Any:
        self._previous = self.epoch_detail
        return list(self._pool.map(self.dataset.__getitem__, self._indices()))

    next = __next__

    def finalize(self) -> None:
        self._pool.shutdown()


class MultiprocessIterator(SerialIterator):
    """A SerialIterator whose examples are read ahead by the workers of a DataLoader.

    Source: chainer.iterators.MultiprocessIterator.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: bool | None = None,
        n_processes: int | None = None,
        n_prefetch: int = 1,
        order_sampler: Any = None,
    ) -> None:
        self.n_processes, self.n_prefetch = n_processes or os.cpu_count() or 1, n_prefetch
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def reset(self) -> None:
        super().reset()
        self.finalize()

    def __next__(self) -> Any:
        if self._batches is None:
            self._batches = iter(
                DataLoader(
                    self.dataset,
                    batch_sampler=self._plan(),
                    num_workers=self.n_processes,
                    prefetch_factor=self.n_prefetch,
                    collate_fn=list,
                    generator=torch.Generator(),
                )
            )
        batch = next(self._batches)
        super().load_state_dict(self._ahead.popleft())
        return batch

    next = __next__

    def _plan(self) -> Any:
        """The indices of the next batches; what the counters will be after each waits in ``_ahead``."""
        plan = SerialIterator(range(len(self.dataset)), self.batch_size, self.repeat, False)
        plan.load_state_dict(self.state_dict())
        plan.order_sampler = self.order_sampler
        for indices in plan:
            self._ahead.append(plan.state_dict())
            yield indices

    def finalize(self) -> None:
        self._batches: Any = None
        self._ahead: collections.deque[Any] = collections.deque()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.finalize()
