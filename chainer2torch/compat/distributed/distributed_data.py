"""Shares of a data set for each process, and iterators that give all processes the same batches."""

from __future__ import annotations

from typing import Any

import numpy as np

from chainer2torch.compat.distributed.communicators import Communicator
from chainer2torch.compat.dataset.datasets import SubDataset
from chainer2torch.compat.dataset.iterators import Iterator, ShuffleOrderSampler
from chainer2torch.compat.serializers.state_io import StateReader


class DataSizeError(RuntimeError):
    """A data set has fewer examples than there are processes. Source: chainermn.DataSizeError."""


def scatter_dataset(
    dataset: Any,
    comm: Communicator,
    root: int = 0,
    shuffle: bool = False,
    seed: int | None = None,
    max_buf_len: int | None = None,
    *,
    force_equal_length: bool = True,
) -> SubDataset:
    """The share of this process of the data set that ``root`` gives; what the others give is ignored.

    Args:
        shuffle: permute the examples first, by ``numpy.random.RandomState(seed)``.
        max_buf_len: accepted for compatibility.
        force_equal_length: all shares get the same length, and neighbours may share an example; otherwise the lengths
            differ by one at most and no example is in two shares.
    Raises:
        DataSizeError: there are fewer examples than processes. ValueError: ``root`` is no rank.
    Source: chainermn.scatter_dataset, with its rule which example goes where.
    """
    _check_root(root, comm)
    data = None
    if comm.rank == root:
        data = dataset, np.random.RandomState(seed).permutation(len(dataset)) if shuffle else None
    dataset, order = comm.bcast_obj(data, root=root)
    start, finish = scatter_index(len(dataset), comm, root, force_equal_length=force_equal_length)
    return SubDataset(dataset, start, finish, order)


def scatter_index(
    n_total_samples: int, comm: Communicator, root: int = 0, *, force_equal_length: bool = True
) -> tuple[int, int]:
    """First and one-past-last position of this process' share of ``n_total_samples`` (as ``root`` gives it).

    See :func:`scatter_dataset`. Source: chainermn.scatter_index.
    """
    _check_root(root, comm)
    total = comm.bcast_obj(n_total_samples, root=root)
    if total < comm.size:
        raise DataSizeError(f"{total} examples cannot be shared by {comm.size} processes: each needs one at least")
    if force_equal_length:
        start = total * comm.rank // comm.size
        return start, start + (total + comm.size - 1) // comm.size
    length, longer = divmod(total, comm.size)  # the first `longer` shares get one example more
    start = comm.rank * length + min(comm.rank, longer)
    return start, start + length + (comm.rank < longer)


def _check_root(root: int, comm: Communicator) -> None:
    if not 0 <= root < comm.size:
        raise ValueError(f"root must be a rank from 0 to {comm.size - 1}, not {root}")


def create_empty_dataset(dataset: Any) -> list[tuple[()]]:
    """A data set of as many empty examples, for a process whose part of the model has no input of its own.

    Source: chainermn.datasets.create_empty_dataset.
    """
    return [()] * len(dataset)


def create_multi_node_iterator(actual_iterator: Any, communicator: Communicator, rank_master: int = 0) -> Iterator:
    """An iterator that gives every process the batches of the process ``rank_master``.

    The others ignore their ``actual_iterator``. They get pairs as (float32, int32) arrays and other examples as lists
    of numbers, as in ChainerMN.
    Source: chainermn.iterators.create_multi_node_iterator.
    """
    if communicator.rank == rank_master:
        return MasterIterator(actual_iterator, communicator, rank_master)
    return FollowingIterator(communicator, rank_master)


class MasterIterator(Iterator):
    """The iterator of the master: passes each batch on to the other processes, and otherwise is ``actual_iterator``.

    Raises:
        TypeError: examples that are neither arrays (or NumPy scalars) nor pairs of them.
    """

    def __init__(self, actual_iterator: Any, communicator: Communicator, rank_master: int) -> None:
        self.actual_iterator = actual_iterator
        self.communicator = communicator
        self.rank_master = rank_master
        communicator.bcast_obj(len(actual_iterator.dataset), root=rank_master)

    def __next__(self) -> Any:
        """The next batch."""
        batch = next(self.actual_iterator, None)
        kind, payload = _packed(batch)
        iterator = self.actual_iterator
        self.communicator.bcast_obj(
            (kind, payload, iterator.is_new_epoch, iterator.current_position), root=self.rank_master
        )
        _check_kind(kind)
        return batch if kind == "pairs" else payload

    def __getattr__(self, name: str) -> Any:
        if name == "actual_iterator":  # not there yet, or while copying
            raise AttributeError(name)
        return getattr(self.actual_iterator, name)

    def finalize(self) -> None:
        """Ends the iterator."""
        if "actual_iterator" in vars(self):
            self.actual_iterator.finalize()

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the position of all processes, which must call this together."""
        self.actual_iterator.serialize(serializer)
        iterator = self.actual_iterator
        self.communicator.bcast_obj(
            (iterator.current_position, iterator.epoch, iterator.is_new_epoch), root=self.rank_master
        )


class FollowingIterator(Iterator):
    """The iterator of the other processes: receives its batches."""

    def __init__(self, communicator: Communicator, rank_master: int) -> None:
        self.communicator = communicator
        self.rank_master = rank_master
        self.epoch = 0
        self.current_position = 0
        self.is_new_epoch = False
        self.previous_epoch_detail: float | None = None
        self.dataset_size: int = communicator.bcast_obj(None, root=rank_master)

    @property
    def epoch_detail(self) -> float:
        """Epochs done, with the fraction of the current one."""
        return self.epoch + self.current_position / self.dataset_size

    def __next__(self) -> Any:
        """The next batch."""
        self.previous_epoch_detail = self.epoch_detail
        kind, payload, self.is_new_epoch, self.current_position = self.communicator.bcast_obj(
            None, root=self.rank_master
        )
        self.epoch += self.is_new_epoch
        _check_kind(kind)
        return list(zip(*payload, strict=True)) if kind == "pairs" else payload

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the position; the master decides."""
        state = self.communicator.bcast_obj(None, root=self.rank_master)
        for name, value in zip(("current_position", "epoch", "is_new_epoch"), state, strict=True):
            setattr(self, name, value)
            if not isinstance(serializer, StateReader):
                serializer(name, value)


def _packed(batch: Any) -> tuple[str, Any]:
    """What the other processes are told of a batch, and how they get it."""
    if batch is None:
        return "stop", None
    first = batch[0]
    if isinstance(first, tuple) and len(first) == 2 and all(hasattr(item, "dtype") for item in first):
        xs, ys = zip(*batch, strict=True)
        return "pairs", (np.asarray(xs, dtype=np.float32), np.asarray(ys, dtype=np.float32).astype(np.int32))
    if hasattr(first, "dtype"):
        return "items", np.array(batch).tolist()
    return "unknown", None


def _check_kind(kind: str) -> None:
    if kind == "stop":
        raise StopIteration
    if kind == "unknown":
        raise TypeError(
            "Multi node iterator supports ndarray or tuple of scalars as the data type of the batch element only."
        )


def create_synchronized_iterator(actual_iterator: Any, communicator: Communicator) -> Any:
    """Makes the iterators of all processes draw the same orders: rank 0 draws the seed from NumPy's generator.

    Each process reads its own data, so they must have the same data sets. The iterator itself is changed and returned.
    Raises:
        ValueError: the iterator has no ``order_sampler``.
    Source: chainermn.iterators.create_synchronized_iterator.
    """
    if not hasattr(actual_iterator, "order_sampler"):
        raise ValueError("actual_iterator must have order_sampler")
    seed = communicator.bcast_obj(np.random.randint(0, 2**32 - 1) if communicator.rank == 0 else None)
    actual_iterator.order_sampler = ShuffleOrderSampler(np.random.RandomState(seed))
    actual_iterator.reset()
    return actual_iterator
