"""Chainer's HDF5 files of weights. They need the package h5py, as they did in Chainer."""

import os
from typing import Any

import numpy as np

from chainer2torch.compat.serializers.serializers import chainer_entries, load_entries


def load_hdf5(
    filename: str | os.PathLike[str], obj: Any, path: str = "", strict: bool = True, allow_extra: bool = False
) -> None:
    """Loads a file of Chainer's ``save_hdf5`` into a module; the other arguments and errors as for ``load_npz``.

    Source: chainer.serializers.load_hdf5.
    """
    import h5py

    entries: dict[str, Any] = {}

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset):
            # an empty dataset without a shape is a None
            entries[name] = None if item.shape is None else np.asarray(item[()])

    with h5py.File(filename, "r") as file:
        file.visititems(note)
    load_entries(entries, obj, path.lstrip("/"), strict, allow_extra=allow_extra)


def save_hdf5(filename: str | os.PathLike[str], obj: Any, compression: int | None = 4) -> None:
    """Writes a module, an optimizer or a dictionary of arrays in Chainer's layout as HDF5.

    Source: chainer.serializers.save_hdf5.
    """
    import h5py

    entries = obj if isinstance(obj, dict) else chainer_entries(obj)
    with h5py.File(filename, "w") as file:
        for key, value in entries.items():
            if value is None:
                file.create_dataset(key, data=h5py.Empty("f"))
            else:
                array = np.asarray(value)
                # a single number cannot be compressed
                file.create_dataset(key, data=array, compression=compression if array.ndim else None)
