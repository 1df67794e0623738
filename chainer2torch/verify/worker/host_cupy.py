"""CuPy where none is installed: on the CPU a program only asks it whether an array is one of its own.

``get_array_module(x)`` is NumPy then, ``asnumpy(x)`` is ``x``, and nothing is a ``cupy.ndarray``. Whatever else is
used raises, as computing on a GPU does. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import ast
import contextlib
import importlib.machinery
import importlib.util
import sys
import types

import numpy

from . import missing


def install():
    """Puts the stand-in where ``import cupy`` finds it, if there is no CuPy. Chainer must have been imported before."""
    if "cupy" not in sys.modules and importlib.util.find_spec("cupy") is None:
        sys.modules["cupy"] = module("cupy")


@contextlib.contextmanager
def asked_for(node):
    """Around a statement of a module: one that asks with ``try`` whether there is a CuPy is told that there is none."""
    names = [name for name in sys.modules if name.partition(".")[0] == "cupy"]
    held = {name: sys.modules[name] for name in names}
    if not isinstance(node, ast.Try) or not isinstance(held.get("cupy"), _HostCupy):
        yield
        return
    sys.modules.update(dict.fromkeys(names))
    try:
        yield
    finally:
        sys.modules.update(held)


def module(name):
    """The stand-in, as a module."""
    made = _HostCupy(name)
    made.__path__ = []
    made.__spec__ = importlib.machinery.ModuleSpec(name, None, is_package=True)
    return made


class _Array(object):
    """No array on the CPU is one of CuPy's."""


class _HostCupy(types.ModuleType):
    ndarray = _Array

    @staticmethod
    def get_array_module(*args):
        """NumPy: no argument is on a GPU."""
        return numpy

    @staticmethod
    def asnumpy(a, *args, **kwargs):
        """The array itself, which is on the host."""
        return numpy.asarray(a)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return missing.not_run("cupy." + name, "CuPy is not installed here")


__all__ = ["asked_for", "install", "module"]
