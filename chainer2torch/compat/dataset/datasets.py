"""Datasets with Chainer's protocol: ``get_example``, slices that give lists, examples that stay NumPy on the host.

All of them are plain sequences (``len`` and ``[i]``), so ``torch.utils.data.DataLoader`` takes them as well.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch.utils.data


class DatasetMixin(torch.utils.data.Dataset[Any]):
    """Base of datasets that define ``get_example(i)`` and ``__len__``.

    ``dataset[2:5]`` and ``dataset[[0, 3]]`` are lists of examples, ``dataset[i]`` is one. Source:
    chainer.dataset.DatasetMixin.
    """

    def __getitem__(self, index: Any) -> Any:
        """The example at an integer, or the list of examples of a slice, a list or an integer array."""
        if isinstance(index, slice):
            return [self.get_example(i) for i in range(*index.indices(len(self)))]
        if isinstance(index, (list, np.ndarray)):
            return [self.get_example(i) for i in index]
        return self.get_example(index)

    def __len__(self) -> int:
        """Number of examples."""
        raise NotImplementedError

    def get_example(self, i: int) -> Any:
        """The ``i``-th example."""
        raise NotImplementedError


class TupleDataset(torch.utils.data.Dataset[Any]):
    """Zips datasets of one length: example ``i`` is the tuple of their ``i``-th items.

    Args:
        datasets: arrays or datasets of the same length.
    Raises:
        ValueError: none is given, or the lengths differ.
    Source: chainer.datasets.TupleDataset.
    """

    def __init__(self, *datasets: Any) -> None:
        if not datasets:
            raise ValueError("no datasets are given")
        for i, dataset in enumerate(datasets):
            if len(dataset) != len(datasets[0]):
                raise ValueError(f"dataset of the index {i} has a wrong length")
        self._datasets = datasets
        self._length = len(datasets[0])

    def __getitem__(self, index: Any) -> Any:
        """A tuple for an integer; a list of tuples for a slice."""
        columns = [dataset[index] for dataset in self._datasets]
        return list(zip(*columns, strict=False)) if isinstance(index, slice) else tuple(columns)

    def __len__(self) -> int:
        """Number of examples."""
        return self._length


class DictDataset(torch.utils.data.Dataset[Any]):
    """Zips named datasets of one length: example ``i`` is a dict of their ``i``-th items.

    Raises:
        ValueError: none is given, or the lengths differ.
    Source: chainer.datasets.DictDataset.
    """

    def __init__(self, **datasets: Any) -> None:
        if not datasets:
            raise ValueError("no datasets are given")
        self._length = len(next(iter(datasets.values())))
        for key, dataset in datasets.items():
            if len(dataset) != self._length:
                raise ValueError(f'dataset length conflicts at "{key}"')
        self._datasets = datasets

    def __getitem__(self, index: Any) -> Any:
        """A dict for an integer; a list of dicts for a slice."""
        columns = {key: dataset[index] for key, dataset in self._datasets.items()}
        if not isinstance(index, slice):
            return columns
        return [dict(zip(columns, row, strict=False)) for row in zip(*columns.values(), strict=False)]

    def __len__(self) -> int:
        """Number of examples."""
        return self._length


class SubDataset(DatasetMixin):
    """The examples ``start`` to ``finish - 1`` of a dataset, after ``order`` permuted it.

    Raises:
        ValueError: the range overruns the dataset, or ``order`` has another length.
        IndexError: on access outside the subset.
    Source: chainer.datasets.SubDataset.
    """

    def __init__(self, dataset: Any, start: int, finish: int, order: Sequence[int] | np.ndarray | None = None) -> None:
        if start < 0 or finish > len(dataset):
            raise ValueError("subset overruns the base dataset.")
        if order is not None and len(order) != len(dataset):
            raise ValueError(
                "order option must have the same length as the base dataset: "
                f"len(order) = {len(order)} while len(dataset) = {len(dataset)}"
            )
        self._dataset = dataset
        self._start = start
        self._finish = finish
        self._size = finish - start
        self._order = order

    def __len__(self) -> int:
        """Number of examples."""
        return self._size

    def get_example(self, i: int) -> Any:
        """The ``i``-th example of the subset; negative positions count from its end."""
        if not -self._size <= i < self._size:
            raise IndexError("dataset index out of range")
        index = (self._start if i >= 0 else self._finish) + i
        return self._dataset[index if self._order is None else self._order[index]]


def split_dataset(dataset: Any, split_at: int, order: Any = None) -> tuple[SubDataset, SubDataset]:
    """The first ``split_at`` examples and the rest, as two views.

    Raises:
        TypeError: ``split_at`` is no integer.
        ValueError: it is negative or larger than the dataset.
    Source: chainer.datasets.split_dataset.
    """
    if not isinstance(split_at, (int, np.integer)):
        raise TypeError(f"split_at must be int, got {type(split_at)} instead")
    if split_at < 0:
        raise ValueError("split_at must be non-negative")
    if split_at > len(dataset):
        raise ValueError("split_at exceeds the dataset size")
    return SubDataset(dataset, 0, split_at, order), SubDataset(dataset, split_at, len(dataset), order)


def split_dataset_random(dataset: Any, first_size: int, seed: int | None = None) -> tuple[SubDataset, SubDataset]:
    """Like :func:`split_dataset` after a permutation drawn from ``seed``. Source: chainer.datasets."""
    return split_dataset(dataset, first_size, np.random.RandomState(seed).permutation(len(dataset)))


def split_dataset_n(dataset: Any, n: int, order: Any = None) -> list[SubDataset]:
    """``n`` views of ``len(dataset) // n`` examples each; what is left over is dropped. Source: chainer.datasets."""
    size = len(dataset) // n
    return [SubDataset(dataset, size * i, size * (i + 1), order) for i in range(n)]


def split_dataset_n_random(dataset: Any, n: int, seed: int | None = None) -> list[SubDataset]:
    """Like :func:`split_dataset_n` after a permutation drawn from ``seed``. Source: chainer.datasets."""
    return split_dataset_n(dataset, n, np.random.RandomState(seed).permutation(len(dataset)))


def get_cross_validation_datasets(
    dataset: Any, n_folds: int | None = None, order: Any = None, *, n_fold: int | None = None
) -> list[tuple[SubDataset, SubDataset]]:
    """``n_folds`` pairs of (training, test) views; every example is in exactly one test view.

    Args:
        n_fold: Chainer's older name of ``n_folds``.
    Raises:
        TypeError: the number of folds is not given.
    Source: chainer.datasets.get_cross_validation_datasets.
    """
    folds = n_folds if n_fold is None else n_fold
    if folds is None:
        raise TypeError("n_folds must be given")
    total = len(dataset)
    permutation = np.arange(total) if order is None else np.array(order)
    borders = [total * i // folds for i in range(folds + 1)]
    splits = []
    for start, end in zip(borders[-2::-1], borders[:0:-1], strict=False):
        test_size = end - start
        splits.append(split_dataset(dataset, total - test_size, permutation))
        # the fold that was tested last moves to the front, so the next one stands at the end
        permutation = np.roll(permutation, test_size)
    return splits


def get_cross_validation_datasets_random(
    dataset: Any, n_folds: int | None = None, seed: int | None = None, *, n_fold: int | None = None
) -> list[tuple[SubDataset, SubDataset]]:
    """Like :func:`get_cross_validation_datasets` after a permutation drawn from ``seed``. Source: chainer.datasets."""
    order = np.random.RandomState(seed).permutation(len(dataset))
    return get_cross_validation_datasets(dataset, n_folds, order, n_fold=n_fold)


class ConcatenatedDataset(DatasetMixin):
    """Datasets one after the other. Source: chainer.datasets.ConcatenatedDataset."""

    def __init__(self, *datasets: Any) -> None:
        self._datasets = datasets

    def __len__(self) -> int:
        """Number of examples of all of them."""
        return sum(len(dataset) for dataset in self._datasets)

    def get_example(self, i: int) -> Any:
        """The ``i``-th example. Raises IndexError for a negative or too large position."""
        if i >= 0:
            for dataset in self._datasets:
                if i < len(dataset):
                    return dataset[i]
                i -= len(dataset)
        raise IndexError("dataset index out of range")


class TransformDataset(DatasetMixin):
    """Applies ``transform`` to each example when it is read. Source: chainer.datasets.TransformDataset."""

    def __init__(self, dataset: Any, transform: Callable[[Any], Any]) -> None:
        self._dataset = dataset
        self._transform = transform

    def __len__(self) -> int:
        """Number of examples."""
        return len(self._dataset)

    def get_example(self, i: int) -> Any:
        """The ``i``-th example, transformed."""
        return self._transform(self._dataset[i])
