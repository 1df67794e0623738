"""Drawings of the graph behind a value: those of PyTorch's autograd, where Chainer draws its own functions."""

from __future__ import annotations

from typing import Any

import torch


class ComputationalGraph:
    """The graph that computed some tensors, in the DOT language: leaves by their shapes, functions by their names.

    Args:
        outputs: a tensor, or several. Those that need no gradient have no graph.
        rankdir: which way the arrows point, as Graphviz names it.
        The others: nothing is done with them, since the nodes are other ones than Chainer's.
    Source: chainer.computational_graph.build_computational_graph.
    """

    def __init__(
        self,
        outputs: Any,
        remove_split: bool = True,
        variable_style: Any = "default",
        function_style: Any = "default",
        rankdir: str = "TB",
        *rest: Any,
        **style: Any,
    ) -> None:
        self.outputs = (outputs,) if isinstance(outputs, torch.Tensor) else tuple(outputs)
        self.rankdir = rankdir

    def dump(self, format: str = "dot") -> str:
        """The text. Raises NotImplementedError for another format."""
        if format != "dot":
            raise NotImplementedError(f"no drawing in the format {format}")
        lines = ["digraph graphname {", f"rankdir={self.rankdir};"]
        pending: list[Any] = [y.grad_fn for y in self.outputs if y.grad_fn is not None]
        drawn: set[Any] = set()
        while pending:
            node = pending.pop()
            if node in drawn:
                continue
            drawn.add(node)
            leaf = getattr(node, "variable", None)
            label = node.name() if leaf is None else str(tuple(leaf.shape))
            lines.append(f'{id(node)} [label="{label}",shape={"box" if leaf is None else "oval"}];')
            before = [step for step, _ in node.next_functions if step is not None]
            lines += [f"{id(step)} -> {id(node)};" for step in before]
            pending += before
        return "\n".join([*lines, "}"])
