"""Where a project that is half way migrated meets its other half: a Chainer link as a torch module, and the reverse.

This is the one room that needs Chainer, when its helpers are called. Values and gradients cross; nothing is copied that
both sides keep: parameters share their memory. On a GPU CuPy's arrays and torch's tensors share it by DLPack, which
was not executed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn as nn
from torch.autograd.function import once_differentiable


def _seam_tensor(array: Any) -> torch.Tensor:
    """A tensor on the memory of an array."""
    return torch.from_numpy(array) if isinstance(array, np.ndarray) else torch.from_dlpack(array)


def _seam_array(tensor: torch.Tensor) -> Any:
    """An array on the memory of a tensor."""
    tensor = tensor.detach()
    if tensor.device.type == "cpu":
        return tensor.numpy()
    import cupy

    return cupy.from_dlpack(tensor)


class LinkAsModule(nn.Module):
    """A Chainer link as a torch module: called with tensors it gives tensors, and gradients flow through it.

    Its parameters are those of the link, under Chainer's names (``l1/W``) and on the link's memory, so that a torch
    optimizer updates the link. ``train()`` and ``eval()`` become ``chainer.config.train`` while it runs. Positional
    arguments that are tensors cross; others are handed on. The link returns one Variable or array, or a tuple or list
    of them; gradients cannot be differentiated again.

    Raises ValueError for a link whose parameters have no shape yet: call it once in Chainer first.
    Takes the place of chainer_pytorch_migration.LinkAsTorchModel.
    """

    def __init__(self, link: Any) -> None:
        super().__init__()
        self.link = link
        self._linked = []
        for path, param in sorted(link.namedparams()):
            if param.array is None:
                raise ValueError(f"the parameter {path} has no shape yet: call the link once in Chainer before this")
            self._linked.append(param)
            self.register_parameter(path.lstrip("/"), nn.Parameter(_seam_tensor(param.array)))

    def forward(self, *args: Any) -> Any:
        """Calls the link."""
        kind: list[Any] = []
        tensors = [arg for arg in args if isinstance(arg, torch.Tensor)]
        outputs = _LinkCall.apply(self, args, kind, torch.is_grad_enabled(), *tensors, *self.parameters())
        if kind[0] is None:
            return outputs[0]
        return kind[0](outputs)


class _LinkCall(torch.autograd.Function):
    """One call of a link. Its graph is Chainer's; torch sees its inputs, parameters and outputs."""

    apply: ClassVar[Callable[..., tuple[torch.Tensor, ...]]]

    @staticmethod
    def forward(ctx: Any, module: Any, args: Sequence[Any], kind: list[Any], grad: bool, *tensors: Any) -> Any:
        """Runs the link on Variables that share the tensors' memory."""
        import chainer

        inputs = [
            chainer.Variable(_seam_array(arg), requires_grad=arg.requires_grad and arg.is_floating_point())
            if isinstance(arg, torch.Tensor)
            else arg
            for arg in args
        ]
        with chainer.using_config("train", module.training), chainer.using_config("enable_backprop", grad):
            result = module.link(*inputs)
        kind.append(type(result) if isinstance(result, (tuple, list)) else None)
        outputs = list(result) if isinstance(result, (tuple, list)) else [result]
        arrays = [chainer.as_variable(value) for value in outputs]
        ctx.variables = [value for value in inputs if isinstance(value, chainer.Variable)], module._linked, arrays
        made = tuple(_seam_tensor(value.array) for value in arrays)
        ctx.mark_non_differentiable(*(value for value in made if not value.is_floating_point()))
        return made

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Any) -> Any:
        """The gradients of inputs and parameters, by Chainer."""
        import chainer

        inputs, params, outputs = ctx.variables
        ends = [
            (output, grad)
            for output, grad in zip(outputs, grads, strict=True)
            if output.creator_node is not None and grad is not None
        ]
        wanted = [variable for variable in (*inputs, *params) if variable.requires_grad]
        found = (
            chainer.grad(
                [output for output, _ in ends],
                wanted,
                [chainer.Variable(_seam_array(grad.contiguous())) for _, grad in ends],
                set_grad=False,
            )
            if ends
            else []
        )
        by_id = {id(variable): gradient for variable, gradient in zip(wanted, found, strict=bool(ends))}
        return (
            None,
            None,
            None,
            None,
            *(
                None if by_id.get(id(variable)) is None else _seam_tensor(by_id[id(variable)].array)
                for variable in (*inputs, *params)
            ),
        )


def link_as_module(link: Any) -> nn.Module:
    """A Chainer link as a torch module, see :class:`LinkAsModule`."""
    return LinkAsModule(link)


def module_as_link(module: nn.Module) -> Any:
    """A torch module as a ``chainer.Chain``: called with Variables or arrays it gives Variables, with gradients.

    Its parameters are those of the module, on the module's memory, with ``_`` for the dots of their names, so that a
    Chainer optimizer updates the module; its buffers are persistent values. ``chainer.config.train`` becomes
    ``module.train()`` while it runs. The module takes tensors and returns one, or a tuple or list of them; gradients
    cannot be differentiated again. Takes the place of chainer_pytorch_migration.TorchModule, which has no forward.

    Raises ValueError for a module with lazy parameters: call it once in torch first.
    """
    import chainer

    if any(isinstance(param, nn.parameter.UninitializedParameter) for param in module.parameters()):
        raise ValueError("the module has parameters without a shape: call it once in torch before this")
    tensors = list(module.parameters())

    class ModuleCall(chainer.FunctionNode):
        """One call of the module. Its graph is torch's; Chainer sees its inputs, parameters and outputs."""

        kind: Any = None

        def forward(self, arrays: Any) -> Any:
            """Runs the module on tensors that share the arrays' memory."""
            count = len(arrays) - len(tensors)
            self.given = [_seam_tensor(array) for array in arrays[:count]]
            for value in self.given:
                value.requires_grad_(value.is_floating_point())
            module.train(bool(chainer.config.train))
            with torch.enable_grad():
                result = module(*self.given)
            self.kind = type(result) if isinstance(result, (tuple, list)) else None
            self.made = list(result) if self.kind is not None else [result]
            return tuple(_seam_array(value) for value in self.made)

        def backward(self, indexes: Any, grads: Any) -> Any:
            """The gradients of inputs and parameters, by torch."""
            ends = [
                (value, grad)
                for value, grad in zip(self.made, grads, strict=True)
                if grad is not None and value.requires_grad
            ]
            every = [*self.given, *tensors]
            wanted = [value for value in every if value.requires_grad]
            found = (
                torch.autograd.grad(
                    [value for value, _ in ends],
                    wanted,
                    [_seam_tensor(grad.array) for _, grad in ends],
                    allow_unused=True,
                    retain_graph=True,
                )
                if ends
                else []
            )
            by_id = {id(value): gradient for value, gradient in zip(wanted, found, strict=bool(ends))}
            return tuple(
                None if by_id.get(id(every[i])) is None else chainer.Variable(_seam_array(by_id[id(every[i])]))
                for i in indexes
            )

    class ModuleAsLink(chainer.Chain):
        """A torch module as a link."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module
            self._params_of_module = []
            with self.init_scope():
                for name, tensor in module.named_parameters():
                    param = chainer.Parameter(_seam_array(tensor))
                    setattr(self, name.replace(".", "_"), param)
                    self._params_of_module.append(param)
            for name, buffer in module.named_buffers():
                self.add_persistent(name.replace(".", "_"), _seam_array(buffer))

        def forward(self, *args: Any) -> Any:
            """Calls the module."""
            call = ModuleCall()
            outputs = call.apply((*args, *self._params_of_module))  # type: ignore[no-untyped-call]  # Chainer has no types
            return outputs[0] if call.kind is None else call.kind(outputs)

    return ModuleAsLink()
