"""What the workers exchange: a folder with ``job.json``, ``.npz`` files and one JSON line a result. Never pickle.

Written for Python 3.6 and newer, with NumPy and the standard library only: the Chainer worker may run it in a legacy
interpreter.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import contextlib
import io
import json
import os
import sys
import traceback
import zipfile
from collections.abc import Mapping

import numpy

ENCODING = "utf-8"
# The case that runs now.
CURRENT = "current.json"


class Results(object):
    """Writes one JSON line and one ``.npz`` file a result, as they come: what is done stays when the worker dies."""

    def __init__(self, folder):
        self.folder = folder
        self._lines = io.open(os.path.join(folder, "results.jsonl"), "a", encoding=ENCODING)

    def add(self, record, arrays=None):
        """Appends ``record`` (plain JSON data with an ``id``) and its arrays: name and ndarray, or an ArrayFile."""
        if isinstance(arrays, ArrayFile):
            arrays.close()
        elif arrays:
            with contextlib.closing(self.array_file(record["id"])) as stream:
                stream.update(arrays)
        self._lines.write(json.dumps(record) + "\n")
        self._lines.flush()

    def begin(self, case_id):
        """Says which case runs now, where they do not run in the order of the job."""
        write_json(os.path.join(self.folder, CURRENT), case_id)

    def array_file(self, case_id):
        """Where the arrays of a case go one by one."""
        return ArrayFile(os.path.join(self.folder, case_id + ".npz"))

    def close(self):
        """Ends the results; what was added is complete."""
        self._lines.close()


class ArrayFile(object):
    """An ``.npz`` file that is written array by array, so that a large model's state is never in memory twice."""

    def __init__(self, path):
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_STORED, True)

    def update(self, arrays):
        """Writes a dict of arrays, or pairs of a name and an array, each name once."""
        for name, array in arrays.items() if isinstance(arrays, dict) else arrays:
            with self._archive.open(_escaped(name) + ".npy", "w", force_zip64=True) as member:
                numpy.lib.format.write_array(member, numpy.asanyarray(array), allow_pickle=False)

    def close(self):
        """Ends the file; what was written is complete."""
        self._archive.close()


class Arrays(Mapping):
    """The arrays of one ``.npz`` file by name, each read when it is asked for. Object arrays are refused by NumPy."""

    def __init__(self, path):
        self._archive = numpy.load(path, allow_pickle=False) if os.path.exists(path) else None
        self._names = {name.replace("|", "/"): name for name in self._archive.files} if self._archive else {}

    def __getitem__(self, name):
        try:
            return self._archive[self._names[name]]
        except SystemError:  # CPython 3.11 counts wrong where two threads parse at once, as NumPy does for each header
            return self._archive[self._names[name]]

    def __contains__(self, name):
        return name in self._names

    def __iter__(self):
        return iter(self._names)

    def __len__(self):
        return len(self._names)


def read_job(folder):
    """The job of a worker: the content of ``job.json``."""
    with io.open(os.path.join(folder, "job.json"), encoding=ENCODING) as stream:
        return json.load(stream)


def write_json(path, data):
    """Writes plain data as JSON."""
    with io.open(path, "w", encoding=ENCODING) as stream:
        stream.write(json.dumps(data))


def escape(arrays):
    """Names for ``numpy.savez``, which writes each as a file of an archive: ``/`` and ``..`` are kept apart."""
    return {_escaped(name): value for name, value in arrays.items()}


def _escaped(name):
    return name.replace("/", "|")


class Tree(object):
    """Describes nested outputs as JSON, with the arrays in it taken out under their paths."""

    def __init__(self, prefix, to_array):
        """``to_array(value)`` gives the ndarray of a framework's tensor, or None for anything else."""
        self.prefix = prefix
        self.arrays = {}
        self.leaves = {}
        self._to_array = to_array

    def encode(self, value, path=""):
        """The JSON description of ``value``; its arrays are in ``self.arrays``, its tensors in ``self.leaves``."""
        array = self._to_array(value)
        if array is not None:
            key = self.prefix + path
            self.leaves[key] = value
            if array.dtype.kind not in "biufc":
                return {"t": "object", "v": "array of " + str(array.dtype)}
            self.arrays[key] = array
            return {"t": "array", "key": key}
        if value is None or isinstance(value, (bool, int, float, str)):
            return self._scalar(value)
        if isinstance(value, (tuple, list)):
            items = [self.encode(item, "{}/{}".format(path, i)) for i, item in enumerate(value)]
            return {"t": "list", "items": items}
        if isinstance(value, dict):
            items = {str(key): self.encode(item, "{}/{}".format(path, key)) for key, item in value.items()}
            return {"t": "dict", "items": items}
        if isinstance(value, numpy.generic):
            return self.encode(numpy.asarray(value), path)
        if isinstance(value, numpy.dtype) or type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return {"t": "value", "v": "dtype " + str(value).split(".")[-1]}
        return {"t": "object", "v": type(value).__module__ + "." + type(value).__name__}

    def _scalar(self, value):
        if isinstance(value, float) and value != value or value in (float("inf"), -float("inf")):
            return {"t": "value", "v": "float " + repr(float(value))}
        return {"t": "value", "v": value}


def decode_inputs(spec, arrays, wrap):
    """The inputs of a case: ``spec`` names arrays of ``inputs.npz``, each passes through ``wrap(name, array)``."""

    def decode(node, name):
        if isinstance(node, dict) and "array" in node:
            return wrap(name, numpy.array(arrays[node["array"].replace("/", "|")]))
        if isinstance(node, dict) and "tuple" in node:
            return tuple(decode(item, name) for item in node["tuple"])
        if isinstance(node, dict) and "dict" in node:
            return {key: decode(item, name) for key, item in node["dict"].items()}
        if isinstance(node, list):
            return [decode(item, name) for item in node]
        return node

    return {name: decode(node, name) for name, node in spec.items()}


def strided(array, send=lambda array: array):
    """The same values with other strides: every second column of an array that is twice as wide.

    ``send`` moves the wide array to another device, for a copy of the narrow one need not keep its strides.
    """
    if array.ndim == 0:
        return send(array)
    wide = numpy.zeros(array.shape[:-1] + (2 * array.shape[-1],), dtype=array.dtype)
    wide[..., ::2] = array
    return send(wide)[..., ::2]


def flat_arrays(prefix, value, to_array):
    """The arrays in nested outputs, by prefix and place."""
    tree = Tree(prefix, to_array)
    tree.encode(value)
    return tree.arrays


def caller(tree):
    """``file:line`` of the innermost frame whose file lies below ``tree``, or "" when there is none."""
    tree = os.path.abspath(tree) + os.sep
    frame = sys._getframe(1)
    while frame is not None:
        path = os.path.abspath(frame.f_code.co_filename)
        if path.startswith(tree) and not frame.f_code.co_filename.startswith("<"):
            return "{}:{}".format(path[len(tree) :].replace(os.sep, "/"), frame.f_lineno)
        frame = frame.f_back
    return ""


def failure(phase, error):
    """The record of an exception: its type, message and last frames."""
    frames = traceback.format_exception(type(error), error, error.__traceback__)
    return {
        "status": "error",
        "phase": phase,
        "type": type(error).__name__,
        "message": str(error)[:2000],
        "trace": "".join(frames)[-3000:],
    }


# So many values of each output and gradient are a sample: what gives many at a time is repeated less often.
SAMPLE = 40000
_SAMPLE_RUNS = 20
# Most values of an output that depends on weights which were drawn once: all of them together are no independent draws.
_OF_ONE_BUILD = 8000


def is_enough(runs, samples):
    """Whether a random function that ran so often has given enough of each: lists of arrays by name."""
    return runs >= _SAMPLE_RUNS and all(sum(part.size for part in parts) >= SAMPLE for parts in samples.values())


def of_one_build(array, weights):
    """So many values of what layers gave with one draw of their weights that these are nearly independent, in a row."""
    return sample(array, min(weights, _OF_ONE_BUILD)).ravel()


def sample_runs(repeat, weights):
    """How often a random function runs at most; one whose weights are drawn before it needs several draws of these."""
    return max(repeat, _SAMPLE_RUNS, 4000 // weights) if weights else repeat


def sample(array, most):
    """So many values of an array that has more, from fixed places that depend on its size alone; any other whole."""
    if not most or array.size <= most:
        return array
    places = numpy.sort(numpy.random.RandomState(array.size & 0x7FFFFFFF).randint(0, array.size, most))
    return array[numpy.unravel_index(places, array.shape)]


# A worker ends with this status when its GPU can no longer be used; what it had not reached runs in a new one.
BROKEN_DEVICE = 75


def seed_of(text):
    """A seed for RandomState from a name, the same on every Python and machine."""
    import zlib

    return zlib.crc32(text.encode(ENCODING)) & 0x7FFFFFFF


def cotangent(case_id, path, array):
    """The weights by which an output enters the scalar that is differentiated: of its shape and dtype, from a seed."""
    draws = numpy.random.RandomState(seed_of(case_id.split("@")[0] + path)).uniform(-1, 1, array.shape)
    return numpy.asarray(draws, dtype=array.dtype)
