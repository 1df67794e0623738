"""MNIST and CIFAR as (training, test), from the files that Chainer keeps; what is missing is downloaded."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.native.data import TupleDataset


def get_mnist(withlabel: bool = True, ndim: int = 1, scale: float = 1.0) -> tuple[Any, Any]:
    """Images with values up to ``scale``, as (784,), (28, 28) or (1, 28, 28). Source: chainer.datasets.get_mnist."""
    return _mnist("mnist", "https://ossci-datasets.s3.amazonaws.com/mnist/", withlabel, ndim, scale)


def get_fashion_mnist(withlabel: bool = True, ndim: int = 1, scale: float = 1.0) -> tuple[Any, Any]:
    """As get_mnist, with clothes. Source: chainer.datasets.get_fashion_mnist."""
    url = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
    return _mnist("fashion-mnist", url, withlabel, ndim, scale)


def _mnist(name: str, url: str, withlabel: bool, ndim: int, scale: float) -> tuple[Any, Any]:
    shape = {1: (784,), 2: (28, 28), 3: (1, 28, 28)}[ndim]
    parts = []
    for part, prefix in (("train", "train"), ("test", "t10k")):
        file = _folder(name) / f"{part}.npz"
        if not file.exists():
            kinds = ("images-idx3", "labels-idx1")
            urls = [f"{url}{prefix}-{kind}-ubyte.gz" for kind in kinds]
            x, y = (gzip.decompress(urllib.request.urlopen(url).read()) for url in urls)
            np.savez_compressed(
                file, x=np.frombuffer(x, np.uint8, offset=16).reshape(-1, 784), y=np.frombuffer(y, np.uint8, offset=8)
            )
        data = np.load(file)
        parts.append(_dataset(data["x"].reshape(-1, *shape), data["y"], withlabel, scale))
    return parts[0], parts[1]


def get_cifar10(withlabel: bool = True, ndim: int = 3, scale: float = 1.0) -> tuple[Any, Any]:
    """Images with values up to ``scale``, as (3, 32, 32) or (3072,). Source: chainer.datasets.get_cifar10."""
    return _cifar(10, "labels", [f"data_batch_{i}" for i in range(1, 6)], "test_batch", withlabel, ndim, scale)


def get_cifar100(withlabel: bool = True, ndim: int = 3, scale: float = 1.0) -> tuple[Any, Any]:
    """As get_cifar10, with a hundred classes. Source: chainer.datasets.get_cifar100."""
    return _cifar(100, "fine_labels", ["train"], "test", withlabel, ndim, scale)


def _cifar(
    classes: int, labels: str, train: list[str], test: str, withlabel: bool, ndim: int, scale: float
) -> tuple[Any, Any]:
    shape = {1: (3072,), 3: (3, 32, 32)}[ndim]
    file = _folder("cifar") / f"cifar-{classes}.npz"
    if not file.exists():
        packed = urllib.request.urlopen(f"https://www.cs.toronto.edu/~kriz/cifar-{classes}-python.tar.gz")
        with tarfile.open(fileobj=io.BytesIO(packed.read())) as archive:
            found = {Path(name).name: name for name in archive.getnames()}
            read = {n: pickle.load(archive.extractfile(found[n]), encoding="latin1") for n in (*train, test)}  # type: ignore[arg-type]
        x, y = np.concatenate([read[n]["data"] for n in train]), np.concatenate([read[n][labels] for n in train])
        np.savez_compressed(file, train_x=x, train_y=y, test_x=read[test]["data"], test_y=np.array(read[test][labels]))
    data = np.load(file)
    first, second = (
        _dataset(data[f"{part}_x"].reshape(-1, *shape), data[f"{part}_y"], withlabel, scale)
        for part in ("train", "test")
    )
    return first, second


def _dataset(images: Any, labels: Any, withlabel: bool, scale: float) -> Any:
    images = images.astype("float32")
    images *= scale / 255.0
    return TupleDataset(images, labels.astype("int32")) if withlabel else images


def _folder(name: str) -> Path:
    root = os.environ.get("CHAINER_DATASET_ROOT", Path.home() / ".chainer" / "dataset")
    folder = Path(root, "pfnet", "chainer", name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
