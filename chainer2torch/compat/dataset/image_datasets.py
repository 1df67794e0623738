"""Datasets of image files: (channels, height, width) float arrays with the file's own values. Pillow reads them."""

from __future__ import annotations

import bisect
import io
import os
import threading
import zipfile
from collections.abc import Sequence
from typing import Any

import numpy as np

from chainer2torch.compat.dataset.dataset_files import _image_dtype
from chainer2torch.compat.dataset.datasets import DatasetMixin


class ImageDataset(DatasetMixin):
    """Images of a list of paths.

    Args:
        paths: the paths, or the name of a file with one path a line.
        root: directory they are relative to.
        dtype: dtype of the arrays; None is the default dtype (float32).
    Source: chainer.datasets.ImageDataset.
    """

    def __init__(self, paths: str | Sequence[str], root: str = ".", dtype: Any = None) -> None:
        if isinstance(paths, str):
            with open(paths) as lines:
                paths = [line.strip() for line in lines]
        self._paths = paths
        self._root = root
        self._dtype = _image_dtype(dtype)

    def __len__(self) -> int:
        """Number of images."""
        return len(self._paths)

    def get_example(self, i: int) -> np.ndarray:
        """The ``i``-th image as (channels, height, width)."""
        return _read_image(os.path.join(self._root, self._paths[i]), self._dtype)


class LabeledImageDataset(DatasetMixin):
    """Pairs of an image and a 0-d label array.

    Args:
        pairs: (path, label) pairs, or the name of a file with a path and an integer a line.
        root, dtype: see :class:`ImageDataset`.
        label_dtype: dtype of the labels.
    Raises:
        ValueError: a line of the file has another form.
    Source: chainer.datasets.LabeledImageDataset.
    """

    def __init__(
        self, pairs: str | Sequence[tuple[str, int]], root: str = ".", dtype: Any = None, label_dtype: Any = np.int32
    ) -> None:
        self._pairs = _read_pairs(pairs) if isinstance(pairs, str) else pairs
        self._root = root
        self._dtype = _image_dtype(dtype)
        self._label_dtype = label_dtype

    def __len__(self) -> int:
        """Number of images."""
        return len(self._pairs)

    def get_example(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """The ``i``-th image (channels, height, width) and its label."""
        path, label = self._pairs[i]
        image = _read_image(os.path.join(self._root, path), self._dtype)
        return image, np.array(label, dtype=self._label_dtype)


class ZippedImageDataset(DatasetMixin):
    """Images inside a zip file, in the order of its directory. Source: chainer.datasets.ZippedImageDataset."""

    def __init__(self, zipfilename: str, dtype: Any = None) -> None:
        self._zipfilename = zipfilename
        self._dtype = _image_dtype(dtype)
        self._open()
        self._paths = [name for name in self._archive.namelist() if not name.endswith("/")]

    def _open(self) -> None:
        self._archive = zipfile.ZipFile(self._zipfilename)
        self._pid = os.getpid()
        self._lock = threading.Lock()

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key not in ("_archive", "_lock", "_pid")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()

    def __len__(self) -> int:
        """Number of images."""
        return len(self._paths)

    def get_example(self, i_or_filename: int | str) -> np.ndarray:
        """The image at a position, or with a name inside the zip file."""
        name = i_or_filename if isinstance(i_or_filename, str) else self._paths[i_or_filename]
        if self._pid != os.getpid():  # a forked worker must not share the file position
            self._open()
        with self._lock:
            content = self._archive.read(name)
        return _read_image(io.BytesIO(content), self._dtype)


class MultiZippedImageDataset(DatasetMixin):
    """Several :class:`ZippedImageDataset` one after the other. Source: chainer.datasets.MultiZippedImageDataset."""

    def __init__(self, zipfilenames: Sequence[str], dtype: Any = None) -> None:
        self._archives = [ZippedImageDataset(name, dtype) for name in zipfilenames]
        self._ends = list(np.cumsum([0] + [len(archive) for archive in self._archives]))

    def __len__(self) -> int:
        """Number of images of all of them."""
        return int(self._ends[-1])

    def get_example(self, i: int) -> np.ndarray:
        """The ``i``-th image."""
        which = bisect.bisect(self._ends, i) - 1
        return self._archives[which].get_example(int(i - self._ends[which]))


class LabeledZippedImageDataset(DatasetMixin):
    """Images inside a zip file with labels from a text file. Source: chainer.datasets.LabeledZippedImageDataset."""

    def __init__(self, zipfilename: str, labelfilename: str, dtype: Any = None, label_dtype: Any = np.int32) -> None:
        self._pairs = _read_pairs(labelfilename)
        self._label_dtype = label_dtype
        self._zipfile = ZippedImageDataset(zipfilename, dtype=dtype)

    def __len__(self) -> int:
        """Number of labelled images."""
        return len(self._pairs)

    def get_example(self, i: int) -> tuple[np.ndarray, np.ndarray]:
        """The ``i``-th image (channels, height, width) and its label."""
        path, label = self._pairs[i]
        return self._zipfile.get_example(path), np.array(label, dtype=self._label_dtype)


def _read_pairs(filename: str) -> list[tuple[str, int]]:
    pairs = []
    with open(filename) as lines:
        for i, line in enumerate(lines):
            pair = line.split()
            if len(pair) != 2:
                raise ValueError(f"invalid format at line {i} in file {filename}")
            pairs.append((pair[0], int(pair[1])))
    return pairs


def _read_image(file: Any, dtype: np.dtype) -> np.ndarray:
    from PIL import Image

    with Image.open(file) as image:
        array = np.asarray(image, dtype=dtype)
    if array.ndim == 2:
        array = array[:, :, None]
    planes: np.ndarray = array.transpose(2, 0, 1)
    return planes
