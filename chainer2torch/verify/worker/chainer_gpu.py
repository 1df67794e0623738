"""Chainer's side of ``--device cuda``: arrays and links go to CuPy and results come back.

Everything here also works without CuPy, as long as the device is the CPU. Written for Python 3.6 and Chainer 3 and
newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import chainer
import numpy

# The generators that CuPy shares with NumPy.
_RANDOM = (
    "rand",
    "randn",
    "random",
    "random_sample",
    "ranf",
    "sample",
    "uniform",
    "normal",
    "standard_normal",
    "randint",
    "permutation",
    "choice",
    "binomial",
    "laplace",
    "gumbel",
    "exponential",
    "gamma",
    "beta",
    "poisson",
    "lognormal",
    "geometric",
)


def use(device):
    """Makes the GPU that ``device`` ("cuda" or "cuda:1") names the current one; nothing happens for "cpu".

    Raises RuntimeError, with CuPy's reason, when Chainer cannot use it.
    """
    if device == "cpu":
        return
    cuda = chainer.cuda
    if not cuda.available:
        reason = getattr(getattr(chainer, "backends", chainer).cuda, "_resolution_error", "")
        raise RuntimeError("Chainer cannot use the GPU: {}".format(reason or "CuPy is not installed"))
    cuda.Device(number(device)).use()
    # Chainer's own kernels or cuDNN's: either way the ones that give the same result twice.
    for key, value in (("cudnn_deterministic", True), ("autotune", False), ("use_cudnn_tensor_core", "never")):
        if hasattr(chainer.config, key):
            setattr(chainer.global_config, key, value)


def number(device):
    """The number of a GPU."""
    return int(device.partition(":")[2] or 0)


def describe(device):
    """Versions for the foot of a report: of CuPy, CUDA and the GPU's name."""
    if device == "cpu":
        return {}
    cupy = chainer.cuda.cupy
    found = {
        "cupy": cupy.__version__,
        "CUDA of CuPy": str(cupy.cuda.runtime.runtimeGetVersion()),
        "cuDNN of Chainer": "on" if chainer.cuda.cudnn_enabled else "off",
    }
    name = cupy.cuda.runtime.getDeviceProperties(number(device))["name"]
    found["GPU"] = name.decode() if isinstance(name, bytes) else str(name)
    return found


def send(array, device):
    """``array`` on the device; NumPy's own on the CPU."""
    return array if device == "cpu" else chainer.cuda.to_gpu(array, number(device))


def like(array, other):
    """The NumPy ``array`` where ``other`` lies."""
    if isinstance(other, numpy.ndarray):
        return array
    with chainer.cuda.get_device_from_array(other):
        return chainer.cuda.cupy.asarray(array)


def is_array(value):
    """Whether a value is an array of NumPy or CuPy."""
    return isinstance(value, numpy.ndarray) or is_on_gpu(value)


def is_on_gpu(value):
    """Whether a value is an array of CuPy."""
    return chainer.cuda.available and isinstance(value, chainer.cuda.ndarray)


def fetch(array):
    """A NumPy copy of an array of NumPy or CuPy."""
    return numpy.array(chainer.cuda.to_cpu(array))


def send_links(links, device):
    """Moves links to the device."""
    if device != "cpu":
        for link in links:
            link.to_gpu(number(device))


def seed(value, device):
    """Seeds CuPy's generator."""
    if device != "cpu":
        chainer.cuda.cupy.random.seed(value)


def random_from_numpy(device):
    """CuPy's generators draw from NumPy's global one: what both sides draw is then the same, on every device."""
    if device == "cpu":
        return
    cupy = chainer.cuda.cupy
    for name in _RANDOM:
        if hasattr(cupy.random, name) and hasattr(numpy.random, name):
            setattr(cupy.random, name, _drawn(getattr(numpy.random, name), cupy))

    def shuffle(a):
        order = numpy.arange(len(a))
        numpy.random.shuffle(order)
        a[...] = a[cupy.asarray(order)]

    cupy.random.shuffle = shuffle


def _drawn(draw, cupy):
    def drawn(*args, **kwargs):
        dtype = kwargs.pop("dtype", None)
        args = [chainer.cuda.to_cpu(value) if is_array(value) else value for value in args]
        kwargs = {key: chainer.cuda.to_cpu(value) if is_array(value) else value for key, value in kwargs.items()}
        values = numpy.asarray(draw(*args, **kwargs))
        return cupy.asarray(values if dtype is None else values.astype(dtype))

    return drawn
