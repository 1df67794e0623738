"""Chainer's initializers: callables that fill a tensor in place.

The distributions are Chainer's; the numbers come from torch's generator (or from ``rng``, a numpy RandomState, with
which they are exactly Chainer's). ``fan_in`` is ``shape[1] * receptive field`` for every layout, also for transposed
convolutions, as in Chainer.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.devices import get_device


class Initializer:
    """Base class of initializers: ``initializer(array)`` fills a tensor, or an array of NumPy, in place.

    ``dtype`` (None, a torch or a numpy dtype) is the dtype that a parameter made with this initializer gets; filling a
    tensor of another dtype raises AssertionError. Source: chainer.Initializer.
    """

    def __init__(self, dtype: Any = None) -> None:
        self.dtype = None if dtype is None else _torch_dtype(dtype)

    def __call__(self, array: torch.Tensor | np.ndarray) -> None:
        tensor = torch.from_numpy(array) if isinstance(array, np.ndarray) else array
        if self.dtype is not None and tensor.dtype != _torch_dtype(self.dtype):  # a program may have set it
            raise AssertionError(f"the initializer is for {self.dtype}, the tensor is {tensor.dtype}")
        self._fill(tensor)

    def _fill(self, array: torch.Tensor) -> None:
        raise NotImplementedError


def get_fans(shape: tuple[int, ...]) -> tuple[int, int]:
    """``(fan_in, fan_out)`` of a weight of this shape: ``shape[1]`` and ``shape[0]`` times the product of the rest.

    Raises ValueError for fewer than two axes. Source: chainer.initializer.get_fans.
    """
    if len(shape) < 2:
        raise ValueError(f"fans need a shape of at least two axes, not {tuple(shape)}")
    receptive_field = math.prod(shape[2:])
    return shape[1] * receptive_field, shape[0] * receptive_field


class _Random(Initializer):
    """A random initializer with a ``scale`` and an optional numpy RandomState ``rng``."""

    def __init__(self, scale: float = 1.0, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(dtype)
        self.scale = scale
        self.rng = rng

    def _spread(self, shape: tuple[int, ...]) -> float:
        """The standard deviation or half width for a tensor of this shape."""
        raise NotImplementedError


class _RandomNormal(_Random):
    def _fill(self, array: torch.Tensor) -> None:
        std = self._spread(tuple(array.shape))
        with torch.no_grad():
            if self.rng is None:
                array.normal_(0.0, std)
            else:
                array.copy_(torch.as_tensor(self.rng.normal(loc=0.0, scale=std, size=tuple(array.shape))))


class _RandomUniform(_Random):
    def _fill(self, array: torch.Tensor) -> None:
        half_width = self._spread(tuple(array.shape))
        with torch.no_grad():
            if self.rng is None:
                array.uniform_(-half_width, half_width)
            else:
                array.copy_(torch.as_tensor(self.rng.uniform(-half_width, half_width, size=tuple(array.shape))))


class Normal(_RandomNormal):
    """N(0, scale^2). Source: chainer.initializers.Normal."""

    def __init__(self, scale: float = 0.05, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)

    def _spread(self, shape: tuple[int, ...]) -> float:
        return self.scale


class LeCunNormal(_RandomNormal):
    """N(0, scale^2 / fan_in), Chainer's default for weights. Source: chainer.initializers.LeCunNormal."""

    def _spread(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(1 / get_fans(shape)[0])


class GlorotNormal(_RandomNormal):
    """N(0, 2 scale^2 / (fan_in + fan_out)). Source: chainer.initializers.GlorotNormal."""

    def _spread(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(2 / sum(get_fans(shape)))


class HeNormal(_RandomNormal):
    """N(0, 2 scale^2 / fan) with the fan of ``fan_option``: 'fan_in' or 'fan_out', else ValueError.

    Source: chainer.initializers.HeNormal.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None, fan_option: str = "fan_in", *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)
        self.fan_option = fan_option

    def _spread(self, shape: tuple[int, ...]) -> float:
        fan_in, fan_out = get_fans(shape)
        if self.fan_option not in ("fan_in", "fan_out"):
            raise ValueError(f"fan_option is 'fan_in' or 'fan_out', not {self.fan_option!r}")
        return self.scale * math.sqrt(2 / (fan_in if self.fan_option == "fan_in" else fan_out))


class Uniform(_RandomUniform):
    """U(-scale, scale). Source: chainer.initializers.Uniform."""

    def __init__(self, scale: float = 0.05, dtype: Any = None, *, rng: Any = None) -> None:
        super().__init__(scale, dtype, rng=rng)

    def _spread(self, shape: tuple[int, ...]) -> float:
        return self.scale


class LeCunUniform(_RandomUniform):
    """U(-s, s), s = scale * sqrt(3 / fan_in). Source: chainer.initializers.LeCunUniform."""

    def _spread(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(3 / get_fans(shape)[0])


class GlorotUniform(_RandomUniform):
    """U(-s, s), s = scale * sqrt(6 / (fan_in + fan_out)). Source: chainer.initializers.GlorotUniform."""

    def _spread(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(6 / sum(get_fans(shape)))


class HeUniform(_RandomUniform):
    """U(-s, s), s = scale * sqrt(6 / fan_in). Source: chainer.initializers.HeUniform."""

    def _spread(self, shape: tuple[int, ...]) -> float:
        return self.scale * math.sqrt(6 / get_fans(shape)[0])


class _Filling(Initializer):
    """Fills with ``fill_value``: a number, or an array or tensor that broadcasts."""

    def __init__(self, fill_value: Any, dtype: Any = None) -> None:
        super().__init__(dtype)
        self.fill_value = fill_value

    def _fill(self, array: torch.Tensor) -> None:
        with torch.no_grad():
            value = self.fill_value
            array.copy_(value if isinstance(value, torch.Tensor) else torch.tensor(np.array(value)))


class Constant(_Filling):
    """Fills with ``fill_value``: a number, or an array or tensor that broadcasts.

    Source: chainer.initializers.Constant.
    """


class Zero(_Filling):
    """Fills with 0. Source: chainer.initializers.Zero."""

    def __init__(self, dtype: Any = None) -> None:
        super().__init__(0.0, dtype)


class One(_Filling):
    """Fills with 1. Source: chainer.initializers.One."""

    def __init__(self, dtype: Any = None) -> None:
        super().__init__(1.0, dtype)


class NaN(_Filling):
    """Fills with NaN. Source: chainer.initializers.NaN."""

    def __init__(self, dtype: Any = None) -> None:
        super().__init__(math.nan, dtype)


class Identity(Initializer):
    """``scale`` times the identity; the tensor must be a square matrix, else ValueError.

    Source: chainer.initializers.Identity.
    """

    def __init__(self, scale: float = 1.0, dtype: Any = None) -> None:
        super().__init__(dtype)
        self.scale = scale

    def _fill(self, array: torch.Tensor) -> None:
        if array.dim() != 2 or array.shape[0] != array.shape[1]:
            raise ValueError(f"Identity fills square matrices, not a tensor of shape {tuple(array.shape)}")
        with torch.no_grad():
            array.copy_(torch.eye(array.shape[0], dtype=torch.float64) * self.scale)


class Orthogonal(Initializer):
    """``scale`` times a random matrix with orthonormal rows or columns (axes after the first are one axis).

    ``mode``: 'auto', 'projection' (no more rows than columns), 'embedding' (no fewer) or 'basis' (square); a tensor
    that does not fit raises ValueError. Source: chainer.initializers.Orthogonal.
    """

    def __init__(self, scale: float = 1.1, dtype: Any = None, mode: str = "auto", *, rng: Any = None) -> None:
        super().__init__(dtype)
        if mode not in ("auto", "projection", "embedding", "basis"):
            raise ValueError(f"mode is 'auto', 'projection', 'embedding' or 'basis', not {mode!r}")
        self.scale = scale
        self.mode = mode
        self.rng = rng

    def _fill(self, array: torch.Tensor) -> None:
        if array.dim() == 0:
            bit = torch.randint(2, ()).item() if self.rng is None else int(self.rng.randint(2))
            with torch.no_grad():
                array.fill_(self.scale * (2 * bit - 1))
            return
        if array.numel() == 0:
            raise ValueError("an empty tensor has no orthogonal system")
        rows = array.shape[0]
        columns = array.numel() // rows
        if (columns > rows and self.mode in ("embedding", "basis")) or (
            columns < rows and self.mode in ("projection", "basis")
        ):
            raise ValueError(f"Orthogonal(mode={self.mode!r}) cannot fill a tensor of shape {tuple(array.shape)}")
        if self.rng is None:
            sample = torch.randn(rows, columns, dtype=torch.float64)
        else:
            sample = torch.as_tensor(self.rng.normal(size=(rows, columns)))
        wide = columns > rows
        q, r = torch.linalg.qr(sample.T if wide else sample)
        q = q * torch.copysign(torch.tensor(self.scale, dtype=q.dtype), torch.diagonal(r))
        with torch.no_grad():
            array.copy_((q.T if wide else q).reshape(array.shape))


class _SamplingFilter(Initializer):
    """Bilinear (in general: linear) interpolation kernels on the diagonal of a convolution's weight."""

    def __init__(self, interpolation: str = "linear", dtype: Any = None) -> None:
        super().__init__(dtype)
        if interpolation != "linear":
            raise ValueError(f"the only interpolation is 'linear', not {interpolation!r}")

    def _kernel(self, size: int, ndim: int) -> torch.Tensor:
        factor = (size + 1) // 2
        center = factor - (1.0 if size % 2 == 1 else 0.5)
        line = 1 - (torch.arange(size, dtype=torch.float64) - center).abs() / factor
        kernel = torch.ones((), dtype=torch.float64)
        for _ in range(ndim):
            kernel = kernel[..., None] * line
        return kernel

    def _fill(self, array: torch.Tensor) -> None:
        first, second = array.shape[:2]
        if second not in (first, 1):
            raise AssertionError(f"the second axis must have {first} channels or 1, not {second}")
        sizes = set(array.shape[2:])
        if len(sizes) != 1:
            raise ValueError(f"all kernel sizes must be the same, not {tuple(array.shape[2:])}")
        index = torch.arange(first)
        with torch.no_grad():
            array.zero_()
            kernel = self._kernel(sizes.pop(), array.dim() - 2).to(array)
            array[index, 0 if second == 1 else index] = kernel


class UpsamplingDeconvFilter(_SamplingFilter):
    """Linear upsampling, for transposed convolutions. Source: chainer.initializers.UpsamplingDeconvFilter."""


class DownsamplingConvFilter(_SamplingFilter):
    """Linear downsampling (kernels sum to 1), for convolutions. Source: chainer.initializers.DownsamplingConvFilter."""

    def _kernel(self, size: int, ndim: int) -> torch.Tensor:
        kernel = super()._kernel(size, ndim)
        return kernel / kernel.sum()


def generate_array(
    initializer: Callable[[torch.Tensor], None], shape: Any, xp: Any = None, dtype: Any = None, device: Any = None
) -> torch.Tensor:
    """A new tensor of ``shape`` (int or tuple) filled by ``initializer``; its dtype is ``dtype``, else the
    initializer's, else torch's default. ``xp`` is accepted as in Chainer and not used. Two different dtypes raise
    ValueError. Source: chainer.initializers.generate_array.
    """
    own = getattr(initializer, "dtype", None)
    own = None if own is None else _torch_dtype(own)
    wanted = own if dtype is None else _torch_dtype(dtype)
    if own is not None and wanted != own:
        raise ValueError(f"dtype {dtype} was asked for, the initializer is for {own}")
    if device is not None:  # where: generate_array
        device = get_device(device)
    array = torch.empty(shape, dtype=wanted or torch.get_default_dtype(), device=device)
    initializer(array)
    return array


def as_initializer(value: Any, default: Any = None) -> Any:
    """What Chainer's ``initialW`` and ``initial_bias`` arguments mean.

    None is ``default`` (which if None is LeCunNormal), a number, array or tensor is a constant, a callable is taken as
    it is. Anything else raises TypeError. Source: the constructors of chainer.links.
    """
    if value is None:
        value = LeCunNormal() if default is None else default
    if isinstance(value, (np.ndarray, torch.Tensor)) or np.isscalar(value):
        return Constant(value)
    if not callable(value):
        raise TypeError(f"not an initializer: {type(value).__name__}")
    initializer: Callable[[torch.Tensor], None] = value
    return initializer


def init_weight(weights: torch.Tensor, initializer: Any, scale: float = 1.0) -> None:
    """Fills an array with the values of an initializer (None: LeCunNormal), a number or an array, times ``scale``.

    Source: chainer.initializers.init_weight of version 1.
    """
    as_initializer(initializer)(weights)
    with torch.no_grad():
        weights *= scale


def _torch_dtype(dtype: Any) -> torch.dtype:
    """A torch dtype from a torch or numpy dtype or its name."""
    if isinstance(dtype, torch.dtype):
        return dtype
    return torch.from_numpy(np.empty(0, dtype=dtype)).dtype
