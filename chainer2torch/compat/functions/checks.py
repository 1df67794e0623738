"""Checks that Chainer makes and PyTorch does not: without them a wrong shape would broadcast in silence."""

import torch


def _check_same(name: str, *tensors: torch.Tensor) -> None:
    """Raises unless all tensors have one shape (ValueError) and one float dtype (TypeError), as Chainer does."""
    first = tensors[0]
    _check_float(name, first)
    for other in tensors[1:]:
        if other.shape != first.shape:
            raise ValueError(f"{name}: shapes must be equal, not {tuple(first.shape)} and {tuple(other.shape)}")
        if other.dtype != first.dtype:
            raise TypeError(f"{name}: dtypes must be equal, not {first.dtype} and {other.dtype}")


def _check_float(name: str, x: torch.Tensor) -> None:
    """Raises TypeError unless `x` is of a floating point dtype."""
    if not x.is_floating_point():
        raise TypeError(f"{name}: a floating point tensor is needed, not {x.dtype}")


def _check_option(name: str, option: str, value: str, allowed: tuple[str, ...]) -> None:
    """Raises ValueError unless `value` is one of the allowed ones."""
    if value not in allowed:
        raise ValueError(f"{name}: {option} must be one of {', '.join(map(repr, allowed))}, not {value!r}")
