"""Runs pairs of snippets, one under Chainer and one under PyTorch, hundreds in one process each, and compares them."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.verify.rules import given as given_specs
from chainer2torch.verify.judge import tolerances
from chainer2torch.verify.worker import wire
from chainer2torch.verify.judge.compare import (
    Difference,
    compare_arrays,
    compare_initial,
    compare_moments,
    compare_trees,
    leaves,
)
from chainer2torch.verify.worker_process import CHAINER_WORKER, TORCH_WORKER, run_cases, versions_of

PASSED, FAILED, UNVERIFIED = "passed", "failed", "not verified"
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
_RULES_ARE_ABOUT = "7.8"
_WORTH_HALVING = 400  # pairs: starting the workers takes as long as some 200 of them
_COMPAT_DIR = Path(__file__).resolve().parents[2] / "compat"


@dataclasses.dataclass(frozen=True)
class Pair:
    """One thing to run in both frameworks: two module texts with a function ``run``, and what to feed it."""

    id: str
    row: str
    label: str
    chainer: str
    torch: str
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    dtype: str = "float32"
    mode: str = "train"
    compare: str = "allclose"
    grad: bool = True
    raises: bool = False
    arrays: Sequence[str] = ()
    rtol: float | None = None
    atol: float | None = None
    seed: str = ""
    strided: bool = False
    initial: bool = False
    may_not_be_a_call: bool = False


@dataclasses.dataclass
class Outcome:
    """What came of a pair. ``reasons`` say why it failed or was not verified, ``notes`` what it rests on; errors are
    the largest relative ones.
    """

    pair: Pair
    status: str = PASSED
    reasons: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    forward: float = 0.0
    backward: float = 0.0
    compared: int = 0
    # Of a model: the largest relative error of each layer's output, in the order of the calls.
    layers: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    # How often it failed, and the values among that, by name: those may still turn out to be rounding (``rounded``).
    failures: int = 0
    differing: dict[str, str] = dataclasses.field(default_factory=dict)
    rounded: bool = False

    def fail(self, reason: str) -> None:
        """Marks the pair as failed, for one more reason."""
        self.status = FAILED
        self.failures += 1
        self.reasons.append(reason)

    def leave(self, reason: str) -> None:
        """Marks the pair as not verified, for a reason."""
        self.status = UNVERIFIED
        self.reasons.append(reason)


@dataclasses.dataclass
class Batch:
    """The outcomes of all pairs, with what belongs under a report."""

    outcomes: list[Outcome]
    versions: dict[str, str]
    problems: list[str]


def run_pairs(
    pairs: Sequence[Pair],
    *,
    chainer_python: str | None = None,
    torch_python: str | None = None,
    device: str = "cpu",
    timeout: float = 600,
) -> Batch:
    """Runs every pair and compares outputs, gradients, and the parameters and state afterwards.

    Raises WorkerError when an interpreter cannot be started. A worker that dies later leaves the pairs it had not
    reached as failed, and its problem in ``problems``.
    """

    def run(part: Sequence[Pair]) -> Batch:
        root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
        try:
            return _run(part, root, chainer_python, torch_python, device, timeout)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    # PyTorch waits for Chainer's weights: two halves, each with workers of its own, keep two cores busy
    if len(pairs) < _WORTH_HALVING or device != "cpu" or (os.cpu_count() or 1) < 2:
        return run(pairs)
    with ThreadPoolExecutor(2) as pool:
        return _joined(pairs, list(pool.map(run, (pairs[::2], pairs[1::2]))))


def _joined(pairs: Sequence[Pair], batches: Sequence[Batch]) -> Batch:
    """The batches of parts as one, in the order of all pairs."""
    by_id = {outcome.pair.id: outcome for batch in batches for outcome in batch.outcomes}
    problems = dict.fromkeys(problem for batch in batches for problem in batch.problems)
    return Batch([by_id[pair.id] for pair in pairs], batches[0].versions, list(problems))


def _run(
    pairs: Sequence[Pair], root: Path, chainer_python: str | None, torch_python: str | None, device: str, timeout: float
) -> Batch:
    folders = {name: root / name for name in ("chainer", "torch")}
    for folder in folders.values():
        folder.mkdir()
    inputs: dict[str, np.ndarray] = {}
    # An index out of range ends the GPU's context in PyTorch and goes unnoticed in CuPy.
    skipped = [
        Outcome(pair, UNVERIFIED, ["errors are compared on the CPU only"])
        for pair in pairs
        if pair.raises and device != "cpu"
    ]
    pairs = [pair for pair in pairs if not pair.raises or device == "cpu"]
    cases = [case_of(pair, inputs, device) for pair in pairs]
    for folder in folders.values():
        np.savez(str(folder / "inputs.npz"), **wire.escape(inputs))
    left = run_cases(
        CHAINER_WORKER,
        folders["chainer"],
        {
            "kind": "snippets",
            "device": device,
            "cases": [dict(case, source=pair.chainer) for pair, case in zip(pairs, cases, strict=True)],
        },
        python=chainer_python,
        timeout=timeout,
    )
    right = run_cases(
        TORCH_WORKER,
        folders["torch"],
        {
            "kind": "snippets",
            "device": device,
            "compat_dir": str(_COMPAT_DIR),
            "reference": str(folders["chainer"]),
            "cases": [
                dict(
                    case,
                    source=pair.torch,
                    weights=left.records.get(pair.id, {}).get("weights", {}),
                    differentiated=left.records.get(pair.id, {}).get("differentiated", []),
                )
                for pair, case in zip(pairs, cases, strict=True)
                if pair.id in left.records
            ],
        },
        python=torch_python,
        timeout=timeout,
    )
    problems = [result.problem for result in (left, right) if result.problem]
    outcomes = skipped
    for pair in pairs:
        outcome = Outcome(pair)
        if pair.id not in left.records:
            outcome.leave("Chainer: the worker ended before this case")
        elif pair.id not in right.records:
            outcome.leave("PyTorch: the worker ended before this case")
        elif not _too_old(outcome, left.records[pair.id], left.versions.get("chainer", "")):
            judge(
                outcome,
                left.records[pair.id],
                right.records[pair.id],
                left.arrays(pair.id),
                right.arrays(pair.id),
                device,
            )
        outcomes.append(outcome)
    return Batch(outcomes, versions_of(left, right), problems)


def case_of(pair: Pair, inputs: dict[str, np.ndarray], device: str = "cpu") -> dict[str, Any]:
    """The pair as the workers read it; its arrays are added to ``inputs``.

    Initial weights are drawn on the host in both frameworks, so only the CPU compares them.
    """
    key = f"{pair.seed or pair.row}/{pair.dtype}"
    drawn: dict[str, np.ndarray] = {}
    spec = given_specs.draw(pair.given, pair.seed or pair.row, pair.dtype, drawn, key)
    inputs.update(drawn)
    sizes = [max(1, array.size) for array in drawn.values() if array.dtype.kind == "f"] or [1]
    return {
        "id": pair.id,
        "inputs": spec,
        "dtype": pair.dtype,
        "mode": pair.mode,
        "compare": pair.compare,
        "grad": pair.grad,
        "arrays": list(pair.arrays),
        "strided": pair.strided,
        "initial": tolerances.INITIAL_BUILDS if pair.initial and device == "cpu" else 0,
        "seed": wire.seed_of(pair.seed or pair.row),
        "repeat": max(1, min(2000, max(wire.SAMPLE // max(sizes), 4000 // min(sizes)))),
    }


def _too_old(outcome: Outcome, x: Mapping[str, Any], version: str) -> bool:
    """Whether another Chainer than the one that the rules are about cannot run an example, or raises no error in it."""
    if version.startswith(_RULES_ARE_ABOUT) or outcome.pair.raises == (x["status"] != "ok"):
        return False
    outcome.leave(
        f"Chainer {version} does not raise"
        if outcome.pair.raises
        else f"Chainer {version}: {x['type']} in {x['phase']}: {_first_line(x['message'])}"
    )
    return True


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
        if x["status"] == "ok":
            outcome.fail("Chainer does not raise, although the example says so")
        elif y["status"] == "ok":
            outcome.fail(f"PyTorch does not raise where Chainer raises {x['type']}: {_first_line(x['message'])}")
        elif y["type"] in _BROKEN and y["type"] != x["type"]:
            outcome.fail(f"PyTorch raises {y['type']}: {_first_line(y['message'])}")
        else:
            outcome.compared += 1
        return
    if pair.may_not_be_a_call and x["status"] != "ok" and x["type"] == "TypeError":
        outcome.leave(f"NumPy takes no such call: {_first_line(x['message'])}")
        return
    if x["status"] != "ok" and x["type"] in ("ImportError", "ModuleNotFoundError"):
        outcome.leave(f"Chainer's interpreter lacks a package: {_first_line(x['message'])}")
        return
    if device != "cpu" and x["status"] != "ok":
        # Not every program for NumPy runs with CuPy: the original gives nothing to compare with.
        outcome.leave(f"Chainer on {device}: {x['type']} in {x['phase']}: {_first_line(x['message'])}")
        return
    for side, record in (("Chainer", x), ("PyTorch", y)):
        if record["status"] != "ok":
            outcome.fail(
                f"{side}: {record['type']} in {record['phase']}: {_first_line(record['message'])}"
                f"\n{_last_frame(record)}"
            )
    if outcome.status == FAILED:
        return
    if pair.compare == "moments":
        _judge_moments(outcome, a, b)
        return
    for reason in compare_trees(x["outputs"], y["outputs"]):
        if "cannot be compared" in reason:
            outcome.status = UNVERIFIED if outcome.status == PASSED else outcome.status
            outcome.reasons.append(reason)
        else:
            outcome.fail(reason)
    outputs, others = leaves(x["outputs"], a), leaves(y["outputs"], b)
    for name in sorted(set(x.get("on_gpu", ())) ^ set(y.get("on_gpu", ()))):
        if name in a and name in b:
            outcome.fail(f"{name}: on the {'GPU' if name in y['on_gpu'] else 'CPU'}, unlike Chainer's")
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
            note(
                outcome,
                compare_arrays(
                    name, expected, actual, _tolerance(outcome.pair, expected), any_float=prefix == "state/"
                ),
                gradient=prefix != "state/",
            )


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


def _first_line(text: str) -> str:
    return next((line for line in text.strip().splitlines() if line.strip()), "")[:300]


def _last_frame(record: dict[str, Any]) -> str:
    trace: str = record.get("trace", "")
    lines = [line for line in trace.splitlines() if line.strip()]
    frames = [line for line in lines if line.lstrip().startswith("File ")]
    own = [frame for frame in frames if "site-packages" not in frame and "chainer2torch/verify" not in frame]
    return (own or frames or [""])[-1]
