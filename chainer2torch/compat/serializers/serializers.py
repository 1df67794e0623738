"""Reads and writes Chainer's .npz files for torch modules, without ever unpickling them."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn as nn
from torch.nn.parameter import is_lazy

from chainer2torch.compat.links.link_serialize import serialize
from chainer2torch.compat.links.link_slots import Slot, chainer_slots
from chainer2torch.compat.serializers.state_io import StateReader, StateWriter
from chainer2torch.compat.serializers.weight_files import is_torch_file, load_torch, read_npz


def load_npz(
    file: Any, obj: Any, path: str = "", strict: bool = True, ignore_names: Any = None, allow_extra: bool = False
) -> None:
    """Loads a file that Chainer (or ``save_npz``) wrote into a module, an optimizer or a trainer.

    ``path`` is the part of the file to load, such as ``'updater/model:main/'`` for the model of a trainer's snapshot;
    a snapshot that PyTorch wrote is recognized and read with the same path. ``strict=False`` skips keys that are
    missing or left over. ``ignore_names`` is a key, a function of the key, or a list of those. A parameter that was
    never initialized in Chainer is left alone; a lazy one gets its shape.

    Everything is checked before anything is written: on an error the module is as it was. Raises KeyError for a key
    that is missing, ValueError for one left over (Chainer ignores those, and so does ``allow_extra=True``), another
    shape, a dtype that does not convert, pickled objects or a file that is cut off; the message names the key and what
    to do.
    Source: chainer.serializers.load_npz.
    """
    path = path.lstrip("/")
    if is_torch_file(file):
        _load_torch_snapshot(load_torch(file), obj, path, strict, allow_extra)
        return
    load_entries(read_npz(file), obj, path, strict, ignore_names, allow_extra)


def save_npz(file: Any, obj: Any, compression: bool = True) -> None:
    """Writes a module, an optimizer or a dictionary of arrays in Chainer's layout, so that Chainer can read it.

    ``file`` is a path or a binary file. Source: chainer.serializers.save_npz.
    """
    entries = obj if isinstance(obj, dict) else chainer_entries(obj)
    if isinstance(file, str):
        with open(file, "wb") as f:
            save_npz(f, entries, compression)
        return
    arrays = {key: np.asarray(value) for key, value in entries.items()}
    (np.savez_compressed if compression else np.savez)(file, **arrays)  # type: ignore[arg-type]


def chainer_entries(obj: Any) -> dict[str, Any]:
    """The state of a module, or of an object with ``_chainer_entries()``, as ``{Chainer's key: array or None}``.

    An object of the program's own says in ``serialize(serializer)`` what it has.

    Raises TypeError for anything else.
    """
    if isinstance(obj, nn.Module):
        return {slot.key: slot.read() for slot in chainer_slots(obj)}
    if hasattr(obj, "_chainer_entries"):
        entries: dict[str, Any] = obj._chainer_entries()
        return entries
    if callable(getattr(obj, "serialize", None)):
        writer = StateWriter()
        obj.serialize(writer)
        return writer.entries
    raise TypeError(f"{type(obj).__name__} has no state in Chainer's layout; save its state_dict() with torch.save")


def load_entries(
    entries: Mapping[str, Any],
    obj: Any,
    path: str = "",
    strict: bool = True,
    ignore_names: Any = None,
    allow_extra: bool = False,
) -> None:
    """``load_npz`` for arrays that are in memory: ``{Chainer's key: array, or None where Chainer had none}``."""
    if isinstance(obj, nn.Module):
        slots = list(chainer_slots(obj))
        plan = _plan(entries, slots, path, strict, ignore_names, allow_extra)
        if any(callable(getattr(part, "serialize", None)) for part in obj.modules()):
            checked = {path + slot.key for slot in slots}
            stored: dict[str, Any] = {slot.key: array for slot, array in plan}
            # and what only loading asks for, and what is None
            stored.update(
                (key[len(path) :], value)
                for key, value in entries.items()
                if key.startswith(path) and (value is None or key not in checked) and not _is_ignored(key, ignore_names)
            )
            serialize(obj, StateReader(stored, strict=False))
            return
        for slot, array in plan:
            slot.write(array)
    elif hasattr(obj, "_load_chainer_entries"):
        part = {key[len(path) :]: np.asarray(value) for key, value in entries.items() if key.startswith(path)}
        obj._load_chainer_entries(part, strict)
    elif callable(getattr(obj, "serialize", None)):
        obj.serialize(StateReader(entries, path, strict))
    else:
        raise TypeError(f"{type(obj).__name__} cannot take a file that Chainer wrote; it takes snapshots by PyTorch")


class _Problem(NamedTuple):
    key: str
    text: str
    error: type[Exception]


def _plan(
    entries: Mapping[str, Any], slots: list[Slot], path: str, strict: bool, ignore_names: Any, allow_extra: bool
) -> list[tuple[Slot, np.ndarray]]:
    """What to write where. Raises for the problems found, all named in one message, before anything is written."""
    plan = []
    problems = []
    wanted = set()
    for slot in slots:
        key = path + slot.key
        wanted.add(key)
        if _is_ignored(key, ignore_names):
            continue
        if key not in entries:
            if strict:
                problems.append(_Problem(key, "is not in the file", KeyError))
            continue
        value = entries[key]
        if isinstance(value, Exception):
            problems.append(_Problem(key, str(value), ValueError))
        elif value is not None:
            misfit = _misfit(slot, value)
            if misfit:
                problems.append(_Problem(key, misfit, ValueError))
            else:
                plan.append((slot, value))
    if strict and not allow_extra:
        problems += [
            _Problem(key, "is in the file, and the model has nothing for it", ValueError)
            for key in entries
            if key.startswith(path) and key not in wanted
        ]
    if problems:
        _raise(problems, entries, path)
    return plan


def _misfit(slot: Slot, array: np.ndarray) -> str:
    shape = slot.shape
    if shape is not None and (
        len(shape) != array.ndim
        or any(want is not None and want != got for want, got in zip(shape, array.shape, strict=True))
    ):
        expected = "(" + ", ".join("any" if n is None else str(n) for n in shape) + ")"
        return f"has shape {array.shape}, the model's has {expected}"
    if slot.dtype is not None and not np.can_cast(array.dtype, slot.dtype, casting="same_kind"):
        return f"has dtype {array.dtype}, the model's has {slot.dtype}"
    return ""


def _raise(problems: list[_Problem], entries: Mapping[str, Any], path: str) -> None:
    lines = [f"{p.key} {p.text}" for p in problems[:5]]
    if len(problems) > 5:
        lines.append(f"and {len(problems) - 5} more")
    if all(p.error is KeyError for p in problems) or not path:
        snapshot = sorted({"/".join(key.split("/")[:2]) for key in entries if key.startswith("updater/model:")})
        if snapshot:
            lines.append(f"the file is a trainer's snapshot: pass path='{snapshot[0]}/'")
        elif path and not any(key.startswith(path) for key in entries):
            lines.append(f"nothing in the file is under path={path!r}; it has {_some(entries)}")
    if any("nothing for it" in p.text for p in problems):
        lines.append("if the model is meant to take a part of the file, pass allow_extra=True")
    raise problems[0].error("cannot load the weights, the model is unchanged: " + "; ".join(lines))


def _some(keys: Iterable[str]) -> str:
    keys = list(keys)
    return ", ".join(keys[:5]) + (", ..." if len(keys) > 5 else "")


def _is_ignored(key: str, ignore_names: Any) -> bool:
    names = ignore_names if isinstance(ignore_names, (list, tuple)) else [] if ignore_names is None else [ignore_names]
    for name in names:
        if not isinstance(name, str) and not callable(name):
            raise ValueError("ignore_names is a string, a callable, or a list of them")
    return any(key == name if isinstance(name, str) else name(key) for name in names)


def _load_torch_snapshot(saved: Any, obj: Any, path: str, strict: bool, allow_extra: bool) -> None:
    """Loads what torch.save wrote: a state_dict, or a snapshot of pytorch-pfn-extras' manager."""
    if isinstance(saved, dict) and "models" in saved and path.startswith("updater/"):
        part, _, path = path[len("updater/") :].partition("/")
        kind, _, name = part.partition(":")
        group = saved.get(kind + "s", {})
        if name not in group:
            raise KeyError(f"updater/{part}: the snapshot has {_some(f'updater/{kind}:{key}' for key in group)}")
        saved = group[name]
    if not isinstance(obj, nn.Module):
        if not hasattr(obj, "load_state_dict"):
            raise TypeError(f"{type(obj).__name__} has no load_state_dict")
        obj.load_state_dict(saved)
        return
    if isinstance(saved, dict) and "models" in saved:
        raise KeyError(f"the file is a trainer's snapshot: pass path='updater/model:{next(iter(saved['models']))}/'")
    prefix = path.strip("/").replace("/", ".") + "." if path.strip("/") else ""
    state = {key[len(prefix) :]: value for key, value in saved.items() if key.startswith(prefix)}
    own = obj.state_dict()
    problems = _state_problems(
        {prefix + key: value for key, value in own.items()},
        {prefix + key: value for key, value in state.items()},
        strict,
        allow_extra,
    )
    if problems:
        raise (KeyError if "not in the file" in problems[0] else ValueError)(
            "cannot load the weights, the model is unchanged: " + "; ".join(problems[:5])
        )
    obj.load_state_dict({key: value for key, value in state.items() if key in own}, strict=strict)


def _state_problems(own: Mapping[str, Any], state: Mapping[str, Any], strict: bool, allow_extra: bool) -> list[str]:
    problems = [f"{key} is not in the file" for key in own if strict and key not in state]
    if strict and not allow_extra:
        problems += [f"{key} is in the file, and the model has nothing for it" for key in state if key not in own]
    for key in state.keys() & own.keys():
        tensors = (own[key], state[key])
        if all(isinstance(t, torch.Tensor) and not is_lazy(t) for t in tensors) and own[key].shape != state[key].shape:
            problems.append(f"{key} has shape {tuple(state[key].shape)}, the model's has {tuple(own[key].shape)}")
    return problems
