"""The float64 pass of a script under Chainer: parameters, batches and the inputs of links are float64.

It tells rounding, which float64 makes a billion times smaller, from a difference of meaning, which stays. Written for
Python 3.6 and Chainer 3 and newer.
"""
# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import chainer
import chainer.functions as F
import numpy
from chainer.dataset import convert


def install():
    """Makes float64 the dtype of new parameters, and casts float32 batches and the float32 inputs of links."""
    chainer.global_config.dtype = numpy.dtype(numpy.float64)
    concat = convert._concat_arrays

    def concat_arrays(*args, **kwargs):
        return double(concat(*args, **kwargs))

    convert._concat_arrays = concat_arrays
    call = chainer.Link.__call__

    def double_call(self, *args, **kwargs):
        return call(self, *[double(value) for value in args], **{key: double(value) for key, value in kwargs.items()})

    chainer.Link.__call__ = double_call


def double(value):
    """``value`` with float32 arrays and Variables in it as float64."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(double(item) for item in value)
    if getattr(value, "dtype", None) != numpy.float32:
        return value
    return F.cast(value, numpy.float64) if isinstance(value, chainer.Variable) else value.astype(numpy.float64)
