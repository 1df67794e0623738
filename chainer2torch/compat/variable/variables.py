"""Methods of chainer.Variable that a tensor has no equal of, and the indexing of arrays."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch.nn.parameter import UninitializedParameter

_CUT = "chainer: unchained"


def backward(
    y: torch.Tensor,
    retain_grad: bool = False,
    enable_double_backprop: bool = False,
    loss_scale: float | None = None,
    retain_graph: bool | None = None,
) -> None:
    """Backpropagates from ``y``, starting from the gradient that :func:`set_grad` gave it, or from one.

    It ends where :func:`unchain_backward` has cut the graph.

    Args:
        y: a tensor; if it holds more than one number its gradient must have been set.
        retain_grad: keeps the gradient of ``y`` itself. A tensor in between keeps its own only if its ``retain_grad()``
            was called before.
        enable_double_backprop: lets the gradients be differentiated again.
        loss_scale: the first gradient of a scalar is multiplied by it.
        retain_graph: keeps the graph for another backward(); None: as ``enable_double_backprop``.
    Raises:
        RuntimeError: ``y`` holds several numbers and has no gradient, the graph was used before, or a gradient could go
            around a cut (to a leaf that is used on both sides of it).
    Source: chainer.Variable.backward.
    """
    gradient = _given_grad(y)
    if gradient is None and y.numel() == 1 and loss_scale is not None:
        gradient = torch.full_like(y, loss_scale)
        for leaf in _leaves(y):
            leaf._loss_scale = loss_scale  # by which an optimizer divides
    if retain_grad and y.requires_grad and not y.is_leaf:
        y.retain_grad()
    leaves = _leaves_before_cuts(y)
    if leaves is None:
        y.backward(gradient, retain_graph, enable_double_backprop)
    elif leaves:
        y.backward(gradient, retain_graph, enable_double_backprop, inputs=leaves)


def _given_grad(y: torch.Tensor) -> torch.Tensor | None:
    if vars(y).pop("backward", None) is None:
        return None
    given, y.grad = y.grad, None
    return given


def retain_grad(*values: Any) -> None:
    """Has the next backward() keep the gradients of ``values``, and of what is in lists; what takes none is left alone.

    Source: chainer.Variable.backward (``retain_grad=True``).
    """
    for value in values:
        if isinstance(value, (list, tuple)):
            retain_grad(*value)
        if isinstance(value, torch.Tensor) and value.requires_grad:
            value.retain_grad()


def set_grad(x: torch.Tensor, grad: Any) -> None:
    """``x.grad = grad``; for the result of a computation it is what its next ``backward()`` starts from.

    Args:
        x: a tensor.
        grad: a tensor or array of the same shape and dtype, or None.
    Raises:
        TypeError, ValueError: ``grad`` has another dtype or shape.
    Source: chainer.Variable.grad (assigned).
    """
    if grad is not None:
        grad = torch.as_tensor(grad, device=x.device)
        if grad.dtype != x.dtype:
            raise TypeError(f"Dtype mismatch: x is {x.dtype}, its gradient {grad.dtype}")
        if grad.shape != x.shape:
            raise ValueError(f"Shape mismatch: x is {tuple(x.shape)}, its gradient {tuple(grad.shape)}")
    x.grad = grad
    if not x.is_leaf:
        vars(x).pop("backward", None)
        if grad is not None:
            vars(x)["backward"] = functools.partial(_backward_from, x)


def _backward_from(y: torch.Tensor, gradient: torch.Tensor | None = None, *args: Any, **kwargs: Any) -> None:
    # What an instance says goes before the method of its class: a plain `y.backward()` starts from it, too, and once.
    del vars(y)["backward"]
    start, y.grad = y.grad, None  # what it is when the call comes: it may have been changed in place
    y.backward(start if gradient is None else gradient, *args, **kwargs)


def set_array(x: torch.Tensor, array: Any) -> None:
    """``x.array = array``: ``x`` holds that array from now on (it is shared, not copied), whatever its shape.

    A lazy layer of torch.nn raises with its first input if only some of its parameters were given values.

    Args:
        x: a tensor, or a parameter without a shape, which gets the array's.
        array: a tensor or array, whose dtype ``x`` has from now on.
    Raises:
        RuntimeError: ``array`` holds whole numbers, and ``x`` requires a gradient.
    Source: chainer.Variable.array (assigned).
    """
    array = torch.as_tensor(array, device=x.device).detach()
    if isinstance(x, UninitializedParameter):
        x.materialize(array.shape, dtype=array.dtype)  # or the first input would fill it anew
    x.data = array


def cleargrad(x: torch.Tensor) -> None:
    """Forgets the gradient of ``x``. Source: chainer.Variable.cleargrad."""
    set_grad(x, None)


def zerograd(x: torch.Tensor) -> None:
    """Fills the gradient of ``x`` with zeros; makes one if there is none. Source: chainer.Variable.zerograd."""
    if x.is_leaf and x.grad is not None:
        x.grad = x.grad.detach().zero_()
    else:
        set_grad(x, torch.zeros_like(x, requires_grad=False))


def addgrad(x: torch.Tensor, var: torch.Tensor) -> None:
    """Adds the gradient of ``var`` to the gradient of ``x``; nothing happens if ``var`` has none.

    Raises:
        ValueError: the shapes differ.
    Source: chainer.Variable.addgrad.
    """
    if var.grad is None:
        return
    gradient = var.grad.to(x.device)
    set_grad(x, gradient if x.grad is None else x.grad + gradient)


def move_variable(x: torch.Tensor, device: Any) -> None:
    """Moves ``x`` and its gradient to a device in place, as ``x.to_gpu()`` and ``x.to_cpu()`` do in Chainer.

    Args:
        x: a leaf tensor (an input or a parameter).
        device: a ``torch.device`` or its name.
    Source: chainer.Variable.to_device.
    """
    gradient = x.grad if x.is_leaf else None
    x.grad = None
    x.data = x.data.to(device)
    if gradient is not None:
        x.grad = gradient.to(device)


def variable_summary(x: torch.Tensor) -> str:
    """``<variable at 0x...>``. Source: chainer.Variable.summary (of a variable without a name)."""
    return f"<variable at 0x{id(x):x}>"


def variable_label(x: torch.Tensor) -> str:
    """Shape and dtype as a text: ``(2, 3), float32``; for a scalar the dtype alone. Source: chainer.Variable.label."""
    dtype = str(x.dtype).removeprefix("torch.")
    return dtype if x.dim() == 0 else f"({', '.join(map(str, x.shape))}), {dtype}"


def debug_print(x: torch.Tensor) -> str:
    """Describes a tensor in several lines: device, shape, dtype, mean and deviation of its values and gradient.

    Source: chainer.Variable.debug_print (which names the array's class after ``backend``; here it is the tensor's).
    """
    gradient = x.grad if x.is_leaf else None
    if gradient is None:
        grad_text: Any = None
    else:
        grad_text = 0 if bool((gradient == 0).all()) else _statistics(gradient)
    return "\n".join(
        [
            variable_summary(x),
            f"- device: {x.device}",
            f"- backend: {type(x)}",
            f"- shape: {tuple(x.shape)}",
            f"- dtype: {str(x.dtype).removeprefix('torch.')}",
            f"- statistics: {_statistics(x)}",
            f"- grad: {grad_text}",
        ]
    )


def _statistics(x: torch.Tensor) -> str:
    values = x.detach().double()
    return f"mean={values.mean().item():.8f}, std={values.std(correction=0).item():.8f}"


def unchain(x: torch.Tensor) -> None:
    """``x`` forgets how it was made, and goes on taking a gradient of its own; a parameter stays as it is.

    ``x.detach_()`` alone would end the gradient of ``x``, and freeze a parameter.

    Raises:
        RuntimeError: ``x`` is a view of another tensor, and something that was computed from it keeps it.
    Source: chainer.Variable.unchain.
    """
    if x._is_view() and not x.is_leaf:
        torch.utils.swap_tensors(x, x.detach())  # detach_() refuses a view
        x.requires_grad_()
    elif not x.is_leaf:
        x.detach_().requires_grad_()


def unchain_backward(y: torch.Tensor) -> None:
    """Cuts the graph behind ``y``: no later backward() passes the computations that led to ``y``.

    Chainer forgets which computation made each of these tensors. A tensor of PyTorch cannot be made to forget from
    the outside, so the steps of the graph are marked: a module that keeps a state passes it through :func:`live`
    before it uses it again. A gradient that comes to a marked step nevertheless is refused.

    Source: chainer.Variable.unchain_backward.
    """
    for node in _graph(y.grad_fn):
        marks: Any = node.metadata
        if _CUT not in marks:
            marks[_CUT] = True
            node.register_prehook(_refuse)


def live(state: Any) -> Any:
    """``state``, detached if :func:`unchain_backward` has cut the graph behind it.

    Lists and dicts keep their identity, their items are replaced; tuples are made anew. What is none of these and no
    tensor is left as it is.

    Source: what chainer.Variable.unchain_backward does to the variables that a link keeps.
    """
    if isinstance(state, (list, dict)):
        for key, item in list(state.items() if isinstance(state, dict) else enumerate(state)):
            state[key] = live(item)
        return state
    if isinstance(state, tuple):
        items = (live(item) for item in state)
        return type(state)(*items) if hasattr(state, "_fields") else type(state)(items)
    step: Any = state.grad_fn if isinstance(state, torch.Tensor) else None
    return state if step is None or _CUT not in step.metadata else state.detach()


def _leaves(y: torch.Tensor) -> list[Any]:
    """The leaves that ``y`` was computed from."""
    return [
        parent.variable
        for node in _graph(y.grad_fn)
        for parent, _ in node.next_functions
        if hasattr(parent, "variable")
    ]


def _leaves_before_cuts(y: torch.Tensor) -> list[torch.Tensor] | None:
    """The leaves that a gradient of ``y`` reaches without passing a cut; None if there is no cut."""
    stack, seen, leaves, cut = [y.grad_fn], set(), [], False
    while stack:
        node: Any = stack.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        if hasattr(node, "variable"):
            leaves.append(node.variable)
        elif _CUT in node.metadata:
            cut = True
        else:
            stack.extend(parent for parent, _ in node.next_functions)
    return leaves if cut else None


def _refuse(grad_outputs: Any) -> None:
    raise RuntimeError(
        "A gradient comes to a graph that unchain_backward() has cut: in Chainer it would have ended "
        "before. Detach the tensor that is kept between the steps: h = compat.live(h)"
    )


def _graph(root: Any) -> Iterator[Any]:
    """The steps behind ``root``, itself included; the last ones (which add to a leaf's gradient) are left out."""
    stack, seen = [root], set()
    while stack:
        node = stack.pop()
        if node is None or node in seen or hasattr(node, "variable"):
            continue
        seen.add(node)
        yield node
        stack.extend(parent for parent, _ in node.next_functions)


def variable_transpose(x: torch.Tensor, *axes: Any) -> torch.Tensor:
    """Permutes the axes; without axes (or with None) it reverses them, as NumPy does.

    Args:
        x: a tensor of any rank.
        axes: each axis once, negative ones allowed, as single arguments or as one tuple or list.
    Raises:
        RuntimeError: the axes are not a permutation.
    Source: chainer.Variable.transpose.
    """
    order = axes[0] if len(axes) == 1 and (axes[0] is None or isinstance(axes[0], (tuple, list))) else axes
    return x.permute(tuple(order or reversed(range(x.dim()))))


def reversed_along(x: Any, axis: int = 0) -> Any:
    """``x[::-1]``, or the same along another axis; a tensor is copied, since PyTorch has no negative strides.

    Args:
        x: a tensor or an array of any rank; along axis 0 also a list, a tuple or a string.
        axis: a negative one counts from the end.
    Source: numpy.flip.
    """
    if isinstance(x, torch.Tensor):
        return x.flip(axis)
    return x[::-1] if axis == 0 else np.flip(x, axis)


def index_any(x: Any, slices: Any) -> Any:
    """``x[slices]`` with NumPy's meaning for a tensor (see :func:`get_item`), plainly for anything else.

    For values that may be tensors or not, where the meaning differs: ``x[::-1]`` is an error of PyTorch's.
    """
    return get_item(x, slices) if isinstance(x, torch.Tensor) else x[slices]


def get_item(x: torch.Tensor, slices: Any) -> torch.Tensor:
    """``x[slices]`` with NumPy's meaning.

    It differs from a tensor's own indexing where an integer and an index array are mixed (NumPy puts the indexed axes
    first if a slice stands between them), for ``uint8`` arrays (positions here, a mask in PyTorch) and for slices with
    a negative step, which PyTorch does not have.

    Args:
        x: a tensor of any rank and dtype.
        slices: integers, slices, ``...``, None, and integer or boolean arrays, tensors or lists, alone or in a tuple.
            A list of other things than integers counts as a tuple.
    Raises:
        IndexError: out of bounds, or too many indices.
    Source: chainer.functions.get_item, chainer.Variable.__getitem__.
    """
    items = [_as_index(item, x.device) for item in index_tuple(slices)]
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    if any(isinstance(item, torch.Tensor) and item.dim() > 0 for item in items):
        # With arrays among the indices NumPy treats an integer as an array, too. (PyTorch takes a tensor without axes
        # for an integer: so it gets one axis, which the others broadcast.)
        items = [torch.tensor([i], device=x.device) if type(i) is int else i for i in items]
    x, items = _flip_negative_steps(x, items)
    result = x[tuple(items)]
    if sum(_axes_of(item) for item in items) == x.dim() and _ellipsis_parts_arrays(items):
        # An ellipsis that stands for no axis still separates the arrays in NumPy, which puts their axes first.
        axes = max(item.dim() if item.dtype != torch.bool else 1 for item in items if isinstance(item, torch.Tensor))
        first = next(i for i, item in enumerate(items) if isinstance(item, torch.Tensor))
        result = result.movedim(tuple(range(first, first + axes)), tuple(range(axes)))
    return result


def _ellipsis_parts_arrays(items: list[Any]) -> bool:
    """Whether the arrays stand side by side but for an ellipsis between them."""
    kinds = "".join("e" if i is Ellipsis else "a" if isinstance(i, torch.Tensor) else "s" for i in items)
    return "aea" in kinds and "a" not in kinds.replace("e", "").strip("s").strip("a")


def index_tuple(slices: Any) -> tuple[Any, ...]:
    """The indices as a tuple; of lists only one of integers is an index itself, as in Chainer."""
    if isinstance(slices, list) and not all(isinstance(s, int) for s in slices):
        return tuple(slices)
    return slices if isinstance(slices, tuple) else (slices,)


def _as_index(item: Any, device: torch.device) -> Any:
    if isinstance(item, (list, np.ndarray)):
        array = np.asarray(item)
        item = torch.as_tensor(array if array.size else array.astype(np.int64), device=device)
    elif isinstance(item, np.bool_):
        item = bool(item)
    elif isinstance(item, np.integer):
        item = int(item)
    if isinstance(item, torch.Tensor) and item.dtype != torch.bool:
        return item.long()
    return item


def _flip_negative_steps(x: torch.Tensor, items: list[Any]) -> tuple[torch.Tensor, list[Any]]:
    """An axis whose slice has a negative step is replaced by the picked positions, in their order."""
    axis, result = 0, list(items)
    used = sum(_axes_of(item) for item in items)
    for i, item in enumerate(items):
        if isinstance(item, slice) and item.step is not None and item.step < 0:
            picked = range(*item.indices(x.shape[axis]))
            x = x.index_select(axis, torch.tensor(list(picked), dtype=torch.long, device=x.device))
            result[i] = slice(None)
        axis += x.dim() - used if item is Ellipsis else _axes_of(item)
    return x, result


def _axes_of(item: Any) -> int:
    """How many axes of the array an index takes."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    return item.dim() if isinstance(item, torch.Tensor) and item.dtype == torch.bool else 1
