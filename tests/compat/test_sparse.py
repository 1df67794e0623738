"""Sparse matrices and F.forget against Chainer."""

import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
import pytest
import torch

from chainer2torch.compat.functions import recompute
from chainer2torch.compat.utils import sparse
from tests.support import differential as diff

RNG = np.random.RandomState(0)


def _matrices(batch):
    """Entries in no order, two of them at one place; in a batch the last one is padding (else Chainer takes none)."""
    shape = () if batch is None else (batch,)
    row, col = RNG.randint(0, 3, shape + (7,)).astype("i"), RNG.randint(0, 5, shape + (7,)).astype("i")
    row[..., 1], col[..., 1] = row[..., 0], col[..., 0]
    if batch is not None:
        row[..., -1] = col[..., -1] = -1
    return RNG.randn(*shape, 7), row, col


def _product(module, matmul, data, row, col, dense, sparse_first, transa, transb, requires_grad=True):
    coo = module.CooMatrix(data, row, col, (3, 5), requires_grad=requires_grad)
    operands = (coo, dense) if sparse_first else (dense, coo)
    return coo, matmul(*operands, transa=transa, transb=transb)


@pytest.mark.parametrize("batch", [None, 3])  # of two, counting batches backwards meets the same one
@pytest.mark.parametrize("sparse_first", [True, False])
@pytest.mark.parametrize("transa", [True, False])
@pytest.mark.parametrize("transb", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_matmul(batch, sparse_first, transa, transb, dtype):
    data, row, col = _matrices(batch)
    data = data.astype(dtype)
    inner = (3 if transa else 5) if sparse_first else (5 if transb else 3)
    flip = transb if sparse_first else transa
    shape = (inner, 4) if sparse_first != flip else (4, inner)
    dense = RNG.randn(*(shape if batch is None else (batch, *shape))).astype(dtype)
    c_dense, t_dense = chainer.Variable(dense), torch.tensor(dense, requires_grad=True)
    c_coo, c = _product(chainer.utils, F.sparse_matmul, data, row, col, c_dense, sparse_first, transa, transb)
    t_coo, t = _product(
        sparse,
        sparse.sparse_matmul,
        torch.tensor(data),
        torch.tensor(row),
        torch.tensor(col),
        t_dense,
        sparse_first,
        transa,
        transb,
    )
    diff.assert_same(diff.to_numpy(t), c.array)
    gy = RNG.randn(*c.shape).astype(dtype)
    c_grads = chainer.grad([c], [c_coo.data, c_dense], [chainer.Variable(gy)])
    t_grads = torch.autograd.grad(t, [t_coo.data, t_dense], torch.tensor(gy))
    diff.assert_same(diff.to_numpy(t_grads), diff.to_numpy(c_grads))


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (1, 1)])
@pytest.mark.parametrize("ldnz", [None, 20])
def test_to_coo_and_back(shape, ldnz):
    x = RNG.randint(-1, 2, shape).astype("f")
    x[..., 0, 0] = 5
    theirs, ours = chainer.utils.to_coo(x, ldnz), sparse.to_coo(torch.tensor(x), ldnz, requires_grad=True)
    for name in ("data", "row", "col"):
        diff.assert_same(diff.to_numpy(getattr(ours, name)), diff.to_numpy(getattr(theirs, name)), what=name)
    assert ours.shape == theirs.shape and ours.order == theirs.order == "C" and ours.data.requires_grad
    np.testing.assert_array_equal(ours.to_dense().numpy(), x)


@pytest.mark.parametrize(
    "row, col, order",
    [
        ([0, 0, 1], [1, 2, 0], "C"),
        ([1, 2, 0], [0, 0, 1], "F"),
        ([0, 0, 1], [2, 1, 0], "other"),
        ([0], [3], "C"),
        ([1, 0, -1], [1, 0, -1], "other"),
        ([[0, 1], [1, 1]], [[0, 0], [0, 1]], "C"),
    ],
)
def test_get_order(row, col, order):
    row, col = np.array(row, "i"), np.array(col, "i")
    assert chainer.utils.get_order(row, col) == order
    assert sparse.get_order(torch.tensor(row), torch.tensor(col)) == order


def test_sparse_refuses():
    data, row, col = (torch.tensor(a) for a in _matrices(None))
    with pytest.raises(ValueError):
        sparse.sparse_matmul(torch.zeros(3, 3).double(), torch.zeros(3, 3).double())
    with pytest.raises(ValueError):
        sparse.sparse_matmul(sparse.CooMatrix(data, row, col, (3, 5)), torch.zeros(4, 2).double())
    with pytest.raises(ValueError):
        sparse.CooMatrix(data, row[None], col, (3, 5))
    with pytest.raises(ValueError):
        sparse.CooMatrix(data, row, col, (3, 0))
    with pytest.raises(ValueError):
        sparse.CooMatrix(data, row, col, (3, 5), order="A")


def test_forget():
    diff.check(
        lambda a, b: F.forget(lambda a, b: (a + b) * a, a, b),
        lambda a, b: recompute.forget(lambda a, b: (a + b) * a, a, b),
        ["f32[3,4]", "f32[3,4]"],
    )
    diff.check(
        lambda a: F.forget(lambda a: (F.tanh(a), F.exp(a)), a),
        lambda a: recompute.forget(lambda a: (torch.tanh(a), torch.exp(a)), a),
        ["f32[3,4]"],
    )
    diff.check_raises(lambda a: F.forget(lambda a: [a], a), lambda a: recompute.forget(lambda a: [a], a), ["f32[3]"])
    diff.check_raises(lambda a: F.forget(None, a), lambda a: recompute.forget(None, a), ["f32[3]"])


def test_forget_computes_again_and_updates_running_statistics_once():
    x = RNG.randn(8, 3).astype("f")
    theirs, ours = L.BatchNormalization(3), torch.nn.BatchNorm1d(3, eps=2e-5)
    calls = []

    def block(v):
        calls.append(torch.is_grad_enabled())
        return ours(v * 2)

    c_x, t_x = chainer.Variable(x), torch.tensor(x, requires_grad=True)
    F.sum(F.forget(lambda v: theirs(v * 2), c_x) ** 3).backward()
    (recompute.forget(block, t_x) ** 3).sum().backward()
    assert len(calls) == 2
    np.testing.assert_allclose(t_x.grad.numpy(), c_x.grad, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(ours.running_mean.numpy(), theirs.avg_mean, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(ours.running_var.numpy(), theirs.avg_var, rtol=1e-5)
    assert theirs.N == 0 and abs(ours.running_mean).max() > 0


def test_forget_draws_the_same_dropout_mask_again():
    x = torch.ones(100, requires_grad=True)
    y = recompute.forget(torch.nn.functional.dropout, x)
    (gx,) = torch.autograd.grad(y.sum(), x)
    torch.testing.assert_close(gx, y)


def _made(module, *args, **kwargs):
    try:
        return module.CooMatrix(*args, **kwargs)
    except Exception:
        return None


@pytest.mark.parametrize("shape", [(3, 5), (3,), (0, 5), (3, -1), (3, 5, 1), (1, 1)])
@pytest.mark.parametrize("axes", [(1, 1, 1), (2, 2, 2), (3, 3, 3), (1, 2, 1), (1, 1, 2), (2, 1, 1), (0, 0, 0)])
@pytest.mark.parametrize("order", [None, "C", "other", "D"])
def test_what_is_no_sparse_matrix(shape, axes, order):
    arrays = [np.zeros((1,) * n, kind) for n, kind in zip(axes, ("f", "i", "i"), strict=True)]
    theirs, ours = (_made(module, *arrays, shape, order=order) for module in (chainer.utils, sparse))
    assert (theirs is None) == (ours is None)
    if theirs is not None:
        assert tuple(theirs.shape) == ours.shape and theirs.order == ours.order


@pytest.mark.parametrize("rank", [1, 2, 3, 4])
@pytest.mark.parametrize("ldnz", [None, 0, 1, 9])
def test_dense_matrices_of_any_rank(rank, ldnz):
    x = np.arange(2**rank, dtype="f").reshape((2,) * rank)
    theirs, ours = (_coo(module, x, ldnz) for module in (chainer.utils, sparse))
    assert (theirs is None) == (ours is None)
    if theirs is not None:
        assert ours.data.shape == theirs.data.shape
        np.testing.assert_array_equal(ours.to_dense(), theirs.to_dense())


def _coo(module, x, ldnz):
    try:
        return module.to_coo(x, ldnz)
    except Exception:
        return None


@pytest.mark.parametrize("transa", [False, True])
@pytest.mark.parametrize("dense", [(5, 2), (3, 2), (5,), (2, 5, 2), (4, 2), (1, 5, 2)])
def test_operands_that_do_not_fit(dense, transa):
    entries = (np.ones(2, "f"), np.array([0, 1], "i"), np.array([1, 2], "i"), (3, 5))
    found = []
    for module, matmul, wrap in (
        (chainer.utils, F.sparse_matmul, np.asarray),
        (sparse, sparse.sparse_matmul, torch.as_tensor),
    ):
        try:
            y = matmul(module.CooMatrix(*entries), wrap(np.ones(dense, "f")), transa)
            found.append(np.asarray(getattr(y, "array", y)).tolist())
        except Exception:
            found.append(None)
    assert found[0] == found[1]
