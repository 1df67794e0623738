"""Names of Chainer's time that Python, NumPy and Pillow have dropped, for the side that runs the original program.

Written for Python 3.6 and newer: in a legacy interpreter nothing is missing, and nothing happens. What the migrated
program says instead stands in ``rules/python/dropped_*.toml``; it runs where none of these names is restored.
"""

# mypy: ignore-errors
import builtins
import collections
import collections.abc
import importlib
import inspect
import math
import operator
import sys
import time
import types
import warnings

import numpy

_TYPES = {"float": float, "int": int, "bool": bool, "object": object, "complex": complex, "str": str}
# by the old name, today's name of the same thing
_RENAMED = {
    "float_": "float64",
    "longfloat": "longdouble",
    "complex_": "complex128",
    "cfloat": "complex128",
    "singlecomplex": "complex64",
    "longcomplex": "clongdouble",
    "clongfloat": "clongdouble",
    "string_": "bytes_",
    "unicode_": "str_",
    "bool8": "bool_",
    "int0": "intp",
    "uint0": "uintp",
    "object0": "object_",
    "str0": "str_",
    "bytes0": "bytes_",
    "Inf": "inf",
    "Infinity": "inf",
    "infty": "inf",
    "PINF": "inf",
    "NaN": "nan",
    "product": "prod",
    "cumproduct": "cumprod",
    "alltrue": "all",
    "sometrue": "any",
    "round_": "round",
    "row_stack": "vstack",
    "trapz": "trapezoid",
    "mat": "asmatrix",
}
_WARNINGS = ("ComplexWarning", "VisibleDeprecationWarning", "RankWarning", "AxisError")


def restore():
    """Puts back what is missing. Calling it twice is harmless."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _numpy_names()
        _python_names()
        _pillow_names()
        _scipy_names()


def _add(module, name, value):
    if name not in vars(module):
        setattr(module, name, value)


def _numpy_names():
    for name, value in _TYPES.items():
        _add(numpy, name, value)
    _add(numpy, "long", int)
    _add(numpy, "unicode", str)
    for name, now in _RENAMED.items():
        if hasattr(numpy, now):
            _add(numpy, name, getattr(numpy, now))
    for name in _WARNINGS:
        if hasattr(numpy, "exceptions"):
            _add(numpy, name, getattr(numpy.exceptions, name))
    for name, value in (("NINF", -numpy.inf), ("PZERO", 0.0), ("NZERO", -0.0)):
        _add(numpy, name, value)
    for module in (math, sys, warnings, importlib.import_module("os")):
        _add(numpy, module.__name__, module)
    _add(numpy, "in1d", lambda ar1, ar2, *args, **kwargs: numpy.isin(numpy.asarray(ar1).ravel(), ar2, *args, **kwargs))
    _add(numpy, "asfarray", _asfarray)
    _add(numpy, "asscalar", lambda a: a.item())
    _add(numpy, "msort", _msort)
    _add(numpy.linalg, "linalg", types.SimpleNamespace(LinAlgError=numpy.linalg.LinAlgError))
    _add(numpy, "sctypes", _sctypes())


def _asfarray(a, dtype=numpy.float64):
    return numpy.asarray(a, dtype if numpy.issubdtype(dtype, numpy.inexact) else numpy.float64)


def _msort(a):
    b = numpy.array(a)
    b.sort(0)
    return b


def _sctypes():
    families = {
        "int": ("int8", "int16", "int32", "int64"),
        "uint": ("uint8", "uint16", "uint32", "uint64"),
        "float": ("float16", "float32", "float64"),
        "complex": ("complex64", "complex128"),
    }
    return {family: [getattr(numpy, name) for name in names] for family, names in families.items()}


def _getargspec(func):
    found = inspect.getfullargspec(func)
    return _ArgSpec(found.args, found.varargs, found.varkw, found.defaults)


_ArgSpec = collections.namedtuple("ArgSpec", "args varargs keywords defaults")


def _python_names():
    _add(inspect, "getargspec", _getargspec)
    _add(builtins, "_python2_division", _divide)  # what chainer2torch/verify/python2_sources.py writes
    for name in collections.abc.__all__:
        _add(collections, name, getattr(collections.abc, name))
    _add(time, "clock", time.process_time)
    _add(importlib.import_module("fractions"), "gcd", math.gcd)
    tree = importlib.import_module("xml.etree.ElementTree")
    sys.modules.setdefault("xml.etree.cElementTree", tree)
    _add(sys.modules["xml.etree"], "cElementTree", tree)


def _divide(a, b, in_place=False):
    """``a / b`` as Python 2 computes it: a whole number of whole numbers."""
    kinds = [getattr(getattr(x, "dtype", None), "kind", None) for x in (a, b)]
    whole = all(isinstance(x, int) or kind in ("i", "u", "b") for x, kind in zip((a, b), kinds))
    if in_place:
        return operator.ifloordiv(a, b) if whole else operator.itruediv(a, b)
    return a // b if whole else a / b


def _pillow_names():
    try:
        image = importlib.import_module("PIL.Image")
    except ImportError:
        return
    for name, now in (("ANTIALIAS", "LANCZOS"), ("LINEAR", "BILINEAR"), ("CUBIC", "BICUBIC")):
        _add(image, name, getattr(image, now))


def _scipy_names():
    try:
        misc = importlib.import_module("scipy.misc")
    except ImportError:
        return
    for name in ("logsumexp", "factorial", "comb"):
        _add(misc, name, _of_special(name))


def _of_special(name):
    """A function of scipy.special, which is imported when it is called: few programs need it."""
    return lambda *args, **kwargs: getattr(importlib.import_module("scipy.special"), name)(*args, **kwargs)
