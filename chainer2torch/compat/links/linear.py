"""Chainer's fully connected links and element-wise links with parameters."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
import torch.nn as nn
import torch.nn.functional as F

from chainer2torch.compat.functions.math_reduce import amax
from chainer2torch.compat.links.links_base import ChainerLayer, check_bias_size, set_unregistered


class Linear(ChainerLayer):
    """A fully connected layer that takes everything after the batch axes as one axis.

    Input of shape (batch axes, ...) whose trailing axes hold ``in_size`` numbers, output (batch axes, ``out_size``).
    ``in_size`` None is inferred at the first forward; ``Linear(n)`` means ``Linear(None, n)``. ``weight`` is
    (out_size, in_size), LeCunNormal by default; ``bias`` (out_size,), 0. Raises RuntimeError for an input of another
    size or dtype. Source: chainer.links.Linear. For inputs of two axes it is nn.Linear.
    """

    weight: torch.Tensor
    bias: torch.Tensor | None

    def __init__(
        self, in_size: Any, out_size: Any = None, nobias: bool = False, initialW: Any = None, initial_bias: Any = None
    ) -> None:
        super().__init__()
        if out_size is None:
            in_size, out_size = None, in_size
        self.in_size = in_size
        self.out_size = out_size
        self._new_parameter("weight", initialW, None if in_size is None else (out_size, in_size))
        if nobias:
            self.register_parameter("bias", None)
        else:
            self._new_parameter("bias", initial_bias, out_size, default=0)

    @classmethod
    def from_params(cls, W: Any, b: Any = None, nobias: bool = False) -> "Linear":
        """A layer with a weight (out_size, in_size) and a bias, arrays or tensors; no ``b`` is a bias of 0.

        ValueError for a bias of another size.
        """
        check_bias_size(W, b)
        return cls(W.shape[1], W.shape[0], nobias, initialW=W, initial_bias=b)

    def forward(self, x: torch.Tensor, n_batch_axes: int = 1) -> torch.Tensor:
        if n_batch_axes < 1:
            raise ValueError("n_batch_axes must be at least 1")
        self._materialize("weight", (self.out_size, math.prod(x.shape[n_batch_axes:])))
        # numel, not -1: an empty batch has no -1
        x = x.reshape(*x.shape[:n_batch_axes], math.prod(x.shape[n_batch_axes:]))
        return F.linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"in_size={self.in_size}, out_size={self.out_size}, bias={self.bias is not None}"


class Bilinear(ChainerLayer):
    """``y_k = e1 W_k e2 + e1 V1 + e2 V2 + b`` for inputs (batch, left_size) and (batch, right_size).

    Parameters ``W`` (left_size, right_size, out_size) and, without ``nobias``, ``V1`` (left_size, out_size), ``V2``
    (right_size, out_size), ``b`` (out_size,). ``initial_bias`` is None or a tuple of three, else ValueError.
    (nn.Bilinear has no V1 and V2.) Source: chainer.links.Bilinear.
    """

    V1: torch.Tensor
    V2: torch.Tensor
    b: torch.Tensor

    def __init__(
        self,
        left_size: int,
        right_size: int,
        out_size: int,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.in_sizes = (left_size, right_size)
        self.nobias = nobias
        self._new_parameter("W", initialW, (left_size, right_size, out_size))
        if not nobias:
            if initial_bias is not None and not isinstance(initial_bias, tuple):
                raise ValueError("initial_bias is None or a tuple of three initializers")
            initial_v1, initial_v2, initial_b = (None, None, 0) if initial_bias is None else initial_bias
            self._new_parameter("V1", initial_v1, (left_size, out_size))
            self._new_parameter("V2", initial_v2, (right_size, out_size))
            self._new_parameter("b", initial_b, (out_size,))

    def forward(self, e1: torch.Tensor, e2: torch.Tensor) -> torch.Tensor:
        e1, e2 = e1.flatten(1), e2.flatten(1)
        if e1.shape[0] != e2.shape[0]:
            raise RuntimeError(f"batches of {e1.shape[0]} and {e2.shape[0]} cannot be combined")
        y = torch.einsum("bi,bj,ijk->bk", e1, e2, self.W)
        return y if self.nobias else y + e1 @ self.V1 + e2 @ self.V2 + self.b


class Bias(ChainerLayer):
    """Adds ``b`` of ``shape`` to the axes of the input from ``axis`` on; without ``shape`` the second input is added.

    Source: chainer.links.Bias.
    """

    b: torch.Tensor

    def __init__(self, axis: int = 1, shape: Any = None) -> None:
        super().__init__()
        self.axis = axis
        if shape is not None:
            self._new_parameter("b", 0, shape)

    def forward(self, x: torch.Tensor, *ys: torch.Tensor) -> torch.Tensor:
        y = _one_operand(self, "b", ys)
        return x + _align(y, x, self.axis)


class Scale(ChainerLayer):
    """Multiplies the axes from ``axis`` on by ``W`` (of ``W_shape``) or by the second input; ``bias_term`` adds a Bias.

    Source: chainer.links.Scale.
    """

    _is_chain: ClassVar[bool] = True

    def __init__(self, axis: int = 1, W_shape: Any = None, bias_term: bool = False, bias_shape: Any = None) -> None:
        super().__init__()
        self.axis = axis
        if W_shape is not None:
            self._new_parameter("W", 1, W_shape)
        elif bias_term and bias_shape is None:
            raise ValueError("bias_shape is needed when the factor is an input")
        self.bias = Bias(axis, bias_shape if W_shape is None else W_shape) if bias_term else None

    def forward(self, x: torch.Tensor, *ys: torch.Tensor) -> torch.Tensor:
        z = x * _align(_one_operand(self, "W", ys), x, self.axis)
        return z if self.bias is None else self.bias(z)


def _one_operand(module: nn.Module, name: str, given: tuple[torch.Tensor, ...]) -> torch.Tensor:
    """The module's own parameter, or else the one tensor that was given."""
    own = getattr(module, name, None)
    if len(given) != (1 if own is None else 0):
        raise ValueError(f"{type(module).__name__} takes {'two inputs' if own is None else 'one input'}")
    return given[0] if own is None else own


def _align(y: torch.Tensor, x: torch.Tensor, axis: int) -> torch.Tensor:
    """``y`` with its axes on those of ``x`` from ``axis`` on, and checked to fit there."""
    shape = (1,) * axis + tuple(y.shape) + (1,) * (x.dim() - axis - y.dim())
    return y.reshape(shape).expand(x.shape)


class ParameterLink(ChainerLayer):
    """Holds one array as the parameter ``W``; calling it returns ``W``. Source: chainer.links.Parameter."""

    def __init__(self, array: Any) -> None:
        super().__init__()
        self.W = nn.Parameter(torch.as_tensor(array).clone())

    def forward(self, volatile: str = "off") -> torch.Tensor:
        return self.W


class EmbedID(ChainerLayer):
    """Embedding of integer ids of any shape; ids equal to ``ignore_label`` give zeros, and no gradient.

    ``weight`` is (in_size, out_size), N(0, 1) by default. Ids are int32 or int64; -1 without ``ignore_label`` and ids
    beyond the vocabulary raise IndexError (Chainer wraps -1 around). Source: chainer.links.EmbedID.
    """

    weight: torch.Tensor

    def __init__(self, in_size: int, out_size: int, initialW: Any = None, ignore_label: Any = None) -> None:
        super().__init__()
        self.ignore_label = ignore_label
        self._new_parameter("weight", initialW, (in_size, out_size), default=nn.init.normal_)

    @classmethod
    def from_params(cls, W: Any, ignore_label: Any = None) -> "EmbedID":
        """An embedding with the weight (in_size, out_size), an array or a tensor."""
        return cls(W.shape[0], W.shape[1], W, ignore_label)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if self.ignore_label is None:
            return F.embedding(x, self.weight)
        ignored = x == self.ignore_label
        return F.embedding(x.masked_fill(ignored, 0), self.weight).masked_fill(ignored.unsqueeze(-1), 0)


class PReLU(ChainerLayer):
    """``max(0, x) + W * min(0, x)`` with ``W`` of ``shape`` on the axes after the batch axis.

    Source: chainer.links.PReLU.
    """

    W: torch.Tensor

    def __init__(self, shape: Any = (), init: Any = 0.25) -> None:
        super().__init__()
        self._new_parameter("W", init, shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.where(x >= 0, x, x * _align(self.W, x, 1))


class Swish(ChainerLayer):
    """``x * sigmoid(beta * x)`` with a ``beta`` of ``beta_shape`` on the axes after the batch axis (None: inferred).

    Source: chainer.links.Swish.
    """

    beta: torch.Tensor

    def __init__(self, beta_shape: Any, beta_init: Any = 1.0) -> None:
        super().__init__()
        self._new_parameter("beta", beta_init, beta_shape)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self._materialize("beta", x.shape[1:])
        return x * torch.sigmoid(_align(self.beta, x, 1) * x)


class Maxout(ChainerLayer):
    """The largest of ``pool_size`` linear maps: (batch, ...) to (batch, out_size).

    ``initialW`` may be an array (out_size, pool_size, in_size), ``initial_bias`` one of (out_size, pool_size); an
    ``initial_bias`` of None means no bias. Source: chainer.links.Maxout.
    """

    _is_chain: ClassVar[bool] = True

    def __init__(
        self, in_size: Any, out_size: int, pool_size: int, initialW: Any = None, initial_bias: Any = 0
    ) -> None:
        super().__init__()
        if getattr(initialW, "ndim", 0) > 0:
            if initialW.ndim != 3:
                raise ValueError("initialW must have three axes")
            initialW = initialW.reshape(out_size * pool_size, in_size)
        if getattr(initial_bias, "ndim", 0) > 0:
            if initial_bias.ndim != 2:
                raise ValueError("initial_bias must have two axes")
            initial_bias = initial_bias.reshape(out_size * pool_size)
        self.out_size = out_size
        self.pool_size = pool_size
        self.linear = Linear(in_size, out_size * pool_size, initial_bias is None, initialW, initial_bias)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        # of equal values each gets the whole gradient: Tensor.amax shares it among them
        return amax(self.linear(x).unflatten(1, (self.out_size, self.pool_size)), axis=2)


class Highway(ChainerLayer):
    """``activate(plain(x)) * t + x * (1 - t)`` with ``t = sigmoid(transform(x))``, for inputs (batch, in_out_size).

    The bias of the gate starts at -1. Source: chainer.links.Highway.
    """

    _is_chain: ClassVar[bool] = True

    activate: Callable[[torch.Tensor], torch.Tensor]

    def __init__(
        self,
        in_out_size: int,
        nobias: bool = False,
        activate: Callable[[torch.Tensor], torch.Tensor] = F.relu,
        init_Wh: Any = None,
        init_Wt: Any = None,
        init_bh: Any = None,
        init_bt: Any = -1,
    ) -> None:
        super().__init__()
        set_unregistered(self, "activate", activate)
        self.plain = Linear(in_out_size, in_out_size, nobias, init_Wh, init_bh)
        self.transform = Linear(in_out_size, in_out_size, nobias, init_Wt, init_bt)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        gate = torch.sigmoid(self.transform(x))
        return self.activate(self.plain(x)) * gate + x * (1 - gate)


class SimplifiedDropconnect(ChainerLayer):
    """A linear layer whose weights are dropped with probability ``ratio``, by default another mask for each sample.

    Drops unless ``forward(train=False)``: as in Chainer the mode of the model has no part in it. A ``mask`` is (batch,
    out_size, in_size), or (out_size, in_size) with ``use_batchwise_mask=False``. Source:
    chainer.links.SimplifiedDropconnect.
    """

    W: torch.Tensor
    b: torch.Tensor | None

    def __init__(
        self,
        in_size: Any,
        out_size: int,
        ratio: float = 0.5,
        nobias: bool = False,
        initialW: Any = None,
        initial_bias: Any = None,
    ) -> None:
        super().__init__()
        self.out_size = out_size
        self.ratio = ratio
        shape = None if in_size is None else (out_size, in_size)
        # HeNormal(1 / sqrt 2) in Chainer: the same standard deviation as LeCunNormal
        self._new_parameter("W", initialW, shape)
        if nobias:
            self.register_parameter("b", None)
        else:
            self._new_parameter("b", initial_bias, out_size, default=0)

    def forward(
        self, x: torch.Tensor, train: bool = True, mask: Any = None, use_batchwise_mask: bool = True
    ) -> torch.Tensor:
        x = x.flatten(1)
        self._materialize("W", (self.out_size, x.shape[1]))
        if mask is not None and "mask" not in self._buffers:
            self.register_buffer("mask", torch.as_tensor(mask))
        ratio = self.ratio if train else 0.0
        shape = (len(x), *self.W.shape) if use_batchwise_mask else tuple(self.W.shape)
        if mask is None:
            mask = torch.rand(shape, device=x.device) >= ratio
        elif tuple(mask.shape) != shape:
            raise RuntimeError(f"the mask must be of shape {shape}, not {tuple(mask.shape)}")
        W = self.W / (1 - ratio) * torch.as_tensor(mask, device=x.device)
        y = (W @ x.unsqueeze(2)).squeeze(2)
        return y if self.b is None else y + self.b
