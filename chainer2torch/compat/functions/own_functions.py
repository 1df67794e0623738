"""Bases for functions of one's own, with Chainer's protocol on top of ``torch.autograd.Function``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch

from chainer2torch.compat.hooks.function_hooks import FunctionHook, function_hooks_of


class FunctionNode:
    """A function with its own gradient: subclasses define ``forward`` and ``backward`` and are run by ``apply``.

    ``forward(inputs)`` gets a tuple of tensors without graph and returns a tuple of tensors (or numpy arrays).
    ``backward(target_input_indexes, grad_outputs)`` gets tensors and returns one gradient for each of the indexes
    (None: no gradient); what it computes is itself differentiable when the caller asks for a graph. A gradient that
    nobody computed is None. Only what ``retain_inputs`` / ``retain_outputs`` named in ``forward`` can be read again.
    Source: chainer.FunctionNode.
    """

    inputs: tuple[torch.Tensor, ...] | None = None
    _retained_inputs: tuple[int, ...] = ()
    _retained_outputs: tuple[int, ...] = ()
    _saved_inputs: tuple[torch.Tensor, ...] = ()
    _saved_outputs: tuple[torch.Tensor, ...] = ()
    _n_outputs = 0

    @property
    def label(self) -> str:
        """A short name of the function."""
        return type(self).__name__

    def check_type_forward(self, in_types: Any) -> None:
        """Overridden to check the inputs; raises :class:`InvalidType`."""

    def apply(self, inputs: Sequence[Any]) -> tuple[torch.Tensor, ...]:
        """Runs the function on tensors or arrays; the outputs have it in their graph.

        Raises:
            InvalidType: ``check_type_forward`` refuses the inputs.
            TypeError: ``forward`` does not return a tuple.
        """
        tensors = tuple(x if isinstance(x, torch.Tensor) else torch.as_tensor(x) for x in inputs)
        self.check_type_forward(TypeInfoTuple(tensors))
        hooks = function_hooks_of(self)
        if not hooks:
            return _OwnFunction.apply(self, *tensors)
        in_data = tuple(x.detach() for x in tensors)
        with torch._C.DisableTorchFunction():  # `forward` and hooks compute on arrays: no functions for hooks to see
            for hook in hooks:
                hook.forward_preprocess(self, in_data)
            outputs = _OwnFunction.apply(self, *tensors)
            for hook in hooks:
                hook.forward_postprocess(self, in_data)
        return outputs

    @property
    def local_function_hooks(self) -> dict[str, FunctionHook]:
        """The hooks of this function, by name."""
        hooks: dict[str, FunctionHook] = self.__dict__.setdefault("_local_function_hooks", {})
        return hooks

    def add_hook(self, hook: FunctionHook, name: str | None = None) -> None:
        """Registers a hook with this function under ``name`` (by default the hook's).

        Raises:
            TypeError: ``hook`` is no FunctionHook.
            KeyError: the name is taken.
        Source: chainer.FunctionNode.add_hook.
        """
        if not isinstance(hook, FunctionHook):
            raise TypeError("a hook is a FunctionHook")
        name = hook.name if name is None else name
        if name in self.local_function_hooks:
            raise KeyError(f"hook {name} already exists")
        self.local_function_hooks[name] = hook
        hook.added(self)

    def delete_hook(self, name: str) -> None:
        """Removes a hook; KeyError for a name that is not there. Source: chainer.FunctionNode.delete_hook."""
        if name not in self.local_function_hooks:
            raise KeyError(f"hook {name} does not exist")
        self.local_function_hooks[name].deleted(self)
        del self.local_function_hooks[name]

    def forward(self, inputs: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
        """The outputs; by default from ``forward_gpu`` or ``forward_cpu``, by the device of the inputs."""
        if any(x.is_cuda for x in inputs):
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

    def forward_cpu(self, inputs: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
        """The outputs of inputs on the CPU."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward for the CPU")

    def forward_gpu(self, inputs: tuple[torch.Tensor, ...]) -> tuple[Any, ...]:
        """The outputs of inputs on a GPU."""
        raise NotImplementedError(f"{type(self).__name__} defines no forward for the GPU")

    def backward(
        self, target_input_indexes: tuple[int, ...], grad_outputs: tuple[torch.Tensor | None, ...]
    ) -> tuple[torch.Tensor | None, ...]:
        """The gradients of the inputs named by ``target_input_indexes``."""
        return (None,) * len(target_input_indexes)

    def retain_inputs(self, indexes: Sequence[int]) -> None:
        """Called in ``forward``: keeps these inputs for ``backward``."""
        self._retained_inputs = tuple(indexes)

    def retain_outputs(self, indexes: Sequence[int]) -> None:
        """Called in ``forward``: keeps these outputs for ``backward``."""
        self._retained_outputs = tuple(indexes)

    def get_retained_inputs(self) -> tuple[torch.Tensor, ...]:
        """The inputs that were kept, with their graph."""
        return self._saved_inputs

    def get_retained_outputs(self) -> tuple[torch.Tensor, ...]:
        """The outputs that were kept, with their graph."""
        return self._saved_outputs

    def _inputs_as_kept(self, count: int) -> list[torch.Tensor | None]:
        """All inputs, None for those that ``forward`` did not keep."""
        inputs: list[torch.Tensor | None] = [None] * count
        for i, x in zip(self._retained_inputs, self._saved_inputs):
            inputs[i] = x
        return inputs

    def _gradients(
        self, needed: tuple[bool, ...], grad_outputs: tuple[torch.Tensor | None, ...]
    ) -> list[torch.Tensor | None]:
        indexes = tuple(i for i, need in enumerate(needed) if need)
        result: list[torch.Tensor | None] = [None] * len(needed)
        for i, gradient in zip(indexes, self.backward(indexes, grad_outputs)):
            result[i] = gradient
        return result


class Function(FunctionNode):
    """The older protocol: called like a function, ``backward(inputs, grad_outputs)`` gets tensors without graph.

    All inputs are kept unless ``forward`` calls ``retain_inputs``. It cannot be differentiated twice: that raises where
    it is tried. ``forward`` may write into its inputs and return them: as in Chainer nobody notices, and ``backward``
    sees what they hold then.
    Source: chainer.Function.
    """

    def __call__(self, *inputs: Any) -> Any:
        """Runs the function; one output is returned by itself, several as a tuple."""
        outputs = self.apply(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def backward(self, inputs: Any, grad_outputs: Any) -> Any:
        """The gradients of all inputs; by default from ``backward_gpu`` or ``backward_cpu``."""
        if any(x is not None and x.is_cuda for x in (*inputs, *grad_outputs)):
            return self.backward_gpu(inputs, grad_outputs)
        return self.backward_cpu(inputs, grad_outputs)

    def backward_cpu(self, inputs: Any, grad_outputs: Any) -> Any:
        """The gradients of inputs on the CPU."""
        return (None,) * len(inputs)

    def backward_gpu(self, inputs: Any, grad_outputs: Any) -> Any:
        """The gradients of inputs on a GPU."""
        return (None,) * len(inputs)

    @property
    def output_data(self) -> tuple[torch.Tensor | None, ...]:
        """All outputs, None for those that ``forward`` did not keep; in ``backward`` only."""
        kept = dict(zip(self._retained_outputs, self._saved_outputs))
        return tuple(kept.get(i) for i in range(self._n_outputs))

    def _gradients(
        self, needed: tuple[bool, ...], grad_outputs: tuple[torch.Tensor | None, ...]
    ) -> list[torch.Tensor | None]:
        inputs = self._inputs_as_kept(len(needed))
        # copies: PyTorch may hand one gradient to several functions, and `backward` may write into it
        grad_outputs = tuple(None if g is None else g.detach().clone() for g in grad_outputs)
        with torch.no_grad():
            found = self.backward(tuple(inputs), grad_outputs)
        gradients = [None if g is None or not need else _as_output(g) for g, need in zip(found, needed)]
        if not torch.is_grad_enabled():
            return gradients
        name = type(self).__name__
        return [None if g is None else _Once.apply(name, g.detach().requires_grad_()) for g in gradients]


class _Once(torch.autograd.Function):
    """A gradient that has no gradient of its own: whoever asks for that gets an error."""

    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(ctx: Any, name: str, gradient: torch.Tensor) -> torch.Tensor:
        ctx.name = name
        return gradient.clone()

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        raise RuntimeError(f"{ctx.name} is an old-style function: it cannot be differentiated twice")


class _OwnFunction(torch.autograd.Function):
    apply: ClassVar[Callable[..., tuple[torch.Tensor, ...]]]

    @staticmethod
    def forward(ctx: Any, node: FunctionNode, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        old = isinstance(node, Function)
        if old:
            node.retain_inputs(range(len(inputs)))
            inputs = tuple(x.data for x in inputs)  # the memory without autograd's checks of in-place changes
        node.inputs = tuple(torch.empty_like(x, device="meta") for x in inputs)
        outputs = node.forward(inputs)
        if not isinstance(outputs, tuple):
            raise TypeError(f"{type(node).__name__}.forward must return a tuple, not {type(outputs).__name__}")
        device = inputs[0].device if inputs else None
        tensors = tuple(_as_output(y, device) for y in outputs)
        # an output that is an input as it came in would otherwise be taken for an in-place change
        tensors = tuple(y.data if old else y.view_as(y) if any(y is x for x in inputs) else y for y in tensors)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(y for y in tensors if not y.is_floating_point()))
        ctx.node = ctx.chainer_function = node
        ctx.n_inputs = len(node._retained_inputs)
        if old:
            ctx.kept = (*(inputs[i] for i in node._retained_inputs), *(tensors[i].data for i in node._retained_outputs))
            return tensors
        ctx.save_for_backward(
            *(inputs[i] for i in node._retained_inputs), *(tensors[i] for i in node._retained_outputs)
        )
        return tensors

    @staticmethod
    def backward(ctx: Any, *grad_outputs: torch.Tensor | None) -> tuple[torch.Tensor | None, ...]:
        node = ctx.node
        kept = ctx.kept if isinstance(node, Function) else ctx.saved_tensors
        node._saved_inputs = kept[: ctx.n_inputs]
        node._saved_outputs = kept[ctx.n_inputs :]
        node._n_outputs = len(grad_outputs)
        hooks = list({**getattr(ctx, "chainer_hooks", {}), **node.local_function_hooks}.values())
        arrays = (
            [
                tuple(None if x is None else x.detach() for x in given)
                for given in (node._inputs_as_kept(len(ctx.needs_input_grad) - 1), grad_outputs)
            ]
            if hooks
            else []
        )
        for hook in hooks:
            hook.backward_preprocess(node, *arrays)
        gradients = node._gradients(ctx.needs_input_grad[1:], grad_outputs)
        for hook in hooks:
            hook.backward_postprocess(node, *arrays)
        return (None, *(g if g is None else _as_output(g) for g in gradients))


def _as_output(value: Any, device: torch.device | None = None) -> torch.Tensor:
    if isinstance(value, np.ndarray) and any(step < 0 for step in value.strides):
        value = value.copy()  # PyTorch takes no array that runs backwards
    return torch.as_tensor(value, device=device)


class InvalidType(Exception):
    """The inputs of a function are not what it expects. Source: chainer.utils.type_check.InvalidType."""


class TypeInfo:
    """Shape, rank and dtype (numpy's) of one input, for ``check_type_forward``."""

    def __init__(self, x: torch.Tensor):
        self.shape = tuple(x.shape)
        self.ndim = x.dim()
        self.dtype = np.dtype(str(x.dtype).removeprefix("torch."))


class TypeInfoTuple(tuple[TypeInfo, ...]):
    """The infos of all inputs. Source: chainer.utils.type_check.TypeInfoTuple."""

    def __new__(cls, tensors: Sequence[torch.Tensor]) -> TypeInfoTuple:
        return super().__new__(cls, (TypeInfo(x) for x in tensors))

    def size(self) -> int:
        """How many inputs there are."""
        return len(self)

    def last(self) -> TypeInfo:
        """The last input."""
        return self[-1]


def expect(*conditions: Any) -> None:
    """Raises :class:`InvalidType` unless all conditions hold. Source: chainer.utils.type_check.expect."""
    for i, condition in enumerate(conditions):
        if not condition:
            raise InvalidType(f"condition {i + 1} of {len(conditions)} on the inputs does not hold")


def same_types(*arrays: Any) -> bool:
    """Whether all values are tensors, or all numpy arrays. Source: chainer.utils.type_check.same_types."""
    return all(isinstance(x, torch.Tensor) for x in arrays) or all(isinstance(x, np.ndarray) for x in arrays)


def check_names(in_types: Sequence[Any], names: Sequence[str]) -> None:
    """Raises :class:`InvalidType` unless there is a name for each input. Source: chainer.utils.type_check._argname."""
    if len(in_types) != len(names):
        raise InvalidType(f"{len(in_types)} inputs for the names {', '.join(names)}")


def expect_broadcast_shapes(*shape_types: Sequence[int]) -> None:
    """Raises :class:`InvalidType` unless the shapes can be broadcast together.

    Source: chainer.utils.type_check.expect_broadcast_shapes.
    """
    try:
        np.broadcast_shapes(*map(tuple, shape_types))
    except ValueError:
        raise InvalidType(f"the shapes {', '.join(map(str, shape_types))} cannot be broadcast together") from None
