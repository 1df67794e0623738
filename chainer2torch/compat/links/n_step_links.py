"""Chainer's recurrent links over whole sequences (NStepLSTM and its family), on torch's recurrent layers."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, ClassVar

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_sequence, unpack_sequence

from chainer2torch.compat.initializers.initializers import as_initializer
from chainer2torch.compat.links.link_slots import Slot, recurrent_blocks, recurrent_slots


class _NStepBase(nn.Module):
    """A torch recurrent layer ``rnn`` that takes lists of sequences, with Chainer's initial values and file layout.

    Chainer's file has a list of layers (forward and backward direction one after the other), each with ``w0``.. and
    ``b0``..: first the matrices that act on the input, then those that act on the state, one for each gate, in the
    order in which torch stacks them.
    """

    _is_chain: ClassVar[bool] = False
    _is_list: ClassVar[bool] = True  # a ChainList in Chainer, for `AnyChainOrList`
    _gates: ClassVar[int] = 1
    _bidirectional: ClassVar[bool] = False

    def __init__(
        self,
        n_layers: int,
        in_size: int,
        out_size: int,
        dropout: float,
        *,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.n_layers = n_layers
        self.out_size = out_size
        self.dropout = dropout
        # between one layer there is nothing to drop, and torch warns about it
        self.rnn = self._make(
            int(in_size),  # torch takes no whole numbers of NumPy
            int(out_size),
            num_layers=int(n_layers),
            bidirectional=self._bidirectional,
            dropout=dropout if n_layers > 1 else 0.0,
        )
        with torch.no_grad():
            for name, parameter in self.rnn.named_parameters():
                weight = name.startswith("weight")
                initializer = as_initializer(initialW) if weight else as_initializer(initial_bias, 0)
                for gate in parameter.split(out_size):
                    initializer(gate)

    def _make(self, *args: Any, **kwargs: Any) -> nn.RNNBase:
        raise NotImplementedError

    @property
    def n_cells(self) -> int:
        """How many states a layer has."""
        return 2 if isinstance(self.rnn, nn.LSTM) else 1

    @property
    def direction(self) -> int:
        """1, or 2 for a bidirectional layer."""
        return 2 if self._bidirectional else 1

    def _chainer_slots(self) -> list[Slot]:
        return list(recurrent_slots(self.rnn))

    def __iter__(self) -> Iterator[Any]:  # where: b0, w0, b1, w1, b2, w2, b3, w3, b4, w4, b5, w5, b6, w6, b7, w7
        """Chainer's layers, each direction one: ``for layer in lstm: layer.b1.data[:] = 1``."""
        return (self[i] for i in range(self.n_layers * self.direction))

    def __getitem__(self, index: int) -> Any:  # where: b0, w0, b1, w1, b2, w2, b3, w3, b4, w4, b5, w5, b6, w6, b7, w7
        layer = range(self.n_layers * self.direction)[index]
        blocks = [block for block in recurrent_blocks(self.rnn) if block[0].startswith(f"{layer}/")]
        return SimpleNamespace(**{key.rpartition("/")[2]: _Part.of(p, rows) for key, p, rows in blocks})

    def init_hx(self, xs: Sequence[torch.Tensor]) -> torch.Tensor:
        """The first state of a batch: zeros (layers * directions, len(xs), out_size)."""
        return xs[0].new_zeros(self.n_layers * self.direction, len(xs), self.out_size)

    def _run(self, states: list[Any], xs: Sequence[torch.Tensor]) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        if not isinstance(xs, (list, tuple)):
            raise AssertionError("xs must be a list or tuple of sequences")
        packed = pack_sequence(list(xs), enforce_sorted=False)
        first = [self.init_hx(xs) if state is None else state for state in states]
        # not a link of its own: `forward` runs without its hooks; cuDNN has no backward pass in eval mode
        backward_in_eval_mode = torch.is_grad_enabled() and not self.training
        with torch.backends.cudnn.flags(enabled=False) if backward_in_eval_mode else nullcontext():
            ys, last = self.rnn.forward(packed, tuple(first) if len(first) > 1 else first[0])
        return list(last) if len(first) > 1 else [last], unpack_sequence(ys)

    def forward(self, hx: Any, xs: Sequence[torch.Tensor]) -> tuple[torch.Tensor, list[torch.Tensor]]:
        """``hy, ys = layer(hx, xs)``; hx and hy (layers * directions, batch, out_size), hx may be None."""
        (hy,), ys = self._run([hx], xs)
        return hy, ys


class _Part(torch.Tensor):
    """Some rows of a stacked parameter, as a parameter of Chainer's: what is set as its data is written there."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]
    place: tuple[torch.Tensor, slice]

    @classmethod
    def of(cls, parameter: torch.Tensor, rows: slice) -> "_Part":
        """The part of a parameter."""
        part = parameter[rows].as_subclass(cls)
        part.place = parameter, rows
        return part

    @property
    def data(self) -> torch.Tensor:
        parameter, rows = self.place
        return parameter.data[rows]

    @data.setter
    def data(self, value: Any) -> None:
        self.data.copy_(torch.as_tensor(value))

    @property
    def grad(self) -> torch.Tensor | None:  # type: ignore[override]
        parameter, rows = self.place
        return None if parameter.grad is None else parameter.grad[rows]


class NStepLSTM(_NStepBase):
    """An LSTM over a list of sequences of different lengths: ``hy, cy, ys = layer(hx, cx, xs)``.

    xs: tensors (length, in_size) in any order; ys: tensors (length, out_size); hx, cx, hy, cy: (n_layers, len(xs),
    out_size), hx and cx may be None for zeros. ``dropout`` acts between the layers in training. Weights start
    LeCunNormal by default, biases 0. Source: chainer.links.NStepLSTM.
    """

    _gates = 4

    def _make(self, *args: Any, **kwargs: Any) -> nn.RNNBase:
        return nn.LSTM(*args, **kwargs)

    def forward(self, hx: Any, cx: Any, xs: Sequence[torch.Tensor]) -> Any:  # type: ignore[override]
        (hy, cy), ys = self._run([hx, cx], xs)
        return hy, cy, ys


class NStepBiLSTM(NStepLSTM):
    """NStepLSTM in both directions: ys have 2 * out_size columns, states 2 * n_layers layers.

    Source: chainer.links.NStepBiLSTM.
    """

    _bidirectional = True


class NStepGRU(_NStepBase):
    """A GRU over a list of sequences: ``hy, ys = layer(hx, xs)``, shapes as in NStepLSTM.

    Source: chainer.links.NStepGRU.
    """

    _gates = 3

    def _make(self, *args: Any, **kwargs: Any) -> nn.RNNBase:
        return nn.GRU(*args, **kwargs)


class NStepBiGRU(NStepGRU):
    """NStepGRU in both directions. Source: chainer.links.NStepBiGRU."""

    _bidirectional = True


class NStepRNNTanh(_NStepBase):
    """A plain recurrent network over a list of sequences: ``hy, ys = layer(hx, xs)``, shapes as in NStepLSTM.

    Source: chainer.links.NStepRNNTanh.
    """

    _nonlinearity: ClassVar[str] = "tanh"

    def _make(self, *args: Any, **kwargs: Any) -> nn.RNNBase:
        return nn.RNN(*args, nonlinearity=self._nonlinearity, **kwargs)


class NStepBiRNNTanh(NStepRNNTanh):
    """NStepRNNTanh in both directions. Source: chainer.links.NStepBiRNNTanh."""

    _bidirectional = True


class NStepRNNReLU(NStepRNNTanh):
    """NStepRNNTanh with ReLU. Source: chainer.links.NStepRNNReLU."""

    _nonlinearity = "relu"


class NStepBiRNNReLU(NStepRNNReLU):
    """NStepRNNReLU in both directions. Source: chainer.links.NStepBiRNNReLU."""

    _bidirectional = True
