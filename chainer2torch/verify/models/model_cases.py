"""Runs models in both workers, Chainer's first: PyTorch's begins with its weights."""

from __future__ import annotations

import dataclasses
import re
import shutil
import tempfile
import threading
import time
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
from chainer2torch.verify.kept import Kept
from chainer2torch.verify.models import kept_cases, own_rounding
from chainer2torch.verify.models.entries import ModelEntry, ModelsError, file_of, read_names
from chainer2torch.verify.models.aligned_layers import DIFFER, back_by_themselves, by_themselves
from chainer2torch.verify.models.model_verdict import outcome_of
from chainer2torch.verify.models.ports import Ports
from chainer2torch.verify.models.trials import place_of
from chainer2torch.verify.results import VerifyReport
from chainer2torch.verify.rules.given import GivenError
from chainer2torch.verify.warm_workers import WarmWorkers
from chainer2torch.verify.worker import wire

# Small enough that a few steps do not leave the range where both frameworks round alike.
_RATE = 0.01
# Values of all parameters together.
_LARGE = 4_000_000
_SLOW, _VERY_SLOW = 0.15, 1.0  # seconds of a forward pass
# Up to so many, a model is made several times on both sides, to compare what it starts with.
_SMALL = 500_000


@dataclasses.dataclass(frozen=True)
class Setting:
    """Where and how models are run; see ``verify_models``. ``end`` is when the whole run ends, of the monotonic clock;
    ``stop`` ends it earlier.
    """

    src: Path
    out: Path
    steps: int = 3
    seed: int = 0
    chainer_python: str | None = None
    torch_python: str | None = None
    device: str = "cpu"
    timeout: float = 600
    end: float = float("inf")
    stop: threading.Event = dataclasses.field(default_factory=threading.Event)
    map_file: Path | None = None
    ports: Ports | None = None
    warm: WarmWorkers | None = None
    kept: Kept | None = None

    def port_of(self, entry: ModelEntry) -> str:
        """The target of a model's counterpart."""
        return entry.port or (self.ports.target(entry.target) if self.ports else entry.target)

    def steps_of(self, entry: ModelEntry) -> int:
        """How many steps a model makes: within a budget a large one makes one, which shows what an update does, and one
        that takes very long none: its gradients are compared.
        """
        if self.end == float("inf"):
            return self.steps
        return 0 if entry.seconds > _VERY_SLOW else min(self.steps, 1) if entry.size > _SMALL else self.steps

    def missing_steps(self, entry: ModelEntry) -> list[str]:
        """What the report says of a model that makes no step."""
        if self.steps and not self.steps_of(entry):
            return ["a forward pass takes long: no step of gradient descent was compared within the time (--budget)"]
        return []

    def left(self) -> float:
        """Seconds that a worker may take now."""
        return max(0.0, min(self.timeout, self.end - time.monotonic()))

    def is_over(self) -> bool:
        """Whether nothing new is begun."""
        return self.stop.is_set() or self.left() <= 0


def run(entries: Sequence[ModelEntry], setting: Setting) -> VerifyReport:
    """The outcomes of some models, each in two modes and two dtypes; a large one that is equal in float32 has no
    float64 pass, which would only decide what a difference is, and within a budget no slow one.
    """
    is_short = setting.end != float("inf")
    large = [entry for entry in entries if entry.size > _LARGE or is_short and entry.seconds > _SLOW]
    report = _run_apart([entry for entry in entries if entry not in large], setting)
    _add(report, _run_apart(large, setting, ("float32",)))
    different = {o.pair.row for o in report.outcomes if o.status == FAILED and not o.raised}
    again = [entry for entry in large if entry.target in different]
    if again and not setting.is_over():
        report.outcomes = [o for o in report.outcomes if o.pair.row not in {entry.target for entry in again}]
        _add(report, _run_apart(again, setting))
    elif again:
        for outcome in report.outcomes:
            if outcome.status == FAILED and outcome.pair.row in {entry.target for entry in again}:
                outcome.status = UNVERIFIED
                outcome.reasons.insert(0, "its time was up before float64 could say whether this is rounding")
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


def _run_apart(
    entries: Sequence[ModelEntry], setting: Setting, dtypes: Sequence[str] = ("float32", "float64")
) -> VerifyReport:
    root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
    try:
        return _run(entries, setting, root, dtypes)
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _run(entries: Sequence[ModelEntry], setting: Setting, root: Path, dtypes: Sequence[str]) -> VerifyReport:
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
            and entry.size <= _SMALL
            and not re.search(r"\bL\.", entry.arguments()),
        )
        for key, entry in zip(_keys(entries), entries, strict=True)
        for mode in entry.modes
        for dtype in dtypes
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
    left = kept_cases.run(
        setting.kept,
        folders["chainer"],
        {**job, "cases": cases, "tree": str(src)},
        inputs,
        python=setting.chainer_python,
        timeout=setting.left(),
        stop=setting.stop,
        warm=setting.warm,
    )
    own = {
        pair.id: {key: value for key, value in {**names, **names.get(pair.row, {})}.items() if isinstance(value, str)}
        for pair in pairs
    }
    texts = {pair.id: pair.torch for pair in pairs}
    rows = {pair.id: pair.row for pair in pairs}
    ready = [
        dict(
            case,
            source=texts[case["id"]],
            weights=record["weights"],
            held=record.get("held", {}),
            differentiated=record.get("differentiated", []),
            steps=record.get("steps", case["steps"]),
            promoted=record.get("promoted", False),
            names=own[case["id"]],
            called=[call["path"] for call in record["calls"]],
            **place_of(out, setting.port_of(by_target[rows[case["id"]]])),
        )
        for case in cases
        if (record := left.records.get(case["id"], {})).get("status") == "ok"
    ]
    right = worker_process.run_cases(
        worker_process.TORCH_WORKER,
        folders["torch"],
        {**job, "cases": ready, "tree": str(out), "reference": str(folders["chainer"])},
        python=setting.torch_python,
        timeout=setting.left(),
        stop=setting.stop,
        warm=setting.warm,
    )
    sets_first_values = _sets_first_values(out)
    outcomes = [outcome_of(pair, left, right, device, sets_first_values) for pair in pairs]

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
        outcome.notes += setting.missing_steps(by_target[outcome.pair.row])
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
