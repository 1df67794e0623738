"""CuPy where none is installed: on the CPU a program only asks it whether an array is one of its own.

``get_array_module(x)`` is NumPy then, ``asnumpy(x)`` is ``x``, and nothing is a ``cupy.ndarray``. Whatever else is
used raises, as computing on a GPU does; where models are compared, and in scripts that cannot do without a GPU, NumPy
computes in its place (``computes``), but for kernels, and draws the numbers, too (``draws``). Written for Python 3.6.
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


# What NumPy does not do as CuPy does it: other random numbers, and kernels.
_OTHERWISE = frozenset(["random", "cuda", "fuse", "memoize", "lib", "linalg", "testing"])


def install(computes=False, draws=False):
    """Puts the stand-in where ``import cupy`` finds it, if there is no CuPy. Chainer must have been imported before.

    ``computes``: a program that is written for a GPU alone (``xp = cuda.cupy``) computes with NumPy.
    """
    if "cupy" not in sys.modules and importlib.util.find_spec("cupy") is None:
        made = sys.modules["cupy"] = module("cupy")
        made._computes_ = computes
        made._draws_ = draws
        if computes:
            _gpu_on_host(made)


def _gpu_on_host(cupy):
    """``chainer.cuda`` of a program that asks for a GPU: arrays stay where they are."""
    import chainer
    from chainer import cuda

    def stay(array, *args, **kwargs):
        return numpy.asarray(array) if isinstance(array, (float, int, list, tuple)) else array

    def nothing(*args, **kwargs):
        return None

    def no_device(*args, **kwargs):
        return cuda.DummyDevice

    def cpu(*args, **kwargs):
        return chainer.backend.CpuDevice()

    modules = [module for module in {id(m): m for m in _cuda_modules(chainer)}.values() if not module.available]
    for made in modules:
        made.cupy = cupy
        made.Device = _NoDevice
        if hasattr(made, "GpuDevice"):
            made.GpuDevice.from_device_id = staticmethod(cpu)
        made.to_gpu = stay
        made.check_cuda_available = nothing
        made.get_device = made.get_device_from_id = no_device
    if modules:
        chainer.Link.to_gpu = lambda link, *args, **kwargs: link
        chainer.Variable.to_gpu = nothing


def _cuda_modules(chainer):
    yield chainer.cuda
    backends = getattr(chainer, "backends", None)
    if hasattr(backends, "cuda"):
        yield backends.cuda


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


class _NoDevice(object):
    """Any device of a program that is written for a GPU: the host."""

    id = -1

    def __init__(self, *args):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *args):
        return None

    def use(self):
        """There is one device."""


class _Random(types.ModuleType):
    """CuPy's generators, drawing from NumPy's global one; a seed of CuPy's leaves that alone."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        if name in ("seed", "reset_states", "set_random_state"):
            return lambda *args, **kwargs: None
        draw = getattr(numpy.random, name)

        def drawn(*args, **kwargs):
            dtype = kwargs.pop("dtype", None)
            values = draw(*args, **kwargs)
            return values if dtype is None else numpy.asarray(values).astype(dtype)

        return drawn


class _HostCupy(types.ModuleType):
    ndarray = _Array
    _computes_ = _draws_ = False

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
        if name in ("core", "_core"):  # where older programs find ``ndarray``
            return module(self.__name__ + "." + name)
        if self._draws_ and name == "random":
            return _Random(self.__name__ + ".random")
        if self._computes_ and name == "cuda":
            inner = module(self.__name__ + ".cuda")
            inner.Device = _NoDevice
            return inner
        if self._computes_ and name not in _OTHERWISE and hasattr(numpy, name):
            return getattr(numpy, name)
        return missing.not_run("cupy." + name, "CuPy is not installed here")


__all__ = ["asked_for", "install", "module"]
