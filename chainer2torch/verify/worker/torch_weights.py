"""Lets a migrated script read weights that Chainer has written: the original's files are what lies beside a script.

A script for evaluation loads what a training under Chainer has left. A user converts such files once
(``chainer2torch weights``); in a comparison they are read as they are.
"""

import os
import zipfile
from typing import Any

import torch

_OWN = {"W": "weight", "gamma": "weight", "b": "bias", "beta": "bias", "avg_mean": "running_mean"}
_OWN |= {"avg_var": "running_var", "N": "num_batches_tracked"}
_HDF5 = b"\x89HDF\r\n\x1a\n"


class ChainerWeights(dict[str, Any]):
    """What ``torch.load`` gives for a file of Chainer: it goes into the module that gets it as its state."""

    def __init__(self, path: str):
        super().__init__()
        self.path = path
        self.without: set[str] = set()  # PyTorch's names of what is not to be taken

    def pop(self, key: str, *default: Any) -> Any:
        """Leaves something out."""
        self.without.add(key)
        return super().pop(key, *default)

    def is_left_out(self, key: str) -> bool:
        """Whether that is so of one of Chainer's names, such as ``output/W``."""
        path, _, last = key.replace("/", ".").rpartition(".")
        return any(f"{path}.{name}".lstrip(".") in self.without for name in (last, _OWN.get(last, last)))


def install() -> None:
    """Patches torch.load and Module.load_state_dict."""
    load, load_state = torch.load, torch.nn.Module.load_state_dict

    def any_load(f: Any, *args: Any, **kwargs: Any) -> Any:
        return ChainerWeights(os.fspath(f)) if _is_chainers(f) else load(f, *args, **kwargs)

    def any_load_state(self: Any, state_dict: Any, strict: bool = True, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(state_dict, ChainerWeights):
            return load_state(self, state_dict, strict, *args, **kwargs)
        from . import compat_module

        if _is_hdf5(state_dict.path):
            compat_module.helper("load_hdf5", "hdf5_files")(state_dict.path, self, strict=strict)
        else:
            ignored = state_dict.is_left_out if state_dict.without else None
            compat_module.helper("load_npz")(
                state_dict.path, self, strict=strict or bool(ignored), ignore_names=ignored
            )
        return torch.nn.modules.module._IncompatibleKeys([], [])  # what differs has raised

    torch.load = any_load
    torch.nn.Module.load_state_dict = any_load_state  # type: ignore[method-assign]


def _is_chainers(file: Any) -> bool:
    """Whether a path is one of an HDF5 file, or of an NPZ file: a ZIP file of arrays, which PyTorch's own is not."""
    if not isinstance(file, (str, os.PathLike)) or not os.path.isfile(file):
        return False
    if _is_hdf5(os.fspath(file)):
        return True
    if not zipfile.is_zipfile(file):
        return False
    with zipfile.ZipFile(file) as found:
        names = found.namelist()
    return bool(names) and all(name.endswith(".npy") for name in names)


def _is_hdf5(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(len(_HDF5)) == _HDF5
