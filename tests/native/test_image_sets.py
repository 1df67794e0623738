"""MNIST and CIFAR beside Chainer, from files of a few images in Chainer's places."""

import gzip
import io
import pickle
import tarfile
from unittest import mock

import chainer
import numpy as np
import pytest

from chainer2torch.native import image_files, image_sets
from chainer2torch.verify.script import synthetic_data

CALLS = [
    ("get_mnist", {}),
    ("get_mnist", {"ndim": 3, "scale": 255.0}),
    ("get_mnist", {"ndim": 2, "withlabel": False}),
    ("get_fashion_mnist", {"ndim": 3}),
    ("get_cifar10", {}),
    ("get_cifar10", {"withlabel": False, "scale": 2.0}),
    ("get_cifar100", {"ndim": 1}),
]


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAINER_DATASET_ROOT", str(tmp_path))
    monkeypatch.setattr(chainer.dataset.download, "_dataset_root", str(tmp_path))
    return tmp_path


def same(theirs, ours):
    assert len(theirs) == len(ours)
    for left, right in zip(theirs, ours):
        assert len(left) == len(right)
        for one, other in zip(left, right):
            for a, b in zip(one, other) if isinstance(one, tuple) else [(one, other)]:
                np.testing.assert_array_equal(a, b)
                assert a.dtype == b.dtype and a.shape == b.shape


@pytest.mark.parametrize(("name", "options"), CALLS)
def test_as_chainer_reads_them(root, name, options):
    synthetic_data.write_all(root, n_train=20, n_test=10)
    same(getattr(chainer.datasets, name)(**options), getattr(image_sets, name)(**options))


def test_what_is_missing_is_downloaded_to_where_chainer_finds_it(root):
    rng = np.random.RandomState(0)

    def answer(url):
        size = 784 * 5 + 16 if "images" in url else 5 + 8
        return io.BytesIO(gzip.compress(rng.randint(0, 10, size).astype("u1").tobytes()))

    with mock.patch("urllib.request.urlopen", answer):
        first = image_sets.get_mnist()
    same(chainer.datasets.get_mnist(), first)
    same(first, image_sets.get_mnist())


@pytest.mark.parametrize(("name", "labels"), [("get_cifar10", "labels"), ("get_cifar100", "fine_labels")])
def test_archives_of_cifar(root, name, labels):
    rng = np.random.RandomState(0)
    packed = io.BytesIO()
    parts = ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"]
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for part in parts if name == "get_cifar10" else ["train", "test"]:
            content = {"data": rng.randint(0, 256, (4, 3072)).astype("u1"), labels: rng.randint(0, 10, 4).tolist()}
            data = pickle.dumps(content, protocol=2)
            info = tarfile.TarInfo(f"cifar/{part}")
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    with mock.patch("urllib.request.urlopen", lambda url: io.BytesIO(packed.getvalue())):
        first = getattr(image_sets, name)()
    assert len(first[0]) == (20 if name == "get_cifar10" else 4)
    same(getattr(chainer.datasets, name)(), first)


def test_image_files(tmp_path):
    Image = pytest.importorskip("PIL.Image")
    rng, names = np.random.RandomState(0), []
    for i, shape in enumerate([(4, 5, 3), (4, 5), (4, 5, 4)]):
        names.append(f"{i}.png")
        Image.fromarray(rng.randint(0, 256, shape).astype(np.uint8)).save(tmp_path / names[-1])
    (tmp_path / "list.txt").write_text("".join(f"{name}\n" for name in names))
    (tmp_path / "pairs.txt").write_text("".join(f"{name} {i}\n" for i, name in enumerate(names)))
    for make in (
        lambda m: m.ImageDataset(names, str(tmp_path)),
        lambda m: m.ImageDataset(str(tmp_path / "list.txt"), str(tmp_path), dtype=np.uint8),
        lambda m: m.LabeledImageDataset([("0.png", 1)], str(tmp_path)),
        lambda m: m.LabeledImageDataset(str(tmp_path / "pairs.txt"), str(tmp_path), np.float64, np.int64),
    ):
        theirs, ours = make(chainer.datasets), make(image_files)
        same([[theirs[i] for i in range(len(theirs))]], [[ours[i] for i in range(len(ours))]])
        with pytest.raises((TypeError, ValueError)):
            ours[:3]
    (tmp_path / "bad.txt").write_text("0.png\n")
    with pytest.raises(ValueError):
        image_files.LabeledImageDataset(str(tmp_path / "bad.txt"))
