"""What the examples of Chainer 1 and 2 look for in their own folder: MNIST and a mean image as pickles, PTB as texts.

``write_all(root, folder)`` reads the Penn Treebank of ``synthetic_data.write_ptb`` below ``root`` and writes
``mnist.pkl``, ``mean.pkl`` and ``ptb.<part>.txt`` into ``folder``.
"""

from __future__ import annotations

import hashlib
import pickle
from pathlib import Path

import numpy as np

_PTB = "https://raw.githubusercontent.com/{}/lstm/master/data/ptb.{}.txt"


def write_all(root: Path, folder: Path) -> None:
    """Writes everything."""
    write_mnist(folder / "mnist.pkl")
    write_mean(folder / "mean.pkl")
    write_words(root, folder)


def write_mnist(path: Path, n_train: int = 60000, n_test: int = 400) -> None:
    """``data`` uint8 (n, 784) and ``target`` uint8 (n,), the first 60,000 of them to train: scripts count on that."""
    rng = np.random.RandomState(16)
    pattern = rng.randint(0, 200, (10, 784)).astype(np.uint8)
    target = rng.randint(0, 10, n_train + n_test).astype(np.uint8)
    data = pattern[target] + rng.randint(0, 50, (n_train + n_test, 784), np.uint8)
    _pickle({"data": data, "target": target}, path)


def write_mean(path: Path, size: int = 256) -> None:
    """The mean image, float32 (3, size, size), as ``compute_mean.py`` of version 1.5 pickles it."""
    _pickle(np.full((3, size, size), 120, np.float32), path)


def _pickle(value: object, path: Path) -> None:
    """A pickle that the NumPy of those days reads, too: modules by their names of then, which today's knows."""
    path.write_bytes(pickle.dumps(value, protocol=2).replace(b"numpy._core.multiarray", b"numpy.core.multiarray"))


def write_words(root: Path, folder: Path) -> None:
    """The Penn Treebank beside the script, and in the cache below the address of version 1."""
    cache = root / "_dl_cache"
    for part in ("train", "valid", "test"):
        today, then = (
            cache / hashlib.md5(_PTB.format(owner, part).encode()).hexdigest() for owner in ("wojzaremba", "tomsercu")
        )
        words = today.read_bytes()
        then.write_bytes(words)
        (folder / f"ptb.{part}.txt").write_bytes(words)
