"""Chainer's trained weights for PyTorch models, and back.

The reading and writing is the code that migrated projects get too: chainer2torch/compat/serializers/serializers.py.
"""

from __future__ import annotations

import importlib
import os
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from chainer2torch.compat.links import link_slots
from chainer2torch.compat.serializers import serializers

SUFFIXES = (".pt", ".pth", ".safetensors", ".npz")
# bytes that a file of weights may hold when it is unpacked: a small file can say that it is a very large one
LIMIT = 16 * 2**30


class WeightsError(Exception):
    """The weights cannot be converted; the message says what to change."""


def load_npz(path: Any, model: Any, strict: bool = True, *, prefix: str = "") -> None:
    """Loads a file of Chainer's ``save_npz`` into a torch module.

    ``prefix`` is the part of the file to load, such as ``updater/model:main/`` in a trainer's snapshot. With
    ``strict=False`` keys that are missing or left over are skipped. Nothing is unpickled. On an error the model is as
    it was: KeyError for a missing key, ValueError for one left over or of another shape or dtype; both name the key.
    """
    serializers.load_npz(path, model, path=prefix, strict=strict)


def save_npz(path: Any, model: Any, *, compression: bool = True) -> None:
    """Writes a torch module in Chainer's layout, so that the original Chainer model can load it."""
    serializers.save_npz(path, model, compression)


def find_model(spec: str, args: Any = None) -> Any:
    """The model of ``MODULE:CLASS``, made with ``args``: a list of arguments, a dictionary of keywords, or None.

    MODULE is a dotted name, looked up from the current folder too, or a path that ends in ``.py``. This imports the
    migrated project. Raises WeightsError when it cannot be found or made.
    """
    module_name, _, class_name = spec.rpartition(":")
    if not module_name or not class_name:
        raise WeightsError(f"{spec}: expected MODULE:CLASS, such as net:MLP or models/net.py:MLP")
    folder = os.getcwd()
    if module_name.endswith(".py"):
        folder, module_name = str(Path(module_name).resolve().parent), Path(module_name).stem
    sys.path.insert(0, folder)
    try:
        found = importlib.import_module(module_name)
        for part in class_name.split("."):
            found = getattr(found, part)
        positional, keywords = ((), args) if isinstance(args, Mapping) else (args or (), {})
        return found(*positional, **keywords)  # type: ignore[operator]
    except Exception as error:  # noqa: B902 - importing and making the model runs the user's code
        raise WeightsError(f"{spec}: {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)


def convert(
    source: Any,
    model: str | Any,
    args: Any = None,
    out: str | os.PathLike[str] | None = None,
    *,
    strict: bool = True,
    prefix: str = "",
    allow_extra: bool = False,
    limit: int = LIMIT,
) -> list[str]:
    """Loads ``source`` into the model (``MODULE:CLASS`` or a module) and writes it to ``out``; the keys written.

    ``source`` is a file of Chainer's save_npz (``prefix`` is the part of a trainer's snapshot to load) or, with an
    ending of .h5 or .hdf5, of its save_hdf5. What the model has no place for is an error unless ``allow_extra``.
    ``out`` ends in .pt or .pth (a state_dict for ``load_state_dict``),
    .safetensors, or .npz (Chainer's layout, for the way back: then ``source`` may also be a .pt). A file that holds
    more than ``limit`` bytes is refused before anything of it, or the model, is loaded. Raises WeightsError with the
    file, the key and the remedy.
    """
    out = Path(Path(source).with_suffix(".pt") if out is None else out)
    if out.suffix not in SUFFIXES:
        raise WeightsError(f"{out}: expected a name that ends in {', '.join(SUFFIXES)}")
    is_hdf5 = Path(source).suffix in (".h5", ".hdf5")
    _check_size(source, _hdf5_size(source) if is_hdf5 else _archive_size(source), limit)
    module = find_model(model, args) if isinstance(model, str) else model
    try:
        if is_hdf5:
            from chainer2torch.compat.serializers.hdf5_files import load_hdf5

            load_hdf5(str(source), module, path=prefix, strict=strict, allow_extra=allow_extra)
        else:
            serializers.load_npz(str(source), module, path=prefix, strict=strict, allow_extra=allow_extra)
    except ImportError as error:
        raise WeightsError(_NO_HDF5) from error
    except (KeyError, ValueError, TypeError, OSError) as error:
        text = error.args[0] if isinstance(error, KeyError) and error.args else error
        raise WeightsError(f"{source}: {text}") from error
    return write(module, out)


_NO_HDF5 = "reading HDF5 needs the package h5py: pip install h5py"


def _check_size(source: Any, size: int, limit: int) -> None:
    if size > limit:
        raise WeightsError(
            f"{source}: holds {size / 2**30:,.2f} GiB when it is unpacked, more than the limit of "
            f"{limit / 2**30:,.2f} GiB (--limit); such a file can be meant to fill the memory"
        )


def _archive_size(source: Any) -> int:
    """The bytes that a zip file (.npz, .pt) says it holds; its members are cut off there when they are read."""
    try:
        with zipfile.ZipFile(source) as archive:
            members = archive.infolist()
    except (zipfile.BadZipFile, OSError):
        return 0  # what it is instead is said where it is read
    return sum(member.file_size for member in members)


def _hdf5_size(source: Any) -> int:
    try:
        import h5py
    except ImportError as error:
        raise WeightsError(_NO_HDF5) from error
    sizes: list[int] = []
    try:
        with h5py.File(source, "r") as file:
            file.visititems(lambda name, item: sizes.append(int(getattr(item, "nbytes", 0))))
    except OSError:
        return 0
    return sum(sizes)


def write(module: Any, out: str | os.PathLike[str]) -> list[str]:
    """Writes the weights of a module in the format of the file's ending; the keys written.

    The file appears as a whole or not at all. Raises WeightsError for a lazy module in a format that cannot have one.
    """
    import torch
    from torch.nn.parameter import is_lazy

    out = Path(out)
    part = out.with_name(out.name + ".part")
    state = module.state_dict()
    told = [slot.key for slot in link_slots.chainer_slots(module) if slot.told]
    if told and out.suffix != ".npz":
        raise WeightsError(
            f"{told[0]} is saved by a serialize() of the model, and {out.suffix} files have no place "
            "for it: write an .npz, or register the value with compat.register_persistent"
        )
    try:
        if out.suffix == ".npz":
            serializers.save_npz(str(part), module)
            keys = sorted(serializers.chainer_entries(module))
        elif out.suffix == ".safetensors":
            _write_safetensors(state, part)
            keys = list(state)
        else:
            lazy = [key for key, value in state.items() if isinstance(value, torch.Tensor) and is_lazy(value)]
            if lazy:
                raise WeightsError(f"{lazy[0]} has no shape: the Chainer model was saved before it was first used")
            torch.save(state, part)
            keys = list(state)
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)
    return keys


def _write_safetensors(state: Mapping[str, Any], path: Path) -> None:
    try:
        from safetensors.torch import save_file
    except ImportError as error:
        raise WeightsError("writing .safetensors needs the package safetensors: pip install safetensors") from error
    import torch
    from torch.nn.parameter import is_lazy

    tensors = {}
    for key, value in state.items():
        if not isinstance(value, torch.Tensor) or is_lazy(value):
            raise WeightsError(f"{key} cannot be written to .safetensors: {type(value).__name__}")
        tensors[key] = value.detach().cpu().contiguous().clone()  # tied weights share memory, which the format forbids
    save_file(tensors, str(path))
