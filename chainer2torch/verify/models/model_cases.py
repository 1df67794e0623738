"""Runs models in both workers, Chainer's first: PyTorch's begins with its weights."""

from __future__ import annotations

import re
import shutil
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.vendor import compat_file
from chainer2torch.verify import worker_process
from chainer2torch.verify.judge import rounding
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.judge.pairs import case_of
from chainer2torch.verify.models import both_sides, kept_cases, own_rounding
from chainer2torch.verify.models.entries import ModelEntry, ModelsError, file_of, read_names
from chainer2torch.verify.models.aligned_layers import DIFFER, back_by_themselves, by_themselves
from chainer2torch.verify.models.model_verdict import outcome_of
from chainer2torch.verify.models.setting import LARGE, SLOW, SMALL, Setting
from chainer2torch.verify.models.trials import place_of
from chainer2torch.verify.results import VerifyReport
from chainer2torch.verify.rules.given import GivenError
from chainer2torch.verify.worker import wire

# Small enough that a few steps do not leave the range where both frameworks round alike.
_RATE = 0.01


def run(entries: Sequence[ModelEntry], setting: Setting) -> VerifyReport:
    """The outcomes of some models, each in two modes and two dtypes; a large one that is equal in float32 has no
    float64 pass, which would only decide what a difference is, and within a budget no slow one.
    """
    is_short = setting.end != float("inf")
    large = [entry for entry in entries if entry.size > LARGE or is_short and entry.seconds > SLOW]
    report = _run_apart([entry for entry in entries if entry not in large], setting)
    _add(report, _run_apart(large, setting, where_it_differs=True))
    return report


def _sets_first_values(out: Path) -> bool:
    """Whether a port sets what its layers start with: one with ``--init torch``, and most by hand, do not."""
    return any(
        word in path.read_bytes()
        for path in out.rglob("*.py")
        if path.name != compat_file.FILE_NAME
        for word in (b"nn.init.", b"init_like_chainer", b".initialized(")
    )


def _add(report: VerifyReport, part: VerifyReport) -> None:
    report.outcomes += part.outcomes
    report.problems += part.problems
    report.versions.update(part.versions)


def _run_apart(entries: Sequence[ModelEntry], setting: Setting, where_it_differs: bool = False) -> VerifyReport:
    root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
    try:
        return _run(entries, setting, root, where_it_differs)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(entries: Sequence[ModelEntry], setting: Setting, root: Path, where_it_differs: bool) -> VerifyReport:
    """The outcomes of some models; ``where_it_differs``: in float64 only those cases that differ in float32."""
    src, out, device = setting.src, setting.out, setting.device
    names = read_names(src, setting.map_file)
    pairs = [
        Pair(
            f"{key}-{mode}@{dtype}",
            entry.target,
            f"{dtype}, {mode}" + ", inferred" * entry.inferred,
            entry.text(),
            entry.text(setting.port_of(entry)),
            entry.inputs,
            dtype=dtype,
            mode=mode,
            arrays=entry.plain,
            seed=f"{entry.target}/{setting.seed}",
            # A layer that only stands for one of Chainer's (``L.Linear``) starts as PyTorch's does.
            initial=dtype == "float32"
            and mode == entry.modes[0]
            and entry.size <= SMALL
            and not re.search(r"\bL\.", entry.arguments()),
        )
        for key, entry in zip(_keys(entries), entries, strict=True)
        for mode in entry.modes
        for dtype in ("float32", "float64")
    ]
    if not pairs:
        return VerifyReport([], [], {}, device)
    by_target = {entry.target: entry for entry in entries}
    inputs: dict[str, np.ndarray] = {}
    try:
        cases = [
            dict(
                case_of(pair, inputs),
                steps=setting.steps_of(by_target[pair.row]),
                most=setting.most_of(by_target[pair.row]),
                grad=setting.is_differentiated(by_target[pair.row], pair.mode),
                rate=_RATE,
                source=pair.chainer,
                is_first_version=by_target[pair.row].is_first_version,
                **place_of(out, pair.row),
            )
            for pair in pairs
        ]
    except GivenError as error:
        raise ModelsError(f"{file_of(src, setting.map_file)}: {error}") from None
    folders = {name: root / name for name in ("chainer", "torch")}
    for folder in folders.values():
        folder.mkdir()
        np.savez(str(folder / "inputs.npz"), **wire.escape(inputs))
    job = {"kind": "models", "device": device, "seed": setting.seed}
    own = {
        pair.id: {key: value for key, value in {**names, **names.get(pair.row, {})}.items() if isinstance(value, str)}
        for pair in pairs
    }
    ports = {
        pair.id: {
            "source": pair.torch,
            "names": own[pair.id],
            **place_of(out, setting.port_of(by_target[pair.row])),
        }
        for pair in pairs
    }
    sets_first_values = _sets_first_values(out)

    def both(some: Sequence[Pair]) -> tuple[list[Outcome], both_sides.Sides]:
        ids = {pair.id for pair in some}
        sides = both_sides.both([case for case in cases if case["id"] in ids], inputs, ports, job, folders, setting)
        return [outcome_of(pair, sides.left, sides.right, device, sets_first_values) for pair in some], sides

    outcomes, sides = both([pair for pair in pairs if pair.dtype == "float32" or not where_it_differs])
    different = {o.pair.id for o in outcomes if where_it_differs and o.status == FAILED and not o.raised}
    doubles = [pair for pair in pairs if pair.id.replace("@float64", "@float32") in different - {pair.id}]
    if doubles and setting.is_over():
        for outcome in outcomes:
            if outcome.pair.id in different:
                outcome.status = UNVERIFIED
                outcome.reasons.insert(0, "its time was up before float64 could say whether this is rounding")
    elif doubles:
        more, others = both(doubles)
        outcomes, sides = [*outcomes, *more], sides.joined(others)
    left, right, ready = sides.left, sides.right, sides.ready

    def again(ids: Sequence[str]) -> dict[str, Mapping[str, np.ndarray]]:
        return _nudged([case for case in cases if case["id"] in ids], {**job, "tree": str(src)}, root, setting)

    own_rounding.explain_doubles(outcomes, left.arrays, right.arrays, again, setting.is_over)
    rounding.explain(outcomes, left.arrays, right.arrays)
    rounding.without_float64(outcomes)
    own_rounding.explain(outcomes, left.arrays, right.arrays, again)
    aligned = _align(
        outcomes,
        cases,
        inputs,
        ready,
        left,
        {**job, "tree": str(out), "reference": str(folders["chainer"])},
        root,
        setting,
    )
    if setting.is_over():
        rounding.without_layers([outcome for outcome in outcomes if outcome.pair.id not in aligned])
    given = {
        entry.target: f"{'found by trying' if entry.tried else 'inferred from the code'}: {entry.call()} of "
        f"{', '.join(map(str, entry.inputs.values()))}"
        for entry in entries
        if entry.inferred
    }
    for outcome in outcomes:
        outcome.notes += [given[outcome.pair.row]] if outcome.pair.row in given else []
        outcome.notes += setting.limits(by_target[outcome.pair.row])
        outcome.notes += setting.ports.note(outcome.pair.row) if setting.ports else []
    # An original that ends its worker, once that runs, has refused what was inferred.
    refused = left.problem if given and left.versions else None
    problems = [r.problem for r in (left, right) if r.problem and r.problem is not refused]
    if setting.is_over():  # the workers were ended for that
        problems = []
    return VerifyReport(outcomes, problems, worker_process.versions_of(left, right), device)


def _nudged(
    cases: Sequence[dict[str, Any]], job: dict[str, Any], root: Path, setting: Setting
) -> dict[str, Mapping[str, np.ndarray]]:
    """The arrays of some cases under Chainer, from weights that are changed in their last bit."""
    if setting.is_over():
        return {}
    folder = root / f"nudged-{cases[0]['dtype']}"
    folder.mkdir()
    shutil.copy(root / "torch" / "inputs.npz", folder / "inputs.npz")
    result = worker_process.run_cases(
        worker_process.CHAINER_WORKER,
        folder,
        {**job, "nudge": True, "cases": [dict(case, initial=0) for case in cases]},
        python=setting.chainer_python,
        timeout=setting.left(),
        stop=setting.stop,
        warm=setting.warm,
    )
    return {name: result.arrays(name) for name, record in result.records.items() if record.get("status") == "ok"}


def _keys(entries: Sequence[ModelEntry]) -> list[str]:
    """A name for each entry that does not depend on the others: what it is made from and given."""
    found: list[str] = []
    for entry in entries:
        key = f"m{zlib.crc32(repr((entry.target, entry.text(), entry.inputs)).encode()):08x}"
        found.append(f"{key}x{found.count(key)}" if key in found else key)
    return found


def _align(
    outcomes: Sequence[Outcome],
    cases: Sequence[dict[str, Any]],
    inputs: dict[str, np.ndarray],
    ready: Sequence[dict[str, Any]],
    left: worker_process.WorkerResult,
    job: dict[str, Any],
    root: Path,
    setting: Setting,
) -> set[str]:
    """Says of what differs which layers differ by themselves, each given Chainer's outputs of those before it; gives
    the cases of which it could.
    """
    different = {o.pair.id: o for o in outcomes if o.status == FAILED and not o.raised}
    again = [
        dict(case, aligned=left.records[case["id"]]["calls"], steps=0) for case in ready if case["id"] in different
    ]
    if not again or setting.is_over():
        return set()
    folder, held = root / "aligned", root / "held"
    for place in (folder, held):
        place.mkdir()
        shutil.copy(root / "torch" / "inputs.npz", place / "inputs.npz")
    # Chainer's gradients at the outputs of the links are held for this alone.
    originals = [dict(case, retain_grad=True, steps=0, initial=0) for case in cases if case["id"] in different]
    about = {name: job[name] for name in ("kind", "device", "seed")}
    with_gradients = kept_cases.run(
        setting.kept,
        held,
        {**about, "tree": str(setting.src), "cases": originals},
        inputs,
        python=setting.chainer_python,
        timeout=setting.left(),
        stop=setting.stop,
        warm=setting.warm,
    )
    if any(with_gradients.records.get(case["id"], {}).get("status") != "ok" for case in again):
        with_gradients = left
    result = worker_process.run_cases(
        worker_process.TORCH_WORKER,
        folder,
        {**job, "reference": str(with_gradients.folder), "cases": again},
        python=setting.torch_python,
        timeout=setting.left(),
        stop=setting.stop,
        warm=setting.warm,
    )
    compared = set()
    for case in again:
        if result.records.get(case["id"], {}).get("status") == "ok":
            compared.add(case["id"])
            expected, actual = with_gradients.arrays(case["id"]), result.arrays(case["id"])
            name = f"{case['id'].partition('@')[0]}@float64"
            double = next((o for o in outcomes if o.pair.id == name), None)
            said = by_themselves(case["aligned"], expected, actual)
            if not any(DIFFER in line for line in said):
                rounded = double is not None and double.status == PASSED
                said += back_by_themselves(case["aligned"], expected, actual, rounded)
            outcome = different[case["id"]]
            outcome.reasons[1:1] = said
            if not any(DIFFER in line for line in said):
                own_rounding.by_layers(outcome, double, said)
    return compared
