"""chainer.functions.normalization: running statistics, and the cases where torch differs."""

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chainer2torch.compat.functions import normalization
from tests.support.differential import check, check_raises


def _both(name, *args, **kwargs):
    return (
        lambda *xs: getattr(F, name)(*xs, *args, **kwargs),
        lambda *xs: getattr(normalization, name)(*xs, *args, **kwargs),
    )


_SHAPES = [
    ((4, 3), (3,), None),
    ((4, 3, 2, 2), (3,), None),
    ((4, 3, 2), (3, 2), None),
    ((4, 3, 2), (2,), (0, 1)),
    ((2, 3, 4), (3, 4), 0),
    ((2, 3, 4), (2,), (1, 2)),
    ((1, 3), (3,), None),
    ((1, 3, 2), (3,), None),
]


@pytest.mark.parametrize("shape, kept, axis", _SHAPES)
@pytest.mark.parametrize("eps", [2e-5, 0.5])
def test_batch_normalization(shape, kept, axis, eps):
    rng = np.random.RandomState(0)
    inputs = [rng.randn(*shape), rng.randn(*kept), rng.randn(*kept)]
    fns = _both("batch_normalization", eps=eps, axis=axis)
    check(*fns, inputs)
    if shape[0] > 1:  # of a batch of one Chainer divides by a standard deviation of zero
        check(*fns, inputs, dtypes=[np.float64], double_backward=True)
    mean, var = rng.randn(*kept), rng.rand(*kept) + 0.1
    check(*_both("fixed_batch_normalization", eps=eps, axis=axis), [*inputs, mean, var], double_backward=True)


@pytest.mark.parametrize("shape, kept, axis", _SHAPES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("decay", [0.9, 0.5])
def test_running_statistics_are_updated_in_place(shape, kept, axis, dtype, decay):
    rng = np.random.RandomState(0)
    x, gamma, beta, mean, var = (rng.rand(*s).astype(dtype) for s in (shape, kept, kept, kept, kept))
    t_mean, t_var = torch.from_numpy(mean.copy()), torch.from_numpy(var.copy())
    F.batch_normalization(x, gamma, beta, running_mean=mean, running_var=var, decay=decay, axis=axis)
    normalization.batch_normalization(
        *map(torch.from_numpy, (x, gamma, beta)), running_mean=t_mean, running_var=t_var, decay=decay, axis=axis
    )
    np.testing.assert_allclose(t_mean.numpy(), mean, rtol=1e-5 if dtype == "f4" else 1e-12)
    np.testing.assert_allclose(t_var.numpy(), var, rtol=1e-5 if dtype == "f4" else 1e-12)


def test_a_batch_of_one_gives_beta_where_torch_raises():
    x, gamma, beta = torch.randn(1, 3), torch.ones(3), torch.arange(3.0)
    assert torch.equal(normalization.batch_normalization(x, gamma, beta), beta[None])
    with pytest.raises(ValueError):
        torch.nn.functional.batch_norm(x, None, None, gamma, beta, training=True)


def test_half_precision_input_and_single_precision_parameters():
    rng = np.random.RandomState(0)
    x, gamma, beta = rng.randn(6, 3).astype("f2"), rng.randn(3).astype("f4"), rng.randn(3).astype("f4")
    y = F.batch_normalization(x, gamma, beta).array
    z = normalization.batch_normalization(*map(torch.from_numpy, (x, gamma, beta))).numpy()
    assert z.dtype == y.dtype == np.float16
    np.testing.assert_allclose(z, y, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("shape, kept", [((6, 3), (3,)), ((5, 3, 2), (3,)), ((4, 2, 3), (2, 3))])
@pytest.mark.parametrize("rmax, dmax", [(1, 0), (1.5, 0.3), (5, 5)])
@pytest.mark.parametrize("update", [False, True])
def test_batch_renormalization(shape, kept, rmax, dmax, update):
    rng = np.random.RandomState(0)
    inputs = [rng.randn(*shape), rng.randn(*kept), rng.randn(*kept)]
    mean, var = rng.randn(*kept), rng.rand(*kept) + 0.1
    options = {"decay": 0.7, "update_statistics": update, "eps": 1e-3}

    def in_chainer(x, gamma, beta):
        m, v = mean.astype(x.dtype), var.astype(x.dtype)
        y = F.batch_renormalization(x, gamma, beta, rmax, dmax, running_mean=m, running_var=v, **options)
        return y, m, v

    def in_torch(x, gamma, beta):
        m, v = torch.tensor(mean, dtype=x.dtype), torch.tensor(var, dtype=x.dtype)
        y = normalization.batch_renormalization(x, gamma, beta, rmax, dmax, running_mean=m, running_var=v, **options)
        return y, m.numpy(), v.numpy()

    check(in_chainer, in_torch, inputs)


@pytest.mark.parametrize("shape, groups", [((12, 6), 2), ((6, 6, 3), 3), ((5, 4, 2, 3), 1), ((7, 16), 16)])
@pytest.mark.parametrize("eps", [2e-5, 0.1])
def test_decorrelated_batch_normalization(shape, groups, eps):
    x = np.random.RandomState(0).randn(*shape)
    check(*_both("decorrelated_batch_normalization", groups=groups, eps=eps), [x], dtypes=[np.float64])
    check(
        *_both("decorrelated_batch_normalization", groups=groups, eps=eps),
        [x],
        dtypes=[np.float32],
        rtol=1e-3,
        atol=1e-3,
    )


def test_decorrelated_running_statistics():
    rng = np.random.RandomState(0)
    x, mean, projection = rng.randn(9, 6, 2), rng.randn(2, 3), rng.randn(2, 3, 3)
    t_mean, t_projection = torch.from_numpy(mean.copy()), torch.from_numpy(projection.copy())
    F.decorrelated_batch_normalization(x, groups=2, running_mean=mean, running_projection=projection, decay=0.6)
    normalization.decorrelated_batch_normalization(
        torch.from_numpy(x), groups=2, running_mean=t_mean, running_projection=t_projection, decay=0.6
    )
    np.testing.assert_allclose(t_mean.numpy(), mean, rtol=1e-10)
    np.testing.assert_allclose(t_projection.numpy(), projection, rtol=1e-8)
    check(
        lambda v: F.fixed_decorrelated_batch_normalization(v, mean.astype(v.dtype), projection.astype(v.dtype), 2),
        lambda v: normalization.fixed_decorrelated_batch_normalization(
            v, t_mean.to(v.dtype), t_projection.to(v.dtype), 2
        ),
        [x],
    )


def test_the_inverse_root_has_a_gradient_where_eigenvalues_are_equal():
    matrix = (torch.eye(3, dtype=torch.float64) * 2).unsqueeze(0).requires_grad_()

    def symmetric(m):
        return normalization._InverseRoot.apply((m + m.transpose(1, 2)) / 2)

    assert torch.autograd.gradcheck(symmetric, (matrix,))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9])
@pytest.mark.parametrize("shape", [(2, 7, 2, 3), (2, 3, 4), (3, 5)])
def test_local_response_normalization(n, shape):
    check(*_both("local_response_normalization", n, 1.5, 0.3, 0.6), [np.random.RandomState(0).randn(*shape)])
    if n % 2 and len(shape) > 2:  # what the row emits
        check(
            _both("local_response_normalization", n, 1.5, 0.3, 0.6)[0],
            lambda x: torch.nn.functional.local_response_norm(x, n, alpha=0.3 * n, beta=0.6, k=1.5),
            [np.random.RandomState(0).randn(*shape)],
        )


@pytest.mark.parametrize("axis", [0, 1, -1, (0, 2), (1, 2)])
@pytest.mark.parametrize("eps", [1e-5, 0.3])
def test_normalize(axis, eps):
    check(*_both("normalize", eps, axis), ["f32[3,4,2]"], double_backward=True)


def test_normalize_of_zeros_has_chainers_gradient():
    x = np.array([[0.0, 0.0], [3.0, 4.0]])
    check(*_both("normalize"), [x])


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(2, 4))
def test_group_normalization_search(n, groups, per_group, length):
    channels = groups * per_group
    rng = np.random.RandomState(0)
    inputs = [rng.randn(n, channels, length), rng.randn(channels), rng.randn(channels)]
    check(
        lambda x, g, b: F.group_normalization(x, groups, g, b),
        lambda x, g, b: normalization.group_normalization(x, groups, g, b),
        inputs,
        dtypes=[np.float64],
    )


@pytest.mark.parametrize("eps", [1e-5, 0.1])
def test_layer_normalization(eps):
    check(*_both("layer_normalization", eps), ["f32[4,5]", "f32[5]", "f32[5]"], double_backward=True, rtol=1e-3)


@pytest.mark.parametrize(
    "name, inputs, args",
    [
        ("batch_normalization", ["f32[4,3]", "f32[2]", "f32[2]"], {}),
        ("normalize", ["f32[4,3]"], {"axis": 2}),
        ("batch_normalization", ["f32[4,3]", "f32[3]", "f32[3]"], {"axis": (1, 0)}),
        ("layer_normalization", ["f32[2,4,3]", "f32[3]", "f32[3]"], {}),
        ("fixed_batch_normalization", ["f32[4,3]", "f32[2]", "f32[2]", "f32[2]", "f32[2]"], {}),
    ],
)
def test_errors_stay_errors(name, inputs, args):
    check_raises(*_both(name, **args), inputs)


def test_group_normalization_needs_whole_groups():
    check_raises(
        lambda x, g: F.group_normalization(x, 2, g, g),
        lambda x, g: normalization.group_normalization(x, 2, g, g),
        ["f32[2,3,2]", "f32[3]"],
    )


def test_batch_statistics_are_used_in_test_mode_too():
    inputs = ["f32[4,3]", "f32[3]", "f32[3]"]
    with chainer.using_config("train", False):
        check(*_both("batch_normalization"), inputs)
