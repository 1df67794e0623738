"""Chainer's LSTMs over trees: one node at a time, from the states of its children."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn as nn

from chainer2torch.compat.links.linear import Linear
from chainer2torch.compat.functions.recurrent import tree_lstm


class ChildSumTreeLSTM(nn.Module):
    """``c, h = layer(c1, .., cN, h1, .., hN, x)`` for any number of children, whose order does not matter.

    States (batch, out_size) and x (batch, in_size); each may be None (zeros), but not all: ValueError.
    Source: chainer.links.ChildSumTreeLSTM.
    """

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__()
        self.in_size = in_size
        self.state_size = out_size
        self.W_x = Linear(in_size, 4 * out_size)
        self.W_h_aio = Linear(out_size, 3 * out_size, nobias=True)
        self.W_h_f = Linear(out_size, out_size, nobias=True)

    def forward(self, *cshsx: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if len(cshsx) % 2 == 0:
            raise AssertionError("the arguments are cells, outputs (as many) and x")
        n = len(cshsx) // 2
        x = _node_input(cshsx, self.in_size)
        aio, f = self.W_x(x).split([3 * self.state_size, self.state_size], 1)
        cells = _zeros_for_none(cshsx[:n], x, self.state_size)
        outputs = _zeros_for_none(cshsx[n:-1], x, self.state_size)
        if n == 0:
            return tree_lstm(aio)
        aio = aio + self.W_h_aio(sum(outputs[1:], outputs[0]))
        return tree_lstm(*cells, torch.cat([aio, *(self.W_h_f(h) + f for h in outputs)], 1))


class NaryTreeLSTM(nn.Module):
    """``c, h = layer(c1, .., cN, h1, .., hN, x)`` for ``n_ary`` children, each with weights of its own.

    States (batch, out_size) and x (batch, in_size); each may be None (zeros), but not all: ValueError. Another number
    of arguments raises AssertionError. Source: chainer.links.NaryTreeLSTM.
    """

    def __init__(self, in_size: int, out_size: int, n_ary: int = 2) -> None:
        super().__init__()
        if n_ary < 1:
            raise AssertionError("n_ary must be at least 1")
        self.in_size = in_size
        self.state_size = out_size
        self.n_ary = n_ary
        self.W_x = Linear(in_size, (3 + n_ary) * out_size)
        for i in range(1, n_ary + 1):
            self.add_module(f"W_h{i}", Linear(out_size, (3 + n_ary) * out_size, nobias=True))

    def forward(self, *cshsx: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if len(cshsx) != 2 * self.n_ary + 1:
            raise AssertionError(f"the arguments are {self.n_ary} cells, {self.n_ary} outputs and x")
        x = _node_input(cshsx, self.in_size)
        gates = self.W_x(x)
        for i, h in enumerate(cshsx[self.n_ary : -1], 1):
            if h is not None:
                gates = gates + self.get_submodule(f"W_h{i}")(h)
        return tree_lstm(*_zeros_for_none(cshsx[: self.n_ary], x, self.state_size), gates)


def _node_input(cshsx: Sequence[Any], in_size: int) -> torch.Tensor:
    """The node's own input, or zeros for a None."""
    x: torch.Tensor | None = cshsx[-1]
    if x is not None:
        return x
    base: torch.Tensor | None = next((value for value in cshsx if value is not None), None)
    if base is None:
        raise ValueError("all inputs are None")
    return base.new_zeros(len(base), in_size)


def _zeros_for_none(values: Sequence[Any], x: torch.Tensor, size: int) -> list[torch.Tensor]:
    return [x.new_zeros(len(x), size) if value is None else value for value in values]
