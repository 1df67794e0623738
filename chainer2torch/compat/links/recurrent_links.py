"""Chainer's recurrent links that take one time step at a time."""

from typing import Any, ClassVar

import torch

from chainer2torch.compat.initializers.initializers import as_initializer
from chainer2torch.compat.links.linear import Linear
from chainer2torch.compat.links.links_base import ChainerLayer
from chainer2torch.compat.variable.variables import live


def _link_lstm_step(c: torch.Tensor, gates: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """New cell and output from Chainer's gates (batch, 4 * size), interleaved a, i, f, o for each unit.

    The rows of ``c`` beyond the batch belong to sequences that have ended: they stay.
    """
    a, i, f, o = gates.unflatten(1, (-1, 4)).unbind(2)
    batch = len(gates)
    new = torch.tanh(a) * torch.sigmoid(i) + torch.sigmoid(f) * c[:batch]
    h = torch.sigmoid(o) * torch.tanh(new)
    return (new if batch == len(c) else torch.cat([new, c[batch:]])), h


class StatefulLayer(ChainerLayer):
    """Base of layers that keep tensors from one call to the next, in the attributes that ``_state_names`` lists.

    The state moves with the layer to another device; a copy or pickle of the layer has the values, without their graph.
    """

    _is_chain: ClassVar[bool] = True
    _state_names: ClassVar[tuple[str, ...]] = ("c", "h")

    def __init__(self) -> None:
        super().__init__()
        self.reset_state()

    def reset_state(self) -> None:
        """Forgets the state."""
        for name in self._state_names:
            setattr(self, name, None)

    def _live_state(self) -> None:
        """Lets go of the part of the graph that ``unchain_backward`` has cut."""
        for name in self._state_names:
            setattr(self, name, live(getattr(self, name)))

    def detach_state(self) -> None:
        """Cuts the graph behind the state, as Chainer's ``unchain_backward`` does for truncated backpropagation."""
        for name in self._state_names:
            if getattr(self, name) is not None:
                setattr(self, name, getattr(self, name).detach())

    def __getstate__(self) -> dict[str, Any]:
        # torch copies and pickles only tensors that no graph led to
        values = {name: getattr(self, name) for name in self._state_names}
        return {**self.__dict__, **{name: t.detach() for name, t in values.items() if t is not None}}

    def _apply(self, fn: Any, recurse: bool = True) -> Any:
        for name in self._state_names:
            if getattr(self, name) is not None:
                setattr(self, name, fn(getattr(self, name)))
        return super()._apply(fn, recurse)  # type: ignore[no-untyped-call]  # torch gives it no types


class _LSTMBase(ChainerLayer):
    """``upward`` (with a bias) and ``lateral`` (without), each with four interleaved gates for every unit."""

    _is_chain: ClassVar[bool] = True
    upward: Linear
    lateral: Linear

    def __init__(
        self,
        in_size: Any,
        out_size: Any = None,
        lateral_init: Any = None,
        upward_init: Any = None,
        bias_init: Any = None,
        forget_bias_init: Any = None,
    ) -> None:
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.state_size: int = out_size
        self.upward = Linear(
            in_size,
            4 * out_size,
            initialW=_EachGate(upward_init, out_size),
            initial_bias=_GateBiases(bias_init, forget_bias_init),
        )
        self.lateral = Linear(out_size, 4 * out_size, nobias=True, initialW=_EachGate(lateral_init, out_size))


class _EachGate:
    """Fills a weight gate by gate, as Chainer does: it matters to Orthogonal, and to fans that count outputs."""

    def __init__(self, initializer: Any, size: int) -> None:
        self.initializer = as_initializer(initializer)
        self.size = size

    def __call__(self, weight: torch.Tensor) -> None:
        for gate in weight.detach().split(self.size):
            self.initializer(gate)


class _GateBiases:
    """Fills the bias of the forget gates (by default 1) apart from the others (0)."""

    def __init__(self, initializer: Any, forget_initializer: Any) -> None:
        self.initializer = as_initializer(initializer, 0)
        self.forget_initializer = as_initializer(forget_initializer, 1)

    def __call__(self, bias: torch.Tensor) -> None:
        gates = bias.detach().view(1, -1, 4, 1)  # the shape that Chainer hands to the initializers, gate by gate
        for gate in range(4):
            (self.forget_initializer if gate == 2 else self.initializer)(gates[:, :, gate])


class StatelessLSTM(_LSTMBase):
    """One step of an LSTM: ``c, h = layer(c, h, x)``, with x (batch, ...) and c, h (batch, out_size) or None.

    Source: chainer.links.StatelessLSTM. The forget gates' biases start at 1.
    """

    def forward(
        self, c: torch.Tensor | None, h: torch.Tensor | None, x: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor]:
        gates = self.upward(x)
        if h is not None:
            gates = gates + self.lateral(h)
        if c is None:
            c = x.new_zeros(len(x), self.state_size)
        return _link_lstm_step(c, gates)


class LSTM(_LSTMBase, StatefulLayer):
    """An LSTM that keeps its state: ``h = layer(x)``, with x (batch, ...) and h (batch, out_size).

    ``c`` and ``h`` are None until the first call and after ``reset_state()``; ``set_state(c, h)`` sets them. Batches
    may shrink from call to call (sequences sorted by length): the state of the rows that have ended is kept. One that
    grows raises TypeError. ``in_size`` None is inferred, and ``LSTM(n)`` means ``LSTM(None, n)``. The forget gates'
    biases start at 1. Source: chainer.links.LSTM.
    """

    c: torch.Tensor | None
    h: torch.Tensor | None

    def __init__(
        self,
        in_size: Any,
        out_size: Any = None,
        lateral_init: Any = None,
        upward_init: Any = None,
        bias_init: Any = None,
        forget_bias_init: Any = None,
    ) -> None:
        super().__init__(in_size, out_size, lateral_init, upward_init, bias_init, forget_bias_init)

    def set_state(self, c: torch.Tensor, h: torch.Tensor) -> None:
        """Takes ``c`` and ``h``, both (batch, out_size), on the device of the layer."""
        self.c = c.to(self.lateral.weight.device)
        self.h = h.to(self.lateral.weight.device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._live_state()
        batch = len(x)
        gates = self.upward(x)
        ended = None
        if self.h is not None:
            if len(self.h) < batch:
                raise TypeError(f"a batch of {batch} after one of {len(self.h)}: batches may only get smaller")
            gates = gates + self.lateral(self.h[:batch])
            ended = self.h[batch:]
        if self.c is None:
            self.c = x.new_zeros(batch, self.state_size)
        self.c, y = _link_lstm_step(self.c, gates)
        self.h = y if ended is None or len(ended) == 0 else torch.cat([y, ended])
        return y


class StatefulPeepholeLSTM(StatefulLayer):
    """An LSTM whose gates also see the cell; ``h = layer(x)``, state as in LSTM. All biases start at 0.

    Source: chainer.links.StatefulPeepholeLSTM.
    """

    c: torch.Tensor | None
    h: torch.Tensor | None

    def __init__(self, in_size: Any, out_size: int) -> None:
        super().__init__()
        self.state_size = out_size
        self.upward = Linear(in_size, 4 * out_size)
        self.lateral = Linear(out_size, 4 * out_size, nobias=True)
        self.peep_i = Linear(out_size, out_size, nobias=True)
        self.peep_f = Linear(out_size, out_size, nobias=True)
        self.peep_o = Linear(out_size, out_size, nobias=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._live_state()
        gates = self.upward(x)
        if self.h is not None:
            gates = gates + self.lateral(self.h)
        c = x.new_zeros(len(x), self.state_size) if self.c is None else self.c
        a, i, f, o = gates.unflatten(1, (-1, 4)).unbind(2)
        c = torch.tanh(a) * torch.sigmoid(i + self.peep_i(c)) + torch.sigmoid(f + self.peep_f(c)) * c
        self.c = c
        self.h = torch.sigmoid(o + self.peep_o(c)) * torch.tanh(c)
        return self.h


class StatefulZoneoutLSTM(StatefulLayer):
    """An LSTM that in training keeps each value of the old cell or output with probability ``c_ratio``, ``h_ratio``.

    ``h = layer(x)``, state as in LSTM. Source: chainer.links.StatefulZoneoutLSTM.
    """

    c: torch.Tensor | None
    h: torch.Tensor | None

    def __init__(self, in_size: Any, out_size: int, c_ratio: float = 0.5, h_ratio: float = 0.5) -> None:
        super().__init__()
        self.state_size = out_size
        self.c_ratio = c_ratio
        self.h_ratio = h_ratio
        self.upward = Linear(in_size, 4 * out_size)
        self.lateral = Linear(out_size, 4 * out_size, nobias=True)

    def set_state(self, c: torch.Tensor, h: torch.Tensor) -> None:
        """Takes ``c`` and ``h``, both (batch, out_size), on the device of the layer."""
        self.c = c.to(self.lateral.weight.device)
        self.h = h.to(self.lateral.weight.device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._live_state()
        gates = self.upward(x)
        if self.h is not None:
            gates = gates + self.lateral(self.h)
        zeros = x.new_zeros(len(x), self.state_size)
        c = zeros if self.c is None else self.c
        h = zeros if self.h is None else self.h
        # the output follows the new cell, also where the cell itself is kept
        new_c, new_h = _link_lstm_step(c, gates)
        self.c = self._zone_out(c, new_c, self.c_ratio)
        self.h = self._zone_out(h, new_h, self.h_ratio)
        return self.h

    def _zone_out(self, old: torch.Tensor, new: torch.Tensor, ratio: float) -> torch.Tensor:
        return torch.where(torch.rand_like(new) < ratio, old, new) if self.training else new


class _GRUBase(ChainerLayer):
    _is_chain: ClassVar[bool] = True
    W_r: Linear
    U_r: Linear
    W_z: Linear
    U_z: Linear
    W: Linear
    U: Linear

    def __init__(
        self, in_size: Any, out_size: int, init: Any = None, inner_init: Any = None, bias_init: Any = None
    ) -> None:
        super().__init__()
        for gate in ("_r", "_z", ""):
            self.add_module("W" + gate, Linear(in_size, out_size, initialW=init, initial_bias=bias_init))
            self.add_module("U" + gate, Linear(out_size, out_size, initialW=inner_init, initial_bias=bias_init))


class StatelessGRU(_GRUBase):
    """One step of a GRU: ``h = layer(h, x)``; both (batch, size).

    ``h' = (1 - z) h + z tanh(W x + U (r h))``: nn.GRU has z the other way round and r after the product.
    Source: chainer.links.StatelessGRU.
    """

    def forward(self, h: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        r = torch.sigmoid(self.W_r(x) + self.U_r(h))
        z = torch.sigmoid(self.W_z(x) + self.U_z(h))
        return torch.lerp(h, torch.tanh(self.W(x) + self.U(r * h)), z)


class StatefulGRU(_GRUBase, StatefulLayer):
    """A GRU that keeps its state: ``h = layer(x)``; ``reset_state()``, ``set_state(h)``.

    Without a state the terms of h are left out, with their biases. Source: chainer.links.StatefulGRU.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("h",)
    h: torch.Tensor | None

    def __init__(
        self, in_size: Any, out_size: int, init: Any = None, inner_init: Any = None, bias_init: Any = 0
    ) -> None:
        super().__init__(in_size, out_size, init, inner_init, bias_init)
        self.state_size = out_size

    def set_state(self, h: torch.Tensor) -> None:
        """Takes ``h``, (batch, out_size), on the device of the layer."""
        self.h = h.to(next(self.parameters()).device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._live_state()
        z, candidate = self.W_z(x), self.W(x)
        if self.h is None:
            self.h = torch.sigmoid(z) * torch.tanh(candidate)
        else:
            r = torch.sigmoid(self.W_r(x) + self.U_r(self.h))
            candidate = torch.tanh(candidate + self.U(r * self.h))
            self.h = torch.lerp(self.h, candidate, torch.sigmoid(z + self.U_z(self.h)))
        return self.h


class GRU(StatefulGRU):
    """StatefulGRU under its other name; more than one argument raises TypeError. Source: chainer.links.GRU."""


class StatelessMGU(ChainerLayer):
    """One step of a minimal gated unit: ``h = layer(h, x)``; both (batch, size). Source: chainer.links.StatelessMGU."""

    _is_chain: ClassVar[bool] = True

    def __init__(self, n_inputs: int, n_units: int) -> None:
        super().__init__()
        self.W_f = Linear(n_inputs + n_units, n_units)
        self.W_h = Linear(n_inputs + n_units, n_units)

    def forward(self, h: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        f = torch.sigmoid(self.W_f(torch.cat([h, x], 1)))
        return torch.lerp(h, torch.tanh(self.W_h(torch.cat([f * h, x], 1))), f)


class StatefulMGU(StatelessMGU, StatefulLayer):
    """A minimal gated unit that keeps its state: ``h = layer(x)``; ``reset_state()``, ``set_state(h)``.

    Source: chainer.links.StatefulMGU.
    """

    _state_names: ClassVar[tuple[str, ...]] = ("h",)
    h: torch.Tensor | None

    def __init__(self, in_size: int, out_size: int) -> None:
        super().__init__(in_size, out_size)
        self._state_size = out_size

    def set_state(self, h: torch.Tensor) -> None:
        """Takes ``h``, (batch, out_size), on the device of the layer."""
        self.h = h.to(self.W_f.weight.device)

    def forward(self, x: torch.Tensor) -> torch.Tensor:  # type: ignore[override]
        self._live_state()
        h = x.new_zeros(len(x), self._state_size) if self.h is None else self.h
        self.h = super().forward(h, x)
        return self.h
