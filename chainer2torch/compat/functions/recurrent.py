"""Recurrent steps and layers of chainer.functions.rnn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F

from chainer2torch.compat.variable.modes import is_training

_Weights = Sequence[Sequence[torch.Tensor]]
_Step = Callable[..., tuple[torch.Tensor, Any]]


def _gates(x: torch.Tensor, count: int) -> tuple[torch.Tensor, ...]:
    """The gates of each unit lie side by side: (n, units * count, ...) becomes ``count`` tensors (n, units, ...)."""
    gates: tuple[torch.Tensor, ...] = x.unflatten(1, (x.shape[1] // count, count)).unbind(dim=2)
    return gates


def lstm(c_prev: torch.Tensor, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of an LSTM without its weights.

    Args:
        c_prev: cells, shape (n, units, ...).
        x: shape (m, 4 * units, ...) with ``m <= n``; the gates of a unit lie side by side, in the order cell input,
            input gate, forget gate, output gate.
    Returns:
        The new cells, shape (n, units, ...), of which those behind the first m are the old ones, and the outputs of
        shape (m, units, ...).
    Raises:
        RuntimeError, ValueError: the shapes do not fit.
    Source: chainer.functions.lstm.
    """
    a, i, f, o = _gates(x, 4)
    if len(x) > len(c_prev) or a.shape[1:] != c_prev.shape[1:]:
        raise ValueError(f"c_prev {tuple(c_prev.shape)} and x {tuple(x.shape)} do not fit")
    c = torch.tanh(a) * torch.sigmoid(i) + torch.sigmoid(f) * c_prev[: len(x)]
    h = torch.sigmoid(o) * torch.tanh(c)
    return (torch.cat([c, c_prev[len(x) :]]) if len(x) < len(c_prev) else c), h


def slstm(
    c_prev1: torch.Tensor, c_prev2: torch.Tensor, x1: torch.Tensor, x2: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of an S-LSTM, which joins two nodes of a tree.

    Args:
        c_prev1, c_prev2: cells, shape (n, units, ...).
        x1, x2: shape (n, 4 * units, ...), gates as in :func:`lstm`; the two output gates are added.
    Returns:
        The new cells and the outputs, both of shape (n, units, ...).
    Source: chainer.functions.slstm.
    """
    a1, i1, f1, o1 = _gates(x1, 4)
    a2, i2, f2, o2 = _gates(x2, 4)
    c = (
        torch.tanh(a1) * torch.sigmoid(i1)
        + torch.tanh(a2) * torch.sigmoid(i2)
        + torch.sigmoid(f1) * c_prev1
        + torch.sigmoid(f2) * c_prev2
    )
    return c, torch.sigmoid(o1 + o2) * torch.tanh(c)


def tree_lstm(*inputs: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """One step of an N-ary tree LSTM.

    Args:
        inputs: the cells of the N children, shape (n, units), and last ``x`` of shape (n, (3 + N) * units): all cell
            inputs, all input gates, all output gates, and the forget gates of each child. (Unlike in :func:`lstm` the
            gates of a unit do not lie side by side.)
    Returns:
        The new cells and the outputs, both of shape (n, units).
    Source: chainer.functions.tree_lstm.
    """
    *cells, x = inputs
    a, i, o, *forget = x.unflatten(1, (3 + len(cells), -1)).unbind(dim=1)
    c = torch.tanh(a) * torch.sigmoid(i)
    for f, child in zip(forget, cells, strict=True):
        c = c + torch.sigmoid(f) * child
    return c, torch.sigmoid(o) * torch.tanh(c)


def _lstm_step(
    x: torch.Tensor, h: torch.Tensor, c: torch.Tensor, w: Sequence[torch.Tensor], b: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, torch.Tensor]:
    i, f, a, o = (F.linear(x, w[k], b[k]) + F.linear(h, w[k + 4], b[k + 4]) for k in range(4))
    c = torch.tanh(a) * torch.sigmoid(i) + torch.sigmoid(f) * c
    return torch.sigmoid(o) * torch.tanh(c), c


def _gru_step(
    x: torch.Tensor, h: torch.Tensor, c: None, w: Sequence[torch.Tensor], b: Sequence[torch.Tensor]
) -> tuple[torch.Tensor, None]:
    r, z = (torch.sigmoid(F.linear(x, w[k], b[k]) + F.linear(h, w[k + 3], b[k + 3])) for k in range(2))
    h_bar = torch.tanh(F.linear(x, w[2], b[2]) + r * F.linear(h, w[5], b[5]))
    return (1 - z) * h_bar + z * h, None


def _rnn_step(activation: str) -> _Step:
    functions = {"tanh": torch.tanh, "relu": torch.relu}
    if activation not in functions:
        raise ValueError(f'"activation" must be "tanh" or "relu", not {activation!r}')

    def step(
        x: torch.Tensor, h: torch.Tensor, c: None, w: Sequence[torch.Tensor], b: Sequence[torch.Tensor]
    ) -> tuple[torch.Tensor, None]:
        return functions[activation](F.linear(x, w[0], b[0]) + F.linear(h, w[1], b[1])), None

    return step


def _n_step(
    step: _Step,
    n_layers: int,
    dropout_ratio: float,
    hx: torch.Tensor,
    cx: torch.Tensor | None,
    ws: _Weights,
    bs: _Weights,
    xs: Sequence[torch.Tensor],
    directions: int,
    training: bool | None,
) -> tuple[Any, Any, Any]:
    """Runs the layers over ``xs``: the inputs of each time step, with fewer and fewer sequences that go on."""
    if xs[0].shape[1] != ws[0][0].shape[1]:
        raise ValueError(
            f"Inconsistent input size in input values and weight parameters: {xs[0].shape[1]} != {ws[0][0].shape[1]}"
        )
    training = is_training() if training is None else training
    last_h, last_c, layer_input = [], [], list(xs)
    for layer in range(n_layers):
        outputs = []
        for direction in range(directions):
            k = directions * layer + direction
            inputs = layer_input
            if layer > 0:
                inputs = [F.dropout(x, dropout_ratio, training=training) for x in layer_input]
            h, c, ys = _run(step, inputs, hx[k], None if cx is None else cx[k], ws[k], bs[k], reverse=direction == 1)
            last_h.append(h)
            last_c.append(c)
            outputs.append(ys)
        layer_input = outputs[0] if directions == 1 else [torch.cat(pair, dim=1) for pair in zip(*outputs, strict=True)]
    return torch.stack(last_h), None if cx is None else torch.stack(last_c), tuple(layer_input)


def _run(
    step: _Step,
    xs: Sequence[torch.Tensor],
    h: torch.Tensor,
    c: torch.Tensor | None,
    w: Sequence[torch.Tensor],
    b: Sequence[torch.Tensor],
    reverse: bool,
) -> tuple[torch.Tensor, Any, list[torch.Tensor]]:
    ys = []
    for x in reversed(xs) if reverse else xs:
        n = len(x)  # the first n sequences have an element at this time; the others keep their state
        new_h, new_c = step(x, h[:n], None if c is None else c[:n], w, b)
        ys.append(new_h)
        h = torch.cat([new_h, h[n:]])
        c = None if c is None else torch.cat([new_c, c[n:]])
    return h, c, ys[::-1] if reverse else ys


def n_step_lstm(
    n_layers: int,
    dropout_ratio: float,
    hx: torch.Tensor,
    cx: torch.Tensor,
    ws: _Weights,
    bs: _Weights,
    xs: Sequence[torch.Tensor],
    *,
    training: bool | None = None,
) -> tuple[Any, Any, Any]:
    """Layers of LSTM over sequences of different lengths.

    Args:
        n_layers: number of layers.
        dropout_ratio: dropout between the layers, in train mode.
        hx, cx: first states and cells, shape (n_layers, n, units).
        ws, bs: eight weights and eight biases for each layer: of the input and then of the state, each for input gate,
            forget gate, cell input, output gate.
        xs: the inputs of each time step, shape (n_t, in) with ``n_t`` decreasing (see :func:`transpose_sequence`).
        training: the mode; None: what :func:`is_training` says.
    Returns:
        (last states, last cells, outputs of each time step).
    Raises:
        ValueError: the sizes of inputs and weights differ.
    Source: chainer.functions.n_step_lstm.
    """
    return _n_step(_lstm_step, n_layers, dropout_ratio, hx, cx, ws, bs, xs, 1, training)


def n_step_bilstm(
    n_layers: int,
    dropout_ratio: float,
    hx: torch.Tensor,
    cx: torch.Tensor,
    ws: _Weights,
    bs: _Weights,
    xs: Sequence[torch.Tensor],
    *,
    training: bool | None = None,
) -> tuple[Any, Any, Any]:
    """:func:`n_step_lstm` in both directions: two entries a layer in ``hx``, ``cx``, ``ws`` and ``bs``, forward first.

    The outputs of both directions lie side by side. Source: chainer.functions.n_step_bilstm.
    """
    return _n_step(_lstm_step, n_layers, dropout_ratio, hx, cx, ws, bs, xs, 2, training)


def n_step_gru(
    n_layers: int,
    dropout_ratio: float,
    hx: torch.Tensor,
    ws: _Weights,
    bs: _Weights,
    xs: Sequence[torch.Tensor],
    *,
    training: bool | None = None,
) -> tuple[Any, Any]:
    """Layers of GRU over sequences of different lengths; arguments as in :func:`n_step_lstm`.

    ``ws`` and ``bs`` hold six entries a layer: of the input and then of the state, each for reset gate, update gate,
    candidate. Returns (last states, outputs of each time step). Source: chainer.functions.n_step_gru.
    """
    hy, _, ys = _n_step(_gru_step, n_layers, dropout_ratio, hx, None, ws, bs, xs, 1, training)
    return hy, ys


def n_step_bigru(
    n_layers: int,
    dropout_ratio: float,
    hx: torch.Tensor,
    ws: _Weights,
    bs: _Weights,
    xs: Sequence[torch.Tensor],
    *,
    training: bool | None = None,
) -> tuple[Any, Any]:
    """:func:`n_step_gru` in both directions. Source: chainer.functions.n_step_bigru."""
    hy, _, ys = _n_step(_gru_step, n_layers, dropout_ratio, hx, None, ws, bs, xs, 2, training)
    return hy, ys


def n_step_rnn(
    n_layers: int,
    dropout_ratio: float,
    hx: torch.Tensor,
    ws: _Weights,
    bs: _Weights,
    xs: Sequence[torch.Tensor],
    activation: str = "tanh",
    *,
    training: bool | None = None,
) -> tuple[Any, Any]:
    """Layers of plain recurrent units over sequences of different lengths; arguments as in :func:`n_step_lstm`.

    ``ws`` and ``bs`` hold two entries a layer, of the input and of the state; ``activation`` is ``'tanh'`` or
    ``'relu'``. Returns (last states, outputs of each time step). Source: chainer.functions.n_step_rnn.
    """
    hy, _, ys = _n_step(_rnn_step(activation), n_layers, dropout_ratio, hx, None, ws, bs, xs, 1, training)
    return hy, ys


def n_step_birnn(
    n_layers: int,
    dropout_ratio: float,
    hx: torch.Tensor,
    ws: _Weights,
    bs: _Weights,
    xs: Sequence[torch.Tensor],
    activation: str = "tanh",
    *,
    training: bool | None = None,
) -> tuple[Any, Any]:
    """:func:`n_step_rnn` in both directions. Source: chainer.functions.n_step_birnn."""
    hy, _, ys = _n_step(_rnn_step(activation), n_layers, dropout_ratio, hx, None, ws, bs, xs, 2, training)
    return hy, ys


def permutate_list(lst: Sequence[Any], indices: Any, inv: bool) -> list[Any]:
    """The items of ``lst`` in the order of ``indices``, whole numbers from 0; with ``inv`` back into their old order.

    Raises:
        IndexError: an index is beyond the end.
    Source: chainer.links.rnn.n_step_rnn.permutate_list.
    """
    order = [int(i) for i in indices]
    return [lst[i] for i in (sorted(range(len(order)), key=order.__getitem__) if inv else order)]
