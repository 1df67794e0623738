"""Data sets of image files: (channels, height, width) arrays with the files' own values. Pillow reads them."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import torch
from torch.utils.data import Dataset


class ImageDataset(Dataset[Any]):
    """Images of a list of paths, or of a file with a path a row. Source: chainer.datasets.ImageDataset."""

    def __init__(self, paths: Any, root: str = ".", dtype: Any = None) -> None:
        if isinstance(paths, str):
            with open(paths) as rows:
                paths = [row.strip() for row in rows]
        self._paths, self._root, self._dtype = paths, root, dtype

    def __len__(self) -> int:
        return len(self._paths)

    def __getitem__(self, i: int) -> Any:
        return read_picture(os.path.join(self._root, self._paths[i]), self._dtype)


class LabeledImageDataset(Dataset[Any]):
    """Images with labels: pairs, or a file with a path and a number a row.

    Source: chainer.datasets.LabeledImageDataset.
    """

    def __init__(self, pairs: Any, root: str = ".", dtype: Any = None, label_dtype: Any = np.int32) -> None:
        if isinstance(pairs, str):
            with open(pairs) as rows:
                pairs = [(path, int(label)) for path, label in map(str.split, rows)]
        self._pairs, self._root, self._dtype, self._label_dtype = pairs, root, dtype, label_dtype

    def __len__(self) -> int:
        return len(self._pairs)

    def __getitem__(self, i: int) -> Any:
        path, label = self._pairs[i]
        return read_picture(os.path.join(self._root, path), self._dtype), np.array(label, self._label_dtype)


def read_picture(path: str, dtype: Any) -> Any:
    """An image file as an array, by default of torch's dtype. Source: chainer.datasets.ImageDataset."""
    from PIL import Image

    with Image.open(path) as image:
        array = np.asarray(image, dtype=dtype or str(torch.get_default_dtype()).removeprefix("torch."))
    return array.reshape(*array.shape[:2], -1).transpose(2, 0, 1)
