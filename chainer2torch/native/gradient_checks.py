"""Checks of gradients against finite differences, along one random direction as Chainer does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from chainer2torch.native.devices import torch_dtype


def check_backward(
    func: Callable[..., Any],
    x_data: Any,
    y_grad: Any,
    params: Any = (),
    eps: float = 1e-3,
    atol: float = 1e-5,
    rtol: float = 1e-4,
    no_grads: Any = None,
    dtype: Any = None,
    detect_nondifferentiable: bool = False,  # where: detect_nondifferentiable
) -> None:
    """AssertionError unless the gradients along a random direction are those of finite differences.

    The direction is Chainer's for the same seed of NumPy's generator. Source: chainer.gradient_check.check_backward.
    """
    if detect_nondifferentiable:  # where: detect_nondifferentiable
        raise NotImplementedError("the long form detects it")  # such a project gets that
    xs: list[Any] = [x if x is None else torch.as_tensor(x).detach() for x in _listed(x_data)]
    params = _listed(params)
    floating = [x is not None and x.is_floating_point() for x in xs]
    moves = floating
    if no_grads is not None:  # where: no_grads
        moves = [x is not None and not fixed for x, fixed in zip(xs, no_grads, strict=True)]
    leaves = [x.clone().requires_grad_() if is_float else x for x, is_float in zip(xs, floating)]
    ys = _listed(func(*leaves))
    gys = [ys[0].new_ones(())] if y_grad is None else [g if g is None else torch.as_tensor(g) for g in _listed(y_grad)]
    pairs = [(y, gy) for y, gy in zip(ys, gys, strict=True) if y is not None and gy is not None]
    if any(y.shape != gy.shape or y.dtype != gy.dtype for y, gy in pairs):
        raise ValueError("an output gradient does not fit its output")
    inputs = [x for x in (*leaves, *params) if x is not None and x.requires_grad]
    ends = [(y, gy) for y, gy in pairs if y.requires_grad and inputs]
    grads = torch.autograd.grad([y for y, _ in ends], inputs, [g for _, g in ends], allow_unused=True) if ends else ()
    found = dict(zip(inputs, grads))
    if any(not move and found.get(x) is not None for x, move in zip(leaves, moves)):  # where: no_grads
        raise RuntimeError("an input of no_grads has a gradient")
    targets = [*(x for x, move in zip(leaves, moves) if move), *params]
    drawn = np.random.normal(size=sum(t.numel() for t in targets))
    # none is close to 0
    drawn = np.copysign(np.sqrt(0.99 * drawn**2 / (drawn**2).sum() + 0.01 / max(len(drawn), 1)), drawn)
    parts = np.split(drawn, np.cumsum([t.numel() for t in targets]))
    ways = [torch.as_tensor(part.reshape(t.shape)).to(t.device) for t, part in zip(targets, parts)]
    gradient = sum(float((found[t].double() * way).sum()) for t, way in zip(targets, ways) if found.get(t) is not None)
    kept = [t.detach().clone() for t in targets]

    def moved(delta: float) -> list[Any]:
        wide = [x if x is None or dtype is None or not x.is_floating_point() else x.to(torch_dtype(dtype)) for x in xs]
        starts = kept if dtype is None else [t.to(torch_dtype(dtype)) for t in kept]
        ends = iter([(t.double() + delta * way).to(t.dtype) for t, way in zip(starts, ways)])
        given = [next(ends).requires_grad_() if move else x for x, move in zip(wide, moves)]
        for param, end in zip(params, ends):
            param.data, param.grad = end, None
        return [y if y is None else y.detach().double() for y in _listed(func(*given))]

    try:
        changes = [(gy, a, b) for gy, a, b in zip(gys, moved(-eps), moved(eps)) if gy is not None and a is not None]
    finally:
        for param, value in zip(params, kept[len(kept) - len(params) :]):
            param.data, param.grad = value, None
    numeric = sum(float(((b - a) * gy).sum()) for gy, a, b in changes) / (2 * eps)
    np.testing.assert_allclose(numeric, gradient, atol=atol, rtol=rtol, err_msg=f"check_backward failed, eps={eps}")


@torch.no_grad()
def numerical_grad(f: Callable[[], Any], inputs: Any, grad_outputs: Any, eps: float = 1e-3) -> list[Any]:
    """Gradients by finite differences of a function that reads ``inputs``, whose elements are moved one by one.

    Source: chainer.gradient_check.numerical_grad.
    """

    def at(x: Any, index: tuple[int, ...], value: float) -> list[Any]:
        x[index] = value
        with torch.enable_grad():
            return [None if y is None else _wide(y) for y in f()]

    weights, found = [None if gy is None else _wide(gy) for gy in grad_outputs], []
    for x in inputs:
        gradient = np.zeros(tuple(x.shape))
        for index in np.ndindex(gradient.shape):
            kept = float(x[index])
            ends = zip(weights, at(x, index, kept - eps), at(x, index, kept + eps), strict=True)
            gradient[index] = sum(((b - a) * gy).sum() for gy, a, b in ends if gy is not None) / (2 * eps)
            x[index] = kept
        found.append(torch.as_tensor(gradient).to(x) if isinstance(x, torch.Tensor) else gradient.astype(x.dtype))
    return found


def _wide(x: Any) -> Any:
    return np.array(x.detach().cpu() if isinstance(x, torch.Tensor) else x, np.float64)


def _listed(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (tuple, list)) else [values]
