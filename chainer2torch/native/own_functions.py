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

    forward_cpu: Any
    forward_gpu: Any
    inputs: Any = ()  # where: .inputs
    _kept: Any = ((), ())
    _saved: Any = ((), ())

    def apply(self, inputs: Any) -> tuple[Tensor, ...]:
        return tuple(_Step.apply(self, *map(torch.as_tensor, inputs)))  # type: ignore[no-untyped-call]

    def forward(self, inputs: Any) -> Any:  # where: forward_cpu, forward_gpu
        if any(x.is_cuda for x in inputs) and hasattr(self, "forward_gpu"):  # where: forward_gpu
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

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


class Function:
    """A function: ``forward(inputs)`` and ``backward(inputs, grad_outputs)`` get tensors without a graph.

    It cannot be differentiated twice: that raises where it is tried. Source: chainer.Function.
    """

    forward_cpu: Any
    forward_gpu: Any
    backward_cpu: Any
    backward_gpu: Any
    _kept: Any = ((), ())  # where: .retain_inputs, .retain_outputs, .output_data
    inputs: Any = ()  # where: .inputs
    output_data: Any = ()  # where: .output_data

    def __call__(self, *inputs: Any) -> Any:
        outputs = _OldStep.apply(self, *map(torch.as_tensor, inputs))  # type: ignore[no-untyped-call]
        return outputs[0] if len(outputs) == 1 else outputs

    def apply(self, inputs: Any) -> tuple[Tensor, ...]:  # where: own.apply
        return tuple(_OldStep.apply(self, *map(torch.as_tensor, inputs)))  # type: ignore[no-untyped-call]

    def forward(self, inputs: Any) -> Any:  # where: forward_cpu, forward_gpu
        if any(x.is_cuda for x in inputs) and hasattr(self, "forward_gpu"):  # where: forward_gpu
            return self.forward_gpu(inputs)
        return self.forward_cpu(inputs)

    def backward(self, inputs: Any, grad_outputs: Any) -> Any:
        if hasattr(self, "backward_cpu") or hasattr(self, "backward_gpu"):  # where: backward_cpu, backward_gpu
            on_gpu = any(x is not None and x.is_cuda for x in (*inputs, *grad_outputs))  # where: backward_gpu
            if on_gpu and hasattr(self, "backward_gpu"):  # where: backward_gpu
                return self.backward_gpu(inputs, grad_outputs)
            return self.backward_cpu(inputs, grad_outputs)
        return (None,) * len(inputs)

    def retain_inputs(self, indexes: Any) -> None:
        self._kept = (tuple(indexes), self._kept[1])

    def retain_outputs(self, indexes: Any) -> None:
        self._kept = (self._kept[0], tuple(indexes))


class _Step(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, node: FunctionNode, *inputs: Any) -> Any:
        node.inputs = tuple(torch.empty_like(x, device="meta") for x in inputs)  # where: .inputs
        outputs = tuple(torch.as_tensor(y, device=x.device) for x in inputs[:1] for y in node.forward(inputs))
        outputs = tuple(y.view_as(y) if any(y is x for x in inputs) else y for y in outputs)
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(y for y in outputs if not y.is_floating_point()))
        ctx.save_for_backward(*(inputs[i] for i in node._kept[0]), *(outputs[i] for i in node._kept[1]))
        ctx.node, ctx.kept = node, len(node._kept[0])
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        ctx.node._saved = ctx.saved_tensors[: ctx.kept], ctx.saved_tensors[ctx.kept :]
        indexes = tuple(i for i, need in enumerate(ctx.needs_input_grad[1:]) if need)
        found = dict(zip(indexes, ctx.node.backward(indexes, grad_outputs)))
        gradients = (found.get(i) for i in range(len(ctx.needs_input_grad) - 1))
        return None, *(g if g is None else torch.as_tensor(g) for g in gradients)


class _OldStep(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, node: Any, *inputs: Any) -> Any:
        inputs = tuple(x.data for x in inputs)  # it may write into them and return them
        node.inputs = tuple(torch.empty_like(x, device="meta") for x in inputs)  # where: .inputs
        node.retain_inputs(range(len(inputs)))  # where: .retain_inputs
        outputs = tuple(torch.as_tensor(y, device=x.device).data for x in inputs[:1] for y in node.forward(inputs))
        ctx.set_materialize_grads(False)
        ctx.mark_non_differentiable(*(y for y in outputs if not y.is_floating_point()))
        ctx.node, ctx.inputs = node, inputs
        ctx.inputs = [x if i in node._kept[0] else None for i, x in enumerate(inputs)]  # where: .retain_inputs
        ctx.outputs = [y.data if i in node._kept[1] else None for i, y in enumerate(outputs)]  # where: .output_data
        return outputs

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        # copies: `backward` may write into a gradient that other functions get, too
        grad_outputs = tuple(None if g is None else g.detach().clone() for g in grad_outputs)
        ctx.node.output_data = tuple(ctx.outputs)  # where: .output_data
        with torch.no_grad():
            found = ctx.node.backward(tuple(ctx.inputs), grad_outputs)
        needed = zip(found, ctx.needs_input_grad[1:])
        gradients = [torch.as_tensor(g) if need and g is not None else None for g, need in needed]
        if torch.is_grad_enabled():
            twice = f"{type(ctx.node).__name__} cannot be differentiated twice"
            error: Any = torch._C._functions.DelayedError(twice.encode(), len(gradients) + 1)
            return error(None, *(g if g is None else g.detach().requires_grad_() for g in gradients))
        return None, *gradients
