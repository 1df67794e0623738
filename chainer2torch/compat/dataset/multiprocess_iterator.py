"""The iterator that reads its examples in other processes."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.utils.data

from chainer2torch.compat.dataset.iterators import _OrderedIterator, _Position


class MultiprocessIterator(_OrderedIterator):
    """Reads batches ahead in worker processes of a ``DataLoader``; otherwise as :class:`SerialIterator`.

    Args:
        n_processes: number of workers; None is the number of processors.
        n_prefetch: batches that each worker reads ahead.
        shared_mem, maxtasksperchild: accepted for compatibility; the workers of torch need neither.
        dataset_timeout: seconds after which a stalled dataset raises RuntimeError; None waits for ever.
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
        shared_mem: int | None = None,
        order_sampler: Any = None,
        dataset_timeout: float | None = None,
        maxtasksperchild: int | None = None,
    ) -> None:
        self.n_processes = n_processes or multiprocessing.cpu_count()
        self.n_prefetch = max(n_prefetch, 1)
        self.dataset_timeout = dataset_timeout
        self._batches: Any = None
        super().__init__(dataset, batch_size, repeat, shuffle, order_sampler)

    def reset(self) -> None:
        """Goes back to the start, with a new order."""
        super().reset()
        self._restart()

    def _restart(self) -> None:
        self._batches = None  # a DataLoader's iterator ends its workers when it is dropped
        self._ahead: list[_Position] = []

    def finalize(self) -> None:
        """Ends the workers."""
        self._restart()

    def _index_batches(self) -> Any:
        state = self._state
        while True:
            state, indices = self._advance(state)
            if indices is None:
                return
            self._ahead.append(state)
            yield indices.tolist()

    def __next__(self) -> list[Any]:
        """The next batch, a list of examples."""
        if self._batches is None:
            loader = torch.utils.data.DataLoader(
                _SequenceView(self.dataset),
                batch_sampler=_Endless(self._index_batches),
                num_workers=self.n_processes,
                prefetch_factor=self.n_prefetch,
                collate_fn=_as_list,
                timeout=self.dataset_timeout or 0,
                generator=torch.Generator(),  # its own: the global one stays as the program left it
            )
            self._batches = iter(loader)
        self._previous_epoch_detail = self.epoch_detail
        batch: list[Any] = next(self._batches)
        self._state = self._ahead.pop(0)
        return batch

    next = __next__

    def __copy__(self) -> MultiprocessIterator:
        other = MultiprocessIterator(
            self.dataset,
            self.batch_size,
            self.repeat,
            None,
            self.n_processes,
            self.n_prefetch,
            None,
            self.order_sampler,
            self.dataset_timeout,
        )
        other._state = self._state
        other._previous_epoch_detail = self._previous_epoch_detail
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_batches": None, "_ahead": []}


class _Endless:
    """A batch sampler from a generator function."""

    def __init__(self, batches: Callable[[], Any]) -> None:
        self._make = batches

    def __iter__(self) -> Any:
        return self._make()


class _SequenceView(torch.utils.data.Dataset[Any]):
    """A dataset without ``__getitems__``, so that the workers read it item by item as Chainer's do."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]


def _as_list(examples: Sequence[Any]) -> list[Any]:
    return list(examples)
