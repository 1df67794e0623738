"""What a script leaves behind: what it has printed, and the values in the files that it has written.

Written for Python 3.6 and newer, with NumPy and the standard library only.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import io
import json
import os

import numpy

_PRINTED = 2**20  # characters that are kept
_VALUES = 20000  # of a file
_IMAGES = (".bmp", ".gif", ".jpeg", ".jpg", ".png")


class Printed(object):
    """The standard output, which is kept, too."""

    def __init__(self, stream):
        self.stream = stream
        self._parts = []
        self._left = _PRINTED

    def write(self, text):
        """Writes, and keeps as much as there is room for."""
        self._parts.append(text[: max(self._left, 0)])
        self._left -= len(text)
        return self.stream.write(text)

    def writelines(self, lines):
        """Writes all lines."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name):
        return getattr(self.stream, name)

    def text(self, tree):
        """What was printed, without the place of the scratch copy."""
        return "".join(self._parts).replace(tree, ".")


def entries(path, images):
    """The values of a file as a list of dicts: of a log its entries, of arrays (and images) each value; else None."""
    if os.path.getsize(path) > 2**26:
        return None
    try:
        arrays = _arrays(path, images)
        return _log(path) if arrays is None else _values(arrays)
    except Exception:  # whatever a file of that name really is
        return None


def _log(path):
    """The entries of a log as LogReport writes it, a JSON list of objects."""
    with io.open(path, encoding="utf-8") as stream:
        if stream.read(1) != "[":
            return None
        stream.seek(0)
        found = json.load(stream)
    return found if found and all(isinstance(entry, dict) for entry in found) else None


def _arrays(path, images):
    """The arrays of a file by name; None: it has none. Weights, whose names have slashes, are no such values."""
    if path.endswith(".npy"):
        return {"array": numpy.load(path)}
    if path.endswith(".npz"):
        with numpy.load(path) as found:
            return {key: found[key] for key in found.files if "/" not in key}
    if images and path.lower().endswith(_IMAGES):
        try:
            from PIL import Image
        except ImportError:
            return None  # whatever wrote it, nothing here reads it: only its name is compared

        with Image.open(path) as image:
            return {"pixels": numpy.asarray(image)}
    return None


def _values(arrays):
    """Each value of each array, or as many as are spread over a large one, beside its shape and dtype."""
    found = []
    for name in sorted(arrays):
        array = numpy.asarray(arrays[name])
        if array.dtype.kind not in "biuf":
            continue
        flat = array.astype("d").ravel()
        found.append({name + " shape": str(array.shape)})
        found.extend({name: float(value)} for value in flat[:: 1 + flat.size // _VALUES])
    return found or None
