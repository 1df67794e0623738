"""Chainer's own functions as objects: made with their options, run later."""

from collections.abc import Callable, Sequence
from typing import Any

import torch

from chainer2torch.compat.functions.own_functions import FunctionNode
from chainer2torch.compat.functions.pooling import max_pooling_2d
from chainer2torch.compat.functions.windows import per_axis


class FunctionObject(FunctionNode):
    """A function with its options, run by a call or by ``apply``; the gradient is that of the function.

    Args:
        function: Called with the inputs as positional arguments and with the options.
        options: Keyword arguments of the function.
    Source: the classes below chainer.functions, ``ReLU`` for instance.
    """

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        self.function = function
        self.options = options

    def __call__(self, *inputs: Any) -> Any:
        """The output of the inputs, or a tuple of several, as Chainer's versions 1 and 2 gave them."""
        outputs = self.apply(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def apply(self, inputs: Sequence[Any]) -> tuple[Any, ...]:
        """The outputs of a tuple of inputs, always as a tuple."""
        outputs = self._run(inputs)
        return tuple(outputs) if isinstance(outputs, (tuple, list)) else (outputs,)

    def _run(self, inputs: Sequence[Any]) -> Any:
        return self.function(*inputs, **self.options)


class JoiningFunctionObject(FunctionObject):
    """A :class:`FunctionObject` whose function takes all inputs as one sequence, as ``torch.cat`` does.

    Source: chainer.functions.array.concat.Concat and others.
    """

    def _run(self, inputs: Sequence[Any]) -> Any:
        return self.function(tuple(inputs), **self.options)


class MaxPooling2D(FunctionObject):
    """Max pooling as an object, which knows afterwards where each maximum was: what ``upsampling_2d`` asks for.

    Args:
        ksize, stride, pad, cover_all: as in ``max_pooling_2d``; ``kh``, ``kw``, ``sy``, ``sx``, ``ph`` and ``pw`` tell
            them.
    Raises:
        AttributeError: ``indexes`` is asked for before the first call.
    Source: chainer.functions.MaxPooling2D of the versions up to 6.
    """

    def __init__(self, ksize: Any, stride: Any = None, pad: Any = 0, cover_all: bool = True) -> None:
        super().__init__(max_pooling_2d, ksize=ksize, stride=stride, pad=pad, cover_all=cover_all)
        self.kh, self.kw = per_axis(ksize, 2)
        self.sy, self.sx = per_axis(ksize if stride is None else stride, 2)
        self.ph, self.pw = per_axis(pad, 2)
        self.cover_all = cover_all
        self._input: Any = None
        self._indexes: Any = None

    def _run(self, inputs: Sequence[Any]) -> Any:
        self._input, self._indexes = inputs[0].detach(), None
        return super()._run(inputs)

    @property
    def indexes(self) -> Any:
        """The place of each maximum within its window, an int64 tensor of the shape of the output."""
        if self._indexes is None and self._input is not None:
            self._indexes = max_pooling_2d(self._input, return_indices=True, **self.options)[1]
            self._input = None
        if self._indexes is None:
            raise AttributeError("the indexes are known after the first call")
        return self._indexes

    @indexes.setter
    def indexes(self, value: Any) -> None:
        self._indexes = value


class DropoutObject(FunctionObject):
    """Dropout as an object, which draws its mask in its first call and keeps it; it drops in test mode, too.

    Args:
        dropout_ratio: Probability in [0, 1), else ValueError.
        mask: What to multiply with instead of a random mask; it holds the scale already.
        return_mask: Without a meaning: ``mask`` is there after the first call.
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
