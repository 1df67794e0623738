"""Short forms of pooling and of sums over axes, beside Chainer: values and gradients."""

import chainer.functions as F
import pytest
import torch

from chainer2torch.native import pooling, reductions
from tests.support.differential import check

SHAPES = {1: "f32[2,3,11]", 2: "f32[2,3,7,8]", 3: "f32[2,3,5,6,7]"}
WINDOWS = [
    (2, None, 0, True),
    (3, 2, 1, True),
    (3, 2, 1, False),
    (2, 3, 1, True),  # the last windows begin in the padding
    (2, 3, 1, False),
    (3, 1, 2, True),
    (4, 3, 0, False),
    ((2, 3), (1, 2), (1, 0), True),
]


def _both(helpers, function, inputs, grad=True):
    """``function`` gets Chainer's functions, then the helpers, and the inputs."""
    check(lambda *x: function(F, *x), lambda *x: function(helpers, *x), inputs, grad=grad)


@pytest.mark.parametrize("ksize,stride,pad,cover_all", WINDOWS)
def test_max_pooling(ksize, stride, pad, cover_all):
    given = (ksize, stride, pad, cover_all)
    for shape in [SHAPES[2]] if isinstance(ksize, tuple) else SHAPES.values():
        _both(pooling, lambda f, x: f.max_pooling_nd(x, *given), [shape])
    # the places of the maxima, and what comes back to them
    _both(pooling, lambda f, x: f.max_pooling_2d(x, *given, return_indices=True)[0], [SHAPES[2]])
    _both(pooling, lambda f, x: f.max_pooling_2d(x, *given, return_indices=True)[1], [SHAPES[2]], grad=False)

    def back(functions, x):
        y, indices = functions.max_pooling_2d(x, *given, return_indices=True)
        return functions.upsampling_2d(y, indices, ksize, stride, pad, x.shape[2:], cover_all)

    _both(pooling, back, [SHAPES[2]])
    inputs = [SHAPES[2], "i32[2,3,7,8]<4"]
    _both(pooling, lambda f, x, i: f.upsampling_2d(x, i, ksize, stride, pad, None, cover_all), inputs)


def test_pooling_that_cannot_be_raises():
    for x in (torch.ones(2, 3, 4), torch.ones(2, 3, 4, 4, 4)):  # indices are those of two axes
        with pytest.raises((RuntimeError, ValueError, NotImplementedError)):
            pooling.max_pooling_nd(x, 2, return_indices=True)
    with pytest.raises(RuntimeError):
        pooling.max_pooling_2d(torch.ones(2, 3, 2, 2), 5, cover_all=False)
    with pytest.raises(ValueError):
        pooling.max_pooling_2d(torch.ones(2, 3, 2, 2), (2,))
    with pytest.raises(RuntimeError):
        reductions.sum_along(torch.ones(2, 3, 4), (0, -3))


@pytest.mark.parametrize("pad_value", [0, None])
@pytest.mark.parametrize("given", [(2,), (3, 2, 1), (4, 1, 2)])
def test_average_pooling(given, pad_value):
    for shape in SHAPES.values():
        _both(pooling, lambda f, x: f.average_pooling_nd(x, *given, pad_value=pad_value), [shape])


@pytest.mark.parametrize("axis", [None, (), 0, -1, (1,), (0, 2), (-1, 0)])
@pytest.mark.parametrize("keepdims", [True, False])
def test_sums_and_means_over_axes(axis, keepdims):
    shape = "f32[2,3,4]"
    check(lambda x: F.sum(x, axis, keepdims), lambda x: reductions.sum_along(x, axis, keepdims), [shape])
    _both(reductions, lambda f, x: f.average(x, axis, keepdims=keepdims), [shape])
    weights = {None: "f32[2,3,4]>0", 0: "f32[2]>0", -1: "f32[4]>0", (1,): "f32[3]>0"}
    if axis in weights:
        _both(reductions, lambda f, x, w: f.average(x, axis, w, keepdims), [shape, weights[axis]])
