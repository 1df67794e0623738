"""Data sets of the program's own whose slices are lists of examples."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch.utils.data


class DatasetMixin(torch.utils.data.Dataset[Any]):
    """Base of datasets that define ``get_example(i)`` and ``__len__``; slices, lists and arrays give lists.

    Source: chainer.dataset.DatasetMixin.
    """

    get_example: Any

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            index = range(*index.indices(len(self)))  # type: ignore[arg-type]
        several = isinstance(index, (range, list, np.ndarray))
        return [self.get_example(i) for i in index] if several else self.get_example(index)


class SubDataset(DatasetMixin):
    """The examples from ``start`` to before ``finish`` of a dataset, which ``order`` permutes first.

    Source: chainer.datasets.SubDataset.
    """

    def __init__(self, dataset: Any, start: int, finish: int, order: Any = None) -> None:
        order = range(len(dataset)) if order is None else order
        if start < 0 or finish > len(dataset) or len(order) != len(dataset):
            raise ValueError("the subset overruns the dataset, or the order has another length")
        self._dataset, self._places = dataset, order[start:finish]

    def __len__(self) -> int:
        return len(self._places)

    def get_example(self, i: int) -> Any:
        return self._dataset[self._places[i]]
