"""Chainer's own functions as objects, ``ReLU()`` for instance: made with their options, run later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from chainer2torch.native.pooling import max_pooling_2d

from chainer2torch.native.spreading import _pair


class FunctionObject:
    """A function with its options, run by a call, ``apply`` or ``forward``.

    Source: the classes below chainer.functions, ``ReLU`` for instance.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function, self.options = function, options

    def __call__(self, *inputs: Any) -> Any:
        """The output of the inputs, or a tuple of several, as Chainer's versions 1 and 2 gave them."""
        outputs = self.apply(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def apply(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of a tuple of inputs, always as a tuple."""
        outputs = self._run(inputs)
        return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)

    forward = apply

    def _run(self, inputs: Sequence[Any]) -> Any:
        return self.function(*inputs, **self.options)


class JoiningFunctionObject(FunctionObject):
    """The same of a function that takes all inputs as one sequence. Source: chainer.functions.array.concat.Concat."""

    def _run(self, inputs: Sequence[Any]) -> Any:
        return self.function(tuple(inputs), **self.options)


class MaxPooling2D(FunctionObject):
    """Max pooling as an object, which knows afterwards where each maximum was.

    Source: chainer.functions.MaxPooling2D of the versions up to 6.
    """

    def __init__(self, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True) -> None:
        super().__init__(max_pooling_2d, ksize=ksize, stride=stride, pad=pad, cover_all=cover_all)
        self.kh, self.kw = _pair(ksize)
        self.sy, self.sx = _pair(ksize if stride is None else stride)
        self.ph, self.pw = _pair(pad)
        self.cover_all = cover_all

    def _run(self, inputs: Sequence[Any]) -> Any:
        self._input = inputs[0].detach()  # where: .indexes
        return super()._run(inputs)

    @property
    def indexes(self) -> Any:
        """The place of each maximum within its window, after a call: an int64 tensor of the shape of the output."""
        return max_pooling_2d(self._input, return_indices=True, **self.options)[1]


class DropoutObject(FunctionObject):
    """Dropout as an object, which draws its mask in its first call and keeps it; it drops in test mode, too.

    Source: chainer.functions.noise.dropout.Dropout.
    """

    def __init__(self, dropout_ratio: float, mask: Any = None, return_mask: bool = False) -> None:
        if not 0.0 <= dropout_ratio < 1.0:
            raise ValueError("the dropout ratio must be in the range [0, 1)")
        self.dropout_ratio, self.mask = dropout_ratio, mask

    def _run(self, inputs: Sequence[Any]) -> Any:
        (x,) = inputs
        if self.mask is None:
            self.mask = torch.nn.functional.dropout(torch.ones_like(x), self.dropout_ratio)
        return x * torch.as_tensor(self.mask, device=x.device)
