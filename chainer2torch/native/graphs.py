"""Graphs that end before they would by themselves: truncated backpropagation, and parts that are not trained."""

from __future__ import annotations

import functools
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves, tree_map


def _steps(y: Tensor, ends: set[Any]) -> set[Any]:
    """The steps that ``y`` was computed in, up to ``ends``, which are left out."""
    found: set[Any] = set()
    todo: list[Any] = [y.grad_fn]
    while todo:
        step = todo.pop()
        if step is not None and step not in found and step not in ends:
            found.add(step)
            todo += [before for before, _ in step.next_functions]
    return found


def detach_states(y: Tensor, *models: torch.nn.Module) -> None:
    """What models have kept of the graph of ``y`` for their next call forgets how it was computed.

    So does what was made of it without parameters, as the states of several layers in one tensor. For truncated
    backpropagation through time, after ``y.backward()``. Source: chainer.Variable.unchain_backward.
    """
    steps = {step for step in _steps(y, set()) if not hasattr(step, "variable")}

    def cut(x: Any) -> Any:
        computed = isinstance(x, Tensor) and x.grad_fn is not None
        return x.detach() if computed and not any(hasattr(step, "variable") for step in _steps(x, steps)) else x

    for module in (module for model in models for module in model.modules()):
        for name, value in list(vars(module).items()):
            if isinstance(value, (Tensor, tuple)):
                setattr(module, name, tree_map(cut, value))
            elif isinstance(value, list):
                value[:] = tree_map(cut, value)
            elif isinstance(value, dict) and name not in vars(torch.nn.Module()):
                value.update(tree_map(cut, value))


def keeps_graphs(function: Any) -> bool:
    """Whether a model holds states that lead back to the steps before; of another function nobody knows.

    Source: chainer.Variable.backward, which frees no graph.
    """
    if not isinstance(function, torch.nn.Module):
        return True
    states = [value for module in function.modules() for name, value in vars(module).items() if name[:1] != "_"]
    return any(isinstance(x, Tensor) and x.grad_fn is not None for x in tree_leaves(states))


def variable(data: Any) -> Tensor:
    """A tensor on the memory of an array or tensor that takes a gradient of its own, if it is of a float type.

    Source: chainer.Variable.
    """
    x = torch.as_tensor(data).detach()
    return x.requires_grad_(x.is_floating_point())


def grad(outputs: Any, inputs: Any, grad_outputs: Any = None, create_graph: bool = False) -> tuple[Tensor | None, ...]:
    """torch.autograd.grad that weighs outputs of any shape with ones, and leaves the graph for others.

    An input that no output depends on gets None. Source: chainer.grad.
    """
    weights = grad_outputs or [None] * len(outputs)
    weights = [torch.ones_like(y) if weight is None else weight for y, weight in zip(outputs, weights)]
    found: tuple[Tensor | None, ...] = torch.autograd.grad(
        outputs, inputs, weights, retain_graph=True, create_graph=create_graph, allow_unused=True
    )
    return found


def backward_until(y: Tensor, *ends: Tensor) -> None:
    """``y.backward()`` that does not go on behind ``ends``: the parameters there get no gradient from it.

    None either on a way around them, from what ``ends`` were computed of: a parameter before and behind gets that part
    alone which comes before. One of ``ends`` may be a number by now.
    Source: chainer.Variable.backward, after ``unchain_backward()`` of each of ``ends``.
    """
    behind = {step for end in ends if isinstance(end, Tensor) for step in _steps(end, set())}
    behind = {step for step in behind if not hasattr(step, "variable")}
    steps = _steps(y, behind)
    leaves = [step.variable for step in steps if hasattr(step, "variable")]
    crossed = {before for step in steps for before, _ in step.next_functions if before in behind}
    hooks = [step.register_prehook(lambda grads: (None,) * len(grads)) for step in crossed]
    torch.autograd.backward(y, inputs=leaves)
    for hook in hooks:
        hook.remove()


def backward(
    y: Tensor,
    *,
    enable_double_backprop: bool = False,
    retain_graph: bool | None = None,
    retain_grad: bool = False,  # where: retain_grad
    loss_scale: float | None = None,  # where: loss_scale
) -> None:
    """``y.backward()`` with Chainer's options. Source: chainer.Variable.backward."""
    gradient = None
    if loss_scale is not None and "backward" not in vars(y):  # where: loss_scale
        gradient = torch.full_like(y, loss_scale)
    if retain_grad and y.requires_grad and not y.is_leaf:  # where: retain_grad
        y.retain_grad()
    y.backward(gradient, retain_graph, enable_double_backprop)


def set_grad(x: Tensor, grad: Any) -> None:
    """``x.grad = grad``; for the result of a computation it is what its next ``backward()`` starts from.

    Source: chainer.Variable.grad (assigned).
    """
    grad = None if grad is None else torch.as_tensor(grad, device=x.device)
    x.grad = grad
    if not x.is_leaf:
        vars(x).pop("backward", None)
        if grad is not None:
            vars(x)["backward"] = functools.partial(_backward_from, x)


def _backward_from(y: Tensor, gradient: Tensor | None = None, *args: Any, **kwargs: Any) -> None:
    del vars(y)["backward"]  # one call starts from it
    start, y.grad = y.grad, None
    y.backward(start if gradient is None else gradient, *args, **kwargs)


def live(state: Any) -> Any:
    """``state``: no ``unchain_backward`` cuts its graph. Source: chainer.Variable.unchain_backward."""
    return state
