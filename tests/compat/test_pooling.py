"""chainer.functions.pooling: the whole grid of sizes, windows, strides and pads."""

import itertools

import chainer
import chainer.functions as F
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from chainer2torch.compat.functions import pooling, regions
from chainer2torch.compat.functions.windows import get_conv_outsize, get_deconv_outsize
from tests.support.differential import check, check_raises
from tests.support.row_examples import call, load_rows

_ROWS = load_rows("functions/pooling")


def _both(name, *args, room=pooling, **kwargs):
    return (lambda *xs: getattr(F, name)(*xs, *args, **kwargs), lambda *xs: getattr(room, name)(*xs, *args, **kwargs))


_GRID = list(itertools.product(range(1, 10), range(1, 6), [None, 1, 2, 3, 4, 5], range(4), [True, False]))


def _fits(size, k, s, p, cover_all):
    return get_conv_outsize(size, k, s or k, p, cover_all) > 0


def test_max_pooling_over_the_whole_grid():
    """Zero mismatches, of the helper and of what the row emits, in value and gradient."""
    compared = plain = 0
    for size, k, s, p, cover_all in _GRID:
        if not _fits(size, k, s, p, cover_all):
            continue
        x = np.random.RandomState(size).randn(1, 2, size)
        v, t, u = chainer.Variable(x), *(torch.tensor(x, requires_grad=True) for _ in range(2))
        y = F.max_pooling_1d(v, k, s, p, cover_all)
        row = call(_ROWS["max_pooling_1d"], (t, k, s, p, cover_all), {})
        helper = pooling.max_pooling_1d(u, k, s, p, cover_all)
        g = np.random.RandomState(1).randn(*y.shape)
        gx = chainer.grad([y], [v], [chainer.Variable(g)])[0].array
        for z, leaf in ((row, t), (helper, u)):
            case = (size, k, s, p, cover_all)
            np.testing.assert_array_equal(z.detach().numpy(), y.array, err_msg=str(case))
            z.backward(torch.from_numpy(g))
            np.testing.assert_allclose(leaf.grad.numpy(), gx, rtol=1e-12, err_msg=str(case))
        compared += 1
        plain += cover_all and p <= k - (s or k) and 2 * p <= k
    assert compared > 1500
    assert plain > 100


def test_ceil_mode_is_not_cover_all():
    x = torch.zeros(1, 1, 1)
    ceil_mode = torch.nn.functional.max_pool1d(x, 2, 2, 1, ceil_mode=True)
    assert ceil_mode.shape[2] == 1  # were it 2, the helper would not be needed
    assert pooling.max_pooling_1d(x, 2, 2, 1).shape[2] == 2


_PAIR = st.tuples(st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=200, deadline=None)
@given(
    st.tuples(st.integers(1, 8), st.integers(1, 8)),
    _PAIR,
    st.none() | _PAIR | st.integers(1, 3),
    st.tuples(st.integers(0, 2), st.integers(0, 2)),
    st.booleans(),
    st.booleans(),
)
def test_max_pooling_2d_search(size, ksize, stride, pad, cover_all, indices):
    strides = ksize if stride is None else stride if isinstance(stride, tuple) else (stride, stride)
    x = np.random.RandomState(0).randint(0, 4, (1, 2, *size)).astype(float)  # with ties: the first maximum counts
    fns = _both("max_pooling_2d", ksize, stride, pad, cover_all, indices)
    if not all(_fits(*v, cover_all) for v in zip(size, ksize, strides, pad, strict=True)):
        check_raises(*fns, [x])
        return
    check(lambda v: _first(fns[0](v)), lambda v: _first(fns[1](v)), [x], dtypes=[np.float64])
    if indices:
        check(lambda v: fns[0](v)[1], lambda v: fns[1](v)[1].numpy(), [x], dtypes=[np.float64], grad=False)


def _first(result):
    return result[0] if isinstance(result, tuple) else result


@settings(max_examples=200, deadline=None)
@given(st.integers(1, 3), st.data(), st.sampled_from([0, None]))
def test_average_pooling_search(n, data, pad_value):
    def numbers(low, high):
        return tuple(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))

    size, ksize, stride, pad = numbers(1, 6), numbers(1, 4), numbers(1, 3), numbers(0, 2)
    x = np.random.RandomState(0).randn(2, 1, *size)
    args = (ksize, stride, pad) if n == 2 else (ksize, stride, pad, pad_value)
    name = f"average_pooling_{n}d"
    if not all(_fits(*v, False) for v in zip(size, ksize, stride, pad, strict=True)):
        check_raises(*_both(name, *args), [x])
        return
    with np.errstate(all="ignore"):  # a window in the padding alone: 0 / 0 in both
        check(*_both(name, *args), [x], dtypes=[np.float64], strided=False)
        check(
            _both(name, *args)[0], lambda v: call(_ROWS[name], (v, *args), {}), [x], dtypes=[np.float64], strided=False
        )


@pytest.mark.parametrize("k, s, p", itertools.product(range(1, 5), [None, 1, 2, 3], range(3)))
def test_average_pooling_row_over_a_grid(k, s, p):
    check(
        lambda v: F.average_pooling_2d(v, k, s, p),
        lambda v: call(_ROWS["average_pooling_2d"], (v, k, s, p), {}),
        ["f32[1,2,6,7]"],
        dtypes=[np.float64],
        strided=False,
    )


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 3), st.data(), st.booleans())
def test_unpooling_search(n, data, cover_all):
    def numbers(low, high):
        return tuple(data.draw(st.lists(st.integers(low, high), min_size=n, max_size=n)))

    size, ksize, pad = numbers(1, 4), numbers(1, 3), numbers(0, 1)
    stride = data.draw(st.sampled_from([None, 1, 2, ksize]))
    outsize = data.draw(st.none() | st.just(numbers(1, 9)))
    x = np.random.RandomState(0).randn(1, 2, *size)
    fns = _both(f"unpooling_{n}d", ksize, stride, pad, outsize, cover_all)
    k, s = (ksize if v is None else v if isinstance(v, tuple) else (v,) * n for v in (ksize, stride))
    if outsize is None and min(map(get_deconv_outsize, size, k, s, pad, [cover_all] * n)) <= 0:
        return  # nothing is left: of a negative size Chainer makes an empty array
    try:
        fns[0](x)
    except ZeroDivisionError:  # if the input is as long as the padding; the helper has no such limit
        return
    except Exception:  # sizes that do not fit
        check_raises(*fns, [x])
        return
    check(*fns, [x], dtypes=[np.float64], strided=False)


@pytest.mark.parametrize(
    "size, k, p, outsize",
    [
        ((5, 6), 2, 2, None),
        ((4, 4), 3, 2, (6, 6)),
        ((5, 5), 3, 2, (9, 9)),
        ((3, 2), 3, 0, (9, 6)),
        ((6, 6), 2, 2, (8, 8)),
        ((6, 6), 2, 4, (4, 4)),
    ],
)
def test_unpooling_2d_where_it_repeats_pixels(size, k, p, outsize):
    x = np.random.RandomState(0).randn(1, 2, *size)
    for cover_all in (True, False):
        fns = _both("unpooling_2d", k, None, p, outsize, cover_all)
        try:
            fns[0](x)
        except Exception:
            check_raises(*fns, [x])
            continue
        # With padding Chainer's gradient of this path is right for k = 2 and even sizes only.
        check(*fns, [x], dtypes=[np.float64], grad=p == 0)


@settings(max_examples=150, deadline=None)
@given(_PAIR, st.integers(1, 3), st.none() | st.integers(1, 3), st.integers(0, 1), st.booleans())
def test_upsampling_2d_search(size, k, s, p, cover_all):
    rng = np.random.RandomState(0)
    x, indexes = rng.randn(1, 2, *size), rng.randint(0, k * k, (1, 2, *size)).astype(np.int32)
    fns = _both("upsampling_2d", indexes, k, s, p, None, cover_all)
    try:
        F.upsampling_2d(x, indexes, k, s, p, None, cover_all)
    except Exception:  # an empty output
        return
    check(
        fns[0],
        lambda v: pooling.upsampling_2d(v, torch.from_numpy(indexes), k, s, p, None, cover_all),
        [x],
        dtypes=[np.float64],
    )


def test_upsampling_is_the_inverse_of_pooling():
    def there_and_back(api):
        def fn(x):
            y, indexes = api.max_pooling_2d(x, 2, 2, return_indices=True)
            return api.upsampling_2d(y, indexes, 2, 2, 0, (5, 6))

        return fn

    check(there_and_back(F), there_and_back(pooling), ["f32[2,3,5,6]"])


@pytest.mark.parametrize(
    "name, args, shape",
    [
        ("max_pooling_2d", (2,), (1, 2, 3)),
        ("max_pooling_1d", (2,), (1, 2, 3, 4)),
        ("max_pooling_2d", (2,), (0, 2, 3, 3)),
        ("max_pooling_2d", ((2, 2, 2),), (1, 2, 3, 3)),
        ("average_pooling_2d", (5,), (1, 2, 3, 3)),
        ("average_pooling_3d", (2,), (1, 2, 3, 3)),
        ("average_pooling_1d", (2, 1, 0, 3), (1, 2, 5)),
        ("unpooling_2d", (2, 2, 0, (9, 9)), (1, 2, 3, 3)),
        ("spatial_pyramid_pooling_2d", (2,), (1, 2, 4, 4)),
    ],
)
def test_errors_stay_errors(name, args, shape):
    check_raises(*_both(name, *args), [np.zeros(shape, "f")])


@pytest.mark.parametrize("shape", [(2, 3, 4, 4), (1, 2, 7, 9), (1, 1, 5, 3)])
def test_spatial_pyramid_pooling(shape):
    for height in (1, 2, 3):
        fns = _both("spatial_pyramid_pooling_2d", height, "max")
        x = np.random.RandomState(0).randn(*shape)
        try:
            fns[0](x)
        except Exception:
            check_raises(*fns, [x])
            continue
        check(*fns, [x])


# ---- Regions


def _regions(rng, columns, h, w, scale):
    tops, lefts = rng.uniform(-2, h, 5), rng.uniform(-2, w, 5)
    bottoms, rights = tops + rng.uniform(0, h, 5), lefts + rng.uniform(0, w, 5)
    if columns == 5:
        return np.stack([rng.randint(0, 2, 5), lefts, tops, rights, bottoms], 1) / np.array([1] + [scale] * 4)
    return np.stack([tops, lefts, bottoms, rights], 1) / scale


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("outh, outw", [(2, 3), (4, 1), (7, 7)])
@pytest.mark.parametrize("scale", [1.0, 0.25])
def test_roi_pooling(seed, outh, outw, scale):
    rng = np.random.RandomState(seed)
    x = rng.randint(0, 5, (2, 2, 6, 7)) + 0.0  # with ties
    rois = _regions(rng, 5, 6, 7, scale)
    if seed % 2:  # Chainer cannot compute the gradient of every region that reaches beyond the image
        rois[:, 1:] = rois[:, 1:].clip(0, 5 / scale)
    check(
        lambda v: F.roi_pooling_2d(v, rois.astype(v.dtype), outh, outw, scale),
        lambda v: regions.roi_pooling_2d(v, torch.from_numpy(rois).to(v.dtype), outh, outw, scale),
        [x],
        grad=bool(seed % 2),
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outsize", [(2, 3), 4])
@pytest.mark.parametrize("scale", [1.0, 0.25])
@pytest.mark.parametrize("name", ["roi_max_pooling_2d", "roi_average_pooling_2d"])
def test_roi_pooling_with_indices(name, seed, outsize, scale):
    rng = np.random.RandomState(seed)
    x, rois, i = rng.randn(2, 2, 6, 7), _regions(rng, 4, 6, 7, scale), rng.randint(0, 2, 5).astype(np.int32)
    check(
        lambda v: getattr(F, name)(v, rois.astype(v.dtype), i, outsize, scale),
        lambda v: getattr(regions, name)(v, torch.from_numpy(rois).to(v.dtype), torch.from_numpy(i), outsize, scale),
        [x],
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("outsize", [(2, 3), 4])
@pytest.mark.parametrize("ratio", [None, 2, (1, None), (3, 2)])
@pytest.mark.parametrize("name", ["roi_max_align_2d", "roi_average_align_2d"])
def test_roi_align(name, seed, outsize, ratio):
    rng = np.random.RandomState(seed)
    x, rois, i = rng.randn(2, 2, 6, 7), _regions(rng, 4, 6, 7, 0.5), rng.randint(0, 2, 5).astype(np.int32)
    check(
        lambda v: getattr(F, name)(v, rois.astype(v.dtype), i, outsize, 0.5, ratio),
        lambda v: getattr(regions, name)(
            v, torch.from_numpy(rois).to(v.dtype), torch.from_numpy(i), outsize, 0.5, ratio
        ),
        [x],
        dtypes=[np.float32],
    )


@pytest.mark.parametrize("args", [((0, 2), 1.0), (2, 0.0), (2, -1.0), (2.5, 1.0)])
def test_roi_errors(args):
    inputs = [np.zeros((1, 1, 4, 4), "f"), np.zeros((1, 4), "f"), np.zeros(1, "i")]
    for name in ("roi_max_pooling_2d", "roi_average_pooling_2d", "roi_max_align_2d", "roi_average_align_2d"):
        check_raises(*_both(name, *args, room=regions), inputs)


def test_no_region_gives_no_result():
    x, rois = torch.zeros(1, 2, 4, 4), torch.zeros(0, 4)
    assert regions.roi_max_pooling_2d(x, rois, torch.zeros(0, dtype=torch.int32), (2, 3), 1.0).shape == (0, 2, 2, 3)
