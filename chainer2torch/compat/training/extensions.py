"""Small extensions: observed values, the graph of a loss, unchaining."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import torch

from chainer2torch.compat.training.extension_base import Extension, make_extension


def observe_value(observation_key: str, target_func: Callable[[Any], Any]) -> Callable[[Any], None]:
    """An extension that puts ``target_func(trainer)`` into the observation, every epoch.

    Source: chainer.training.extensions.observe_value.
    """

    @make_extension(trigger=(1, "epoch"), priority=300)
    def _observe_value(trainer: Any) -> None:
        trainer.observation[observation_key] = target_func(trainer)

    extension: Callable[[Any], None] = _observe_value
    return extension


def observe_lr(optimizer_name: str = "main", observation_key: str = "lr") -> Callable[[Any], None]:
    """An extension that observes the learning rate, every epoch; for Adam that is the corrected one, ``alpha_t``.

    Source: chainer.training.extensions.observe_lr.
    """
    return observe_value(observation_key, lambda trainer: trainer.updater.get_optimizer(optimizer_name).lr)


class FailOnNonNumber(Extension):
    """Raises RuntimeError when a parameter of a model is not finite.

    Source: chainer.training.extensions.FailOnNonNumber.
    """

    def __call__(self, trainer: Any) -> None:
        """Looks at the parameters."""
        for name, optimizer in trainer.updater.get_all_optimizers().items():
            for param in optimizer.target.parameters():
                if not bool(torch.isfinite(param).all()):
                    raise RuntimeError(f"Kill the process since parameters in optimizer '{name}' diverge. R.I.P.")


class unchain_variables(Extension):  # noqa: N801 - Chainer's name
    """Does nothing: what is reported is detached from its graph already.

    Source: chainer.training.extensions.unchain_variables.
    """

    priority = 0

    def trigger(self, trainer: Any) -> bool:
        """Never: a method, as in Chainer, so that snapshots hold no state of it."""
        return False

    def __call__(self, trainer: Any) -> None:
        """Nothing to cut."""


class DumpGraph(Extension):
    """Writes the autograd graph of an observed value, of the first iteration, as a dot file (and png with Graphviz).

    The nodes are those of torch's autograd, where Chainer draws its functions and variables.

    Args:
        root_name: the observed value, e.g. ``'main/loss'``.
        filename: the file in the output directory. ``out_name`` is Chainer's older name.
        variable_style, function_style: attributes of the nodes of parameters and functions.
    Source: chainer.training.extensions.DumpGraph.
    """

    default_name = "dump_graph"

    def __init__(
        self,
        root_name: str,
        filename: str | None = None,
        variable_style: dict[str, str] | None = None,
        function_style: dict[str, str] | None = None,
        *,
        out_name: str = "cg.dot",
    ) -> None:
        self._root_name = root_name
        self._filename = filename or out_name
        self._variable_style = variable_style or {"shape": "octagon", "fillcolor": "#E0E0E0", "style": "filled"}
        self._function_style = function_style or {"shape": "record", "fillcolor": "#6495ED", "style": "filled"}
        self._flag_called = False

    def initialize(self, trainer: Any) -> None:
        """Asks for the graphs of what is reported."""
        trainer.reporter.keep_graph = not self._flag_called

    def trigger(self, trainer: Any) -> bool:
        """Fires once."""
        first, self._flag_called = not self._flag_called, True
        return first

    def __call__(self, trainer: Any) -> None:
        """Writes the file. Raises TypeError when the observed value is no tensor."""
        try:
            root = trainer.reporter.graphs[self._root_name]
            if not isinstance(root, torch.Tensor):
                raise TypeError("root value is not a tensor")
            path = os.path.join(trainer.out, self._filename)
            with open(path, "w") as out:
                out.write(build_graph(root, self._variable_style, self._function_style))
        finally:
            trainer.reporter.keep_graph = False
            trainer.reporter.graphs.clear()
        if shutil.which("dot"):
            subprocess.check_call(["dot", "-Tpng", path, "-o", os.path.splitext(path)[0] + ".png"])

    def serialize(self, serializer: Any) -> None:
        """Stores or restores whether the graph was written."""
        serializer("_original_flag", False)
        self._flag_called = serializer("_flag_called", self._flag_called)


def build_graph(root: torch.Tensor, variable_style: dict[str, str], function_style: dict[str, str]) -> str:
    """The graph that computed ``root``, in the dot language: parameters by their shapes, functions by their names."""
    lines = ["digraph graphname{", "rankdir=TB;", f'0 [label="{_shape(root)}",{_attributes(variable_style)}];']
    numbers: dict[Any, int] = {}
    pending = [(root.grad_fn, 0)]
    while pending:
        node, parent = pending.pop()
        if node is None:
            continue
        if node not in numbers:
            numbers[node] = len(numbers) + 1
            leaf = getattr(node, "variable", None)
            label, style = (node.name(), function_style) if leaf is None else (_shape(leaf), variable_style)
            lines.append(f'{numbers[node]} [label="{label}",{_attributes(style)}];')
            pending += [(child, numbers[node]) for child, _ in node.next_functions]
        lines.append(f"{numbers[node]} -> {parent};")
    return "\n".join([*lines, "}"])


def _shape(tensor: torch.Tensor) -> str:
    return f"{tuple(tensor.shape)}, {str(tensor.dtype).replace('torch.', '')}"


def _attributes(style: dict[str, str]) -> str:
    return ",".join(f'{key}="{value}"' for key, value in style.items())
