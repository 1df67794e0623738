"""What the modules that stand for Chainer's links have in common."""

from typing import Any, ClassVar

import torch
import torch.nn as nn
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter, is_lazy

from chainer2torch.compat.initializers.initializers import _torch_dtype, as_initializer


class ChainerLayer(nn.Module):
    """Base of layers whose parameters Chainer's initializers fill, at once or when their shapes become known.

    ``_chainer_names`` maps attribute names to the keys in Chainer's files; attributes that it lacks keep their names,
    those that map to '' are not in Chainer's files.
    """

    _chainer_names: ClassVar[dict[str, str]] = {"weight": "W", "bias": "b"}
    _is_chain: ClassVar[bool] = False  # whether it is a Chain in Chainer, for `AnyChain`

    def __init__(self) -> None:
        super().__init__()
        self._initializers: dict[str, Any] = {}

    def _new_parameter(
        self, name: str, initializer: Any, shape: Any = None, default: Any = None, dtype: Any = None
    ) -> None:
        """Registers a parameter that ``initializer`` fills now, or once ``_materialize`` gives its shape.

        Its dtype is ``dtype``, also for the initializer, else the initializer's, else torch's default.
        """
        fill = self._initializers[name] = as_initializer(initializer, default)
        if getattr(fill, "dtype", None) is not None:
            fill.dtype = dtype = _torch_dtype(dtype or fill.dtype)
        created: Any = UninitializedParameter(dtype=dtype)  # type: ignore[call-arg]
        created.initializer = fill  # for initialize_parameter
        setattr(self, name, created)
        if shape is not None:
            self._materialize(name, shape)

    def _new_buffer(self, name: str, initializer: Any, shape: Any = None, dtype: Any = None) -> None:
        """Registers a buffer in the same way."""
        self._initializers[name] = as_initializer(initializer)
        self.register_buffer(name, UninitializedBuffer(dtype=dtype))  # type: ignore[call-arg]
        if shape is not None:
            self._materialize(name, shape)

    def _materialize(self, name: str, shape: Any) -> None:
        """Gives a parameter or buffer its shape and values, unless it has them (weights loaded before stay)."""
        tensor = getattr(self, name)
        if is_lazy(tensor):
            with torch.no_grad():
                sizes = shape if isinstance(shape, (tuple, list)) else (shape,)
                tensor.materialize(tuple(int(n) for n in sizes))  # sizes may be NumPy's integers
                self._initializers[name](tensor)

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        # nn.Module detaches every tensor, which one without a shape cannot do
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            if tensor is not None:
                destination[prefix + name] = tensor if is_lazy(tensor) or keep_vars else tensor.detach()

    def _load_from_state_dict(self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any) -> None:
        for name, tensor in (*self._parameters.items(), *self._buffers.items()):
            given = state_dict.get(prefix + name)
            if tensor is not None and is_lazy(tensor) and given is not None and not is_lazy(given):
                with torch.no_grad():
                    tensor.materialize(given.shape)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def check_bias_size(W: Any, b: Any) -> None:
    """ValueError for a bias that does not have one number for each output of the weight."""
    if b is not None and tuple(b.shape) != (W.shape[0],):
        raise ValueError(f"a bias of shape {tuple(b.shape)} does not fit a weight of shape {tuple(W.shape)}")


def set_unregistered(module: nn.Module, name: str, value: Any) -> None:
    """``module.name = value`` that does not register ``value`` as a child or parameter.

    In Chainer only an assignment inside ``init_scope`` registers: what is set outside is neither trained nor saved. A
    name that is registered stays so, whatever is assigned to it later. It may come before ``super().__init__()``.
    Another object than a module gets an attribute.
    """
    inside = vars(module) if isinstance(module, nn.Module) else None
    # before super().__init__() there is nothing yet that a name could be registered in
    if inside is None or name in inside.get("_modules", ()) or name in inside.get("_parameters", ()):
        setattr(module, name, value)
    else:
        object.__setattr__(module, name, value)
