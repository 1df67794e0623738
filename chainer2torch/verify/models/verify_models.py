"""``verify models``: each model of the project in both frameworks, from the same weights and inputs."""

from __future__ import annotations

import math
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.verify.judge import rounding
from chainer2torch.verify import worker_process
from chainer2torch.verify.worker import wire
from chainer2torch.verify.judge.compare import compare_arrays
from chainer2torch.verify.models.entries import ModelEntry, ModelsError, read_entries, read_names
from chainer2torch.verify.rules.given import GivenError
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.judge.pairs import case_of
from chainer2torch.verify.judge.verdict import judge, note
from chainer2torch.verify.results import VerifyReport
from chainer2torch.verify.models.trials import Left, choose, helpers_root

__all__ = ["ModelEntry", "ModelsError", "read_entries", "read_names", "verify_models"]

# Small enough that a few steps do not leave the range where both frameworks round alike.
_RATE = 0.01


def verify_models(
    src: Path,
    out: Path,
    names: Sequence[str] = (),
    *,
    entries: Sequence[ModelEntry] | None = None,
    steps: int = 3,
    seed: int = 0,
    chainer_python: str | None = None,
    torch_python: str | None = None,
    device: str = "cpu",
    timeout: float = 600,
    junit: Path | None = None,
    trace: Path | None = None,
) -> VerifyReport:
    """Runs the models of ``src`` under Chainer and their namesakes of ``out`` under PyTorch, and compares.

    They are those of ``src/pyproject.toml``, of ``trace``, and every other Chain of ``src`` whose arguments and inputs
    its code tells or are found by trying. What the original does not take is not verified.

    Compared are outputs, gradients of inputs and parameters, running statistics, and ``steps`` steps of plain gradient
    descent, in float32 and float64, in train and test mode. A difference comes with the first link that diverges.

    Args:
        src, out: The original tree and the migrated one; the modules are imported from their roots.
        names: Targets (``net:MLP``, or the class alone) to run, all by default.
        trace: A file of ``chainer2torch trace``: its links are verified, too, with the arguments and shapes it saw.

    Raises:
        ModelsError: The table is wrong, or a name fits no model.
        DeviceError: ``device`` is not there.
        WorkerError: An interpreter cannot be started.
    """
    worker_process.check_device(device, chainer_python, torch_python)
    found = list(read_entries(src) if entries is None else entries)
    seen: list[Left] = []
    unclear: list[Left] = []
    if trace is not None:
        from chainer2torch.verify.trace.record import entries as traced_entries
        from chainer2torch.verify.trace.record import read

        traced, whats = traced_entries(read(trace), src)
        seen = [Left(what.partition(": ")[0], what.partition(": ")[2]) for what in whats]
        found += [e for e in traced if e.target not in {entry.target for entry in found}]
    inferred: list[list[ModelEntry]] = []
    if entries is None:
        from chainer2torch.verify.models.inferred import infer

        inferred, unclear = infer(src, out, {*(entry.target for entry in found), *(what.target for what in seen)})
    if names:
        targets = [
            *(entry.target for entry in found),
            *(some[0].target for some in inferred),
            *(what.target for what in unclear),
        ]
        unknown = [name for name in names if not any(_named(target, [name]) for target in targets)]
        if unknown:
            raise ModelsError(f"{src / 'pyproject.toml'}: no model is named {unknown[0]}")
        found = [entry for entry in found if _named(entry.target, names)]
        inferred = [some for some in inferred if _named(some[0].target, names)]
        unclear = [what for what in unclear if _named(what.target, names)]
    chosen, unclear = choose(inferred, unclear, src.resolve(), out.resolve(), python=chainer_python, timeout=timeout)
    found += chosen
    # What was inferred runs apart: a worker that it ends takes nothing with it that was given.
    reports = [
        _run_apart(
            part,
            src.resolve(),
            out.resolve(),
            steps,
            seed,
            {"chainer": chainer_python, "torch": torch_python},
            device,
            timeout,
        )
        for part in ([e for e in found if not e.inferred], [e for e in found if e.inferred])
    ]
    report = VerifyReport(
        [o for r in reports for o in r.outcomes],
        [p for r in reports for p in r.problems],
        {**reports[1].versions, **reports[0].versions},
        device,
    )
    report.outcomes += [
        Outcome(Pair(f"t{i}", what.target, label, "", ""), UNVERIFIED, [what.why])
        for label, whats in (("trace", seen), ("inferred", unclear))
        for i, what in enumerate(whats)
    ]
    report.hints = _hints(src, [*seen, *unclear])
    if not found:
        report.problems.append(
            f"{src / 'pyproject.toml'}: no [[tool.chainer2torch.verify.model]]: it names a model's "
            "target, args and inputs, where the code does not tell them"
        )
    if junit is not None:
        junit.write_text(report.junit(), encoding="utf-8")
    return report


def _hints(src: Path, left: Sequence[Left]) -> list[str]:
    """What a person can do about the models that were not verified, with a table for the first of them."""
    missing = sorted({what.package for what in left if what.package})
    hints = [f"the original imports what is not here: {', '.join(missing)}"] if missing else []
    first = next((what for what in left if what.settled_by_table), None)
    if first is not None:
        hints += [
            "to verify them: `chainer2torch trace`, or what they are made from and called with, in "
            f"{src / 'pyproject.toml'} (a target may be a function that makes and returns the model):",
            *("    " + line for line in first.table()),
        ]
    return hints


def _named(target: str, names: Sequence[str]) -> bool:
    return target in names or target.split(":")[1] in names


def _run_apart(
    entries: Sequence[ModelEntry],
    src: Path,
    out: Path,
    steps: int,
    seed: int,
    pythons: Mapping[str, str | None],
    device: str,
    timeout: float,
) -> VerifyReport:
    root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
    try:
        return _run(entries, src, out, root, steps, seed, pythons, device, timeout)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(
    entries: Sequence[ModelEntry],
    src: Path,
    out: Path,
    root: Path,
    steps: int,
    seed: int,
    pythons: Mapping[str, str | None],
    device: str,
    timeout: float,
) -> VerifyReport:
    names = read_names(src)
    pairs = [
        Pair(
            f"m{i}-{mode}@{dtype}",
            entry.target,
            f"{dtype}, {mode}" + ", inferred" * entry.inferred,
            entry.text(),
            entry.text(),
            entry.inputs,
            dtype=dtype,
            mode=mode,
            seed=f"{entry.target}/{seed}",
        )
        for i, entry in enumerate(entries)
        for mode in entry.modes
        for dtype in ("float32", "float64")
    ]
    if not pairs:
        return VerifyReport([], [], {}, device)
    inputs: dict[str, np.ndarray] = {}
    try:
        cases = [
            dict(
                case_of(pair, inputs),
                steps=steps,
                rate=_RATE,
                source=pair.chainer,
                module=pair.row.partition(":")[0],
                root=helpers_root(out, pair.row.partition(":")[0]),
            )
            for pair in pairs
        ]
    except GivenError as error:
        raise ModelsError(f"{src / 'pyproject.toml'}: {error}") from None
    folders = {name: root / name for name in ("chainer", "torch")}
    for folder in folders.values():
        folder.mkdir()
        np.savez(str(folder / "inputs.npz"), **wire.escape(inputs))
    job = {"kind": "models", "device": device, "seed": seed}
    left = worker_process.run_cases(
        worker_process.CHAINER_WORKER,
        folders["chainer"],
        {**job, "cases": cases, "tree": str(src)},
        python=pythons["chainer"],
        timeout=timeout,
    )
    own = {
        pair.id: {key: value for key, value in {**names, **names.get(pair.row, {})}.items() if isinstance(value, str)}
        for pair in pairs
    }
    ready = [
        dict(
            case,
            weights=record["weights"],
            differentiated=record.get("differentiated", []),
            names=own[case["id"]],
            called=[call["path"] for call in record["calls"]],
        )
        for case in cases
        if (record := left.records.get(case["id"], {})).get("status") == "ok"
    ]
    right = worker_process.run_cases(
        worker_process.TORCH_WORKER,
        folders["torch"],
        {**job, "cases": ready, "tree": str(out), "reference": str(folders["chainer"])},
        python=pythons["torch"],
        timeout=timeout,
    )
    outcomes = [_outcome(pair, left, right, device) for pair in pairs]
    rounding.explain(outcomes, left.arrays, right.arrays)
    given = {
        entry.target: f"{'found by trying' if entry.tried else 'inferred from the code'}: {entry.call()} of "
        f"{', '.join(map(str, entry.inputs.values()))}"
        for entry in entries
        if entry.inferred
    }
    for outcome in outcomes:
        outcome.notes += [given[outcome.pair.row]] if outcome.pair.row in given else []
    # An original that ends its worker, once that runs, has refused what was inferred.
    refused = left.problem if given and left.versions else None
    problems = [r.problem for r in (left, right) if r.problem and r.problem is not refused]
    return VerifyReport(outcomes, problems, worker_process.versions_of(left, right), device)


def _outcome(pair: Pair, left: worker_process.WorkerResult, right: worker_process.WorkerResult, device: str) -> Outcome:
    outcome = Outcome(pair)
    x, y = left.records.get(pair.id), right.records.get(pair.id)
    if x is None or (y is None and x["status"] == "ok"):
        name, ended = ("Chainer", left) if x is None else ("PyTorch", right)
        outcome.leave(
            f"{name}: "
            + (
                "the worker ended before this case"
                if ended.status is not None
                else "its time was up before this case (--timeout, or name the models one by one)"
            )
        )
        return outcome
    if y is None:  # the original itself does not run: nothing to compare with
        outcome.leave(f"Chainer: {x['type']} in {x['phase']}: {' '.join(x['message'].split())}")
        return outcome
    a, b = left.arrays(pair.id), right.arrays(pair.id)
    judge(outcome, x, y, a, b, device)
    if y["status"] == "ok" and not any(name.startswith("out") for name in (*a, *b)):
        # Nothing was differentiated: the gradients hold what the frameworks start with, and steps go nowhere.
        about = [reason for reason in outcome.reasons if reason.startswith("out")]
        if outcome.status != PASSED and all("cannot be compared" in reason for reason in about):
            outcome.status, outcome.reasons = UNVERIFIED, about or ["output: holds no array that can be compared"]
            return outcome
    outcome.notes += [f"names: {how}" for how in y.get("names", [])]
    lacking = sorted({*x.get("missing", []), *y.get("missing", [])})
    outcome.notes += [f"not installed, and not used by what was run: {', '.join(lacking)}"] if lacking else []
    outcome.notes += ["its migrated module still imports chainer"] if y.get("imports_chainer") else []
    if "calls" not in x or "calls" not in y:
        return outcome
    outcome.layers = _layers(x["calls"], y["calls"], a, b)
    if y["status"] == "error":
        outcome.reasons.insert(0, _first_divergence(x["calls"], y["calls"], a, b))
        return outcome
    for name in sorted(name for name in a if name.startswith("step/")):
        if name not in b:
            outcome.fail(f"{name}: missing on PyTorch's side")
            continue
        note(outcome, compare_arrays(name, a[name], b[name], any_float=True))
    if outcome.status == FAILED:
        outcome.reasons.insert(0, _first_divergence(x["calls"], y["calls"], a, b))
    return outcome


def _first_divergence(
    xs: Sequence[Mapping[str, Any]],
    ys: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
) -> str:
    """Which link's output differs first, in the order of the calls; the calls of a link are paired one by one."""
    before, missing = "the inputs", ""
    for x, y in _calls(xs, ys):
        if y is None:
            missing = missing or f"; the first link that PyTorch did not call is {_call(x)}"
            continue
        for name in sorted(name for name in a if name == x["key"] or name.startswith(x["key"] + "/")):
            other = b.get(y["key"] + name[len(x["key"]) :])
            if other is None:
                return f"first diverging link: {_place(x, y)}: another number of outputs"
            difference = compare_arrays(x["path"], a[name], other)
            if not difference.equal and x["path"] == "/":
                return (
                    f"every link's output is equal, the model's own is not: the difference comes after {before}"
                    f"{missing}: {difference.reason}; largest error {difference.max_abs:.3g}"
                )
            if not difference.equal:
                return (
                    f"first diverging link: {_place(x, y)}: {difference.reason}; "
                    f"largest error {difference.max_abs:.3g}; equal up to {before}"
                )
        before = _call(x)
    return f"no link's output differs: the difference comes after {before} or only in the backward pass{missing}"


def _calls(
    xs: Sequence[Mapping[str, Any]], ys: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """Each call of a link with its counterpart: the calls of one link are paired one by one."""
    waiting: dict[str, list[Mapping[str, Any]]] = {}
    for call in ys:
        waiting.setdefault(call["path"], []).append(call)
    for x in xs:
        partners = waiting.get(x["path"])
        yield x, partners.pop(0) if partners else None


def _layers(
    xs: Sequence[Mapping[str, Any]],
    ys: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
) -> list[tuple[str, float]]:
    """The largest relative error of each link's output, in the order of the calls; infinite where it has no
    counterpart.
    """
    found = []
    for x, y in _calls(xs, ys):
        errors = [math.inf] if y is None else [0.0]
        for name in sorted(name for name in a if y and (name == x["key"] or name.startswith(x["key"] + "/"))):
            other = b.get(y["key"] + name[len(x["key"]) :]) if y else None
            errors.append(math.inf if other is None else compare_arrays(x["path"], a[name], other).max_rel)
        found.append((_call(x), max(errors)))
    return found


def _call(call: Mapping[str, Any]) -> str:
    return f"{call['path']} ({call['line']})" if call["line"] else f"{call['path']}"


def _place(x: Mapping[str, Any], y: Mapping[str, Any]) -> str:
    return f"{x['path']}, {x['type']} at {x['line'] or '?'} and {y['type']} at {y['line'] or '?'}"
