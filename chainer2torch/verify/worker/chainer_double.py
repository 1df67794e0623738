"""The float64 pass of a script under Chainer: parameters, batches and the inputs of links are float64.

It tells rounding, which float64 makes a billion times smaller, from a difference of meaning, which stays. Written for
Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import sys

import chainer
import chainer.functions as F
import numpy
from chainer.dataset import convert

from . import chainer_legacy


def install():
    """Makes float64 the dtype of new parameters, and casts float32 batches, Variables and the inputs of links."""
    defaults = chainer_legacy.Defaults()
    defaults.dtype = numpy.dtype(numpy.float64)
    defaults.install()
    chainer.global_config.dtype = defaults.dtype
    _data_sets_in_float32()
    _initializers_in_float64()
    concat = convert._concat_arrays

    def concat_arrays(*args, **kwargs):
        return double(concat(*args, **kwargs))

    convert._concat_arrays = concat_arrays

    _variables_in_float64()

    def wrap(call):
        def double_call(self, *args, **kwargs):
            return call(self, *[double(arg) for arg in args], **{key: double(arg) for key, arg in kwargs.items()})

        return double_call

    chainer_legacy.around_calls(wrap)
    if hasattr(chainer, "FunctionNode"):
        apply = chainer.FunctionNode.apply

        def apply_promoted(self, inputs):
            return apply(self, _promoted(inputs))

        chainer.FunctionNode.apply = apply_promoted


def _initializers_in_float64():
    """``Zero(dtype=np.float32)`` would leave one parameter in float32, which the other side makes float64 with all."""
    base = chainer.initializer.Initializer
    made = base.__init__

    def of_double(self, dtype=None, *args, **kwargs):
        is_single = dtype is not None and numpy.dtype(dtype) == numpy.float32
        made(self, numpy.float64 if is_single else dtype, *args, **kwargs)

    base.__init__ = of_double


def _variables_in_float64():
    """Casts where the script makes a Variable, as the other side where it makes a tensor: a division is rounded."""
    made = chainer.Variable.__init__

    def variable_of_double(self, data=None, *args, **kwargs):
        caller = sys._getframe(1)
        inside = caller.f_globals.get("__name__", "").startswith("chainer.") and caller.f_code.co_name != "as_variable"
        made(self, data if inside or type(self) is not chainer.Variable else double(data), *args, **kwargs)

    chainer.Variable.__init__ = variable_of_double


def _data_sets_in_float32():
    """Chainer's data sets scale images in the default dtype: in float32 here, as the migrated program's do."""
    get_dtype = getattr(chainer, "get_dtype", None)
    if get_dtype is None:
        return

    def by_caller(dtype=None, *args, **kwargs):
        if dtype is None and sys._getframe(1).f_globals.get("__name__", "").startswith("chainer.datasets."):
            dtype = numpy.float32
        return get_dtype(dtype, *args, **kwargs)

    chainer.get_dtype = by_caller


def take_float64():
    """Lets functions compute float64 that refuse it, though nothing in them is made for float32."""
    node = getattr(chainer, "FunctionNode", None)
    check = getattr(node, "_check_data_type_forward", None)
    if check is None:  # before Chainer 3
        return

    def check_others(self, in_data):
        is_double = any(getattr(x, "dtype", None) == numpy.float64 for x in in_data)
        if not (is_double and type(self).__name__ in _FLOAT32_ONLY and type(self).__module__.startswith("chainer.")):
            check(self, in_data)

    node._check_data_type_forward = check_others


@contextlib.contextmanager
def promoting(is_meant=True):
    """In a block float32 arrays that a program makes itself are float64 where they meet such, as under PyTorch."""
    node = getattr(chainer, "FunctionNode", None)
    if not is_meant or node is None:
        yield
        return
    apply = node.apply
    node.apply = lambda self, inputs: apply(self, _promoted(inputs))
    try:
        yield
    finally:
        node.apply = apply


_FLOAT32_ONLY = frozenset(["BatchMatMul", "ResizeImages", "ResizeImagesGrad"])


def _promoted(inputs):
    """Inputs of one float dtype: where a float32 array of the script's meets float64, PyTorch promotes it."""
    dtypes = [getattr(x, "dtype", None) for x in inputs]
    return [double(x) for x in inputs] if numpy.float64 in dtypes and numpy.float32 in dtypes else inputs


def double(value):
    """``value`` with float32 arrays and Variables in it as float64."""
    if isinstance(value, (list, tuple)) and type(value) in (list, tuple):
        return type(value)(double(item) for item in value)
    if getattr(value, "dtype", None) != numpy.float32:
        return value
    return F.cast(value, numpy.float64) if isinstance(value, chainer.Variable) else value.astype(numpy.float64)
