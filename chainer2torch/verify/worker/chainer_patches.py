"""Small patches that let Chainer 7.8.1 be imported beside a current NumPy, setuptools and Python.

Written for Python 3.6 and newer, with NumPy and the standard library only: the Chainer worker may run it in a
legacy interpreter, where every patch is a no-op because nothing is missing.
"""

# mypy: ignore-errors
import sys
import types

import numpy

from . import old_names


def apply():
    """Patches NumPy and the import system; call it before ``import chainer``. Calling it twice is harmless."""
    _stub_module("numpy.distutils.system_info")
    _stub_pkg_resources()
    old_names.restore()


def import_chainer():
    """Applies the patches and returns the imported ``chainer``, ready for use."""
    apply()
    _patch_cupy()
    import chainer

    _patch_pad_sequence()
    _patch_categorical()
    _patch_deconvolution()
    _patch_concat_examples()
    if hasattr(chainer, "mixed16"):  # the declared difference mixed-precision
        type(chainer.mixed16).dtype = numpy.dtype(numpy.float32)
    return chainer


def _stub_module(name):
    try:
        __import__(name)
        return
    except Exception:  # noqa: B902 - on old NumPy this fails with whatever distutils raises
        pass
    parts = name.split(".")
    for i in range(1, len(parts) + 1):
        dotted = ".".join(parts[:i])
        if dotted not in sys.modules:
            module = types.ModuleType(dotted)
            module.__path__ = []
            sys.modules[dotted] = module
            if i > 1:
                setattr(sys.modules[".".join(parts[: i - 1])], parts[i - 1], module)
    sys.modules[name].get_info = lambda *args, **kwargs: {}


def _stub_pkg_resources():
    try:
        import pkg_resources  # noqa: F401

        return
    except ImportError:
        pass

    module = types.ModuleType("pkg_resources")

    class ResolutionError(Exception):
        pass

    class WorkingSet(object):
        """Enough of pkg_resources.WorkingSet for Chainer: everything that is asked for is present."""

        def require(self, *requirements):
            return []

        def __iter__(self):
            return iter(())

    class DistributionNotFound(ResolutionError):
        pass

    module.ResolutionError = ResolutionError
    module.DistributionNotFound = DistributionNotFound
    module.VersionConflict = type("VersionConflict", (ResolutionError,), {})
    module.WorkingSet = WorkingSet
    module.require = lambda *requirements: []
    module.get_distribution = _distribution
    sys.modules["pkg_resources"] = module


def _distribution(name):
    from importlib import metadata

    return types.SimpleNamespace(version=metadata.version(name), project_name=name)


def _patch_cupy():
    """Gives CuPy 13 and 14 the names that Chainer and programs of its time use and that CuPy dropped or moved."""
    try:
        import cupy
        import cupy.cuda
    except Exception:  # noqa: B902 - not installed, or without its CUDA libraries: Chainer says so itself
        return
    if not hasattr(cupy.cuda, "driver"):  # only asked whether a CUDA context exists (MultiprocessParallelUpdater)
        driver = types.ModuleType("cupy.cuda.driver")
        driver.CUDADriverError = type("CUDADriverError", (Exception,), {})
        driver.ctxGetCurrent = lambda: 0
        cupy.cuda.driver = sys.modules["cupy.cuda.driver"] = driver
    for name, moved in (("core", "_core"), ("util", "_util")):
        if not hasattr(cupy, name) and hasattr(cupy, moved):
            setattr(cupy, name, getattr(cupy, moved))
            sys.modules.setdefault("cupy." + name, getattr(cupy, moved))
    for name, value in (("bool", bool), ("int", int), ("float", float), ("complex", complex), ("object", object)):
        if name not in vars(cupy):
            setattr(cupy, name, value)
    for name, now in (("product", "prod"), ("cumproduct", "cumprod"), ("row_stack", "vstack"), ("in1d", "isin")):
        if not hasattr(cupy, name) and hasattr(cupy, now):
            setattr(cupy, name, getattr(cupy, now))
    scatter = getattr(_module("cupyx"), "scatter_add", None)
    if scatter is not None and not hasattr(cupy, "scatter_add"):
        cupy.scatter_add = scatter


def _module(name):
    try:
        return __import__(name)
    except Exception:  # noqa: B902
        return None


def _patch_pad_sequence():
    """NumPy 2 raises when -1 is written into an unsigned array; older versions wrapped around."""
    try:
        from chainer.functions.array import pad_sequence
    except ImportError:  # another Chainer, with a NumPy of its time
        return
    original = pad_sequence.PadSequence.forward
    if getattr(original, "_chainer2torch", False):
        return

    def forward(self, xs):
        if xs[0].dtype.kind == "u" and self.padding < 0:
            self.padding = numpy.array(self.padding).astype(xs[0].dtype)[()]
        return original(self, xs)

    forward._chainer2torch = True
    pad_sequence.PadSequence.forward = forward


def _patch_categorical():
    """NumPy 2's meshgrid returns a tuple, to which Categorical.log_prob appends as to a list."""
    try:
        from chainer.distributions import categorical
    except ImportError:  # before Chainer 5
        return
    if isinstance(numpy.meshgrid([0], [0]), list) or hasattr(categorical.numpy, "_chainer2torch"):
        return
    shim = types.ModuleType("numpy")
    shim.__dict__.update(vars(numpy))
    shim._chainer2torch = True
    shim.meshgrid = lambda *xi, **kwargs: list(numpy.meshgrid(*xi, **kwargs))
    categorical.numpy = shim


def _patch_deconvolution():
    """Chainer 7 hands Variables where it wants shapes if the input of a deconvolution needs no gradient: it raises."""
    try:
        from chainer.functions.connection.deconvolution_2d import Deconvolution2DFunction
    except ImportError:
        return
    original = getattr(Deconvolution2DFunction, "_set_cover_all", None)
    if original is None or getattr(original, "_chainer2torch", False):
        return

    def set_cover_all(self, x, w):
        return original(self, getattr(x, "shape", x), getattr(w, "shape", w))

    set_cover_all._chainer2torch = True
    Deconvolution2DFunction._set_cover_all = set_cover_all


def _patch_concat_examples():
    """Chainer 7 asks whether a batch is empty in a way that arrays do not answer; before it took arrays as batches."""
    from chainer.dataset import convert

    base = getattr(getattr(convert, "concat_examples", None), "base_callable", None)
    if base is None or getattr(base, "_chainer2torch", False):
        return

    def of_lists(batch, *args, **kwargs):
        return base(list(batch) if getattr(batch, "ndim", 0) and len(batch) else batch, *args, **kwargs)

    of_lists._chainer2torch = True
    convert.concat_examples.base_callable = of_lists
