"""Functions of chainer.functions.array with the meaning of NumPy's, for tensors of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F

from chainer2torch.compat.variable.variables import get_item


def transpose(x: torch.Tensor, axes: Sequence[int] | None = None) -> torch.Tensor:
    """Permutes the axes of ``x``; without ``axes`` it reverses them.

    Args:
        x: a tensor of any rank.
        axes: each axis once (negative ones allowed), or None.
    Raises:
        RuntimeError: ``axes`` is not a permutation.
    Source: chainer.functions.transpose.
    """
    return x.permute(tuple(axes or reversed(range(x.dim()))))


def as_strided(
    x: torch.Tensor, shape: Sequence[int], strides: Sequence[int], storage_offset: int | None = None
) -> torch.Tensor:
    """A view with its own shape, strides and offset, counted in elements of the memory of ``x``.

    Raises:
        RuntimeError: the view leaves that memory.
    Source: chainer.functions.as_strided.
    """
    return torch.as_strided(x, tuple(shape), tuple(strides), storage_offset)


def broadcast(*args: torch.Tensor) -> Any:
    """Broadcasts tensors against each other; returns a tuple, or the tensor itself if there is only one.

    Raises:
        RuntimeError: the shapes do not fit.
    Source: chainer.functions.broadcast.
    """
    return args[0] if len(args) == 1 else tuple(torch.broadcast_tensors(*args))


def cast(x: torch.Tensor, typ: Any) -> torch.Tensor:
    """``x`` with another dtype.

    Args:
        x: a tensor.
        typ: a torch dtype, a NumPy dtype or its name, e.g. ``torch.float32``, ``np.float32`` or ``'f'``.
    Source: chainer.functions.cast.
    """
    if not isinstance(typ, torch.dtype):
        typ = torch.from_numpy(np.empty(0, dtype=typ)).dtype
    return x.to(typ)


def concat(xs: Sequence[torch.Tensor], axis: int = 1) -> torch.Tensor:
    """Joins tensors along an existing axis, by default the second.

    Raises:
        RuntimeError: shapes differ on another axis.
    Source: chainer.functions.concat.
    """
    return torch.cat(tuple(xs), dim=axis)


def stack(xs: Sequence[torch.Tensor], axis: int = 0) -> torch.Tensor:
    """Joins tensors of one shape along a new axis. Source: chainer.functions.stack."""
    return torch.stack(tuple(xs), dim=axis)


def vstack(xs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Puts rows under each other. Source: chainer.functions.vstack."""
    return torch.vstack(tuple(xs))


def hstack(xs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Puts columns (or vectors) beside each other. Source: chainer.functions.hstack."""
    return torch.hstack(tuple(xs))


def dstack(xs: Sequence[torch.Tensor]) -> torch.Tensor:
    """Joins tensors along the third axis. Source: chainer.functions.dstack."""
    return torch.dstack(tuple(xs))


def broadcast_to(x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """Broadcasts ``x`` to a shape.

    Raises:
        RuntimeError: the shape does not fit.
    Source: chainer.functions.broadcast_to.
    """
    return torch.broadcast_to(x, tuple(shape))


def reshape(x: torch.Tensor, shape: Sequence[int]) -> torch.Tensor:
    """``x`` in another shape, one of whose axes may be -1. Source: chainer.functions.reshape."""
    return torch.reshape(x, tuple(shape))


def flatten(x: torch.Tensor) -> torch.Tensor:
    """``x`` as a vector, without keeping the first axis. Source: chainer.functions.flatten."""
    return x.reshape(-1)


def moveaxis(x: torch.Tensor, source: Any, destination: Any) -> torch.Tensor:
    """Moves axes (a number or a tuple) to other places. Source: chainer.functions.moveaxis."""
    return torch.movedim(x, source, destination)


def fliplr(a: torch.Tensor) -> torch.Tensor:
    """``a`` in reverse order on the second axis. Source: chainer.functions.fliplr."""
    return torch.fliplr(a)


def flipud(a: torch.Tensor) -> torch.Tensor:
    """``a`` in reverse order on the first axis. Source: chainer.functions.flipud."""
    return torch.flipud(a)


def diagonal(x: torch.Tensor, offset: int = 0, axis1: int = 0, axis2: int = 1) -> torch.Tensor:
    """The diagonals of the planes that two axes span, as the last axis. Source: chainer.functions.diagonal."""
    return torch.diagonal(x, offset=offset, dim1=axis1, dim2=axis2)


def expand_dims(x: torch.Tensor, axis: int) -> torch.Tensor:
    """``x`` with a new axis of length one before ``axis``. Source: chainer.functions.expand_dims."""
    return torch.unsqueeze(x, axis)


def flip(x: torch.Tensor, axis: int) -> torch.Tensor:
    """``x`` in reverse order on one axis. Source: chainer.functions.flip."""
    return torch.flip(x, (axis,))


def pad(x: torch.Tensor, pad_width: Any, mode: str, **keywords: Any) -> torch.Tensor:
    """Pads ``x`` as ``numpy.pad`` does.

    The gradient is the gradient of the middle: as in Chainer nothing flows back from the border, in any mode.

    Args:
        x: a float tensor of any rank.
        pad_width: one number, one pair (before, after) for all axes, or one pair for each axis.
        mode: a mode of ``numpy.pad``, e.g. ``'constant'``, ``'edge'``, ``'reflect'``.
        keywords: that mode's options, e.g. ``constant_values``.
    Raises:
        ValueError: the mode or the widths are not valid.
    Source: chainer.functions.pad.
    """
    widths = np.broadcast_to(np.asarray(pad_width), (x.dim(), 2)).tolist()
    middle = F.pad(x, [width for axis in reversed(widths) for width in axis])
    if mode == "constant" and not np.any(np.asarray(keywords.get("constant_values", 0))):
        return middle
    # NumPy knows the border of every mode; values inside come from `middle`, which carries the gradient.
    padded = np.pad(x.detach().cpu().numpy(), pad_width, mode=mode, **keywords)  # type: ignore[call-overload]
    inside = F.pad(torch.ones_like(x, dtype=torch.bool), [width for axis in reversed(widths) for width in axis])
    return torch.where(inside, middle, torch.from_numpy(padded).to(x.device))


def pad_sequence(xs: Sequence[torch.Tensor], length: int | None = None, padding: float = 0) -> torch.Tensor:
    """Stacks tensors of different lengths into one, filled up at the end.

    Args:
        xs: tensors of shape (length_i, ...).
        length: the length of the result; None: that of the longest.
        padding: the value to fill with.
    Returns:
        Shape (len(xs), length, ...).
    Raises:
        ValueError: a tensor is longer than ``length``, or the other axes differ.
    Source: chainer.functions.pad_sequence.
    """
    if any(x.shape[1:] != xs[0].shape[1:] for x in xs):
        raise ValueError("all sequences must have the same shape but for the first axis")
    longest = max(len(x) for x in xs)
    if length is None:
        length = longest
    if longest > length:
        raise ValueError(f"a sequence of {longest} is longer than length={length}")
    after = [0] * (2 * xs[0].dim() - 1)
    return torch.stack([F.pad(x, [*after, length - len(x)], value=padding) for x in xs])


def permutate(x: torch.Tensor, indices: torch.Tensor, axis: int = 0, inv: bool = False) -> torch.Tensor:
    """Takes the rows of ``x`` in the order of ``indices``, or puts them back into that order with ``inv``.

    Args:
        x: a tensor.
        indices: integer tensor of shape (x.shape[axis],).
        axis: the axis to reorder. A negative one counts as 0, as it does in Chainer.
        inv: use the inverse of the permutation.
    Raises:
        ValueError: ``indices`` is not a vector of signed integers.
    Source: chainer.functions.permutate.
    """
    indices = torch.as_tensor(indices, device=x.device)
    if indices.dim() != 1 or indices.dtype not in (torch.int8, torch.int16, torch.int32, torch.int64):
        raise ValueError("indices should be a one-dimensional int array")
    order = indices.long()
    if inv:
        order = torch.empty_like(order).index_put((order,), torch.arange(len(order), device=x.device))
    axis = max(axis, 0)
    return x.index_select(axis, order % max(x.shape[axis], 1))


def repeat_elements(x: torch.Tensor, repeats: Any, axis: int | None = None) -> torch.Tensor:
    """Repeats each element of ``x`` (of the flattened one if ``axis`` is None).

    Args:
        x: a tensor.
        repeats: a number, or a tuple with one for each element along ``axis``.
        axis: the axis along which to repeat.
    Raises:
        TypeError, RuntimeError: ``repeats`` is not of that form.
    Source: chainer.functions.repeat.
    """
    if isinstance(repeats, int):
        return torch.repeat_interleave(x, repeats, dim=axis)
    if not isinstance(repeats, tuple):
        raise TypeError("repeats must be int or tuple of ints")
    counts = repeats[0] if len(repeats) == 1 else torch.tensor(repeats, device=x.device)
    return torch.repeat_interleave(x, counts, dim=axis)


def rollaxis(x: torch.Tensor, axis: int, start: int = 0) -> torch.Tensor:
    """Moves ``axis`` to stand before the axis ``start``. Source: chainer.functions.rollaxis."""
    axis = axis % x.dim()
    start = start + x.dim() if start < 0 else start
    return torch.movedim(x, axis, start - 1 if start > axis else start)


def scatter_add(a: torch.Tensor, slices: Any, b: torch.Tensor) -> torch.Tensor:
    """A copy of ``a`` to whose elements ``a[slices]`` those of ``b`` are added, repeated positions several times.

    Args:
        a: a tensor.
        slices: indices with NumPy's meaning, see :func:`get_item`.
        b: a tensor of the shape of ``a[slices]``.
    Raises:
        ValueError: ``b`` has another shape.
    Source: chainer.functions.scatter_add.
    """
    positions = get_item(torch.arange(a.numel(), device=a.device).reshape(a.shape), slices)
    if positions.shape != b.shape:
        raise ValueError("Chainer does not support automatic broadcasting of variables.")
    return a.reshape(-1).index_add(0, positions.reshape(-1), b.reshape(-1)).reshape(a.shape)


def select_item(x: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """The element ``x[i, t[i]]`` of each row.

    Args:
        x: shape (n, m).
        t: integers of shape (n,); negative ones count from the end.
    Raises:
        ValueError: the shapes do not fit.
        IndexError, RuntimeError: an element of ``t`` is out of bounds.
    Source: chainer.functions.select_item.
    """
    if x.dim() != 2 or t.dim() != 1 or len(x) != len(t):
        raise ValueError(f"x {tuple(x.shape)} and t {tuple(t.shape)} do not fit")
    return x[torch.arange(len(t), device=x.device), t.long()]


def separate(x: torch.Tensor, axis: int = 0) -> tuple[torch.Tensor, ...]:
    """The slices of ``x`` along an axis, which they lose. Source: chainer.functions.separate."""
    return torch.unbind(x, dim=axis)


def split_axis(x: torch.Tensor, indices_or_sections: Any, axis: int, force_tuple: bool = True) -> Any:
    """Splits ``x`` into equal sections, or before the given indices.

    Args:
        x: a tensor.
        indices_or_sections: the number of sections, or a sequence or vector of indices.
        axis: the axis to split.
        force_tuple: if false, a single part is returned as it is instead of in a tuple.
    Returns:
        A tuple of tensors (views).
    Raises:
        ValueError: the axis cannot be split into that many equal sections, or is shorter than an index.
        TypeError: ``indices_or_sections`` is of another kind.
    Source: chainer.functions.split_axis.
    """
    if isinstance(indices_or_sections, int):
        if x.shape[axis] % indices_or_sections:
            raise ValueError(f"{x.shape[axis]} cannot be split into {indices_or_sections} equal sections")
        parts = torch.tensor_split(x, indices_or_sections, dim=axis)
    else:
        if not isinstance(indices_or_sections, (Sequence, np.ndarray, torch.Tensor)):
            raise TypeError("indices_or_sections must be integer or 1-D array")
        indices = [int(i) for i in indices_or_sections]
        if max(indices, default=0) > x.shape[axis]:
            raise ValueError(f"indices {indices} lie outside an axis of {x.shape[axis]}")
        parts = torch.tensor_split(x, indices, dim=axis)
    return tuple(parts) if force_tuple or len(parts) > 1 else parts[0]


def squeeze(x: torch.Tensor, axis: Any = None) -> torch.Tensor:
    """Removes axes of length one: all of them, or those of ``axis`` (a number or a tuple).

    Raises:
        ValueError: an axis of ``axis`` is longer.
    Source: chainer.functions.squeeze.
    """
    if axis is None:
        return torch.squeeze(x)
    axes = axis if isinstance(axis, tuple) else (axis,)
    if any(x.shape[i] != 1 for i in axes):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return torch.squeeze(x, axes)


def swapaxes(x: torch.Tensor, axis1: int, axis2: int) -> torch.Tensor:
    """Swaps two axes. Source: chainer.functions.swapaxes."""
    return torch.swapaxes(x, axis1, axis2)


def tile(x: torch.Tensor, reps: Any) -> torch.Tensor:
    """Puts ``reps`` copies of ``x`` side by side along each axis (a number: along the last).

    Source: chainer.functions.tile.
    """
    return torch.tile(x, reps if isinstance(reps, tuple) else (reps,))


def transpose_sequence(xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Turns sequences into time steps: item t of the result holds element t of each sequence that is long enough.

    Args:
        xs: tensors of shape (length_i, ...), the longest first.
    Returns:
        A tuple of tensors of shape (number of sequences longer than t, ...).
    Raises:
        ValueError: the lengths increase, or the other axes differ.
    Source: chainer.functions.transpose_sequence.
    """
    for longer, shorter in zip(xs, xs[1:]):  # noqa: B905 - pairs of neighbours
        if len(longer) < len(shorter) or longer.shape[1:] != shorter.shape[1:]:
            raise ValueError("the sequences must be sorted by length, the longest first, and of one kind")
    if not len(xs):
        return ()
    return tuple(torch.stack([x[t] for x in xs if len(x) > t]) for t in range(len(xs[0])))


def where(condition: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Elements of ``x`` where ``condition`` holds, of ``y`` elsewhere; the three are broadcast.

    Raises:
        TypeError: ``condition`` is not boolean, or ``x`` and ``y`` differ in dtype.
    Source: chainer.functions.where.
    """
    if condition.dtype != torch.bool or x.dtype != y.dtype:
        raise TypeError(f"where needs a boolean condition and one dtype: {condition.dtype}, {x.dtype}, {y.dtype}")
    return torch.where(condition, x, y)
