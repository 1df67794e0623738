"""Gradients asked for by name."""

from __future__ import annotations

from collections.abc import Sequence

import torch


def grad(
    outputs: Sequence[torch.Tensor],
    inputs: Sequence[torch.Tensor],
    grad_outputs: Sequence[torch.Tensor | None] | None = None,
    grad_inputs: Sequence[torch.Tensor | None] | None = None,
    set_grad: bool = False,
    enable_double_backprop: bool = False,
) -> list[torch.Tensor | None]:
    """The gradients of ``outputs`` (each weighted with its ``grad_outputs``; None: ones) with respect to ``inputs``.

    An input that no output depends on gets None. ``grad_inputs`` are added to the results, ``set_grad`` also stores
    them as ``x.grad``. With ``enable_double_backprop`` the results can be differentiated again. The graph is not freed.

    Raises:
        TypeError: outputs or inputs is not a list or tuple.
        ValueError: grad_outputs or grad_inputs is not as long.
    Source: chainer.grad.
    """
    for name, values in (("outputs", outputs), ("inputs", inputs)):
        if not isinstance(values, (tuple, list)):
            raise TypeError(f"{name} must be a tuple or a list, not {type(values).__name__}")
    if grad_outputs is not None and len(grad_outputs) != len(outputs):
        raise ValueError(f"grad_outputs has {len(grad_outputs)} entries for {len(outputs)} outputs")
    if grad_inputs is not None and len(grad_inputs) != len(inputs):
        raise ValueError(f"grad_inputs has {len(grad_inputs)} entries for {len(inputs)} inputs")
    weights = grad_outputs if grad_outputs is not None else [None] * len(outputs)
    pairs = [(y, torch.ones_like(y) if gy is None else gy) for y, gy in zip(outputs, weights) if y.requires_grad]
    results: list[torch.Tensor | None] = [None] * len(inputs)
    if pairs:
        results = list(
            torch.autograd.grad(
                [y for y, _ in pairs],
                list(inputs),
                [gy for _, gy in pairs],
                retain_graph=True,
                create_graph=enable_double_backprop,
                allow_unused=True,
            )
        )
    for i, extra in enumerate(grad_inputs or ()):
        if extra is not None:
            gradient = results[i]
            results[i] = extra if gradient is None else gradient + extra
    if set_grad:
        for x, gradient in zip(inputs, results):
            x.grad = gradient
    return results
