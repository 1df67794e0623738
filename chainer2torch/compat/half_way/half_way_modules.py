"""A torch model that Chainer trains: what ``chainer2torch migrate --only models`` puts between them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
import torch.nn as nn
from pytorch_pfn_extras import reporting

from chainer2torch.compat.half_way.half_way_links import asarray, astensor
from chainer2torch.compat.links.link_slots import link_children, parameter_names
from chainer2torch.compat.variable.modes import using_train
from chainer2torch.compat.half_way.seams import _seam_array, _seam_tensor
from chainer2torch.compat.serializers.serializers import chainer_entries, load_entries


class _TensorData(list[Any]):
    """What a Chainer Variable keeps its array in; here it is always the array of the module's parameter."""

    def __init__(self, tensor: torch.Tensor) -> None:
        super().__init__([None])
        self._tensor = tensor

    def __getitem__(self, index: Any) -> Any:
        lazy = isinstance(self._tensor, nn.parameter.UninitializedParameter)
        return None if lazy else _seam_array(self._tensor)

    def __setitem__(self, index: Any, array: Any) -> None:
        with torch.no_grad():
            self._tensor.copy_(_seam_tensor(array))  # its own memory, mostly: then nothing changes


def _parameter_for_chainer(tensor: Any, name: str, call: Any) -> Any:
    """A torch parameter as a Chainer parameter: the same memory, and its gradient is the one that torch computed."""
    import chainer

    class TorchParameter(chainer.Parameter):
        """A parameter of a torch module."""

        @property
        def _data(self) -> Any:
            return _TensorData(tensor)

        @_data.setter
        def _data(self, value: Any) -> None:
            if value[0] is not None:
                _TensorData(tensor)[0] = value[0]

        @property
        def _grad(self) -> Any:
            return None if tensor.grad is None else _seam_array(tensor.grad)

        @_grad.setter
        def _grad(self, value: Any) -> None:
            tensor.grad = None if value is None else _seam_tensor(value)

        @property
        def _grad_var(self) -> Any:
            return None if tensor.grad is None else chainer.Variable(_seam_array(tensor.grad))

        @_grad_var.setter
        def _grad_var(self, value: Any) -> None:
            pass  # it always comes with `_grad`

        @property
        def _loss_scale(self) -> Any:
            return call.anchor._loss_scale

        @_loss_scale.setter
        def _loss_scale(self, value: Any) -> None:
            pass  # that of the last loss, which the anchor knows

    param = TorchParameter(name=name)
    param.requires_grad  # noqa: B018 - the base class has it
    param._requires_grad = tensor.requires_grad
    param._grad_valid = True
    return param


def _chainer_paths(module: nn.Module, path: str = "") -> Iterator[tuple[str, Any]]:
    """The parameters of a module and of what it contains, with Chainer's paths."""
    for name, own in parameter_names(module):
        yield path + name, getattr(module, own)
    named = link_children(module)
    for name, child in named:
        yield from _chainer_paths(child, f"{path}{name}/")


def as_chainer_link(model: Any) -> Any:
    """A torch module as a ``chainer.Chain`` for Chainer's optimizers and training; anything else is itself.

    Called with Variables or arrays it calls the module with tensors and gives Variables; ``chainer.config.train`` and
    ``no_backprop_mode`` count in the module, and what the module reports arrives at Chainer's reporter. Its parameters
    are those of the module, on the same memory, with Chainer's names, and their gradients are the module's: so a loss
    of torch may be differentiated by torch, too, before the optimizer of Chainer updates. It is saved and loaded in
    Chainer's layout. The module may be lazy. A dict of models gives a dict. Source:
    chainer_pytorch_migration.TorchModule.
    """
    if isinstance(model, Mapping):
        return {name: as_chainer_link(one) for name, one in model.items()}
    if not isinstance(model, nn.Module):
        return model
    known = model.__dict__.get("_as_chainer_link")
    if known is None or known.module is not model:
        known = _new_link(model)
        model.__dict__["_as_chainer_link"] = known
    return known


def _new_link(module: nn.Module) -> Any:
    import chainer

    class Call(chainer.FunctionNode):
        """One call of the module: its graph is torch's, which adds up the gradients of the parameters itself."""

        def __init__(self, args: Any, kwargs: Any, backprop: bool) -> None:
            self.args, self.kwargs, self.backprop = args, kwargs, backprop
            self.kind: Any = None

        def forward(self, arrays: Any) -> Any:
            """Runs the module on tensors; the first array only keeps the graph together."""
            self.given = [_seam_tensor(array) for array in arrays[1:]]
            if self.backprop:
                for tensor in self.given:
                    tensor.requires_grad_(tensor.is_floating_point())
            rest = iter(self.given)
            args = [next(rest) if isinstance(arg, chainer.Variable) else arg for arg in self.args]
            with (
                torch.set_grad_enabled(self.backprop),
                using_train(bool(chainer.config.train), module),
                _reports_of_modules(link),
            ):
                result = module(*args, **self.kwargs)
            self.kind = type(result) if isinstance(result, (tuple, list)) else None
            self.made = list(result) if self.kind is not None else [result]
            return tuple(_seam_array(value) for value in self.made)

        def backward(self, indexes: Any, grads: Any) -> Any:
            """The gradients of the inputs; those of the parameters are there afterwards."""
            ends = [
                (value, _seam_tensor(grad.array))
                for value, grad in zip(self.made, grads, strict=True)
                if grad is not None and value.requires_grad
            ]
            torch.autograd.backward([value for value, _ in ends], [grad for _, grad in ends], retain_graph=True)
            found = [
                np.zeros_like(link.anchor.array),
                *(None if tensor.grad is None else _seam_array(tensor.grad.clone()) for tensor in self.given),
            ]
            for tensor in self.given:
                tensor.grad = None
            return tuple(None if found[i] is None else chainer.Variable(found[i]) for i in indexes)

    class TorchModule(chainer.Chain):
        """A torch module as a link."""

        def __init__(self) -> None:
            super().__init__()
            self.module = module
            self.anchor = chainer.Variable(np.zeros((), np.float32))
            with self.init_scope():
                for path, tensor in _chainer_paths(module):
                    setattr(self, path, _parameter_for_chainer(tensor, path.rsplit("/", 1)[-1], self))

        def forward(self, *args: Any, **kwargs: Any) -> Any:
            """Calls the module."""
            args = tuple(chainer.as_variable(a) if isinstance(a, chainer.get_array_types()) else a for a in args)
            call = Call(args, astensor(kwargs), bool(chainer.config.enable_backprop) and torch.is_grad_enabled())
            given = (self.anchor, *(arg for arg in args if isinstance(arg, chainer.Variable)))
            outputs = call.apply(given)  # type: ignore[no-untyped-call]  # Chainer has no types
            return outputs[0] if call.kind is None else call.kind(outputs)

        def serialize(self, serializer: Any) -> None:
            """Stores or restores the module, in Chainer's layout."""
            if isinstance(serializer, chainer.Deserializer):
                load_entries({key: serializer(key, None) for key in chainer_entries(module)}, module)
            else:
                for key, value in chainer_entries(module).items():
                    serializer(key, value)

        def device_resident_accept(self, visitor: Any) -> None:
            """Moves the module where Chainer's visitor goes."""
            device = getattr(visitor, "_device", None)
            if device is None:
                raise TypeError("a torch module cannot be moved this way; move it with module.to(device)")
            module.to("cpu" if device.xp is np else f"cuda:{device.device.id}")

    link = TorchModule()
    return link


@contextlib.contextmanager
def _reports_of_modules(link: Any) -> Iterator[None]:
    """While it runs, what the module of a link reports goes to Chainer's reporter, under the name of the link."""
    import chainer

    class Forwarding(reporting.Reporter):
        """Hands reports on."""

        def report(self, values: Any, observer: Any = None) -> None:
            """Hands on the values, as arrays where they are tensors."""
            paths = {id(part): path.replace(".", "/") for path, part in link.module.named_modules()}
            prefix = paths[id(observer)] + "/" if observer is not None and paths[id(observer)] else ""
            chainer.report(
                {
                    prefix + key: asarray(value.detach()) if isinstance(value, torch.Tensor) else value
                    for key, value in values.items()
                },
                None if observer is None else link,
            )

    with Forwarding():
        yield
