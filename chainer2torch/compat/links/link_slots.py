"""Where each tensor of a module stands in Chainer's files."""

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn as nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd, _ConvTransposeNd
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import is_lazy

from chainer2torch.compat.serializers.state_io import StateWriter


class Slot(NamedTuple):
    """One array of Chainer's file: its key, what may be written there, and how to read and write the module's side.

    ``shape`` has None for a size, or is None for a shape, that is not known yet; ``dtype`` None takes any dtype.
    ``read`` gives None for a parameter that has no shape yet.
    """

    key: str
    shape: tuple[int | None, ...] | None
    dtype: Any
    read: Callable[[], Any]
    write: Callable[[np.ndarray], None]
    told: bool = False  # by the serialize() of a module, which alone can restore it


def chainer_slots(module: nn.Module, path: str = "") -> Iterator[Slot]:
    """All slots of ``module`` and what it contains, with Chainer's keys (``predictor/l1/W``).

    A module knows its own with a method ``_chainer_slots()`` (for it and all it contains), or its names with a class
    attribute ``_chainer_names``; torch's layers are known here. The children of an nn.Sequential are counted without
    those that stand for functions (layers of torch.nn without parameters or buffers), as Chainer's Sequential counts.
    A module with a method ``serialize`` says itself what it stores: those values are read, and not written, by slots.
    """
    if callable(getattr(module, "serialize", None)):
        yield from (slot._replace(key=path + slot.key) for slot in _told_slots(module))
        return
    yield from (slot._replace(key=path + slot.key) for slot in _plain_slots(module))


def _plain_slots(module: nn.Module) -> Iterator[Slot]:
    yield from own_slots(module)
    if getattr(module, "_chainer_slots", None) is None:
        for name, child in link_children(module):
            yield from chainer_slots(child, f"{name}/")


def own_slots(module: nn.Module) -> Iterator[Slot]:
    """The slots of a module without those of its children; all of them where it knows them itself."""
    own = getattr(module, "_chainer_slots", None)
    return iter(own()) if own is not None else _own_slots(module)


class _Told(StateWriter):
    """A serializer that only listens: which keys, with which values."""

    def __getitem__(self, name: str) -> "_Told":
        return _Told(self.entries, self.path + name.strip("/") + "/")

    def __call__(self, key: str, value: Any) -> Any:
        self.entries[self.path + key.lstrip("/")] = value
        return value


def _told_slots(module: nn.Module) -> Iterator[Slot]:
    known = {slot.key: slot for slot in _plain_slots(module)}
    told = _Told()
    module.serialize(told)  # type: ignore[operator]
    for key, value in told.entries.items():
        yield known.get(key) or _value_slot(key, value)


def _value_slot(key: str, value: Any) -> Slot:
    is_array = isinstance(value, (np.ndarray, torch.Tensor))
    array = to_array(value) if isinstance(value, torch.Tensor) else _plain(value)
    shape = None if value is None else tuple(array.shape)

    def write(stored: np.ndarray) -> None:
        raise TypeError(f"{key} is restored by the serialize() of its module")

    return Slot(key, shape, array.dtype if is_array else None, lambda: array, write, told=True)


def link_children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """The children that are links, with their names in Chainer, in Chainer's order."""
    children = [(name, child) for name, child in module._modules.items() if child is not None]
    if isinstance(module, nn.Sequential):
        links = sequential_links([None if _stands_for_function(child) else child for _, child in children])
        return [(str(i), link) for i, link in enumerate(links)]
    in_order = isinstance(module, nn.ModuleList) or all(name.isdigit() for name, _ in children)
    return children if in_order else sorted(children)


def sequential_links(layers: Sequence[Any]) -> list[Any]:
    """The links of a Sequential in the order in which Chainer 7 counts them; None stands for a function in between.

    Not the order in which they run: with a link in front, Chainer counts ``0, 1, 2, 3`` as ``0, 3, 2, 1``. Its files
    have it that way, so the counting is repeated here, one append after the other.
    """
    links: list[Any] = []
    first = 0
    for position, layer in enumerate(layers):
        if layer is not None:
            first = first if links else position
            links.insert(first + 1, layer)
    return links


def parameter_names(module: nn.Module) -> list[tuple[str, str]]:
    """(Chainer's name, attribute) of the module's own parameters, sorted as in Chainer."""
    names = _names(module)
    return sorted((names.get(name, name), name) for name, p in module._parameters.items() if p is not None)


def again_of(module: nn.Module | None) -> list[Any]:
    """Parameters that are reached more than once (tied weights, shared layers), once for each time after the first.

    Chainer's optimizers update such a parameter, and call hooks on it, every time that it is reached.
    """
    seen: set[int] = set()
    again: list[Any] = []

    def walk(current: nn.Module) -> None:
        for param in current._parameters.values():
            if param is not None and param.requires_grad and not is_lazy(param):
                if id(param) in seen:
                    again.append(param)
                seen.add(id(param))
        for child in current._modules.values():
            if child is not None:
                walk(child)

    if module is not None:
        walk(module)
    return again


def _stands_for_function(module: nn.Module) -> bool:
    from_torch = type(module).__module__.startswith("torch.nn.modules") and not isinstance(
        module, (nn.Sequential, nn.ModuleList, nn.ModuleDict)
    )
    return (from_torch or getattr(module, "_chainer_function", False)) and not any(
        True for _ in (*module.parameters(), *module.buffers())
    )


def _own_slots(module: nn.Module) -> Iterator[Slot]:
    if isinstance(module, nn.RNNBase):  # where: NStep*
        yield from recurrent_slots(module)
        return
    names = _names(module)
    tensors = {name: p for name, p in module._parameters.items() if p is not None}
    tensors.update(
        (name, b)  # type: ignore[misc]
        for name, b in module._buffers.items()
        if b is not None and name not in module._non_persistent_buffers_set
    )
    for name, tensor in tensors.items():
        key = names.get(name, name)
        if key:
            yield _tensor_slot(module, name, key, tensor)
    if isinstance(module, _NormBase) and module.track_running_stats:
        # nn.BatchNorm has no use for Chainer's fine-tuning counter, and only hands it on
        yield attribute_slot(module, "_chainer_N", "N", 0)
    for name in vars(module).get("_chainer_persistent", ()):
        yield attribute_slot(module, name, name, None)


def recurrent_slots(layer: nn.RNNBase) -> Iterator[Slot]:
    """The slots of a recurrent layer of torch, as Chainer's NStep links have them."""
    return itertools.starmap(_rows_slot, recurrent_blocks(layer))


def recurrent_blocks(layer: nn.RNNBase) -> Iterator[tuple[str, torch.Tensor, slice]]:
    """Where Chainer's file has each matrix and bias of a recurrent layer: the key, torch's parameter, its rows there.

    Chainer's NStep links are lists of layers (forward and backward direction one after the other), each with ``w0``..
    and ``b0``..: first what acts on the input, then what acts on the state, one for each gate, in the order in which
    torch stacks them.
    """
    gates, directions = {"LSTM": 4, "GRU": 3}.get(layer.mode, 1), 1 + layer.bidirectional
    for name, param in layer.named_parameters():
        kind, source, where = name.split("_", 2)
        number, _, backward = where[1:].partition("_")
        key = f"{int(number) * directions + bool(backward)}/{kind[0]}"
        for gate, start in enumerate(range(0, len(param), layer.hidden_size)):
            first = gates if source == "hh" else 0
            yield f"{key}{first + gate}", param, slice(start, start + layer.hidden_size)


def _rows_slot(key: str, param: torch.Tensor, rows: slice) -> Slot:
    def write(array: np.ndarray) -> None:
        with torch.no_grad():
            param[rows] = torch.from_numpy(np.array(array)).to(param)

    shape = tuple(param[rows].shape)
    return Slot(key, shape, to_array(param[:0]).dtype, lambda: to_array(param[rows]), write)


def _names(module: nn.Module) -> dict[str, str]:
    names: dict[str, str] | None = getattr(module, "_chainer_names", None)
    if names is not None:
        return names
    scaled = {"weight": "gamma", "bias": "beta"}
    if isinstance(module, _NormBase):
        return {**scaled, "running_mean": "avg_mean", "running_var": "avg_var", "num_batches_tracked": ""}
    if isinstance(module, (nn.LayerNorm, nn.GroupNorm)):
        return scaled
    is_plain = isinstance(module, (nn.Linear, _ConvNd, nn.Embedding, nn.PReLU))
    return {"weight": "W", "bias": "b"} if is_plain else {}


def _tensor_slot(module: nn.Module, name: str, key: str, tensor: torch.Tensor) -> Slot:
    shape: tuple[int | None, ...] | None
    if is_lazy(tensor):
        shape = _partial_shape(module, name)
    elif isinstance(module, nn.PReLU) and tensor.numel() == 1:
        shape = ()  # one slope: (1,) in torch, no axes in Chainer
    else:
        shape = tuple(tensor.shape)

    def read() -> Any:
        tensor = getattr(module, name)
        return None if is_lazy(tensor) else to_array(tensor).reshape(tensor.shape if shape != () else ())

    def write(array: np.ndarray) -> None:
        tensor = getattr(module, name)
        with torch.no_grad():
            if is_lazy(tensor) and isinstance(module, LazyModuleMixin):
                if name != "weight":
                    return  # the file has no weight that would say how large the layer is: it stays lazy as a whole
                _make_lazy_layer(module, array.shape)
            elif is_lazy(tensor):
                tensor.materialize(array.shape)
            tensor.copy_(torch.from_numpy(np.array(array)).reshape(tensor.shape))

    return Slot(key, shape, to_array(torch.empty(0, dtype=tensor.dtype)).dtype, read, write)


def attribute_slot(module: nn.Module, name: str, key: str, default: Any) -> Slot:
    """The slot of a plain attribute (a number, a string, an array), whose type decides what it takes."""

    def write(array: np.ndarray) -> None:
        value = vars(module).get(name, default)
        if value is None or isinstance(value, np.ndarray):
            module.__dict__[name] = array if array.ndim else array[()].item()
        elif isinstance(value, torch.Tensor):  # a number or None that the program has made one of
            module.__dict__[name] = torch.from_numpy(np.array(array)).to(value)
        else:
            module.__dict__[name] = type(value)(array.item())

    value = vars(module).get(name, default)
    shape = tuple(value.shape) if isinstance(value, (np.ndarray, torch.Tensor)) else None if value is None else ()
    return Slot(key, shape, None, lambda: _plain(vars(module).get(name, default)), write)


def _plain(value: Any) -> Any:
    value = to_array(value) if isinstance(value, torch.Tensor) else value
    return None if value is None else np.asarray(value)


def to_array(tensor: torch.Tensor) -> np.ndarray:
    """The values on the host; bfloat16, which numpy lacks, as float32."""
    tensor = tensor.detach().cpu()
    return (tensor.float() if tensor.dtype == torch.bfloat16 else tensor).numpy()


def _partial_shape(module: nn.Module, name: str) -> tuple[int | None, ...] | None:
    """What is known of the shape of a parameter that waits for the first input."""
    if isinstance(module, _ConvNd):
        if name == "bias":
            return (module.out_channels,)
        if isinstance(module, _ConvTransposeNd):
            return (None, module.out_channels // module.groups, *module.kernel_size)
        return (module.out_channels, None, *module.kernel_size)
    if isinstance(module, nn.Linear):
        return (module.out_features,) if name == "bias" else (module.out_features, None)
    hints = getattr(module, "_chainer_partial_shapes", None)
    return None if hints is None else hints().get(name)


def _make_lazy_layer(module: Any, shape: tuple[int, ...]) -> None:
    """Gives one of torch's lazy layers the shapes that follow from its weight's, and its initial values.

    All at once: such a layer expects that either all or none of its parameters have a shape.
    """
    module.weight.materialize(shape)
    if isinstance(module, _ConvTransposeNd):
        module.in_channels = shape[0]
    elif isinstance(module, _ConvNd):
        module.in_channels = shape[1] * module.groups
    else:
        module.in_features = shape[1]
    if module.bias is not None:
        module.bias.materialize((module.out_channels if isinstance(module, _ConvNd) else module.out_features,))
    module.reset_parameters()
