"""Layers whose weights are zeros for a search: what they give is known without computing it.

Drawing the weights of large layers takes longer than all else in a search, and so does convolving with them. No value
matters there. Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib

import chainer
import numpy
from chainer.utils import conv

# Arrays of new parameters from this size on are zeros; in a search smaller ones are, too: nothing is compared there.
_LARGE, IN_A_SEARCH = 100000, 4000
# Multiplications of a convolution in a second, roughly.
_SPEED = 1.5e10


class Saved(object):
    """How long would have been computed what was not."""

    def __init__(self):
        self.seconds = 0.0


@contextlib.contextmanager
def cheap_weights(least=_LARGE):
    """Large arrays of new parameters are zeros."""
    from chainer import initializers

    generate = initializers.generate_array

    def generate_array(initializer, shape, xp, *args, **kwargs):
        size = 1
        for n in shape if isinstance(shape, (tuple, list)) else (shape,):
            size *= n
        if size < least or xp is not numpy:
            return generate(initializer, shape, xp, *args, **kwargs)
        dtype = kwargs.get("dtype") or (args[0] if args else None) or getattr(initializer, "dtype", None)
        return numpy.zeros(shape, dtype or numpy.float32)

    initializers.generate_array = generate_array
    try:
        yield
    finally:
        initializers.generate_array = generate


@contextlib.contextmanager
def cheap_convolutions():
    """Convolutions with large weights that are all zeros give their bias without convolving; gives what that saved."""
    saved, undo = Saved(), []
    places = chainer.functions.connection
    kinds = (
        (places.convolution_2d.Convolution2DFunction, "_forward_cpu_core", _sides_2d),
        (places.deconvolution_2d.Deconvolution2DFunction, "_forward_cpu_core", _enlarged_2d),
        (places.convolution_nd.ConvolutionND, "_forward_xp_core", _sides_nd),
        (places.deconvolution_nd.DeconvolutionND, "_forward_xp_core", _enlarged_nd),
    )
    for cls, name, sides in kinds:
        core = vars(cls).get(name)
        if core is not None:
            undo.append((cls, name, core))
            setattr(cls, name, _without_zeros(core, sides, saved))
    try:
        yield saved
    finally:
        for cls, name, core in undo:
            setattr(cls, name, core)


def _without_zeros(core, sides, saved):
    def cheap(function, x, W, b, *args):
        if W.size < IN_A_SEARCH or not isinstance(W, numpy.ndarray) or W.any():
            return core(function, x, W, b, *args)
        found, channels = sides(function, x, W)
        if not all(n > 0 for n in found):
            return core(function, x, W, b, *args)  # which says what is wrong
        y = numpy.zeros((len(x), channels) + tuple(found), x.dtype)
        if b is not None:
            y += b.reshape((1, -1) + (1,) * len(found))
        places = x[0, 0].size if sides in (_enlarged_2d, _enlarged_nd) else y[0, 0].size
        saved.seconds += float(len(x)) * places * W.size / _SPEED
        return (y,)

    return cheap


def _sides_2d(function, x, W):
    sizes = zip(x.shape[2:], W.shape[2:], (function.sy, function.sx), (function.ph, function.pw), _dilation(function))
    return [conv.get_conv_outsize(n, k, s, p, function.cover_all, d) for n, k, s, p, d in sizes], W.shape[0]


def _sides_nd(function, x, W):
    dilation = getattr(function, "dilate", (1,) * function.ndim)
    sizes = zip(x.shape[2:], W.shape[2:], function.stride, function.pad, dilation)
    return [conv.get_conv_outsize(n, k, s, p, function.cover_all, d) for n, k, s, p, d in sizes], W.shape[0]


def _enlarged_2d(function, x, W):
    return (function.outh, function.outw), W.shape[1]


def _enlarged_nd(function, x, W):
    return function.outs, W.shape[1]


def _dilation(function):
    return getattr(function, "dy", 1), getattr(function, "dx", 1)
