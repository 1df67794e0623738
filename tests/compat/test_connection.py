"""chainer.functions.connection: searches over sizes, strides, pads, dilation and groups."""

import chainer.functions as F
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chainer2torch.compat.functions import connections, convolutions
from chainer2torch.compat.functions.windows import get_conv_outsize, get_deconv_outsize
from tests.support.differential import check, check_raises

_OURS = {**vars(convolutions), **vars(connections)}


def _both(name, *args, **kwargs):
    return (
        lambda *xs: getattr(F, name)(*xs, *args, **kwargs),
        lambda *xs: _OURS[name](*xs, *args, **kwargs),
    )


_SMALL = st.integers(1, 3)


@settings(max_examples=250, deadline=None)
@given(n=st.integers(1, 3), data=st.data(), cover_all=st.booleans(), groups=st.integers(1, 2), bias=st.booleans())
def test_convolution_search(n, data, cover_all, groups, bias):
    def numbers(strategy):
        return tuple(data.draw(st.lists(strategy, min_size=n, max_size=n)))

    size, ksize = numbers(st.integers(1, 7)), numbers(_SMALL)
    stride, pad, dilate = numbers(_SMALL), numbers(st.integers(0, 3)), numbers(st.integers(1, 2))
    rng = np.random.RandomState(0)
    inputs = [rng.randn(1, 2, *size), rng.randn(2, 2 // groups, *ksize)] + [rng.randn(2)] * bias
    name = f"convolution_{n}d"
    options = {"stride": stride, "pad": pad, "cover_all": cover_all, "dilate": dilate, "groups": groups}
    outs = [
        get_conv_outsize(d, k, s, p, cover_all, e)
        for d, k, s, p, e in zip(size, ksize, stride, pad, dilate, strict=True)
    ]
    if min(outs) <= 0:
        check_raises(*_both(name, **options), inputs)
        return
    check(*_both(name, **options), inputs, dtypes=[np.float64], strided=False)


@settings(max_examples=250, deadline=None)
@given(n=st.integers(1, 3), data=st.data(), groups=st.integers(1, 2), bias=st.booleans(), dilate=st.integers(1, 2))
def test_deconvolution_search(n, data, groups, bias, dilate):
    def numbers(strategy):
        return tuple(data.draw(st.lists(strategy, min_size=n, max_size=n)))

    size, ksize, stride = numbers(st.integers(1, 4)), numbers(_SMALL), numbers(_SMALL)
    pad = numbers(st.integers(0, 2))
    default = [get_deconv_outsize(d, k, s, p, d=dilate) for d, k, s, p in zip(size, ksize, stride, pad, strict=True)]
    outsize = data.draw(st.none() | st.tuples(*[st.integers(max(out - 1, 1), max(out + 2, 1)) for out in default]))
    rng = np.random.RandomState(0)
    inputs = [rng.randn(1, 2, *size), rng.randn(2, 2 // groups, *ksize)] + [rng.randn(2 // groups * groups)] * bias
    options = {"stride": stride, "pad": pad, "outsize": outsize, "dilate": dilate, "groups": groups}
    fns = _both(f"deconvolution_{n}d", **options)
    try:
        fns[0](*inputs)
    except Exception:  # whatever Chainer raises: an output that is empty or does not fit
        check_raises(*fns, inputs, torch_error=(ValueError, RuntimeError))
        return
    # Of an output that is smaller than the default Chainer cannot compute the gradient.
    smaller = outsize is not None and any(out < d for out, d in zip(outsize, default, strict=True))
    check(*fns, inputs, dtypes=[np.float64], strided=False, grad=not smaller)


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2, "pad": 1}, {"cover_all": True, "stride": 2}, {"dilate": 2}, {"groups": 2}]
)
def test_convolution_over_four_axes(options):
    groups = options.get("groups", 1)
    check(*_both("convolution_nd", **options), ["f32[1,2,4,3,4,3]", f"f32[2,{2 // groups},2,2,2,2]", "f32[2]"])


@pytest.mark.parametrize(
    "options", [{}, {"stride": 2, "pad": 1}, {"outsize": (5, 5, 5, 4), "stride": 2}, {"groups": 2}, {"dilate": 2}]
)
def test_deconvolution_over_four_axes(options):
    groups = options.get("groups", 1)
    check(*_both("deconvolution_nd", **options), ["f32[1,2,2,2,2,2]", f"f32[2,{2 // groups},2,2,2,2]", "f32[2]"])


@pytest.mark.parametrize("name", ["convolution_2d", "deconvolution_2d"])
def test_second_derivatives(name):
    check(*_both(name, stride=2, pad=1), ["f32[1,2,4,4]", "f32[2,2,3,3]", "f32[2]"], double_backward=True)
    other = {"cover_all": True} if name == "convolution_2d" else {"outsize": (8, 8)}
    check(*_both(name, stride=2, pad=1, **other), ["f32[1,2,4,4]", "f32[2,2,3,3]", "f32[2]"], double_backward=True)


@pytest.mark.parametrize(
    "name, inputs, args",
    [
        ("convolution_1d", ["f32[1,2,4,4]", "f32[2,2,3,3]"], ()),
        ("convolution_2d", ["f32[1,2,4,4]", "f32[2,3,3,3]"], ()),
        ("convolution_2d", ["f32[1,2,4]", "f32[2,2,3]"], ()),
        ("deconvolution_2d", ["f32[1,2,4,4]", "f32[3,2,3,3]"], ()),
        ("linear", ["f32[2,3]", "f32[4,2]"], ()),
        ("linear", ["f32[2,3]", "f32[4,3]"], (None, 0)),
        ("shift", ["f32[1,9,3,3]"], (2,)),
        ("shift", ["f32[1,8,3,3]"], ()),
        ("bilinear", ["f32[2,3]", "f32[2,2]", "f32[3,2,4]", "f32[3,4]"], ()),
        ("deformable_convolution_2d_sampler", ["f32[1,2,4,4]", "f32[1,8,2,2]", "f32[2,2,3,3]"], ()),
    ],
)
def test_errors_stay_errors(name, inputs, args):
    check_raises(*_both(name, *args), inputs)


@pytest.mark.parametrize("axes", [1, 2, 3])
@pytest.mark.parametrize("bias", [False, True])
def test_linear_flattens_after_the_batch_axes(axes, bias):
    shape = (2, 3, 2, 2)
    n_in = int(np.prod(shape[axes:]))
    inputs = [np.random.RandomState(0).randn(*shape), f"f32[5,{n_in}]"] + ["f32[5]"] * bias
    check(lambda *xs: F.linear(*xs, n_batch_axes=axes), lambda *xs: connections.linear(*xs, n_batch_axes=axes), inputs)


def test_linear_of_an_empty_batch():
    check(*_both("linear"), ["f32[0,6]", "f32[4,6]", "f32[4]"])


@pytest.mark.parametrize("ignore_label", [None, -1, 2, 7])
def test_embed_id(ignore_label):
    x = np.array([[0, 2, 1], [-1, 2, 2]], np.int32)
    if ignore_label == 7:
        x = np.where(x == 1, 7, x).astype(np.int32)
    check(*_both("embed_id", ignore_label), [x, "f32[3,2]"])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([1, 3, 5]), st.sampled_from([1, 3]), st.integers(1, 2), st.integers(1, 2), st.integers(0, 3))
def test_shift_search(kh, kw, dy, dx, more):
    x = np.random.RandomState(0).randn(2, kh * kw + more, 4, 3)
    check(*_both("shift", (kh, kw), dilate=(dy, dx)), [x], dtypes=[np.float64])


@pytest.mark.parametrize("stride, pad", [(1, 0), (2, 1), ((1, 2), (0, 1))])
def test_deformable_convolution(stride, pad):
    pairs = [v if isinstance(v, tuple) else (v, v) for v in (stride, pad)]
    outs = [get_conv_outsize(d, k, s, p) for d, k, s, p in zip((6, 7), (3, 2), *pairs, strict=True)]
    offset = np.random.RandomState(0).randn(2, 12, *outs)
    check(
        *_both("deformable_convolution_2d_sampler", stride=stride, pad=pad),
        ["f32[2,3,6,7]", offset, "f32[4,3,3,2]", "f32[4]"],
    )
