"""``verify script``: the user's training script and its migration in lockstep, iteration by iteration."""

from __future__ import annotations

import dataclasses
import json
import math
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.verify.script import outputs
from chainer2torch.verify import worker_process
from chainer2torch.verify.judge import sensitivity, tolerances

_LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".hg",
    ".svn",
    ".venv",
    "venv",
    "__pycache__",
    "*.pyc",
    "node_modules",
    ".mypy_cache",
    ".pytest_cache",
    ".tox",
)


@dataclasses.dataclass(frozen=True)
class Step:
    """One compared value: what Chainer and PyTorch had, at which update of which optimizer."""

    iteration: int
    optimizer: int
    name: str
    chainer: float | None
    torch: float | None

    @property
    def relative(self) -> float:
        """The relative difference; inf where one side has no value."""
        if self.chainer is None or self.torch is None:
            return math.inf
        if self.chainer == self.torch or (math.isnan(self.chainer) and math.isnan(self.torch)):
            return 0.0
        difference = abs(self.chainer - self.torch) / max(abs(self.chainer), 1e-30)
        return math.inf if math.isnan(difference) else difference


@dataclasses.dataclass
class ScriptReport:
    """The outcome of ``verify script``. ``problems`` are errors; ``unverified`` is what could not be compared."""

    script: str
    steps: list[Step]
    iterations: int
    problems: list[str]
    unverified: list[str]
    facts: dict[str, str]
    rtol: float = tolerances.SCRIPT_RTOL
    atol: float = tolerances.SCRIPT_ATOL
    double: ScriptReport | None = None
    # what rounding decides: PyTorch's largest difference and Chainer's from itself, by name
    undecided: Mapping[str, tuple[float, float]] = dataclasses.field(default_factory=dict)

    def differs(self, step: Step) -> bool:
        """Whether a compared value is outside the tolerance."""
        if step.chainer is None or step.torch is None:
            return True
        if step.name in self.undecided:
            return False
        if step.relative <= self.rtol:
            return False
        return not abs(step.chainer - step.torch) <= self.atol

    @property
    def first_difference(self) -> Step | None:
        """The first value, in the order of the run, that differs."""
        return next(filter(self.differs, self.steps), None)

    @property
    def ok(self) -> bool:
        """Whether losses were compared and they and all other values were equal: in float64, if not in float32.

        A script amplifies rounding from iteration to iteration. What is equal in float64 means the same.
        """
        compared = any(step.name.startswith("loss") and step.name not in self.undecided for step in self.steps)
        if not compared or self.problems:
            return False
        return self.first_difference is None or (self.double is not None and self.double.ok)

    @property
    def exit_code(self) -> int:
        """0 only if something was compared and all of it was equal."""
        return 0 if self.ok else 1

    def lines(self) -> list[str]:
        """The report as text."""
        out = [f"verify script {self.script}: {self.iterations} iterations"]
        losses = [step for step in self.steps if step.name.startswith("loss")]
        if losses:
            out.append(f"{'iteration':>9}  {'value':<28} {'Chainer':>14} {'PyTorch':>14} {'rel. diff.':>11}")
            for step in _shown(losses, self):
                mark = "  <- differs" if self.differs(step) else ""
                out.append(
                    f"{step.iteration:>9}  {_named(step):<28} {_figure(step.chainer):>14} "
                    f"{_figure(step.torch):>14} {step.relative:>11.2e}{mark}"
                )
        others = sorted({step.name for step in self.steps} - {step.name for step in losses})
        for name in others:
            worst = max((step for step in self.steps if step.name == name), key=lambda step: step.relative)
            count = sum(step.name == name for step in self.steps)
            out.append(f"reported  {name}: {count} values, largest relative difference {worst.relative:.2e}")
        first = self.first_difference
        if first is not None:
            out.append(
                f"DIFFERENT: first at iteration {first.iteration}, {_named(first)}: "
                f"Chainer {_figure(first.chainer)}, PyTorch {_figure(first.torch)}"
            )
        out += [f"ERROR: {problem}" for problem in self.problems]
        out += [f"not verified: {what}" for what in self.unverified]
        if not losses:
            out.append("FAILED: nothing was compared")
        elif self.double is not None:
            out += self._double_lines(self.double)
        elif self.ok:
            worst_loss = max(step.relative for step in losses)
            out.append(
                f"EQUAL: {len(self.steps)} values, of which {len(losses)} losses; "
                f"largest relative difference of a loss {worst_loss:.2e}"
            )
        out.append(f"tolerance: rtol {self.rtol:g}, atol {self.atol:g}")
        out.append("; ".join(f"{name} {value}" for name, value in self.facts.items()))
        return out

    def _double_lines(self, double: ScriptReport) -> list[str]:
        """What the float64 pass says about a difference in float32."""
        losses = [step for step in double.steps if step.name.startswith("loss") and step.name not in double.undecided]
        first = double.first_difference
        undecided = [f"not verified: {line}" for line in sensitivity.lines(double.undecided)]
        if double.ok:
            worst = max(step.relative for step in losses)
            count = sum(step.name not in double.undecided for step in double.steps)
            return [
                *undecided,
                f"EQUAL in float64: {count} values, of which {len(losses)} losses; largest relative "
                f"difference of a loss {worst:.2e} (rtol {double.rtol:g}). The difference in float32 is "
                "rounding, which training amplifies.",
                *self._whose_rounding(double, losses),
            ]
        if first is None and undecided:
            return [*undecided, "FAILED: rounding decides all losses; compare fewer iterations"]
        if first is None:
            return ["the float64 pass could not be made: " + "; ".join(double.problems or ["no loss was compared"])]
        return [
            *undecided,
            f"float64 differs too, first at iteration {first.iteration}, {_named(first)}: Chainer "
            f"{_figure(first.chainer)}, PyTorch {_figure(first.torch)}: the difference is one of meaning",
        ]

    def _whose_rounding(self, double: ScriptReport, losses: Sequence[Step]) -> list[str]:
        """How far each framework's float32 is from float64, where both runs made the same updates."""
        single = [step for step in self.steps if step.name.startswith("loss")]
        if [(s.iteration, s.optimizer) for s in single] != [(s.iteration, s.optimizer) for s in losses]:
            return []
        chainer, torch = (
            max(
                Step(d.iteration, d.optimizer, d.name, d.chainer, value).relative
                for d, value in zip(losses, values, strict=True)
            )
            for values in ([s.chainer for s in single], [s.torch for s in single])
        )
        return [
            f"largest relative difference of a loss in float32 from Chainer's float64: Chainer {chainer:.2e}, "
            f"PyTorch {torch:.2e}"
        ]


def verify_script(
    src: Path,
    out: Path,
    argv: Sequence[str],
    *,
    iterations: int = 20,
    seed: int = 0,
    chainer_python: str | None = None,
    torch_python: str | None = None,
    device: str = "cpu",
    timeout: float = 600,
    rtol: float = tolerances.SCRIPT_RTOL,
    atol: float = tolerances.SCRIPT_ATOL,
    float64: bool = True,
) -> ScriptReport:
    """Runs ``argv`` (a script of ``src`` and its arguments) under Chainer and its namesake in ``out`` under PyTorch.

    Both run unedited, in scratch copies of their trees, with the copies as working directories, from the same initial
    weights, batches and dropout masks, for ``iterations`` updates of each optimizer. The losses that ``backward``
    starts from and the values that are reported are compared update by update. A difference is looked at again in
    float64, unless ``float64`` is False.

    Raises:
        DeviceError: ``device`` is not there.
        FileNotFoundError: A tree or the script is missing.
        WorkerError: An interpreter cannot be started.
    """
    worker_process.check_device(device, chainer_python, torch_python)
    if not argv:
        raise FileNotFoundError("no script: verify script SRC OUT -- train.py ARGS")
    for tree in (src, out):
        if not (tree / argv[0]).is_file():
            raise FileNotFoundError(f"{tree / argv[0]}: no such script")
    job = {"kind": "script", "argv": list(argv), "iterations": iterations, "seed": seed, "device": device}

    trees, pythons = {"chainer": src, "torch": out}, {"chainer": chainer_python, "torch": torch_python}

    def compared(dtype: str) -> ScriptReport:
        left, right = _run_both({**job, "dtype": dtype}, trees, pythons, timeout)
        close = (rtol, atol) if dtype == "float32" else (tolerances.DOUBLE_RTOL, tolerances.DOUBLE_ATOL)
        report = _compare(left, right, " ".join(argv), *close, device)
        report.facts.update(
            {"dtype": dtype, "seed": str(seed), "device": device, **worker_process.versions_of(left, right)}
        )
        if dtype == "float64" and report.first_difference is not None and not report.problems:
            (again,) = _run_both({**job, "dtype": dtype, "nudge": True}, {"chainer": src}, pythons, timeout)
            report.undecided = sensitivity.decided_by_rounding(
                {step.name for step in report.steps if report.differs(step)}, report.steps, _all_steps(left, again)
            )
        return report

    report = compared("float32")
    if float64 and report.first_difference is not None and not report.problems:
        report.double = compared("float64")
    return report


def _run_both(
    job: Mapping[str, Any], trees: Mapping[str, Path], pythons: Mapping[str, str | None], timeout: float
) -> list[worker_process.WorkerResult]:
    """The results of Chainer's run and of PyTorch's, which starts from the weights that the first one kept.

    Of the two those that ``trees`` names are made.
    """
    root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
    try:
        results: list[worker_process.WorkerResult] = []
        for name, tree in trees.items():
            worker = worker_process.CHAINER_WORKER if name == "chainer" else worker_process.TORCH_WORKER
            copy, folder = root / name / "tree", root / name / "results"
            folder.mkdir(parents=True)
            shutil.copytree(tree, copy, symlinks=True, ignore=_LEFT_OUT)
            extra: dict[str, Any] = {"tree": str(copy)}
            if results:
                extra["reference"] = str(results[0].folder)
                notes = results[0].records.get("end", {}).get("notes", {})
                extra.update({"targets": notes.get("targets", {}), "others": notes.get("others", [])})
            results.append(
                worker_process.run_worker(
                    worker,
                    folder,
                    {**job, **extra},
                    python=pythons[name],
                    timeout=timeout,
                    cwd=copy,
                    env=_environment(),
                )
            )
        return results
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _environment() -> Mapping[str, str]:
    root = os.environ.get("CHAINER_DATASET_ROOT")
    return {"CHAINER_DATASET_ROOT": str(Path(root).absolute())} if root else {}


def _compare(
    left: worker_process.WorkerResult,
    right: worker_process.WorkerResult,
    script: str,
    rtol: float,
    atol: float,
    device: str,
) -> ScriptReport:
    problems = [result.problem for result in (left, right) if result.problem]
    unverified: list[str] = []
    ends = [result.records.get("end") for result in (left, right)]
    for name, end, result in zip(("Chainer", "PyTorch"), ends, (left, right), strict=True):
        if end is not None and end["how"]["status"] == "error":
            how = end["how"]
            # A script that ends itself says why on its output.
            where = "\n" + _indent(how["trace"]) if how["trace"].strip() else result.printed
            problems.append(f"the script failed under {name}: {how['type']}: {how['message']}{where}")
    if ends[0] is not None:
        unverified += ends[0]["notes"].get("unverified", [])
    if ends[1] is not None:
        problems += ends[1]["notes"]["problems"]
        unverified += ends[1]["notes"]["unverified"]
    updates = _updates(left, right)
    steps: list[Step] = []
    for x, y in zip(*updates, strict=False):
        if x["optimizer"] != y["optimizer"]:
            problems.append(
                f"after {len(steps)} compared values Chainer updates optimizer {x['optimizer']} "
                f"and PyTorch optimizer {y['optimizer']}"
            )
            break
        steps += _steps(x, y, x["iteration"], x["optimizer"], unverified)
    if not problems and len(updates[0]) != len(updates[1]):
        problems.append(f"Chainer made {len(updates[0])} updates and PyTorch {len(updates[1])}")
    if not problems and not updates[0]:
        unverified.append("the script made no optimizer update")
    loaded = ends[1]["notes"]["loaded"] if ends[1] else {}
    if updates[1] and not loaded:
        unverified.append("no initial weights were transferred")
    count = max((step.iteration for step in steps), default=0)
    if ends[0] and ends[1]:
        _compare_ends(ends[0], ends[1], steps, problems, unverified)
        if device != "cpu":
            places = {
                "Chainer": any(target.get("on_gpu") for target in ends[0]["notes"]["targets"].values()),
                "PyTorch": bool(ends[1]["notes"]["on_gpu"]),
            }
            problems += [
                f"--device {device}, but under {side} no parameter was on the GPU: give the script its own "
                "option for it (such as -g 0)"
                for side, there in places.items()
                if not there
            ]
    others = ends[1]["notes"]["others"] if ends[1] else []
    facts = {"weights": ", ".join(sorted({*loaded.values(), *others})) or "none"}
    return ScriptReport(script, steps, count, problems, sorted(set(unverified)), facts, rtol, atol)


def _all_steps(left: worker_process.WorkerResult, right: worker_process.WorkerResult) -> list[Step]:
    """The compared values of two whole runs; none if a run failed."""
    steps: list[Step] = []
    ends = [result.records.get("end") for result in (left, right)]
    if not ends[0] or not ends[1] or left.problem or right.problem:
        return steps
    for x, y in zip(*_updates(left, right), strict=False):
        steps += _steps(x, y, x["iteration"], x["optimizer"], [])
    _compare_ends(ends[0], ends[1], steps, [], [])
    return steps


def _updates(left: worker_process.WorkerResult, right: worker_process.WorkerResult) -> list[list[dict[str, Any]]]:
    return [[record for key, record in result.records.items() if key.startswith("update-")] for result in (left, right)]


def _steps(
    x: Mapping[str, Any], y: Mapping[str, Any], iteration: int, optimizer: int, unverified: list[str]
) -> list[Step]:
    """The compared values of one update: losses in order, reported values by name and order."""
    steps = []
    for i in range(max(len(x["losses"]), len(y["losses"]))):
        name = "loss" if max(len(x["losses"]), len(y["losses"])) == 1 else f"loss {i}"
        steps.append(Step(iteration, optimizer, name, _at(x["losses"], i), _at(y["losses"], i)))
    if not steps:
        unverified.append(f"optimizer {optimizer}: an update without a backward")
    reported = [_by_name(record["reported"]) for record in (x, y)]
    for name in sorted({*reported[0], *reported[1]}):
        a, b = reported[0].get(name, []), reported[1].get(name, [])
        if outputs.is_time(name):
            continue
        if not b and not any(key for key in reported[1]):
            unverified.append(f"reported value {name}: PyTorch's side reports nothing through a reporter")
            continue
        for i in range(max(len(a), len(b))):
            steps.append(Step(iteration, optimizer, name, _at(a, i), _at(b, i)))
    return steps


def _compare_ends(
    x: Mapping[str, Any], y: Mapping[str, Any], steps: list[Step], problems: list[str], unverified: list[str]
) -> None:
    if x["how"]["status"] == y["how"]["status"] == "finished" and steps:
        last = steps[-1]
        steps += [
            step
            for step in _steps({**x, "losses": []}, {**y, "losses": []}, last.iteration, last.optimizer, [])
            if not step.name.startswith("loss")
        ]
    outputs.compare(x["written"], y["written"], lambda *step: steps.append(Step(*step)), problems, unverified)


def _by_name(reported: Sequence[Sequence[Any]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, value in reported:
        found.setdefault(name, []).append(value)
    return found


def _at(values: Sequence[float], i: int) -> float | None:
    return float(values[i]) if i < len(values) else None


def _shown(losses: list[Step], report: ScriptReport) -> list[Step]:
    """At most some 40 rows: the first ones, the first difference with its neighbours, the last."""
    if len(losses) <= 40:
        return losses
    first = next((i for i, step in enumerate(losses) if report.differs(step)), None)
    keep = {*range(20), len(losses) - 1}
    if first is not None:
        keep |= set(range(max(0, first - 2), min(len(losses), first + 3)))
    return [losses[i] for i in sorted(keep)]


def _named(step: Step) -> str:
    return step.name if step.optimizer == 0 else f"{step.name} (optimizer {step.optimizer})"


def _figure(value: float | None) -> str:
    return "none" if value is None else f"{value:.8g}"


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.strip().splitlines()[-12:])


def as_json(report: ScriptReport) -> str:
    """The report as JSON."""
    return json.dumps(
        {
            "script": report.script,
            "ok": report.ok,
            "iterations": report.iterations,
            "problems": report.problems,
            "unverified": report.unverified,
            "facts": report.facts,
            "rtol": report.rtol,
            "atol": report.atol,
            "steps": [dataclasses.asdict(step) for step in report.steps],
        }
    )
