"""Opens files of weights: .npz by Chainer, and zip files by torch.save. Nothing in them is executed."""

import math
import pickle
import zipfile
import zlib
from typing import Any

import numpy as np
import torch


def read_npz(file: Any) -> dict[str, Any]:
    """The arrays of an .npz (path or binary file) by key, without leading slashes.

    A scalar None (a parameter that Chainer never initialized) is None; any other pickled object is a ValueError, as a
    value, so that it is raised only where it is wanted. A file that is no .npz or is cut off raises ValueError.
    """
    try:
        with zipfile.ZipFile(file) as archive:
            return read_archive(archive)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise ValueError(f"{file} is not a complete .npz file: {error}") from error


def read_archive(archive: zipfile.ZipFile) -> dict[str, Any]:
    """The same of an .npz that is open."""
    entries: dict[str, Any] = {}
    for info in archive.infolist():
        key = info.filename.removesuffix(".npy").lstrip("/")
        if key in entries:
            raise ValueError(f"it has {key} twice")
        with archive.open(info) as member:
            entries[key] = _read_array(member)
    return entries


def _read_array(member: Any) -> Any:
    version = np.lib.format.read_magic(member)
    header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, fortran_order, dtype = header(member)
    if dtype.hasobject:
        # numpy can only unpickle these, and pickles can do anything
        if shape == () and _pickles_none(member):
            return None
        return ValueError("holds pickled Python objects, which are not loaded; save it as a number or an array")
    count = math.prod(shape)
    data = member.read(count * dtype.itemsize)
    if len(data) != count * dtype.itemsize:
        raise EOFError("an array is cut off")
    array = np.frombuffer(data, dtype=dtype, count=count)
    return array.reshape(shape[::-1]).T if fortran_order else array.reshape(shape)


class _Inert:
    """Stands for every class and function that a pickle names; does nothing and keeps its state."""

    def __init__(self, *args: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _InertUnpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        return _Inert


def _pickles_none(member: Any) -> bool:
    """Whether the pickle is an object array that holds None: read without importing or calling what it names."""
    try:
        loaded = _InertUnpickler(member).load()
    except Exception:  # noqa: B902 - whatever a malformed pickle raises, it is not a None
        return False
    return isinstance(loaded, _Inert) and isinstance(loaded.state, tuple) and loaded.state[-1] == [None]


def is_torch_file(file: Any) -> bool:
    """Whether a path or binary file is a zip file by torch.save (the position of a file does not change)."""
    position = file.tell() if hasattr(file, "tell") else None
    try:
        with zipfile.ZipFile(file) as archive:
            return any(name.endswith("/data.pkl") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError):
        return False
    finally:
        if position is not None:
            file.seek(position)


def load_torch(file: Any) -> Any:
    """What torch.save wrote, on the CPU: tensors, numbers, strings, containers and numpy arrays only.

    Other objects, and files that are damaged, raise ValueError: nothing that a file names is imported or called.
    """
    rebuild_array: Any = np.array(()).__reduce__()[0]
    rebuild_scalar: Any = np.float64().__reduce__()[0]
    dtypes = [type(np.dtype(code)) for code in "?bBhHiIlLqQefdFDU"]
    with torch.serialization.safe_globals([rebuild_array, rebuild_scalar, np.ndarray, np.dtype, *dtypes]):
        try:
            return torch.load(file, map_location="cpu", weights_only=True)
        except (pickle.UnpicklingError, RuntimeError, EOFError) as error:
            raise ValueError(
                f"{file} holds other objects than tensors and numbers, or is damaged; where it was made, load it and "
                "save the model's state_dict() with torch.save"
            ) from error
