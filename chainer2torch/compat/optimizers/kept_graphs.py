"""Graphs that something may go backward through again, as Chainer keeps them while anything holds them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

_LEFT = ("accuracy", "loss", "y")  # what classifiers leave to be read: no state of the next step


def _has_graph(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_has_graph, value.values()))
    if isinstance(value, (list, tuple)):
        return any(map(_has_graph, value))
    return isinstance(value, torch.Tensor) and value.grad_fn is not None


def is_shared(lossfun: Any, given: Iterable[Any]) -> bool:
    """Whether the graph of a loss may be needed again: it begins in what the loss was given, or a model keeps it.

    A state that nothing cuts leads the next step back through this one. Source: chainer.Variable.backward.
    """
    if not isinstance(lossfun, torch.nn.Module):
        return True
    kept = (
        value
        for module in lossfun.modules()
        for name, value in vars(module).items()
        if module is not lossfun or name not in _LEFT
    )
    return any(map(_has_graph, given)) or any(map(_has_graph, kept))
