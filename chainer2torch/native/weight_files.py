"""Files of weights: what ``torch.save(model.state_dict(), path)`` wrote."""

from __future__ import annotations

from pathlib import PurePath
from typing import Any

import torch

from chainer2torch.native.states import Serializer


def save_state(file: Any, obj: Any) -> None:
    """Writes the state_dict of a model or an optimizer. Source: chainer.serializers.save_npz as a value."""
    torch.save(obj.state_dict(), file)


def load_state(file: Any, obj: Any) -> None:
    """Gives a model or an optimizer the state_dict in a file. Source: chainer.serializers.load_npz as a value."""
    obj.load_state_dict(torch.load(file, map_location="cpu"))


def npz_path(file: Any) -> Any:
    """The file that NumPy writes for a path: one whose name ends in ``.npz``; a text or an open file as it is.

    Source: chainer.serializers.save_npz.
    """
    if not isinstance(file, PurePath) or file.name.endswith(".npz"):
        return file
    return file.with_name(f"{file.name}.npz")


def save_object(file: Any, obj: Any) -> None:
    """Writes a state_dict, or what ``obj.serialize`` says. Source: chainer.serializers.save_npz."""
    state = obj.state_dict() if hasattr(obj, "state_dict") else {}
    if not hasattr(obj, "state_dict"):
        obj.serialize(Serializer(state, loads=False))
    torch.save(state, file)


def load_object(file: Any, obj: Any) -> None:
    """Reads what ``save_object`` has written. Source: chainer.serializers.load_npz."""
    state = torch.load(file, map_location="cpu")
    if hasattr(obj, "load_state_dict"):
        obj.load_state_dict(state)
    else:
        obj.serialize(Serializer(state, loads=True))


def state_part(file: Any, path: str) -> dict[str, Any]:
    """What a file of ``torch.save`` has below a path of Chainer's, for ``load_state_dict``: 'predictor/fc/'.

    'updater/model:main/predictor/' is that part of the model in a trainer's snapshot. Raises KeyError where there is
    nothing. Source: chainer.serializers.load_npz with ``path``.
    """
    state, path = torch.load(file, map_location="cpu"), path.strip("/")
    if path.startswith("updater/model:"):
        name, _, path = path.removeprefix("updater/model:").partition("/")
        state = state["models"][name]
    start = path.replace("/", ".") + "." * bool(path)
    part = {key.removeprefix(start): value for key, value in state.items() if key.startswith(start)}
    if not part:
        raise KeyError(path)
    return part


def load_except(file: Any, obj: Any, names: Any) -> None:
    """Gives a module what a file of ``torch.save`` has, except for some of Chainer's names: 'output/W'.

    What else the module has must be there; what is left over is passed over. An optimizer gets all of it.
    Source: chainer.serializers.load_npz with ``ignore_names``.
    """
    if not isinstance(obj, torch.nn.Module):
        obj.load_state_dict(torch.load(file, map_location="cpu"))
        return
    own = {"W": "weight", "gamma": "weight", "b": "bias", "beta": "bias"}
    own |= {"avg_mean": "running_mean", "avg_var": "running_var", "N": "num_batches_tracked"}
    modules, kept = dict(obj.named_modules()), set()
    held = {name for name, _ in (*obj.named_parameters(), *obj.named_buffers())}
    for name in [names] if isinstance(names, str) else names or ():
        path, _, last = name.replace("/", ".").rpartition(".")
        found = {f"{path}.{key}".lstrip(".") for key in (last, own.get(last, last))} & held
        if not found and any(path == module or path.endswith(f".{module}") for module in modules):
            raise KeyError(f"{name}: the module has another name for it")
        kept |= found
    state = torch.load(file, map_location="cpu")
    for name in kept:
        state.pop(name, None)
    if missing := set(obj.load_state_dict(state, strict=False).missing_keys) - kept:
        raise KeyError(f"not in the file: {sorted(missing)}")
