"""Compares what the two workers report of a pair: errors, outputs, gradients, initial values."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainer2torch.verify.judge import tolerances
from chainer2torch.verify.judge.compare import (
    Difference,
    compare_arrays,
    compare_initial,
    compare_moments,
    compare_trees,
    leaves,
)
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair

# Errors that a broken migration raises whatever the input: they are never the error that Chainer raises on purpose.
_BROKEN = frozenset(
    {
        "NameError",
        "ImportError",
        "ModuleNotFoundError",
        "AttributeError",
        "SyntaxError",
        "LookupError",
        "UnboundLocalError",
    }
)


def judge(
    outcome: Outcome,
    x: dict[str, Any],
    y: dict[str, Any],
    a: Mapping[str, Any],
    b: Mapping[str, Any],
    device: str = "cpu",
) -> None:
    """Compares the two records (x, a: Chainer's; y, b: PyTorch's)."""
    pair = outcome.pair
    if pair.raises:
        _judge_errors(outcome, x, y)
        return
    why_not = _cannot_run(pair, x, device)
    if why_not:
        outcome.leave(why_not)
        return
    if pair.loud and x["status"] == "ok" and y["status"] != "ok" and y["type"] not in _BROKEN:
        outcome.compared += 1
        outcome.notes.append(f"PyTorch raises {y['type']}, as the row says")
        return
    if pair.loud == "must":
        outcome.fail("PyTorch does not raise, although the example says so")
        return
    for side, record in (("Chainer", x), ("PyTorch", y)):
        if record["status"] != "ok":
            outcome.fail(f"{side}: {_error(record)}\n{_last_frame(record)}")
            outcome.raised = True
    if outcome.status == FAILED:
        return
    if pair.compare == "moments":
        _judge_moments(outcome, a, b)
        return
    _judge_structure(outcome, x, y, a, b)
    outputs, others = leaves(x["outputs"], a), leaves(y["outputs"], b)
    if pair.compare == "shape":
        _judge_shapes(outcome, outputs, others)
        return
    for name, expected in outputs.items():
        if name in others:
            # A Python number has no width of its own: it is as precise as the run.
            plain = name not in a or name not in b
            tolerance = tolerances.for_dtype(pair.dtype, pair.rtol, pair.atol) if plain else _tolerance(pair, expected)
            note(outcome, compare_arrays(name, expected, others[name], tolerance, any_float=plain))
    if x["outputs"]["t"] == "value" and not outputs:
        outcome.compared += 1
    _judge_gradients(outcome, a, b)
    _judge_initial(outcome, a, b)
    if not outcome.compared and outcome.status == PASSED:
        outcome.leave("nothing in the result can be compared")


def _judge_errors(outcome: Outcome, x: dict[str, Any], y: dict[str, Any]) -> None:
    """The example says that Chainer raises: PyTorch must, too, and not because the migration is broken."""
    if x["status"] == "ok":
        outcome.fail("Chainer does not raise, although the example says so")
    elif y["status"] == "ok":
        outcome.fail(f"PyTorch does not raise where Chainer raises {x['type']}: {first_line(x['message'])}")
    elif y["type"] in _BROKEN and y["type"] != x["type"]:
        outcome.fail(f"PyTorch raises {y['type']}: {first_line(y['message'])}")
    else:
        outcome.compared += 1


def _cannot_run(pair: Pair, x: dict[str, Any], device: str) -> str | None:
    """Why the original gives nothing to compare with; None when its error is one."""
    if x["status"] == "ok":
        return None
    if pair.may_not_be_a_call and x["type"] == "TypeError":
        return f"NumPy takes no such call: {first_line(x['message'])}"
    if pair.tried:
        return f"Chainer takes no such option: {first_line(x['message'])}"
    if x["type"] in ("ImportError", "ModuleNotFoundError"):
        return f"Chainer's interpreter lacks a package: {first_line(x['message'])}"
    # Not every program for NumPy runs with CuPy.
    return f"Chainer on {device}: {_error(x)}" if device != "cpu" else None


def _judge_structure(
    outcome: Outcome, x: dict[str, Any], y: dict[str, Any], a: Mapping[str, Any], b: Mapping[str, Any]
) -> None:
    """Containers and plain values of the results, and the devices that they lie on."""
    for reason in compare_trees(x["outputs"], y["outputs"]):
        if "cannot be compared" in reason:
            outcome.status = UNVERIFIED if outcome.status == PASSED else outcome.status
            outcome.reasons.append(reason)
        else:
            outcome.fail(reason)
    for name in sorted(set(x.get("on_gpu", ())) ^ set(y.get("on_gpu", ()))):
        if name in a and name in b:
            outcome.fail(f"{name}: on the {'GPU' if name in y['on_gpu'] else 'CPU'}, unlike Chainer's")


def _judge_gradients(outcome: Outcome, a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    for prefix in ("grad/", "pgrad/", "state/"):
        names = sorted({name for name in (*a, *b) if name.startswith(prefix)})
        for name in names:
            expected, actual = a.get(name), b.get(name)
            if expected is None or actual is None:
                if prefix == "state/":
                    outcome.fail(f"{name}: only on {'PyTorch' if expected is None else 'Chainer'}'s side")
                    continue
                # No gradient and a gradient of zeros mean the same.
                zeros = np.zeros_like(actual if expected is None else expected)
                expected, actual = (zeros, actual) if expected is None else (expected, zeros)
            assert expected is not None and actual is not None
            state = prefix == "state/"
            tolerance = _tolerance(outcome.pair, expected)
            note(outcome, compare_arrays(name, expected, actual, tolerance, any_float=state), gradient=not state)


def _judge_initial(outcome: Outcome, a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    for name in sorted(name for name in a if name.startswith("init/")):
        if name not in b:
            outcome.fail(f"{name}: missing on PyTorch's side")
            continue
        note(outcome, dataclasses.replace(compare_initial(name, a[name], b[name]), max_rel=0.0))


def _judge_moments(outcome: Outcome, a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    for name in sorted(a):
        if name.startswith("gy/"):
            continue
        if name not in b:
            outcome.fail(f"{name}: missing on PyTorch's side")
            continue
        note(outcome, compare_moments(name, a[name], b[name]), gradient=name.startswith("grad/"))
    if not outcome.compared and outcome.status == PASSED:
        outcome.fail("nothing in the result can be compared")


def _judge_shapes(outcome: Outcome, a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    for name, expected in a.items():
        actual = b.get(name)
        if actual is None or actual.shape != expected.shape or actual.dtype.kind != expected.dtype.kind:
            outcome.fail(f"{name}: shape or kind differs")
        outcome.compared += 1
    if not a and outcome.status == PASSED:
        outcome.compared += 1


def note(outcome: Outcome, difference: Difference, gradient: bool = False) -> None:
    """Adds one compared value to an outcome."""
    outcome.compared += 1
    if gradient:
        outcome.backward = max(outcome.backward, difference.max_rel)
    else:
        outcome.forward = max(outcome.forward, difference.max_rel)
    if difference.reason is not None:
        outcome.fail(f"{difference.name}: {difference.reason}")
        if difference.alike:
            outcome.differing[difference.name] = difference.reason


def _tolerance(pair: Pair, expected: np.ndarray) -> tolerances.Tolerance:
    return tolerances.for_dtype(str(expected.dtype), pair.rtol, pair.atol)


def _error(record: dict[str, Any]) -> str:
    return f"{record['type']} in {record['phase']}: {first_line(record['message'])}"


def first_line(text: str) -> str:
    """The first line of a message that is not empty, shortened."""
    return next((line for line in text.strip().splitlines() if line.strip()), "")[:300]


def _last_frame(record: dict[str, Any]) -> str:
    trace: str = record.get("trace", "")
    lines = [line for line in trace.splitlines() if line.strip()]
    frames = [line for line in lines if line.lstrip().startswith("File ")]
    own = [frame for frame in frames if "site-packages" not in frame and "chainer2torch/verify" not in frame]
    return (own or frames or [""])[-1]
