"""Functions of the program's own with a backward pass of their own, over torch.autograd.Function."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


class FunctionNode:
    """A function: ``forward(inputs)`` on tensors without a graph, ``backward(indexes, grad_outputs)`` with one.

    ``forward`` names with ``retain_inputs`` and ``retain_outputs`` what ``backward`` may read. Hooks do not see it.
    Source: chainer.FunctionNode.
    """

    _kept: Any = ((), ())  # the numbers of the inputs and of the outputs that are kept
    _saved: Any = ((), ())

    def apply(self, inputs: Any) -> tuple[Tensor, ...]:
        return tuple(_Step.apply(self, *map(torch.as_tensor, inputs)))  # type: ignore[no-untyped-call]

    def forward(self, inputs: Any) -> Any:
        return self.forward_gpu(inputs) if any(x.is_cuda for x in inputs) else self.forward_cpu(inputs)

    def forward_cpu(self, inputs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward for the CPU")

    def forward_gpu(self, inputs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no forward for the GPU")

    def backward(self, indexes: Any, grad_outputs: Any) -> Any:
        return (None,) * len(indexes)

    def retain_inputs(self, indexes: Any) -> None:
        self._kept = (tuple(indexes), self._kept[1])

    def retain_outputs(self, indexes: Any) -> None:
        self._kept = (self._kept[0], tuple(indexes))

    def get_retained_inputs(self) -> tuple[Tensor, ...]:
        return tuple(self._saved[0])

    def get_retained_outputs(self) -> tuple[Tensor, ...]:
        return tuple(self._saved[1])

    def _gradients(self, needed: Any, grad_outputs: Any) -> list[Any]:
        indexes = tuple(i for i, need in enumerate(needed) if need)
        found = dict(zip(indexes, self.backward(indexes, grad_outputs)))
        return [found.get(i) for i in range(len(needed))]


class Function(FunctionNode):
    """The older protocol: called like a function, ``backward(inputs, grad_outputs)`` gets tensors without a graph.

    It cannot be differentiated twice. Source: chainer.Function.
    """

    def __call__(self, *inputs: Any) -> Any:
        outputs = self.apply(inputs)
        return outputs[0] if len(outputs) == 1 else outputs

    def backward(self, inputs: Any, grad_outputs: Any) -> Any:
        on_gpu = any(x is not None and x.is_cuda for x in (*inputs, *grad_outputs))
        return (self.backward_gpu if on_gpu else self.backward_cpu)(inputs, grad_outputs)

    def backward_cpu(self, inputs: Any, grad_outputs: Any) -> Any:
        return (None,) * len(inputs)

    backward_gpu = backward_cpu

    def _gradients(self, needed: Any, grad_outputs: Any) -> list[Any]:
        if torch.is_grad_enabled():
            raise RuntimeError(f"{type(self).__name__} cannot be differentiated twice")
        kept = dict(zip(*(self._kept[0], self._saved[0])))
        inputs = tuple(kept.get(i) for i in range(len(needed)))
        # copies: `backward` may write into a gradient that other functions get, too
        gradients = self.backward(inputs, tuple(None if g is None else g.clone() for g in grad_outputs))
        return [g if need else None for g, need in zip(gradients, needed)]


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, node: FunctionNode, *inputs: Any) -> Any:
        ctx.node, ctx.old = node, isinstance(node, Function)
        if ctx.old:  # it may write into its inputs and return them
            node.retain_inputs(range(len(inputs)))
            inputs = tuple(x.data for x in inputs)
        outputs = tuple(torch.as_tensor(y, device=x.device) for x in inputs[:1] for y in node.forward(inputs))
        outputs = tuple(y.data if ctx.old else y.view_as(y) if any(y is x for x in inputs) else y for y in outputs)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(y for y in outputs if not y.is_floating_point()))
        ctx.kept = [
            [inputs[i] for i in node._kept[0]],
            [outputs[i].data if ctx.old else outputs[i] for i in node._kept[1]],
        ]
        if not ctx.old:
            ctx.save_for_backward(*ctx.kept[0], *ctx.kept[1])
            ctx.kept = len(ctx.kept[0])
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        saved = ctx.saved_tensors
        ctx.node._saved = ctx.kept if ctx.old else (saved[: ctx.kept], saved[ctx.kept :])
        gradients = ctx.node._gradients(ctx.needs_input_grad[1:], grad_outputs)
        return None, *(g if g is None else torch.as_tensor(g) for g in gradients)
