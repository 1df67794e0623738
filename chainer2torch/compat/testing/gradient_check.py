"""Checks of gradients against finite differences, along one random direction as Chainer does it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.array_dtypes import numpy_dtype, torch_dtype
from chainer2torch.compat.testing.testing import assert_allclose
from chainer2torch.compat.utils.utilities import is_arrays_compatible


class NondifferentiableError(Exception):
    """The function has no derivative where its gradient is checked. Source: chainer.gradient_check."""


def numerical_grad(
    f: Callable[[], Sequence[Any]],
    inputs: Sequence[Any],
    grad_outputs: Sequence[Any],
    eps: float = 1e-3,
    detect_nondifferentiable: bool = False,
    diff_atol: float = 0,
    diff_rtol: float = 1e-2,
    center_outputs: Any = None,
) -> list[Any]:
    """Gradients by finite differences of the inputs of ``f``, which takes no arguments and reads ``inputs``.

    Args:
        f: returns the outputs (tensors, arrays or None), which are differentiated in float64.
        inputs: floating tensors or arrays; their elements are changed in place, one after the other, and restored.
        grad_outputs: for each output a tensor, an array, a number or None (the output does not count).
        eps: how far the elements are moved to both sides.
        detect_nondifferentiable: looks at five points instead of two; raises when no parabola fits them.
        diff_atol, diff_rtol: the tolerance of that fit; diff_rtol is multiplied by the range of the output.
        center_outputs: not used, as in Chainer.
    Returns:
        A tensor or array for each input, of its shape and dtype.
    Raises:
        RuntimeError: an input is not floating, or CPU and GPU are mixed.
        NondifferentiableError: see detect_nondifferentiable.
    Source: chainer.gradient_check.numerical_grad.
    """
    assert eps > 0
    assert isinstance(inputs, (tuple, list))
    if any(_kind(x) != "f" for x in inputs):
        raise RuntimeError("the inputs must be floating")
    if not is_arrays_compatible([x for x in (*inputs, *grad_outputs) if not np.isscalar(x)]):
        raise RuntimeError("arrays on the CPU and on a GPU cannot be mixed in numerical_grad")
    weights = [
        None if gy is None else np.float64(_float64(gy)) if np.isscalar(gy) else _float64(gy) for gy in grad_outputs
    ]
    steps = (-1.0, -0.5, 0.0, 0.5, 1.0) if detect_nondifferentiable else (-1.0, 1.0)
    center = _outputs(f, weights) if detect_nondifferentiable else []
    result = []
    for i, x in enumerate(inputs):
        original = _float64(x).copy()
        gradient = np.zeros(original.shape)
        for index in np.ndindex(original.shape):
            samples = [
                center if step == 0 else _moved(f, weights, x, index, original[index], step * eps) for step in steps
            ]
            if detect_nondifferentiable:
                _check_smooth(samples, diff_atol, diff_rtol, f"input {i} at {index}, eps {eps}")
            gradient[index] = _difference(samples, weights, eps)
        result.append(_like(gradient, x))
    return result


def _moved(
    f: Callable[[], Sequence[Any]], weights: Sequence[Any], x: Any, index: tuple[int, ...], value: Any, delta: float
) -> list[Any]:
    """The outputs when one element of ``x`` is ``value + delta``."""
    kept = x[index].clone() if isinstance(x, torch.Tensor) else x[index]
    with torch.no_grad():
        x[index] = float(value + delta)
    try:
        return _outputs(f, weights)
    finally:
        with torch.no_grad():
            x[index] = kept


def _outputs(f: Callable[[], Sequence[Any]], weights: Sequence[Any]) -> list[Any]:
    ys = [None if y is None else _float64(y).copy() for y in f()]
    assert len(ys) == len(weights), "as many output gradients as outputs are needed"
    for y, weight in zip(ys, weights):
        assert weight is None or y is not None and np.shape(weight) in ((), y.shape), "an output gradient does not fit"
    return ys


def _difference(samples: Sequence[Sequence[Any]], weights: Sequence[Any], eps: float) -> float:
    """The weighted derivative: the central difference of two points, the five-point formula of five."""
    total = 0.0
    for i, weight in enumerate(weights):
        if weight is None:
            continue
        if len(samples) == 2:
            total += ((samples[1][i] - samples[0][i]) * weight).sum() / (2 * eps)
        else:
            far, near = samples[4][i] - samples[0][i], samples[3][i] - samples[1][i]
            total += ((8 * near - far) * weight).sum() / (6 * eps)
    return total


def _check_smooth(samples: Sequence[Sequence[Any]], atol: float, rtol: float, where: str) -> None:
    """Raises NondifferentiableError where the outputs at five points are too far from a parabola."""
    outputs = [np.stack(ys) for ys in zip(*samples) if ys[0] is not None and ys[0].size]
    for ys in outputs:
        finite = np.isfinite(ys)
        if (finite != finite[0]).any():
            raise NondifferentiableError(f"finite only on one side: {where}")
    if not all(np.isfinite(ys).all() for ys in outputs):
        return
    for ys in outputs:
        flat = ys.reshape(len(ys), -1)
        # what is left of the values when the closest parabola is taken away
        basis, _ = np.linalg.qr(np.vander(np.arange(float(len(ys))), 3))
        error = np.sqrt(np.square(flat - basis @ (basis.T @ flat)).mean(axis=0))
        spread = flat.max(axis=0) - flat.min(axis=0)
        if ((atol + rtol * spread < error) & (spread != 0)).any():
            raise NondifferentiableError(f"no parabola fits the outputs: {where}")


def check_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    params: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-5,
    rtol: float = 1e-4,
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Raises AssertionError unless the gradients of ``func`` are those of finite differences.

    Both are compared along one random direction (from NumPy's generator) over all inputs and parameters.

    Args:
        func: gets a tensor for each input, returns a tensor or several (or None among them).
        x_data: a tensor or array, or a tuple of them; None is passed on.
        y_grad: the gradients of the outputs, as many as there are; None for one output of shape ().
        params: parameters that ``func`` uses; they have their values again afterwards, and no gradients.
        eps: length of the step.
        atol, rtol: tolerance of the comparison.
        no_grads: for each input whether it must have no gradient; by default those that are not floating.
        dtype: floating dtype in which the differences are taken.
        detect_nondifferentiable: see :func:`numerical_grad`.
    Raises:
        AssertionError: the gradients differ.
        ValueError: lengths, shapes or dtypes do not fit.
        RuntimeError: an input of ``no_grads`` has a gradient.
        NondifferentiableError: see detect_nondifferentiable.
    Source: chainer.gradient_check.check_backward.
    """
    if dtype is not None and numpy_dtype(dtype).kind != "f":
        raise ValueError(f"dtype must be floating, not {dtype}")
    xs = [None if x is None else torch.as_tensor(x).detach() for x in _as_tuple(x_data)]
    parameters = _as_tuple(params)
    skipped = [x is not None and not x.is_floating_point() for x in xs] if no_grads is None else list(no_grads)
    if len(skipped) != len(xs):
        raise ValueError(f"no_grads has {len(skipped)} entries for {len(xs)} inputs")

    # Before the direction is drawn: parameters may get their shapes here.
    leaves = [x if x is None else x.clone().requires_grad_(x.is_floating_point()) for x in xs]
    ys = _as_tuple(func(*leaves))
    gys = _output_gradients(ys, y_grad)
    directions = _directions([x for x, skip in zip(xs, skipped) if not skip] + list(parameters))
    analytic = _along(_gradients(ys, gys, leaves, skipped, parameters), directions)
    numeric = _numeric(func, xs, skipped, parameters, gys, directions, eps, dtype, detect_nondifferentiable, rtol)
    try:
        assert_allclose(numeric, analytic, atol=atol, rtol=rtol)
    except AssertionError as error:
        raise AssertionError(
            f"check_backward failed (eps={eps} atol={atol} rtol={rtol})\ninputs: {xs}\ngrad_outputs: {gys}\n"
            f"directions: {directions}\nnumeric gradient {numeric}, backward gradient {analytic}\n{error}"
        ) from None


def _output_gradients(ys: Sequence[Any], y_grad: Any) -> list[Any]:
    """A tensor (or None) for each output, checked."""
    if y_grad is None:
        if len(ys) != 1 or ys[0].dim() != 0:
            raise ValueError("y_grad can be left out only for one output of shape ()")
        return [torch.ones_like(ys[0])]
    gys = [None if gy is None else torch.as_tensor(gy).detach() for gy in _as_tuple(y_grad)]
    _check_output_gradients(ys, gys)
    return [None if y is None else gy for y, gy in zip(ys, gys)]


def _check_output_gradients(ys: Sequence[Any], gys: Sequence[Any]) -> None:
    if len(ys) != len(gys):
        raise ValueError(f"{len(gys)} output gradients for {len(ys)} outputs")
    for y, gy in zip(ys, gys):
        if gy is None or (y is None and bool((gy == 0).all())):
            continue
        if y is None or y.shape != gy.shape or y.dtype != gy.dtype:
            raise ValueError(f"the output gradient {_brief(gy)} does not fit the output {_brief(y)}")


def _brief(x: Any) -> str:
    return "None" if x is None else f"{tuple(x.shape)} {x.dtype}"


def _directions(targets: Sequence[Any]) -> list[Any]:
    """One unit vector over all targets (None for None), in their shapes; no element of it is close to zero."""
    sizes = [0 if t is None else t.numel() for t in targets]
    size = sum(sizes)
    drawn = np.random.normal(size=(size,))
    if size:
        square = np.square(drawn)
        drawn = np.copysign(np.sqrt(0.99 * square / square.sum() + 0.01 / size), drawn)
    parts = np.split(drawn, np.cumsum(sizes)[:-1]) if targets else []
    return [
        None if t is None else torch.as_tensor(part.reshape(tuple(t.shape))).to(t.device)
        for t, part in zip(targets, parts)
    ]


def _gradients(
    ys: Sequence[Any],
    gys: Sequence[Any],
    leaves: Sequence[Any],
    skipped: Sequence[bool],
    parameters: Sequence[torch.Tensor],
) -> list[Any]:
    """The gradients of the inputs that are not skipped and of the parameters, by autograd."""
    wanted = [x for x in leaves if x is not None and x.requires_grad]
    trained = [p for p in parameters if p.requires_grad]
    found = dict(zip(map(id, [*wanted, *trained]), _grad(ys, gys, [*wanted, *trained])))
    if any(skip and found.get(id(x)) is not None for x, skip in zip(leaves, skipped)):
        raise RuntimeError("an input of no_grads has a gradient")
    return [found.get(id(x)) for x, skip in zip(leaves, skipped) if not skip] + [found.get(id(p)) for p in parameters]


def _grad(
    ys: Sequence[Any], gys: Sequence[Any], inputs: Sequence[torch.Tensor], create_graph: bool = False
) -> Sequence[torch.Tensor | None]:
    pairs = [(y, gy) for y, gy in zip(ys, gys) if y is not None and gy is not None and y.requires_grad]
    if not pairs or not inputs:
        return [None] * len(inputs)
    outputs, gradients = zip(*pairs)
    return torch.autograd.grad(outputs, inputs, gradients, create_graph=create_graph, allow_unused=True)


def _along(gradients: Sequence[Any], directions: Sequence[Any]) -> float:
    total = 0.0
    for gradient, direction in zip(gradients, directions):
        if gradient is not None:
            total += float((gradient.detach().double() * direction).sum())
    return total


def _numeric(
    func: Callable[..., Any],
    xs: Sequence[Any],
    skipped: Sequence[bool],
    parameters: Sequence[torch.Tensor],
    gys: Sequence[Any],
    directions: Sequence[Any],
    eps: float,
    dtype: Any,
    detect: bool,
    rtol: float,
) -> Any:
    """The derivative along ``directions`` by finite differences."""
    cast = [x if x is None or dtype is None or not x.is_floating_point() else x.to(torch_dtype(dtype)) for x in xs]
    values = [p.detach().clone() for p in parameters]
    delta = np.zeros(())

    def moved(value: torch.Tensor, direction: torch.Tensor) -> torch.Tensor:
        return (value.double() + float(delta) * direction).to(value.dtype)

    def outputs() -> list[Any]:
        rest: Iterator[Any] = iter(directions)
        inputs = []
        for x, skip in zip(cast, skipped):
            direction = None if skip else next(rest)
            inputs.append(x if direction is None else moved(x, direction).requires_grad_())
        for parameter, value, direction in zip(parameters, values, rest):
            parameter.grad = None
            parameter.data = moved(value if dtype is None else value.to(torch_dtype(dtype)), direction)
        return [y if y is None else y.detach() for y in _as_tuple(func(*inputs))]

    try:
        return numerical_grad(
            outputs, (delta,), _on_cpu(gys), eps=eps, detect_nondifferentiable=detect, diff_atol=0, diff_rtol=rtol
        )[0]
    finally:
        for parameter, value in zip(parameters, values):
            parameter.data = value
            parameter.grad = None


def check_double_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    x_grad_grad: Any,
    params: Any = (),
    params_grad_grad: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-4,
    rtol: float = 1e-3,
    no_grads: Sequence[bool] | None = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,
) -> None:
    """Raises AssertionError unless the second derivatives of ``func`` are those of finite differences.

    The first derivatives are taken for right: they are the function whose gradient :func:`check_backward` checks, for
    the inputs and the output gradients together.

    Args:
        x_grad_grad, params_grad_grad: the gradients of the first derivatives, in tuples; None: does not count.
        no_grads: for each input and each output gradient.
    The other arguments and the errors are those of :func:`check_backward`.
    Source: chainer.gradient_check.check_double_backward.
    """
    xs, gys, parameters = _as_tuple(x_data), _as_tuple(y_grad), _as_tuple(params)
    floating = [_kind(x) == "f" for x in xs]

    def first_order(*inputs: torch.Tensor) -> tuple[Any, ...]:
        ys = _as_tuple(func(*inputs[: len(xs)]))
        gradients = [gy if gy is None else gy.to(y.dtype) for y, gy in zip(ys, inputs[len(xs) :])]
        _check_output_gradients(ys, gradients)
        sources = [x for x, is_float in zip(inputs, floating) if is_float]
        wanted = [t for t in (*sources, *parameters) if t.requires_grad]
        found = dict(zip(map(id, wanted), _grad(ys, gradients, wanted, create_graph=True)))
        return tuple(found.get(id(t)) for t in (*sources, *parameters))

    try:
        check_backward(
            first_order,
            (*xs, *gys),
            (*_as_tuple(x_grad_grad), *_as_tuple(params_grad_grad)),
            parameters,
            eps,
            atol,
            rtol,
            no_grads,
            dtype,
            detect_nondifferentiable,
        )
    except AssertionError as error:
        raise AssertionError(f"check_double_backward failed (eps={eps} atol={atol} rtol={rtol})\n{error}") from error


def _as_tuple(values: Any) -> tuple[Any, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)


def _kind(x: Any) -> str:
    if isinstance(x, torch.Tensor):
        return "f" if x.is_floating_point() else "i"
    kind: str = x.dtype.kind
    return kind


def _float64(x: Any) -> Any:
    return x.detach().double().cpu().numpy() if isinstance(x, torch.Tensor) else np.asarray(x, dtype=np.float64)


def _on_cpu(gys: Sequence[Any]) -> list[Any]:
    return [gy if gy is None else gy.cpu() for gy in gys]


def _like(gradient: np.ndarray, x: Any) -> Any:
    if isinstance(x, torch.Tensor):
        return torch.as_tensor(gradient).to(x)
    return gradient.astype(x.dtype)
