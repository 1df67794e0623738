"""Finds out by trying which of several constructor arguments and inputs the models of a project take.

Chainer checks the types of what it is given, and says what it wanted: a number of channels that does not fit is put
right and tried again. Written for Python 3.6 and Chainer 3 and newer.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import gc
import os
import re
import time

import chainer
import numpy

from . import chainer_legacy, chainer_snippets, roots, wire

# Runs of one attempt, each with one number of channels put right.
_REPAIRS = 8
_LARGEST = 1 << 13


def work(job, folder):
    """For each case the first attempt that runs, with its inputs; else why the first one failed."""
    os.chdir(job["tree"])
    folders = roots.Roots(job["tree"])
    defaults = chainer_legacy.Defaults()
    defaults.install()
    results = wire.Results(folder)
    for case in job["cases"]:
        folders.enter(case["module"], case["root"])
        record = run_case(case, job["seconds"], defaults)
        record["id"] = case["id"]
        results.add(record)
    results.close()


def run_case(case, seconds, defaults):
    """The record of one model: the place of the attempt that runs and its inputs, or the error of the first."""
    first = None
    started = time.process_time()
    with chainer_snippets.config({"mode": "train", "dtype": "float32"}, defaults):
        for number, attempt in enumerate(case["attempts"]):
            if number and time.process_time() - started > seconds:
                break
            try:
                return {"status": "ok", "attempt": number, "inputs": _accepted(attempt, started + seconds)}
            except Exception as error:
                first = first or wire.failure("first forward", error)
                first["tried"] = number + 1
                if isinstance(error, ImportError):  # its module needs what is not here
                    break
            gc.collect()
    return first


def _accepted(attempt, end):
    """The inputs with which an attempt runs: as they are, or with numbers of channels that Chainer asked for."""
    waiting, seen = [attempt["inputs"]], []
    first = None
    while waiting and len(seen) < _REPAIRS:
        inputs = waiting.pop(0)
        seen.append(inputs)
        try:
            namespace = chainer_snippets.execute({"source": attempt["source"]})
            result = namespace["run"](**{name: drawn(spec) for name, spec in inputs.items()})
            if not wire.flat_arrays("out", result, chainer_snippets.array_of):
                raise TypeError("output: holds no array that can be compared")
            return inputs
        except Exception as error:
            first = first or error
            if time.process_time() < end:
                waiting += [other for other in _repaired(inputs, error) if other not in seen + waiting]
    raise first


def _repaired(inputs, error):
    """The inputs with the second axis of one of them as Chainer wants it."""
    numbers = re.match(r"(\d+) != (\d+)$", str(getattr(error, "actual", "")))
    if not numbers or not re.match(r"\w+(\[0\])?\.shape\[1\] == ", str(getattr(error, "expect", ""))):
        return
    actual, wanted = int(numbers.group(1)), int(numbers.group(2))
    for name in sorted(inputs):
        spec = inputs[name]
        if (
            isinstance(spec, dict)
            and spec["dtype"][0] == "f"
            and spec["shape"][1:2] == [actual]
            and (0 < wanted <= _LARGEST)
        ):
            yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:1] + [wanted] + spec["shape"][2:])})


def drawn(spec):
    """Any array of this dtype and shape, integers below a bound; lists of them; other values as they are."""
    if isinstance(spec, list):
        return [drawn(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    rng = numpy.random.RandomState(0)
    if spec["dtype"][0] == "f":
        return chainer.Variable(rng.standard_normal(spec["shape"]).astype(spec["dtype"]))
    return rng.randint(0, spec["below"], spec["shape"]).astype(spec["dtype"])
