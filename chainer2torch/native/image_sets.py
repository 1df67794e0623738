"""MNIST and CIFAR as (training, test), from the files that Chainer keeps; what is missing is downloaded."""

from __future__ import annotations

import gzip
import io
import os
import pickle
import re
import tarfile
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.native.data import TupleDataset


def get_mnist(
    withlabel: bool = True,
    ndim: int = 1,
    scale: float = 1.0,
    name: str = "mnist",
    url: str = "https://ossci-datasets.s3.amazonaws.com/mnist/",
) -> tuple[Any, Any]:
    """Images with values up to ``scale``, as (784,), (28, 28) or (1, 28, 28). Source: chainer.datasets.get_mnist."""
    parts, folder = [], _folder(name)
    for part, prefix in (("train", "train"), ("test", "t10k")):
        file = folder / f"{part}.npz"
        if not file.exists():
            urls = (f"{url}{prefix}-{kind}-ubyte.gz" for kind in ("images-idx3", "labels-idx1"))
            x, y = (np.frombuffer(gzip.decompress(urllib.request.urlopen(each).read()), np.uint8) for each in urls)
            np.savez_compressed(file, x=x[16:].reshape(-1, 784), y=y[8:])
        data = np.load(file)
        images = data["x"].astype("float32").reshape(-1, *{1: (784,), 2: (28, 28), 3: (1, 28, 28)}[ndim])
        images *= scale / 255
        parts.append(TupleDataset(images, data["y"].astype("int32")) if withlabel else images)
    return parts[0], parts[1]


def get_fashion_mnist(withlabel: bool = True, ndim: int = 1, scale: float = 1.0) -> tuple[Any, Any]:
    """As get_mnist, with clothes. Source: chainer.datasets.get_fashion_mnist."""
    url = "http://fashion-mnist.s3-website.eu-central-1.amazonaws.com/"
    return get_mnist(withlabel, ndim, scale, "fashion-mnist", url)


def get_cifar10(withlabel: bool = True, ndim: int = 3, scale: float = 1.0, classes: int = 10) -> tuple[Any, Any]:
    """Images with values up to ``scale``, as (3, 32, 32) or (3072,). Source: chainer.datasets.get_cifar10."""
    file, data, parts = _folder("cifar") / f"cifar-{classes}.npz", {}, []
    if not file.exists():
        packed = urllib.request.urlopen(f"https://www.cs.toronto.edu/~kriz/cifar-{classes}-python.tar.gz")
        with tarfile.open(fileobj=io.BytesIO(packed.read())) as archive:
            for part, names in (("train", r"data_batch_\d|train"), ("test", "test(_batch)?")):
                found = [name for name in sorted(archive.getnames()) if re.fullmatch(names, Path(name).name)]
                read = [pickle.load(archive.extractfile(name), encoding="latin1") for name in found]  # type: ignore[arg-type]
                data[f"{part}_x"] = np.concatenate([batch["data"] for batch in read])
                data[f"{part}_y"] = np.concatenate([batch.get("labels", batch.get("fine_labels")) for batch in read])
        np.savez_compressed(file, **data)  # type: ignore[arg-type]
    data = np.load(file)
    for part in ("train", "test"):
        images = data[f"{part}_x"].astype("float32").reshape(-1, *{1: (3072,), 3: (3, 32, 32)}[ndim])
        images *= scale / 255
        parts.append(TupleDataset(images, data[f"{part}_y"].astype("int32")) if withlabel else images)
    return parts[0], parts[1]


def get_cifar100(withlabel: bool = True, ndim: int = 3, scale: float = 1.0) -> tuple[Any, Any]:
    """As get_cifar10, with a hundred classes. Source: chainer.datasets.get_cifar100."""
    return get_cifar10(withlabel, ndim, scale, 100)


def _folder(name: str) -> Path:
    root = os.environ.get("CHAINER_DATASET_ROOT", Path.home() / ".chainer" / "dataset")
    folder = Path(root, "pfnet", "chainer", name)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
