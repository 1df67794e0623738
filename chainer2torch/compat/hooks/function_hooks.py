"""Hooks that see the calls of PyTorch's functions, forward and backward, as Chainer's see those of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import torch
from torch.overrides import TorchFunctionMode, _get_current_function_mode_stack

_CALL = "chainer: the call that made this step"
# methods that ask, copy or move: no function of Chainer's, which has arrays for that
_NO_FUNCTION = frozenset(
    """
    size dim ndimension numel nelement item tolist numpy stride storage untyped_storage data_ptr get_device element_size
    storage_offset register_hook retain_grad detach cpu cuda contiguous pin_memory record_stream as_tensor tensor
    asarray result_type can_cast equal allclose isclose eq ne lt le gt ge isnan isinf isfinite any all logical_and
    logical_or logical_not ceil floor trunc
    """.split()
)
_CASTS = {
    "float": torch.float32,
    "double": torch.float64,
    "half": torch.float16,
    "bfloat16": torch.bfloat16,
    "long": torch.int64,
    "int": torch.int32,
    "short": torch.int16,
    "char": torch.int8,
    "byte": torch.uint8,
    "bool": torch.bool,
    "to": None,
    "type": None,
    "type_as": None,
}
_OPERATORS = frozenset(
    {"getitem", "pow", "matmul", "neg", "abs"}
    | {
        side + name
        for side in ("", "r")
        for name in ("add", "sub", "mul", "div", "truediv", "floordiv", "mod", "pow", "matmul")
    }
)
# tensors among the arguments that are no inputs of Chainer's function: statistics, weights of classes, indexes
_NOT_INPUTS: dict[str, tuple[Any, ...]] = {
    "batch_norm": (1, 2, "running_mean", "running_var"),
    "cross_entropy": (2, "weight"),
    "nll_loss": (2, "weight"),
    "getitem": (1,),
    "where": (0, "condition"),
}


class FunctionHook:
    """Base of hooks that are called at every function inside their ``with`` block, or (``add_hook``) at one function.

    Subclasses override ``added(function)`` and ``deleted(function)`` (None for a block),
    ``forward_preprocess(function, in_data)`` and ``forward_postprocess(function, in_data)``,
    ``backward_preprocess(function, in_data, out_grad)`` and ``backward_postprocess(function, in_data, out_grad)``.
    ``in_data`` and ``out_grad`` are tuples of tensors without graph (``out_grad``: or None).

    A function is what is called on tensors: a function, operator or method of PyTorch, or a :class:`FunctionNode`.
    ``function.label`` and ``type(function).__name__`` are PyTorch's name (``relu``, ``conv2d``) or, in the backward
    pass of what ran outside of such a block, that of its step (``Relu``); a FunctionNode is itself. A layer or helper
    that is made of several functions shows them; where PyTorch makes several outputs in steps of their own,
    ``out_grad`` has the gradient of one. What a gradient computes is not seen; ``in_data`` of a backward pass holds
    all inputs, where Chainer has None for those that no function kept (a step from outside of such a block: none);
    independent branches come in PyTorch's order.

    Hooks belong to a thread; a name that is taken raises KeyError. Source: chainer.FunctionHook.
    """

    name = "FunctionHook"
    _reads_in_data = True

    def __enter__(self) -> FunctionHook:
        mode = _current_mode()
        if mode is None:
            mode = _HookMode()
            mode.__enter__()  # type: ignore[no-untyped-call]  # torch gives it no types
        if self.name in mode.hooks:
            raise KeyError(f"hook {self.name} already exists")
        mode.hooks[self.name] = self
        self.added(None)
        return self

    def __exit__(self, *exception: Any) -> None:
        mode = _current_mode()
        if mode is None:
            raise KeyError(self.name)
        mode.hooks[self.name].deleted(None)
        del mode.hooks[self.name]
        if not mode.hooks and _get_current_function_mode_stack()[-1] is mode:
            mode.__exit__(None, None, None)

    def added(self, function: Any) -> None:
        """Called when the hook is registered."""

    def deleted(self, function: Any) -> None:
        """Called when the hook is removed."""

    def forward_preprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called before a function runs."""

    def forward_postprocess(self, function: Any, in_data: tuple[Any, ...]) -> None:
        """Called after a function ran."""

    def backward_preprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called before the gradients of a function's inputs are computed."""

    def backward_postprocess(self, function: Any, in_data: tuple[Any, ...], out_grad: tuple[Any, ...]) -> None:
        """Called after the gradients of a function's inputs were computed."""


class CalledFunction:
    """One call of a function of PyTorch, as hooks see it: the class has the function's name."""

    in_data: tuple[Any, ...] = ()

    @property
    def label(self) -> str:
        """The name of the function."""
        return type(self).__name__

    _impl_name = label


def called_function(name: str) -> CalledFunction:
    """A call of the function ``name``."""
    call: CalledFunction = type(name, (CalledFunction,), {})()
    return call


def function_hooks_of(function: Any = None) -> list[Any]:
    """The hooks that are called for a function: those of the blocks around, then its own."""
    mode = _current_mode()
    hooks = dict(mode.hooks) if mode is not None else {}
    hooks.update(getattr(function, "local_function_hooks", {}))
    return list(hooks.values())


def get_function_hooks() -> Mapping[str, FunctionHook]:
    """The hooks of the blocks around, by name; assigning to it raises TypeError. Source: chainer.get_function_hooks."""
    mode = _current_mode()
    return MappingProxyType(mode.hooks if mode is not None else {})


def _current_mode() -> Any:
    return next((mode for mode in _get_current_function_mode_stack() if isinstance(mode, _HookMode)), None)


class _HookMode(TorchFunctionMode):
    """Calls hooks around every function that runs on tensors while it is active."""

    def __init__(self) -> None:
        super().__init__()
        self.hooks: dict[str, Any] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", type(func).__name__)
        if name in ("backward", "grad") and not hasattr(func, "__self__"):
            return _backward(dict(self.hooks), func, args, kwargs)
        if name == "__get__":  # an attribute: `x.T` computes, `x.shape` does not
            name = getattr(getattr(func, "__self__", None), "__name__", "")
            name = name if name in ("T", "mT") else "dim"
        found = list(_tensors_among(args)) + list(_tensors_among(kwargs.values()))
        if not self.hooks or not found or not _is_function(func, name, found, args, kwargs):
            return func(*args, **kwargs)
        return self._call(name.strip("_"), func, args, kwargs, found)

    def _call(self, name: str, func: Any, args: Any, kwargs: Any, found: list[torch.Tensor]) -> Any:
        hooks = list(self.hooks.values())
        call = called_function(name)
        left = _NOT_INPUTS.get(name, ())
        in_data = tuple(
            x.detach()
            for x in (
                *_tensors_among(x for i, x in enumerate(args) if i not in left),
                *_tensors_among(x for key, x in kwargs.items() if key not in left),
            )
        )
        for hook in hooks:
            hook.forward_preprocess(call, in_data)
        ends = [x.grad_fn for x in found if x.grad_fn is not None]
        result = func(*args, **kwargs)
        for hook in hooks:
            hook.forward_postprocess(call, in_data)
        if any(hook._reads_in_data for hook in hooks):
            call.in_data = in_data
        for step in _steps([y.grad_fn for y in _tensors_among((result,))], ends):
            step.metadata[_CALL] = call
        return result


def _tensors_among(values: Any) -> Iterator[torch.Tensor]:
    for value in values:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (tuple, list)):
            yield from _tensors_among(value)


def _is_function(func: Any, name: str, inputs: list[torch.Tensor], args: Any, kwargs: Any) -> bool:
    """Whether a call on tensors would be a function in Chainer."""
    if name in _NO_FUNCTION or name.startswith(("is_", "new_", "set_")) or name.endswith("_like"):
        return False
    if name.startswith("__"):
        return name.strip("_") in _OPERATORS
    if name.endswith("_"):  # writes into its input: `h += x` in a computation, or an array that is filled
        return (
            getattr(func, "__module__", None) != "torch.nn.init"
            and torch.is_grad_enabled()
            and any(x.requires_grad for x in inputs)
        )
    if name in _CASTS:
        wanted = _CASTS[name] or next((x for x in (*args[1:], *kwargs.values()) if isinstance(x, torch.dtype)), None)
        if name == "type_as":
            wanted = args[1].dtype
        source = inputs[0].dtype
        return wanted is not None and wanted != source and wanted.is_floating_point and source.is_floating_point
    return True


def _steps(roots: list[Any], ends: list[Any]) -> Iterator[Any]:
    """The steps of the graph from ``roots`` back to ``ends`` or to leaves, each once."""
    seen = list(ends)  # held: a step is known by its object, which would be made anew
    known = {id(step) for step in seen}
    stack = [root for root in roots if root is not None]
    while stack:
        step = stack.pop()
        if id(step) in known or hasattr(step, "variable"):
            continue
        known.add(id(step))
        seen.append(step)
        yield step
        stack.extend(parent for parent, _ in step.next_functions if parent is not None)


def _backward(hooks: dict[str, Any], func: Any, args: Any, kwargs: Any) -> Any:
    """Runs a backward pass with hooks at the steps of each function."""
    first = args[0] if args else next(iter(kwargs.values()))
    passes: dict[int, _BackwardOfCall] = {}
    own: list[Any] = []
    handles: list[Any] = []
    held = []
    for step in _steps([y.grad_fn for y in _tensors_among((first,))] if hooks else [], []):
        if hasattr(step, "chainer_function"):
            step.chainer_hooks = hooks  # a function of one's own calls them itself
            own.append(step)
            continue
        call = step.metadata.get(_CALL)
        if call is None:
            call = called_function(step.name().rpartition("::")[2].rstrip("0123456789").removesuffix("Backward"))
        held.append(call)
        one = passes.setdefault(id(call), _BackwardOfCall(list(hooks.values()), call))
        one.waiting += 1
        handles += [step.register_prehook(one.before), step.register_hook(one.after)]
    try:
        result = func(*args, **kwargs)
        for one in passes.values():
            one.finish()
        return result
    finally:
        for handle in handles:
            handle.remove()
        for step in own:
            step.chainer_hooks = {}


class _BackwardOfCall:
    """Calls hooks before the first and after the last step of one function's backward pass."""

    def __init__(self, hooks: list[Any], call: CalledFunction) -> None:
        self.hooks, self.call = hooks, call
        self.waiting = 0
        self.out_grad: tuple[Any, ...] | None = None

    def before(self, gradients: tuple[Any, ...]) -> None:
        if self.out_grad is None:
            self.out_grad = tuple(None if g is None else g.detach() for g in gradients)
            for hook in self.hooks:
                hook.backward_preprocess(self.call, self.call.in_data, self.out_grad)

    def after(self, *gradients: Any) -> None:
        self.waiting -= 1
        if not self.waiting:
            self.finish()

    def finish(self) -> None:
        """Tells the hooks once, also when not all steps were needed."""
        if self.out_grad is not None and self.hooks:
            for hook in self.hooks:
                hook.backward_postprocess(self.call, self.call.in_data, self.out_grad)
            self.hooks = []
