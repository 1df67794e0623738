"""Datasets and batches over torch.utils.data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, StackDataset, Subset

from chainer2torch.native.devices import get_device


class Batches:
    """The batches of a DataLoader one at a time, with the counters of Chainer's iterators.

    The last batch of an epoch may be short. Source: chainer.iterators.SerialIterator.
    """

    def __init__(
        self,
        loader: DataLoader[Any],
        repeat: bool = True,  # where: repeat=, .repeat
    ) -> None:
        self.loader: Any = loader
        self.repeat = repeat  # where: repeat=, .repeat
        self.reset()

    def reset(self) -> None:
        self._drawn, self._batches = 0, None
        self.previous_epoch_detail: float | None = None  # where: previous_epoch_detail

    def __len__(self) -> int:  # where: Evaluator, iters_per_epoch, max_epochs
        return len(self.loader)

    def __iter__(self) -> Batches:
        return self

    def __next__(self) -> Any:
        self.previous_epoch_detail = self.epoch_detail  # where: previous_epoch_detail
        if self.is_new_epoch and not self.repeat:  # where: repeat=, .repeat
            raise StopIteration
        if self._batches is None or self._inside == 0:
            self._batches = itertools.islice(self.loader, self._inside, None)  # type: ignore[assignment]
        batch = next(self._batches)  # type: ignore[call-overload]
        self._drawn += 1
        return batch

    next = __next__  # where: next
    epoch = property(lambda self: self._drawn // len(self.loader))  # where: epoch
    is_new_epoch = property(lambda self: self._drawn > 0 and self._inside == 0)  # where: is_new_epoch
    dataset = property(lambda self: self.loader.dataset)  # where: .dataset
    batch_size = property(lambda self: self.loader.batch_size)  # where: .batch_size
    current_position = property(lambda self: self._inside * self.loader.batch_size)  # where: current_position
    epoch_detail = property(
        lambda self: self.epoch + self._inside * self.loader.batch_size / len(self.loader.dataset)
    )  # where: epoch_detail
    _inside = property(lambda self: self._drawn % len(self.loader))

    def finalize(self) -> None:
        self._batches = None

    def __enter__(self) -> Any:  # where: with
        return self

    def __exit__(self, *exc: Any) -> None:  # where: with
        self.finalize()

    def state_dict(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in ("loader", "_batches")}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state, _batches=None)

    def __getstate__(self) -> dict[str, Any]:  # where: pickle, objects_copied, deepcopy, dump, multiprocessing, Process
        return {**vars(self), "_batches": None}


class TupleDataset(StackDataset[Any]):
    """A StackDataset whose slices are lists of examples. Source: chainer.datasets.TupleDataset."""

    _datasets = property(lambda self: self.datasets)  # where: ._datasets
    __getitems__ = None  # type: ignore[assignment]  # else a DataLoader would go around a subclass's __getitem__

    def __getitem__(self, index: Any) -> Any:
        columns = super().__getitem__(index)  # type: ignore[no-untyped-call]
        return list(zip(*columns)) if isinstance(index, slice) else columns


class TransformDataset(Dataset[Any]):
    """Applies ``transform`` to each example when it is asked for. Source: chainer.datasets.TransformDataset."""

    def __init__(self, dataset: Any, transform: Callable[[Any], Any]) -> None:
        self.dataset, self.transform = dataset, transform

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = range(*index.indices(len(self)))
        if isinstance(index, (range, list, np.ndarray)):  # so does a part of a Subset ask
            return [self.transform(self.dataset[i]) for i in index]
        return self.transform(self.dataset[index])


class ConcatenatedDataset(ConcatDataset[Any]):
    """A ConcatDataset whose slices are lists of examples. Source: chainer.datasets.ConcatenatedDataset."""

    def __init__(self, *datasets: Any) -> None:
        super().__init__(datasets)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = range(*index.indices(len(self)))
        if isinstance(index, (range, list, np.ndarray)):
            return [self[i] for i in index]
        return super().__getitem__(index)  # type: ignore[no-untyped-call]


class Part(Subset[Any]):
    """A Subset whose slices are lists of examples. Source: chainer.datasets.SubDataset."""

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = range(len(self))[index]
        if hasattr(index, "__iter__"):
            return self.__getitems__(index)
        return super().__getitem__(index)  # type: ignore[no-untyped-call]

    def __getitems__(self, indices: Any) -> list[Any]:
        return [self.dataset[self.indices[i]] for i in indices]


def split_dataset(dataset: Any, at: int, order: Any = None) -> tuple[Subset[Any], Subset[Any]]:
    """The first ``at`` examples and the others, in ``order`` if it is given. Source: chainer.datasets.split_dataset."""
    if not 0 <= at <= len(dataset):
        raise ValueError(f"cannot split {len(dataset)} examples at {at}")
    order = range(len(dataset)) if order is None else order
    return Part(dataset, order[:at]), Part(dataset, order[at:])


def split_dataset_random(dataset: Any, first_size: int, seed: int | None = None) -> tuple[Subset[Any], Subset[Any]]:
    """``first_size`` examples by chance and the others; a seed gives Chainer's choice.

    torch.utils.data.random_split draws from another generator. Source: chainer.datasets.split_dataset_random.
    """
    return split_dataset(dataset, first_size, np.random.RandomState(seed).permutation(len(dataset)))


def split_dataset_n(dataset: Any, n: int, order: Any = None) -> list[Subset[Any]]:
    """``n`` parts of one size; the examples left over are in none. Source: chainer.datasets.split_dataset_n."""
    order, size = range(len(dataset)) if order is None else order, len(dataset) // n
    return [Part(dataset, order[size * i : size * (i + 1)]) for i in range(n)]


def split_dataset_n_random(dataset: Any, n: int, seed: int | None = None) -> list[Subset[Any]]:
    """``n`` parts of one size by chance. Source: chainer.datasets.split_dataset_n_random."""
    return split_dataset_n(dataset, n, np.random.RandomState(seed).permutation(len(dataset)))


def cross_validation_splits(dataset: Any, n_folds: int, order: Any = None) -> list[tuple[Subset[Any], Subset[Any]]]:
    """(train, test) for each fold, the last fold first, as chainer.datasets.get_cross_validation_datasets has them.

    ``order=np.random.RandomState(seed).permutation(len(dataset))`` is get_cross_validation_datasets_random.
    """
    size, splits = len(dataset), []
    order = np.arange(size) if order is None else np.array(order)
    borders = [size * i // n_folds for i in range(n_folds + 1)]
    for start, end in reversed(list(zip(borders, borders[1:]))):
        splits.append(split_dataset(dataset, size - (end - start), order))
        order = np.roll(order, end - start)
    return splits


def collate(examples: list[Any], device: Any = None) -> Any:
    """Stacks examples, on a device; default_collate would take lists apart. Source: chainer.dataset.concat_examples."""
    first = examples[0]
    if isinstance(first, tuple):
        return tuple(collate(list(column), device) for column in zip(*examples))
    if isinstance(first, dict):
        return {key: collate([example[key] for example in examples], device) for key in first}
    if isinstance(first, str):
        return examples
    if isinstance(device, int):  # where: device_numbers, own_converters, !device_names
        device = torch.device("cuda", device) if device >= 0 else torch.device("cpu")
    if isinstance(device, (int, str)):  # where: device_names
        device = get_device(device)
    stack: Any = torch.stack if isinstance(first, torch.Tensor) else np.stack
    return torch.as_tensor(stack(examples), device=device)


def concat_examples(
    batch: Any,
    device: Any = None,
    padding: Any = None,  # where: examples_padded
) -> Any:
    """collate, as a converter. Source: chainer.dataset.concat_examples.

    ``padding`` (one, or one for each item) fills up arrays of different shapes at their ends.
    """
    if padding is not None:  # where: examples_padded
        batch = _filled(batch, padding)
    return collate(batch, device)


def _filled(batch: Any, padding: Any) -> list[Any]:
    """The examples with arrays that are all as large as the largest."""
    first = batch[0]
    if isinstance(first, tuple):
        paddings = padding if isinstance(padding, tuple) else [padding] * len(first)
        return list(zip(*map(_filled, zip(*batch), paddings)))
    if isinstance(first, dict):
        by_key = padding if isinstance(padding, dict) else dict.fromkeys(first, padding)
        columns = [_filled([example[key] for example in batch], by_key[key]) for key in first]
        return [dict(zip(first, row)) for row in zip(*columns)]
    if padding is None or np.ndim(first) == 0:
        return list(batch)
    shape = np.max([np.shape(x) for x in batch], axis=0)
    ends = [[(0, size - n) for n, size in zip(np.shape(x), shape)] for x in batch]
    return [np.pad(x, end, constant_values=padding).astype(np.asarray(first).dtype) for x, end in zip(batch, ends)]


def endless(loader: DataLoader[Any]) -> Iterator[Any]:
    """The batches of a DataLoader, epoch after epoch. Source: chainer.iterators.SerialIterator with ``repeat``."""
    while len(loader):
        yield from loader
