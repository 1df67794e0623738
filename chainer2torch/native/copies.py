"""Copies of modules that keep what they computed."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn
from torch.utils._pytree import tree_flatten


def deepcopy(x: Any) -> Any:
    """``copy.deepcopy(x)``, also where modules keep what they computed: the copy has it without its graph.

    Tensors with a graph (``self.loss``, the state of an LSTM), which torch refuses to copy, are looked for in modules,
    lists, tuples and dicts; elsewhere they raise.
    Source: copy.deepcopy of a chainer.Link, whose copied graph leads no gradient to the parameters of the copy.
    """
    modules = [module for part in tree_flatten(x)[0] if isinstance(part, nn.Module) for module in part.modules()]
    values = tree_flatten([x, *map(vars, modules)])[0]
    computed = {id(t): t for t in values if isinstance(t, torch.Tensor) and not t.is_leaf}
    copies = {key: t.detach().clone().requires_grad_(t.requires_grad) for key, t in computed.items()}
    return copy.deepcopy(x, copies)
