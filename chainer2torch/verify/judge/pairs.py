"""Runs pairs of snippets, one under Chainer and one under PyTorch, hundreds in one process each, and compares them."""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.verify.rules import given as given_specs
from chainer2torch.verify.judge import rounding, tolerances
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.judge.verdict import first_line, judge
from chainer2torch.verify.worker import wire
from chainer2torch.verify.warm_workers import WarmWorkers
from chainer2torch.verify.worker_process import (
    CHAINER_WORKER,
    TORCH_WORKER,
    WorkerResult,
    environment,
    run_cases,
    versions_of,
)

_RULES_ARE_ABOUT = "7.8"
_WORTH_HALVING = 400  # pairs: where workers cannot fork, starting them takes as long as some 200
_DRAWS_OF_CUPY = ("xp.Random.", "xp.Module.random")
_TOOL = Path(__file__).resolve().parents[2]
COMPAT_DIR = _TOOL / "compat"
NATIVE_DIR = _TOOL / "native"


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
    style: str = "faithful",
) -> Batch:
    """Runs every pair and compares outputs, gradients, and the parameters and state afterwards.

    ``style`` says what the helpers mean that the migrated texts name.

    Raises WorkerError when an interpreter cannot be started. A worker that dies later leaves the pairs it had not
    reached as failed, and its problem in ``problems``.
    """

    def run(part: Sequence[Pair], warm: WarmWorkers | None = None) -> Batch:
        root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
        try:

            def execute(these: Sequence[Pair], name: str) -> _Executed:
                return _execute(these, root / name, chainer_python, torch_python, device, timeout, style, warm)

            return _run(part, device, execute)
        finally:
            shutil.rmtree(root, ignore_errors=True)

    if device != "cpu":  # a process that forks must not have met a GPU
        return run(pairs)
    with WarmWorkers(environment()) as warm:
        warm.prepare([(CHAINER_WORKER, chainer_python), (TORCH_WORKER, torch_python)])
        # PyTorch waits for Chainer's weights: two halves, each with workers of its own, keep two cores busy
        if len(pairs) < _WORTH_HALVING or (os.cpu_count() or 1) < 2:
            return run(pairs, warm)
        with ThreadPoolExecutor(2) as pool:
            return _joined(pairs, list(pool.map(run, (pairs[::2], pairs[1::2]), (warm, warm))))


def _joined(pairs: Sequence[Pair], batches: Sequence[Batch]) -> Batch:
    """The batches of parts as one, in the order of all pairs."""
    by_id = {outcome.pair.id: outcome for batch in batches for outcome in batch.outcomes}
    problems = dict.fromkeys(problem for batch in batches for problem in batch.problems)
    return Batch([by_id[pair.id] for pair in pairs], batches[0].versions, list(problems))


def _only_on_the_cpu(pair: Pair) -> str:
    """Why a pair is not compared on a GPU; empty where it is."""
    if pair.raises:  # an index out of range ends the GPU's context in PyTorch and goes unnoticed in CuPy
        return "errors are compared on the CPU only"
    if pair.row.startswith(_DRAWS_OF_CUPY):
        return "CuPy draws other numbers than NumPy: compared on the CPU only"
    return pair.host and f"compared on the CPU only: {pair.host}"


def _run(pairs: Sequence[Pair], device: str, execute: Callable[[Sequence[Pair], str], _Executed]) -> Batch:
    reasons = {} if device == "cpu" else {pair.id: _only_on_the_cpu(pair) for pair in pairs}
    skipped = [Outcome(pair, UNVERIFIED, [reasons[pair.id]]) for pair in pairs if reasons.get(pair.id)]
    pairs = [pair for pair in pairs if not reasons.get(pair.id)]
    first = execute(pairs, "first")
    doubtful = [outcome for outcome in first.outcomes if _may_be_rounding(outcome)]
    if doubtful:
        _ask_float64(doubtful, execute)
    return Batch(skipped + first.outcomes, versions_of(first.left, first.right), first.problems)


@dataclasses.dataclass
class _Executed:
    """Pairs that both workers ran, and what each of the workers left."""

    outcomes: list[Outcome]
    left: WorkerResult
    right: WorkerResult

    @property
    def problems(self) -> list[str]:
        return [result.problem for result in (self.left, self.right) if result.problem]


def _may_be_rounding(outcome: Outcome) -> bool:
    """Whether a case differs in float32, and in nothing but values."""
    found = outcome.status == FAILED and outcome.pair.dtype == "float32" and not outcome.raised
    return found and 0 < outcome.failures == len(outcome.differing)


def _ask_float64(doubtful: Sequence[Outcome], execute: Callable[[Sequence[Pair], str], _Executed]) -> None:
    """Lets the float64 pass of the same case decide whether float32 values differ by rounding alone.

    How the terms of a sum are rounded depends on the machine: threads, vector widths. Their cancellation makes that
    visible, most in the gradients of a bias.
    """
    twins = [
        dataclasses.replace(outcome.pair, id=f"{outcome.pair.id}@{dtype}", dtype=dtype)
        for outcome in doubtful
        for dtype in ("float32", "float64")
    ]
    again = execute(twins, "again")
    rounding.explain(again.outcomes, again.left.arrays, again.right.arrays)
    decided = {outcome.pair.id: outcome for outcome in again.outcomes}
    for outcome in doubtful:
        twin = decided[f"{outcome.pair.id}@float32"]
        if twin.status == PASSED and twin.rounded:
            outcome.status, outcome.reasons, outcome.rounded = PASSED, [], True
            outcome.notes += twin.notes


def _execute(
    pairs: Sequence[Pair],
    root: Path,
    chainer_python: str | None,
    torch_python: str | None,
    device: str,
    timeout: float,
    style: str,
    warm: WarmWorkers | None,
) -> _Executed:
    """Runs the pairs in a worker of either framework, and compares."""
    folders = {name: root / name for name in ("chainer", "torch")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    inputs: dict[str, np.ndarray] = {}
    cases = [case_of(pair, inputs, device) for pair in pairs]
    for folder in folders.values():
        np.savez(str(folder / "inputs.npz"), **wire.escape(inputs))
    job: dict[str, Any] = {"kind": "snippets", "device": device}
    originals = [dict(case, source=pair.chainer) for pair, case in zip(pairs, cases, strict=True)]
    options: dict[str, Any] = {"timeout": timeout, "warm": warm}
    left = run_cases(CHAINER_WORKER, folders["chainer"], {**job, "cases": originals}, python=chainer_python, **options)
    # PyTorch's side begins with Chainer's weights, and differentiates what Chainer differentiated.
    migrated = []
    for pair, case in zip(pairs, cases, strict=True):
        if pair.id in left.records:
            told = {"weights": {}, "differentiated": [], **left.records[pair.id]}
            handed_on = {name: told[name] for name in ("weights", "differentiated")}
            migrated.append({**case, "source": pair.torch, **handed_on})
    helpers = [NATIVE_DIR, COMPAT_DIR] if style == "native" else [COMPAT_DIR]
    job.update({"compat_dirs": [str(folder) for folder in helpers], "reference": str(folders["chainer"])})
    right = run_cases(TORCH_WORKER, folders["torch"], {**job, "cases": migrated}, python=torch_python, **options)
    outcomes = []
    for pair in pairs:
        outcome = Outcome(pair)
        if pair.id not in left.records:
            outcome.leave("Chainer: the worker ended before this case")
        elif pair.id not in right.records:
            outcome.leave("PyTorch: the worker ended before this case")
        elif not _too_old(outcome, left.records[pair.id], left.versions.get("chainer", "")):
            records = left.records[pair.id], right.records[pair.id]
            judge(outcome, *records, left.arrays(pair.id), right.arrays(pair.id), device)
        outcomes.append(outcome)
    return _Executed(outcomes, left, right)


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
        "loaders": pair.loaders,
        "unchecked": pair.unchecked,
        "clips": pair.clips,
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
        else f"Chainer {version}: {x['type']} in {x['phase']}: {first_line(x['message'])}"
    )
    return True
