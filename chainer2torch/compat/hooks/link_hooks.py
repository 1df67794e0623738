"""Hooks of links: what runs before and after a layer's forward pass."""

import functools
import sys
import time
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.modules.conv import _ConvTransposeNd
from torch.nn.modules.module import (
    _global_forward_pre_hooks,
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from torch.nn.parameter import is_lazy

from chainer2torch.compat.links.deconvolution_links import DeconvolutionND
from chainer2torch.compat.links.link_names import name_children, own_attribute_name
from chainer2torch.compat.links.persistent import register_persistent


class LinkHookArguments(NamedTuple):
    """What a hook is told: the layer, its arguments and, after the forward pass, its output."""

    link: nn.Module
    forward_name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    out: Any = None


class LinkHook:
    """Base of hooks for one layer (``add_hook``) or, as a context manager, for every module that is called inside.

    Subclasses override ``added(link)`` and ``deleted(link)`` (None for the context manager),
    ``forward_preprocess(args)`` and ``forward_postprocess(args)``. A block inside a block of a hook of the same name
    raises KeyError; of two hooks of one name, the layer's own is called. Source: chainer.LinkHook.
    """

    name = "LinkHook"

    def __enter__(self) -> "LinkHook":
        for other in _global_forward_pre_hooks.values():
            if isinstance(other, functools.partial) and other.func is _before_any and other.args[0].name == self.name:
                raise KeyError(f"hook {self.name} already exists")
        announced: list[int] = []
        self._handles = [
            register_module_forward_pre_hook(functools.partial(_announce, announced)),
            register_module_forward_pre_hook(functools.partial(_before_any, self)),
            register_module_forward_hook(functools.partial(_after_any, self), with_kwargs=True),
        ]
        announced.append(self._handles[1].id)
        self.added(None)
        return self

    def __exit__(self, *exception: Any) -> None:
        self.deleted(None)
        for handle in self._handles:
            handle.remove()

    def added(self, link: nn.Module | None) -> None:
        """Called when the hook is registered."""

    def deleted(self, link: nn.Module | None) -> None:
        """Called when the hook is removed."""

    def forward_preprocess(self, args: Any) -> None:
        """Called before a forward pass."""

    def forward_postprocess(self, args: Any) -> None:
        """Called after a forward pass."""


def add_hook(link: nn.Module, hook: LinkHook, name: str | None = None) -> nn.Module:
    """Registers a hook with a layer under ``name`` (by default the hook's) and returns the layer.

    A name that is taken raises KeyError, another object than a LinkHook TypeError. Source: chainer.Link.add_hook.
    """
    if not isinstance(hook, LinkHook):
        raise TypeError("a hook is a LinkHook")
    name = hook.name if name is None else name
    hooks = link.__dict__.setdefault("_chainer_link_hooks", {})
    if name in hooks:
        raise KeyError(f"hook {name} already exists")
    hook.added(link)
    hooks[name] = (
        hook,
        [
            link.register_forward_pre_hook(functools.partial(_before, hook), with_kwargs=True),
            link.register_forward_hook(functools.partial(_after, hook), with_kwargs=True),
            # a forward pass that fails leaves the layer as it was, too
            link.register_forward_hook(functools.partial(_restore, hook), always_call=True),
        ],
    )
    return link


def delete_hook(link: nn.Module, name: str) -> None:
    """Removes a hook; KeyError for a name that is not there. Source: chainer.Link.delete_hook."""
    hooks = vars(link).get("_chainer_link_hooks", {})
    if name not in hooks:
        raise KeyError(f"hook {name} does not exist")
    hook, handles = hooks.pop(name)
    hook.deleted(link)
    for handle in handles:
        handle.remove()


def local_link_hooks(link: nn.Module) -> Mapping[str, LinkHook]:
    """The hooks of a layer, by name. Source: chainer.Link.local_link_hooks."""
    return MappingProxyType({name: hook for name, (hook, _) in vars(link).get("_chainer_link_hooks", {}).items()})


def _announce(hook_ids: list[int], link: nn.Module, args: tuple[Any, ...]) -> None:
    # a hook for all modules is not given the keyword arguments, one of a single module is if it stands here
    link._forward_pre_hooks_with_kwargs.update(dict.fromkeys(hook_ids, True))


def _before_any(hook: LinkHook, link: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    for hook_id, other in _global_forward_pre_hooks.items():
        if isinstance(other, functools.partial) and other.func is _before_any and other.args[0] is hook:
            link._forward_pre_hooks_with_kwargs.pop(hook_id, None)
    if hook.name not in local_link_hooks(link):
        _before(hook, link, args, kwargs)


def _after_any(hook: LinkHook, link: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
    if hook.name not in local_link_hooks(link):
        _after(hook, link, args, kwargs, out)


def _before(hook: LinkHook, link: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    name_children(link)  # where: link_name
    vars(link).setdefault("_chainer_link_names", {})  # where: link_name
    hook.forward_preprocess(LinkHookArguments(link, "forward", args, kwargs))


def _after(hook: LinkHook, link: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], out: Any) -> None:
    hook.forward_postprocess(LinkHookArguments(link, "forward", args, kwargs, out))


def _restore(hook: LinkHook, link: nn.Module, args: tuple[Any, ...], out: Any) -> None:
    if isinstance(hook, _WeightHook):
        hook.restore(link)


class _WeightHook(LinkHook):
    """Puts another weight in the place of a layer's during its forward pass; the parameter stays what it is."""

    def __init__(self, weight_name: str, name: str | None) -> None:
        self.weight_name = weight_name
        if name is not None:
            self.name = name

    def __enter__(self) -> LinkHook:
        raise NotImplementedError("this hook belongs to one layer: use add_hook")

    def _weight(self, link: nn.Module) -> Any:
        return link._parameters[own_attribute_name(link, self.weight_name)]

    def added(self, link: nn.Module | None) -> None:
        if link is None or own_attribute_name(link, self.weight_name) not in link._parameters:
            raise ValueError(f"weight '{self.weight_name}' does not exist")

    def forward_preprocess(self, args: LinkHookArguments) -> None:
        link = args.link
        if is_lazy(self._weight(link)):
            _give_shape(link, args.args[0])
        # an instance attribute comes before the parameter of its name
        link.__dict__[own_attribute_name(link, self.weight_name)] = self.changed_weight(link, self._weight(link))

    def forward_postprocess(self, args: LinkHookArguments) -> None:
        self.restore(args.link)

    def restore(self, link: nn.Module) -> None:
        """Lets the parameter show again."""
        link.__dict__.pop(own_attribute_name(link, self.weight_name), None)

    def changed_weight(self, link: nn.Module, weight: torch.Tensor) -> torch.Tensor:
        """The weight for one forward pass."""
        raise NotImplementedError


def _give_shape(link: Any, x: torch.Tensor) -> None:
    if hasattr(link, "_weight_shape"):
        link._materialize("weight", link._weight_shape(x.shape[1]))
    elif hasattr(link, "out_size"):
        link._materialize("weight", (link.out_size, x[0].numel()))
    else:
        raise RuntimeError("the weight has no shape yet: call the layer once before the hook is added")


class SpectralNormalization(_WeightHook):
    """Divides a layer's weight by its largest singular value, which one power iteration a call approximates.

    The vector of the iteration is the buffer ``W_u`` (with ``weight_name`` W); it advances in training mode. It starts
    from normal numbers when the weight has its shape. ``use_gamma`` adds the parameter ``gamma``, which starts at the
    weight's largest singular value; ``factor`` divides the singular value. Differs from
    torch.nn.utils.parametrizations.spectral_norm: vectors are divided by ``norm + eps``, gradients are the same.
    A layer inside ``forget`` iterates again when it is computed again. Source:
    chainer.link_hooks.SpectralNormalization.
    """

    name = "SpectralNormalization"

    def __init__(
        self,
        n_power_iteration: int = 1,
        eps: float = 1e-6,
        use_gamma: bool = False,
        factor: Any = None,
        weight_name: str = "W",
        name: str | None = None,
    ) -> None:
        super().__init__(weight_name, name)
        if n_power_iteration <= 0:
            raise AssertionError("n_power_iteration must be positive")
        self.n_power_iteration = n_power_iteration
        self.eps = eps
        self.use_gamma = use_gamma
        self.factor = factor
        self.vector_name = weight_name + "_u"

    def added(self, link: nn.Module | None) -> None:
        super().added(link)
        if link is not None and not is_lazy(self._weight(link)):
            self._prepare(link, self._weight(link))

    def deleted(self, link: nn.Module | None) -> None:
        delattr(link, self.vector_name)
        if self.use_gamma:
            delattr(link, "gamma")

    def _prepare(self, link: nn.Module, weight: torch.Tensor) -> None:
        if not weight.numel():
            raise ValueError(f"{self.weight_name} is empty")
        matrix = _as_matrix(link, weight.detach())
        setattr(link, self.vector_name, torch.randn(matrix.shape[0], dtype=weight.dtype, device=weight.device))
        register_persistent(link, self.vector_name)
        if self.use_gamma:
            link.gamma = nn.Parameter(torch.linalg.svdvals(matrix)[0])

    def changed_weight(self, link: nn.Module, weight: torch.Tensor) -> torch.Tensor:
        if self.vector_name not in link._buffers:
            self._prepare(link, weight)
        stored: Any = getattr(link, self.vector_name)
        matrix = _as_matrix(link, weight)
        with torch.no_grad():
            u = stored.clone()
            for _ in range(self.n_power_iteration):
                v = self._normalized(u @ matrix)
                u = self._normalized(matrix @ v)
        sigma = u @ matrix @ v
        if self.factor is not None:
            sigma = sigma / self.factor
        if link.training:
            stored.copy_(u)
        changed: torch.Tensor = (link.gamma * weight if self.use_gamma else weight) / sigma  # type: ignore[operator]
        return changed

    def _normalized(self, vector: torch.Tensor) -> torch.Tensor:
        length: torch.Tensor = torch.linalg.vector_norm(vector)
        return vector / (length + self.eps)


def _as_matrix(link: nn.Module, weight: torch.Tensor) -> torch.Tensor:
    """The weight with its output channels in front, all other axes as one."""
    if isinstance(link, (_ConvTransposeNd, DeconvolutionND)):
        weight = weight.transpose(0, 1)
    return weight.reshape(weight.shape[0], -1)


class WeightStandardization(_WeightHook):
    """Gives the weights of each output (the first axis) mean 0 and variance 1 in the forward pass.

    Source: chainer.link_hooks.WeightStandardization.
    """

    name = "WeightStandardization"

    def __init__(self, *, eps: float = 1e-5, weight_name: str = "W", name: str | None = None) -> None:
        super().__init__(weight_name, name)
        self.eps = eps

    def changed_weight(self, link: nn.Module, weight: torch.Tensor) -> torch.Tensor:
        return F.group_norm(weight, 1, eps=self.eps)


class CallTimes:
    """What hooks that measure have in common: the calls with their times, and a report of them.

    Source: chainer.link_hooks.TimerHook, chainer.function_hooks.TimerHook.
    """

    first_column = "Name"
    table = {"sec": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}

    def __init__(self) -> None:
        self.call_history: list[tuple[str, float]] = []
        self._total = 0.0

    def total_time(self) -> float:
        """Seconds in the outermost calls."""
        return self._total

    def summary(self) -> dict[str, dict[str, Any]]:
        """``{name: {'elapsed_time': seconds, 'occurrence': calls}}``."""
        result: dict[str, dict[str, Any]] = {}
        for name, elapsed in self.call_history:
            record = result.setdefault(name, {"elapsed_time": 0, "occurrence": 0})
            record["elapsed_time"] += elapsed
            record["occurrence"] += 1
        return result

    def print_report(self, unit: str = "auto", file: Any = None) -> None:
        """Prints the summary; ``unit`` is sec, ms, us, ns, auto (that of the largest) or auto_foreach."""
        summary = self.summary()
        if unit == "auto":
            unit = _unit_of(max(record["elapsed_time"] for record in summary.values()))
        rows = [(self.first_column, "ElapsedTime", "Occurrence")]
        for name, record in summary.items():
            shown = _unit_of(record["elapsed_time"]) if unit == "auto_foreach" else unit
            rows.append((name, f"{record['elapsed_time'] * self.table[shown]:3.2f}{shown}", str(record["occurrence"])))
        print_table(rows, file)


def print_table(rows: Sequence[tuple[str, ...]], file: Any = None) -> None:
    """Prints texts in columns, to the right; ``file`` None is the standard output."""
    widths = [max(len(text) for text in column) for column in zip(*rows, strict=True)]
    file = sys.stdout if file is None else file
    for row in rows:
        file.write("  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True)) + "\n")
    if hasattr(file, "flush"):
        file.flush()


class LinkTimerHook(CallTimes, LinkHook):
    """Measures how long the forward passes of layers take, by the names of their classes.

    On a GPU it waits for the device before and after. Source: chainer.link_hooks.TimerHook.
    """

    name = "TimerHook"
    first_column = "LinkName"

    def __init__(self) -> None:
        super().__init__()
        self._running: list[float] = []

    def forward_preprocess(self, args: LinkHookArguments) -> None:
        _wait(args.link)
        self._running.append(time.perf_counter())

    def forward_postprocess(self, args: LinkHookArguments) -> None:
        _wait(args.link)
        elapsed = time.perf_counter() - self._running.pop()
        self.call_history.append((type(args.link).__name__, elapsed))
        if not self._running:
            self._total += elapsed


def _unit_of(seconds: float) -> str:
    return next((unit for unit, factor in (("sec", 1), ("ms", 1e3), ("us", 1e6)) if seconds * factor >= 1), "ns")


def _wait(link: nn.Module) -> None:
    if any(parameter.is_cuda for parameter in link.parameters()):
        torch.cuda.synchronize()
