"""Iterators that give Chainer's batches in Chainer's order, where a loop over a DataLoader does not do."""

from __future__ import annotations

import collections
import concurrent.futures
import os
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader

from chainer2torch.native.states import Saved


class SerialIterator:
    """Lists of examples, shuffled by NumPy's generator; the last batch of an epoch is filled from the next one.

    ``order_sampler(order, position)`` gives the order of the next epoch. Source: chainer.iterators.SerialIterator.
    """

    def __init__(
        self, dataset: Any, batch_size: int, repeat: bool = True, shuffle: Any = None, order_sampler: Any = None
    ):
        if shuffle is not None and order_sampler is not None:
            raise ValueError("shuffle and order_sampler exclude each other")
        self.dataset, self.batch_size, self.repeat = dataset, batch_size, repeat
        self.order_sampler = order_sampler
        if shuffle or shuffle is order_sampler is None:
            self.order_sampler = lambda order, position: np.random.permutation(len(order))
        self.reset()

    def reset(self) -> None:
        self.current_position, self.epoch, self.is_new_epoch, self._previous_epoch_detail = 0, 0, False, -1.0
        self._order = self.order_sampler and self.order_sampler(np.arange(len(self.dataset)), 0)

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        self._previous_epoch_detail = self.epoch_detail
        return self._read(self._indices())

    next = __next__

    def _read(self, indices: list[int]) -> list[Any]:
        return [self.dataset[index] for index in indices]

    def _indices(self) -> list[int]:
        if self.epoch and not self.repeat:
            raise StopIteration
        order = np.arange(len(self.dataset)) if self._order is None else self._order
        start, end = self.current_position, self.current_position + self.batch_size
        indices, self.is_new_epoch = list(order[start:end]), end >= len(order)
        while end >= len(order):
            self.epoch += 1
            if self.order_sampler is not None:
                self._order = order = self.order_sampler(order, start)
            start, end = 0, end - len(order) if self.repeat else 0
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
        return None if self._previous_epoch_detail < 0 else self._previous_epoch_detail

    def finalize(self) -> None:
        pass

    def state_dict(self) -> dict[str, Any]:
        state = {k: vars(self)[k] for k in ("current_position", "epoch", "is_new_epoch", "_previous_epoch_detail")}
        return {**state, "_order": None if self._order is None else torch.as_tensor(self._order)}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _order=None if state["_order"] is None else state["_order"].numpy())


class MultithreadIterator(SerialIterator):
    """A SerialIterator whose examples are read in threads. Source: chainer.iterators.MultithreadIterator."""

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: Any = None,
        n_threads: int = 1,
        order_sampler: Any = None,
    ):
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)
        self.n_threads, self._pool = n_threads, concurrent.futures.ThreadPoolExecutor(n_threads)

    def _read(self, indices: list[int]) -> list[Any]:
        return list(self._pool.map(self.dataset.__getitem__, indices))

    def finalize(self) -> None:
        self._pool.shutdown()

    def __enter__(self) -> Any:  # where: with
        return self

    def __exit__(self, *exc: Any) -> None:  # where: with
        self.finalize()


class MultiprocessIterator(SerialIterator):
    """A SerialIterator whose examples are read ahead by the workers of a DataLoader, which need no ``shared_mem``.

    Source: chainer.iterators.MultiprocessIterator.
    """

    def __init__(
        self,
        dataset: Any,
        batch_size: int,
        repeat: bool = True,
        shuffle: Any = None,
        n_processes: Any = None,
        n_prefetch: int = 1,
        shared_mem: Any = None,
        order_sampler: Any = None,
        **_: Any,
    ):
        self.n_processes, self.n_prefetch = n_processes or os.cpu_count() or 1, n_prefetch
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    _batches: Any = None

    def reset(self) -> None:
        super().reset()
        self.finalize()

    def __next__(self) -> Any:
        if self._batches is None:
            loader = DataLoader(
                self.dataset,
                batch_sampler=self._plan(),
                num_workers=self.n_processes,
                prefetch_factor=self.n_prefetch,
                collate_fn=list,
                generator=torch.Generator(),
            )
            self._batches = iter(loader)
        self._previous_epoch_detail = self.epoch_detail
        batch = next(self._batches)
        self.__dict__.update(self._ahead.popleft())
        return batch

    next = __next__

    def _plan(self) -> Any:
        """The indices of the next batches; what the counters are after each of them waits in ``_ahead``."""
        plan = SerialIterator(range(len(self.dataset)), self.batch_size, self.repeat, False)
        names = ("current_position", "epoch", "is_new_epoch", "_previous_epoch_detail", "_order")
        plan.__dict__.update({name: vars(self)[name] for name in names}, order_sampler=self.order_sampler)
        for indices in plan:
            self._ahead.append({name: vars(plan)[name] for name in names})
            yield indices

    def finalize(self) -> None:
        self._batches = None
        self._ahead: collections.deque[Any] = collections.deque()

    def __enter__(self) -> Any:  # where: with
        return self

    def __exit__(self, *exc: Any) -> None:  # where: with
        self.finalize()

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self.finalize()


class Iterator(Saved):
    """The base of a program's own iterators: ``__next__`` gives a batch, ``serialize`` says what is saved.

    Source: chainer.dataset.Iterator.
    """

    __next__: Any

    def __iter__(self) -> Any:
        return self

    def next(self) -> Any:
        return self.__next__()

    def finalize(self) -> None:
        pass

    def __enter__(self) -> Any:  # where: with
        return self

    def __exit__(self, *exc: Any) -> None:  # where: with
        self.finalize()
