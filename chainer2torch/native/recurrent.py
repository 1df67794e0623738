"""Recurrent layers that take one step, and keep their state between the calls if they are stateful."""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn.parameter import is_lazy

from chainer2torch.native.first_values import as_initializer
from chainer2torch.native.functions import lstm, lstm_step
from chainer2torch.native.graphs import live


def _gate_layer(in_size: int | None, out_size: int, bias: bool = True) -> nn.Linear:
    layer = nn.LazyLinear(out_size, bias) if in_size is None else nn.Linear(in_size, out_size, bias)
    return _begin_gates(layer)


@torch.no_grad()
def _begin_gates(layer: nn.Linear, weight: Any = None, bias: Any = nn.init.zeros_) -> nn.Linear:
    """A layer with first values: N(0, 1 / in_size) and 0 if no others are given; a lazy one at its first batch."""
    if is_lazy(layer.weight):
        vars(layer)["reset_parameters"] = functools.partial(_begin_gates, layer, weight, bias)
        return layer
    nn.init.kaiming_normal_(layer.weight, nonlinearity="linear")
    if weight is not None:  # where: lateral_init, upward_init, init=, inner_init, bias_init
        weight(layer.weight)
    if layer.bias is not None:
        bias(layer.bias)
    return layer


def _forget_biases(bias: Tensor) -> None:
    nn.init.zeros_(bias)
    nn.init.ones_(bias[2::4])


class LSTMGates(nn.Module):
    """The two linear layers of an LSTM. The biases of the forget gates begin at 1.

    Source: chainer.links.rnn.lstm.LSTMBase.
    """

    def __init__(
        self,
        in_size: int | None,
        out_size: Any = None,
        lateral_init: Any = None,  # where: lateral_init, upward_init, bias_init, forget_bias_init
        upward_init: Any = None,  # where: lateral_init, upward_init, bias_init, forget_bias_init
        bias_init: Any = None,  # where: lateral_init, upward_init, bias_init, forget_bias_init
        forget_bias_init: Any = None,  # where: lateral_init, upward_init, bias_init, forget_bias_init
    ) -> None:
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.state_size: int = out_size
        self.upward = _begin_gates(_gate_layer(in_size, 4 * out_size), bias=_forget_biases)
        self.lateral = _gate_layer(out_size, 4 * out_size, bias=False)
        _fill_both(
            self,
            upward_init,
            lateral_init,
            bias_init,
            forget_bias_init,
        )  # where: lateral_init, upward_init, bias_init, forget_bias_init


def _fill_both(layer: LSTMGates, upward: Any, lateral: Any, bias: Any, forget_bias: Any) -> None:
    biases = functools.partial(_fill_biases, bias, forget_bias)
    _begin_gates(layer.upward, functools.partial(_fill_weights, upward), biases)
    _begin_gates(layer.lateral, functools.partial(_fill_weights, lateral))


def _fill_weights(value: Any, weight: Tensor) -> None:
    for gate in weight.chunk(4):  # one by one, as in Chainer: it matters to fans that count outputs
        as_initializer(value)(gate)


def _fill_biases(value: Any, forget: Any, bias: Tensor) -> None:
    gates = bias.view(1, -1, 4, 1)
    for gate in range(4):
        (as_initializer(forget, 1) if gate == 2 else as_initializer(value, 0))(gates[:, :, gate])


class StatelessLSTM(LSTMGates):
    """One step of an LSTM: ``c, h = layer(c, h, x)``; c and h may be None. Source: chainer.links.StatelessLSTM."""

    def forward(self, c: Tensor | None, h: Tensor | None, x: Tensor) -> tuple[Tensor, Tensor]:
        """The next c and h."""
        gates = self.upward(x.flatten(1))
        gates = gates if h is None else gates + self.lateral(h.flatten(1))
        if c is None:
            return lstm_step(gates.new_zeros(gates.shape[0], gates.shape[1] // 4), gates)
        return lstm(c, gates)


class LSTM(LSTMGates):
    """An LSTM that keeps ``c`` and ``h``: ``h = layer(x)``. Batches may get smaller from call to call.

    Source: chainer.links.LSTM.
    """

    c: Tensor | None = None
    h: Tensor | None = None

    def reset_state(self) -> None:
        """A new sequence begins."""
        self.c = self.h = None

    def set_state(self, c: Tensor, h: Tensor) -> None:
        """The state before the next step."""
        self.c, self.h = c, h

    def forward(self, x: Tensor) -> Tensor:
        """The next h, for the rows of x."""
        n, gates = len(x), self.upward(x.flatten(1))
        if self.c is None or self.h is None:
            self.c, self.h = lstm_step(gates.new_zeros(n, gates.shape[1] // 4), gates)
            return self.h
        self.c, self.h = live(self.c), live(self.h)  # where: helper.unchain_backward
        c, h = lstm_step(self.c[:n], gates + self.lateral(self.h[:n]))
        whole = len(self.h) == n  # then the states stay what the output is computed from: who cuts the graph finds them
        self.c, self.h = (c, h) if whole else (torch.cat((c, self.c[n:])), torch.cat((h, self.h[n:])))
        return h


class GRUGates(nn.Module):
    """The six linear layers of a GRU. Source: chainer.links.rnn.gru.GRUBase."""

    def __init__(
        self,
        in_size: int | None,
        out_size: int,
        init: Any = None,  # where: init=, inner_init, bias_init
        inner_init: Any = None,  # where: init=, inner_init, bias_init
        bias_init: Any = None,  # where: init=, inner_init, bias_init
    ) -> None:
        super().__init__()
        self.state_size = out_size
        self.W_r, self.U_r = _gate_layer(in_size, out_size), _gate_layer(out_size, out_size)
        self.W_z, self.U_z = _gate_layer(in_size, out_size), _gate_layer(out_size, out_size)
        self.W, self.U = _gate_layer(in_size, out_size), _gate_layer(out_size, out_size)
        for layer in (self.W_r, self.W_z, self.W):  # where: init=, inner_init, bias_init
            _begin_gates(layer, as_initializer(init), as_initializer(bias_init, 0))
        for layer in (self.U_r, self.U_z, self.U):  # where: init=, inner_init, bias_init
            _begin_gates(layer, as_initializer(inner_init), as_initializer(bias_init, 0))

    def step(self, h: Tensor, x: Tensor) -> Tensor:
        """The next h."""
        x = x.flatten(1)
        r = torch.sigmoid(self.W_r(x) + self.U_r(h))
        z = torch.sigmoid(self.W_z(x) + self.U_z(h))
        return torch.lerp(h, torch.tanh(self.W(x) + self.U(r * h)), z)


class StatelessGRU(GRUGates):
    """One step of a GRU: ``h = layer(h, x)``; nn.GRU has other gates. Source: chainer.links.StatelessGRU."""

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        """The next h."""
        return self.step(h, x)


class StatefulGRU(GRUGates):
    """A GRU that keeps ``h``: ``h = layer(x)``; in the first step nothing stands for it.

    Source: chainer.links.StatefulGRU.
    """

    h: Tensor | None = None

    def reset_state(self) -> None:
        """A new sequence begins."""
        self.h = None

    def set_state(self, h: Tensor) -> None:
        """The state before the next step."""
        self.h = h

    def forward(self, x: Tensor) -> Tensor:
        """The next h."""
        x = x.flatten(1)
        if self.h is None:
            self.h = torch.sigmoid(self.W_z(x)) * torch.tanh(self.W(x))
        else:
            self.h = live(self.h)  # where: helper.unchain_backward
            self.h = self.step(self.h, x)
        return self.h


class GRU(StatefulGRU):
    """StatefulGRU under its other name. Source: chainer.links.GRU."""
