"""``copy.copy`` and ``copy.deepcopy`` of modules and tensors, as they work for links and Variables of Chainer."""

from __future__ import annotations

import copy
import types
from collections.abc import Iterator
from typing import Any

import torch
import torch.nn as nn

_TABLES = ("_parameters", "_buffers", "_modules")
_ATOMIC = (
    str,
    bytes,
    int,
    float,
    complex,
    type,
    torch.Tensor,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
)


def copy_object(x: Any) -> Any:
    """``copy.copy(x)``; a module gets tables of its own, so a child that the copy is given is not the original's, too.

    Parameters and children are the same objects in both. Source: copy.copy of a chainer.Link.
    """
    result = copy.copy(x)
    if isinstance(x, nn.Module):
        for table in _TABLES:
            result.__dict__[table] = dict(vars(x)[table])
    return result


def deepcopy(x: Any, memo: dict[int, Any] | None = None) -> Any:
    """``copy.deepcopy(x)``, also where modules keep what they computed (``self.loss``, the state of an LSTM).

    PyTorch copies no tensor that has a graph. The copy holds its values, and a gradient ends there: in Chainer, too,
    none gets from a copied graph to the parameters of the copy. Source: copy.deepcopy of a chainer.Link.
    """
    memo = {} if memo is None else memo
    for tensor in _computed(x, set()):
        memo[id(tensor)] = tensor.detach().clone().requires_grad_(tensor.requires_grad)
        memo.setdefault(id(memo), []).append(tensor)  # copy keeps its originals there: an id must stay taken
    return copy.deepcopy(x, memo)


def _computed(x: Any, seen: set[int]) -> Iterator[torch.Tensor]:
    """The tensors with a graph in an object, its attributes and the lists, tuples, sets and dicts there."""
    todo = [x]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, torch.Tensor):
            if not value.is_leaf:
                yield value
        if isinstance(value, _ATOMIC) or value is None:
            continue
        if isinstance(value, dict):
            todo += [*value, *value.values()]
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += value
        todo += getattr(value, "__dict__", {}).values()
        if isinstance(value, types.MethodType):
            todo.append(value.__self__)
