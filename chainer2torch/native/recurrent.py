"""Recurrent layers that take one step, and keep their state between the calls if they are stateful."""

from __future__ import annotations

import torch
import torch.nn as nn
from torch import Tensor

from chainer2torch.native.first_values import initialized
from chainer2torch.native.functions import lstm, lstm_step
from chainer2torch.native.layers import linear


def _forget_biases(bias: Tensor) -> None:
    nn.init.zeros_(bias)
    nn.init.ones_(bias[2::4])


class StatelessLSTM(nn.Module):
    """One step of an LSTM: ``c, h = layer(c, h, x)``; c and h may be None. Source: chainer.links.StatelessLSTM."""

    def __init__(self, in_size: int | None, out_size: int) -> None:
        super().__init__()
        self.upward = initialized(linear(in_size, 4 * out_size), bias=_forget_biases)
        self.lateral = linear(out_size, 4 * out_size, bias=False)

    def forward(self, c: Tensor | None, h: Tensor | None, x: Tensor) -> tuple[Tensor, Tensor]:
        """The next c and h."""
        gates = self.upward(x) if h is None else self.upward(x) + self.lateral(h)
        return lstm(gates.new_zeros(gates.shape[0], gates.shape[1] // 4) if c is None else c, gates)


class LSTM(StatelessLSTM):
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

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """The next h, for the rows of x."""
        n, gates = len(x), self.upward(x)
        if self.c is None or self.h is None:
            self.c, self.h = lstm_step(gates.new_zeros(n, gates.shape[1] // 4), gates)
            return self.h
        c, h = lstm_step(self.c[:n], gates + self.lateral(self.h[:n]))
        whole = len(self.h) == n  # then the states stay what the output is computed from: who cuts the graph finds them
        self.c, self.h = (c, h) if whole else (torch.cat((c, self.c[n:])), torch.cat((h, self.h[n:])))
        return h


class StatelessGRU(nn.Module):
    """One step of a GRU: ``h = layer(h, x)``; nn.GRU has other gates. Source: chainer.links.StatelessGRU."""

    def __init__(self, in_size: int | None, out_size: int) -> None:
        super().__init__()
        self.W_r, self.U_r = linear(in_size, out_size), linear(out_size, out_size)
        self.W_z, self.U_z = linear(in_size, out_size), linear(out_size, out_size)
        self.W, self.U = linear(in_size, out_size), linear(out_size, out_size)

    def forward(self, h: Tensor, x: Tensor) -> Tensor:
        """The next h."""
        r = torch.sigmoid(self.W_r(x) + self.U_r(h))
        z = torch.sigmoid(self.W_z(x) + self.U_z(h))
        return torch.lerp(h, torch.tanh(self.W(x) + self.U(r * h)), z)


class GRU(StatelessGRU):
    """A GRU that keeps ``h``: ``h = layer(x)``; in the first step nothing stands for it. Source: chainer.links.GRU."""

    h: Tensor | None = None

    def reset_state(self) -> None:
        """A new sequence begins."""
        self.h = None

    def set_state(self, h: Tensor) -> None:
        """The state before the next step."""
        self.h = h

    def forward(self, x: Tensor) -> Tensor:  # type: ignore[override]
        """The next h."""
        if self.h is None:
            self.h = torch.sigmoid(self.W_z(x)) * torch.tanh(self.W(x))
        else:
            self.h = super().forward(self.h, x)
        return self.h
