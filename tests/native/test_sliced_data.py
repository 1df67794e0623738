"""Short forms of data sets that are sliced, of downloads and of gradients that are set, beside Chainer's."""

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.variable import variables
from chainer2torch.native import downloads, graphs, sliced_data


def both(make):
    return [make(chainer.dataset.DatasetMixin, chainer.datasets), make(sliced_data.DatasetMixin, sliced_data)]


INDEXES = [0, -1, slice(1, 3), slice(None, None, -1), [2, 0], np.array([1, 1]), np.int64(2)]


@pytest.mark.parametrize("index", INDEXES, ids=str)
def test_indexes(index):
    def make(base, module):
        class Squares(base):
            def __len__(self):
                return 5

            def get_example(self, i):
                return i * i if i >= 0 else (len(self) + i) ** 2

        return Squares()

    theirs, ours = both(make)
    assert ours[index] == theirs[index]


@pytest.mark.parametrize("order", [None, [4, 3, 2, 1, 0], np.array([0, 2, 4, 1, 3])], ids=str)
@pytest.mark.parametrize("index", INDEXES[:5], ids=str)
def test_parts_of_a_data_set(order, index):
    theirs, ours = both(lambda base, module: module.SubDataset([10, 11, 12, 13, 14], 1, 4, order))
    assert len(ours) == len(theirs) == 3
    assert ours[index] == theirs[index]
    assert list(ours) == list(theirs)
    for data in (theirs, ours):
        with pytest.raises(IndexError):
            data[3]


@pytest.mark.parametrize("args", [(-1, 3), (0, 6), (0, 3, [1, 0])], ids=str)
def test_parts_that_do_not_fit(args):
    for module in (chainer.datasets, sliced_data):
        with pytest.raises(ValueError):
            module.SubDataset([10, 11, 12, 13, 14], *args)


def test_a_file_is_fetched_once(tmp_path, monkeypatch):
    monkeypatch.setenv("CHAINER_DATASET_ROOT", str(tmp_path / "root"))
    monkeypatch.setattr(chainer.dataset.download, "_dataset_root", str(tmp_path / "root"))
    source = tmp_path / "file"
    source.write_bytes(b"first")
    path = downloads.cached_download(source.as_uri())
    source.write_bytes(b"second")
    with open(downloads.cached_download(source.as_uri()), "rb") as stream:
        assert stream.read() == b"first"
    assert chainer.dataset.cached_download(source.as_uri()) == path
    with pytest.raises(OSError):
        downloads.cached_download((tmp_path / "missing").as_uri())
    assert {p.name for p in (tmp_path / "root" / "_dl_cache").iterdir()} - {"_dl_lock"} == {path.rpartition("/")[2]}
    assert downloads.get_dataset_directory("a/b", False) == chainer.dataset.get_dataset_directory("a/b", False)


@pytest.mark.parametrize("shape", [(), (2,)])
def test_the_gradient_from_which_a_backward_pass_starts(shape):
    x = chainer.Variable(np.full(shape, 2.0))
    t = torch.full(shape, 2.0, dtype=torch.float64, requires_grad=True)
    y, u = x * x, t * t
    y.grad = np.full(shape, 3.0)
    graphs.set_grad(u, np.full(shape, 3.0))
    y.backward()
    graphs.backward(u)
    np.testing.assert_array_equal(t.grad.numpy(), x.grad)
    graphs.set_grad(t, None)
    assert t.grad is None
    for bad in (np.zeros(3), np.zeros(shape, np.float32)):
        with pytest.raises(RuntimeError):
            graphs.set_grad(t, bad)


@pytest.mark.parametrize("module", [graphs, variables])
def test_a_gradient_that_is_written_to_before_it_is_used(module):
    x = chainer.Variable(np.arange(6.0).reshape(2, 3))
    t = torch.arange(6.0, dtype=torch.float64).reshape(2, 3).requires_grad_()
    y, u = x**3, t**3
    y.grad = np.zeros(y.shape)
    y.grad[:, 1] = 2
    module.set_grad(u, np.zeros(u.shape))
    u.grad[:, 1] = 2
    y.backward(retain_grad=True)
    u.retain_grad()
    u.backward()
    np.testing.assert_allclose(t.grad.numpy(), x.grad)
    np.testing.assert_array_equal(u.grad.numpy(), y.grad)
