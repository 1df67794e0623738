"""Recurrent layers of torch over lists of sequences of different lengths: Chainer's NStep links."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import torch
import torch.nn as nn
from torch import Tensor
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from chainer2torch.native.first_values import as_initializer


_FIRST = ("initialW", "initial_bias")


class NStepRNN(nn.RNNBase):
    """A recurrent layer of torch over a list of sequences, with Chainer's first values.

    Source: chainer.links.rnn.n_step_rnn.NStepRNNBase.
    """

    direction = 1
    n_cells = 1  # where: n_cells

    def __init__(self, n_layers: int, in_size: int, out_size: int, dropout: float, **options: Any) -> None:
        initialW, initial_bias = (options.pop(name, None) for name in _FIRST)  # where: initialW, initial_bias
        # in a single layer there is nothing to drop, and torch warns; it takes no sizes of NumPy's integers
        options.update(dropout=dropout if n_layers > 1 else 0.0, bidirectional=self.direction == 2)
        super().__init__(int(in_size), int(out_size), int(n_layers), **options)  # type: ignore[arg-type]
        self.n_layers, self.out_size, self.dropout = n_layers, out_size, dropout
        _fill_first(self)
        if initialW is not None:  # where: initialW, initial_bias
            _fill_gates(self, "weight", initialW)
        if initial_bias is not None:  # where: initialW, initial_bias
            _fill_gates(self, "bias", initial_bias)

    def __getitem__(self, index: int) -> Any:  # where: b0, w0, b1, w1, b2, w2, b3, w3, b4, w4, b5, w5, b6, w6, b7, w7
        """A layer of Chainer's, each direction one, with its parameters: ``for layer in rnn: layer.b1.data[:] = 1``."""
        stacked = self.all_weights[index]
        starts = [(p, start) for p in stacked for start in range(0, len(p), self.hidden_size)]
        parts = [StackedPart.of(p, slice(start, start + self.hidden_size)) for p, start in starts]
        weights, biases = ([part for part in parts if part.ndim == ndim] for ndim in (2, 1))
        named = [(f"{kind}{i}", p) for kind, held in (("w", weights), ("b", biases)) for i, p in enumerate(held)]
        return SimpleNamespace(**dict(named))

    def init_hx(self, xs: Sequence[Tensor]) -> Tensor:
        """The first state of a batch: zeros (layers * directions, len(xs), out_size)."""
        return xs[0].new_zeros(self.n_layers * self.direction, len(xs), self.out_size)

    def forward(self, hx: Tensor | None, xs: Sequence[Tensor]) -> Any:
        """``hy, ys``: the last state and the outputs, from the state ``hx`` or zeros."""
        packed = pack_sequence(list(xs), enforce_sorted=False)
        # cuDNN has no backward pass in eval mode
        backward_in_eval_mode = torch.is_grad_enabled() and not self.training
        with torch.backends.cudnn.flags(enabled=False) if backward_in_eval_mode else nullcontext():
            ys, hy = super().forward(packed, hx)
        return hy, unpack_sequence(ys)


def _fill_first(layer: nn.RNNBase) -> None:
    for param in layer.parameters():
        if param.ndim == 1:
            nn.init.zeros_(param)
        else:
            nn.init.kaiming_normal_(param, nonlinearity="linear")


class StackedPart(Tensor):
    """Some rows of a stacked parameter, as a parameter of Chainer's: what is set as its data is written there."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    place: tuple[Tensor, slice]

    @classmethod
    def of(cls, parameter: Tensor, rows: slice) -> StackedPart:
        part = parameter[rows].as_subclass(cls)
        part.place = parameter, rows
        return part

    @property
    def data(self) -> Tensor:
        parameter, rows = self.place
        return parameter.data[rows]

    @data.setter
    def data(self, value: Any) -> None:
        self.data.copy_(torch.as_tensor(value))

    @property
    def grad(self) -> Tensor | None:  # type: ignore[override]
        parameter, rows = self.place
        return None if parameter.grad is None else parameter.grad[rows]


@torch.no_grad()
def _fill_gates(layer: nn.RNNBase, kind: str, value: Any) -> None:
    for name, param in layer.named_parameters():
        for gate in param.split(layer.hidden_size) if name.startswith(kind) else ():
            as_initializer(value)(gate)


class NStepLSTM(NStepRNN, nn.LSTM):
    """nn.LSTM over a list of sequences: ``hy, cy, ys = layer(hx, cx, xs)``; hx and cx may be None.

    Source: chainer.links.NStepLSTM.
    """

    n_cells = 2  # where: n_cells

    def forward(self, hx: Tensor | None, cx: Tensor | None, xs: Sequence[Tensor]) -> Any:  # type: ignore[override]
        """The last states and the outputs."""
        state = tuple(self.init_hx(xs) if s is None else s for s in (hx, cx))
        (hy, cy), ys = super().forward(state, xs)  # type: ignore[arg-type]
        return hy, cy, ys


class NStepBiLSTM(NStepLSTM):
    """NStepLSTM in both directions. Source: chainer.links.NStepBiLSTM."""

    direction = 2


class NStepGRU(NStepRNN, nn.GRU):  # type: ignore[misc]
    """nn.GRU over a list of sequences: ``hy, ys = layer(hx, xs)``. Source: chainer.links.NStepGRU."""


class NStepBiGRU(NStepGRU):
    """NStepGRU in both directions. Source: chainer.links.NStepBiGRU."""

    direction = 2


class NStepRNNTanh(NStepRNN, nn.RNN):  # type: ignore[misc]
    """nn.RNN over a list of sequences: ``hy, ys = layer(hx, xs)``. Source: chainer.links.NStepRNNTanh."""


class NStepBiRNNTanh(NStepRNNTanh):
    """NStepRNNTanh in both directions. Source: chainer.links.NStepBiRNNTanh."""

    direction = 2


class NStepRNNReLU(NStepRNNTanh):
    """NStepRNNTanh with ReLU. Source: chainer.links.NStepRNNReLU."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, nonlinearity="relu", **options)


class NStepBiRNNReLU(NStepRNNReLU):
    """NStepRNNReLU in both directions. Source: chainer.links.NStepBiRNNReLU."""

    direction = 2
