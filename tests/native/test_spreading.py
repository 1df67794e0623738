"""Windows that are spread, beside Chainer: values and gradients for sizes, strides and paddings of all kinds."""

import chainer.functions as F
import pytest

from chainer2torch.native import spreading
from tests.support.differential import check

UNPOOLED = [
    (2, None, 0, None, True),
    (2, None, 0, None, False),
    (2, 2, 0, (6, 8), True),
    (2, 2, 0, (6, 7), True),
    ((2, 3), (1, 2), (1, 0), None, True),
    (3, 2, 1, None, False),
    (3, 2, 1, (5, 7), True),
    (3, 1, 0, None, True),
    (2, 2, 1, None, False),
    (4, 4, 1, None, False),
    (1, 2, 0, None, False),
]


@pytest.mark.parametrize("ksize,stride,pad,outsize,cover_all", UNPOOLED)
def test_unpooling_2d(ksize, stride, pad, outsize, cover_all):
    given = (ksize, stride, pad, outsize, cover_all)
    check(lambda x: F.unpooling_2d(x, *given), lambda x: spreading.unpooling_2d(x, *given), ["f32[2,3,3,4]"])


@pytest.mark.parametrize(
    "size,k,p,outsize,cover_all",
    [
        ("5,6", 2, 2, None, False),
        ("4,4", 3, 2, (6, 6), True),
        ("6,6", 2, 4, (4, 4), False),
        ("6,6", 2, 2, (8, 8), False),
    ],
)
def test_unpooling_2d_where_chainer_repeats_pixels(size, k, p, outsize, cover_all):
    given = (k, None, p, outsize, cover_all)
    functions = (lambda x: F.unpooling_2d(x, *given), lambda x: spreading.unpooling_2d(x, *given))
    check(*functions, [f"f32[1,2,{size}]"], grad=False)  # Chainer's own gradient is not right there


@pytest.mark.parametrize(
    "weights,options",
    [
        ("f32[3,2,3,3]", {}),
        ("f32[3,2,3,2]", {"stride": 2, "pad": 1}),
        ("f32[3,2,3,3]", {"stride": (2, 3), "pad": (1, 0), "outsize": (6, 13)}),
        ("f32[3,2,2,2]", {"stride": 3, "outsize": (10, 13)}),
        ("f32[3,2,3,3]", {"dilate": 2, "pad": 1}),
        ("f32[3,2,4,4]", {"stride": 2, "pad": 1, "groups": 3}),
    ],
)
@pytest.mark.parametrize("bias", [True, False])
def test_deconvolution_2d(weights, options, bias):
    n_out = 2 * options.get("groups", 1)
    inputs = ["f32[2,3,3,4]", weights] + [f"f32[{n_out}]"] * bias
    check(
        lambda x, W, b=None: F.deconvolution_2d(x, W, b, **options),
        lambda x, W, b=None: spreading.deconvolution_2d(x, W, b, **options),
        inputs,
    )
