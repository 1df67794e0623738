"""Chainer's own functions as objects: made with their options, run later."""
from collections.abc import Callable, Sequence
from typing import Any

from chainer2torch.compat.own_functions import FunctionNode


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
