"""``verify script``: the user's training script and its migration in lockstep, iteration by iteration."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.vendor import compat_file
from chainer2torch.verify.script import outputs, printed, reached, short_batches
from chainer2torch.verify import python2_sources, worker_process
from chainer2torch.verify.judge import sensitivity, tolerances
from chainer2torch.verify.script.notebook_script import as_script
from chainer2torch.verify.script.old_files import of_first_version
from chainer2torch.verify.script.script_report import ScriptReport, Step
from chainer2torch.verify.warm_workers import WarmWorkers

_WORKERS = {"chainer": worker_process.CHAINER_WORKER, "torch": worker_process.TORCH_WORKER}
_NEEDS_GPU = re.compile(
    "CUDA environment is not correctly set up|CuPy is not installed|Torch not compiled with CUDA|No CUDA GPUs|no NVIDIA"
)
_NOT_THERE = re.compile(r"(?:No such file or directory: '|^)([^']+?)(?:'$| not found)")
_NO_MODULE = re.compile(r"^No module named '(\w+)")
_EXTENSIONS = "pytorch_pfn_extras"
_LOADER = b"DataLoader("
_CLIPS = b"clip_grad_norm_"
_LONG_OPTIMIZERS = b"GradientMethod(torch.optim.Optimizer"  # parameters once for each place
_COUNTED = b"iters_per_epoch=len("  # of a manager, which tells how far an epoch is by its batches
_OF_LOADERS = ("batch-geometry", "shuffle-order")
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

    A notebook is run as a script, cell after cell, without its magics and shell lines.

    Files of Python 2 run as Python 3 with the division of Python 2. What a script imports and is not installed is left
    out on both sides alike: calls of it do nothing, a value of it would stop the script.

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
    run = reached.texts(_sources(out), out / argv[0], argv[1:])
    job: dict[str, Any] = {
        "kind": "script",
        "argv": list(argv),
        "iterations": iterations,
        "seed": seed,
        "device": device,
        "loaders": any(_LOADER in text for text in run),  # then Chainer's iterators do as they do
        "whole": short_batches.left_out(run, _sources(src).values()),
        "counts_batches": any(_COUNTED in text for text in run),
        "steps_once": not any(_LONG_OPTIMIZERS in file.read_bytes() for file in out.rglob(compat_file.FILE_NAME)),
        "clips": any(_CLIPS in text for text in run),
        "left_out": [],
        "as_gpu": False,
        "inside": any(_is_inside(src, argv[0], arg) for arg in argv[1:]),
    }

    trees, pythons = {"chainer": src, "torch": out}, {"chainer": chainer_python, "torch": torch_python}
    imports = [_EXTENSIONS] if any(_EXTENSIONS.encode() in text for text in run) else []
    warm = WarmWorkers(worker_process.environment(_environment()), {worker_process.TORCH_WORKER: imports})
    used = warm if device == "cpu" else None  # a process that forks must not have met a GPU

    def compared(dtype: str) -> ScriptReport:
        left, right = _run_without(job, dtype, trees, pythons, timeout, used)
        close = (rtol, atol) if dtype == "float32" else (tolerances.DOUBLE_RTOL, tolerances.DOUBLE_ATOL)
        said = b"\n".join(_sources(trees["chainer"]).values()).decode(errors="replace")
        report = _compare(left, right, " ".join(argv), *close, device, said)
        report.facts.update(
            {"dtype": dtype, "seed": str(seed), "device": device, **worker_process.versions_of(left, right)}
        )
        if job["inside"]:
            report.facts["run in"] = str(Path(argv[0]).parent)
        if job["as_gpu"]:
            report.facts["device"] = "cpu, as the GPU that the script asks for"
        report.left_out = sorted(job["left_out"])
        report.differences = ["first-values", "noise", *(_OF_LOADERS if job["loaders"] else ())]
        if job["clips"]:
            report.differences.append("clipped-norms")
        if left.records.get("end", {}).get("notes", {}).get("stepped_once"):
            report.differences.append("shared-parameters")
        if dtype == "float64" and report.first_difference is not None and not report.problems:
            nudged = {**job, "dtype": dtype, "nudge": True}
            (again,) = _run_both(nudged, {"chainer": trees["chainer"]}, pythons, timeout, used)
            report.undecided = sensitivity.decided_by_rounding(
                {step.name for step in report.steps if report.differs(step)}, report.steps, _all_steps(left, again)
            )
        return report

    with warm, python2_sources.readable(src) as original:
        trees["chainer"] = original
        job["first_version"] = of_first_version(original, _sources(original))
        if used is not None:
            used.prepare([(_WORKERS[name], pythons[name]) for name in trees])
        report = compared("float32")
        if float64 and report.first_difference is not None and not report.problems:
            report.double = compared("float64")
    return report


def _sources(out: Path) -> dict[Path, bytes]:
    """The text of each module and notebook of a tree but for its helpers."""
    return {
        path: path.read_bytes()
        for path in (*out.rglob("*.py"), *out.rglob("*.ipynb"))
        if path.name != compat_file.FILE_NAME and not _LEFT_OUT(path.parent, [path.name])
    }


def _run_without(
    job: dict[str, Any],
    dtype: str,
    trees: Mapping[str, Path],
    pythons: Mapping[str, str | None],
    timeout: float,
    warm: WarmWorkers | None,
) -> list[worker_process.WorkerResult]:
    """The results of both runs, after as many tries as packages are missing; ``job["left_out"]`` collects these.

    A script that cannot do without a GPU runs on the CPU on both sides, as if it had one (``job["as_gpu"]``).
    """
    while True:
        results = _run_both({**job, "dtype": dtype}, trees, pythons, timeout, warm)
        errors = [result.records.get("end", {}).get("how", {}).get("message", "") for result in results]
        if not job["inside"] and any(_beside_the_script(trees, job["argv"][0], error) for error in errors):
            job["inside"] = True
            continue
        if not job["as_gpu"] and job["device"] == "cpu" and any(map(_NEEDS_GPU.search, errors)):
            job["as_gpu"] = True
            continue
        lacks = {result.records.get("end", {}).get("how", {}).get("lacks") for result in results}
        lacks -= {None, *job["left_out"]}
        if not lacks:
            return results
        job["left_out"] += sorted(lacks)


def _is_inside(src: Path, script: str, argument: str) -> bool:
    """Whether an argument is the path of what lies in the script's folder, and not at the root of the tree."""
    given = Path(argument)
    named = bool(given.name) and not given.is_absolute() and len(argument) < 200
    return named and (src / script).parent.joinpath(given).exists() and not (src / given).exists()


def _beside_the_script(trees: Mapping[str, Path], script: str, error: str) -> bool:
    """Whether a script stopped because a file was not there which lies in its own folder: it is run from there.

    So is one that adds `../..` to its path, and lacks a module that lies in a folder above its own.
    """
    module = _NO_MODULE.search(error)
    if module:
        names, above = (module[1], f"{module[1]}.py"), list(Path(script).parent.parents)
        return any((trees["chainer"] / folder / name).exists() for folder in above for name in names)
    missing = _NOT_THERE.search(error)
    path = Path(missing[1]) if missing else None
    return path is not None and not path.is_absolute() and (trees["chainer"] / script).parent.joinpath(path).exists()


def _run_both(
    job: Mapping[str, Any],
    trees: Mapping[str, Path],
    pythons: Mapping[str, str | None],
    timeout: float,
    warm: WarmWorkers | None,
) -> list[worker_process.WorkerResult]:
    """The results of Chainer's run and of PyTorch's, which starts from the weights that the first one kept.

    Of the two those that ``trees`` names are made.
    """
    root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
    try:
        results: list[worker_process.WorkerResult] = []
        for name, tree in trees.items():
            copy, folder = root / name / "tree", root / name / "results"
            folder.mkdir(parents=True)
            shutil.copytree(tree, copy, symlinks=True, ignore=_LEFT_OUT)
            _own_files(copy)
            if name == "torch":
                _bring_data(trees.get("chainer", tree), copy)
            extra: dict[str, Any] = {"tree": str(copy), "argv": [as_script(copy, job["argv"][0]), *job["argv"][1:]]}
            if results:
                extra["reference"] = str(results[0].folder)
                notes = results[0].records.get("end", {}).get("notes", {})
                extra.update({"targets": notes.get("targets", {}), "others": notes.get("others", [])})
            results.append(
                worker_process.run_worker(
                    _WORKERS[name],
                    folder,
                    {**job, **extra},
                    python=pythons[name],
                    timeout=timeout,
                    cwd=copy,
                    env=_environment(),
                    warm=warm,
                )
            )
        return results
    finally:
        shutil.rmtree(root, ignore_errors=True)


def _own_files(copy: Path) -> None:
    """Files in the place of links to those of the tree (python2_sources makes some): a script may write to them."""
    for folder, _, files in os.walk(copy):
        for name in files:
            path = Path(folder, name)
            if path.is_symlink():
                target, place = Path(os.readlink(path)), path.relative_to(copy)
                if target.is_absolute() and target.parts[-len(place.parts) :] == place.parts and target.is_file():
                    path.unlink()
                    shutil.copy2(target, path)


def _bring_data(src: Path, copy: Path) -> None:
    """Files beside the original that are no code and that the migrated tree lacks: weights, say, of a training."""
    for folder, folders, files in os.walk(src):
        left_out = _LEFT_OUT(folder, [*folders, *files])
        folders[:] = [name for name in folders if name not in left_out]
        for name in set(files) - left_out:
            target = copy / Path(folder, name).relative_to(src)
            if not name.endswith((".py", ".ipynb")) and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(Path(folder, name), target, follow_symlinks=False)


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
    program: str,
) -> ScriptReport:
    problems = [result.problem for result in (left, right) if result.problem]
    unverified: list[str] = []
    ends = [result.records.get("end") for result in (left, right)]
    for name, end, result in zip(("Chainer", "PyTorch"), ends, (left, right), strict=True):
        if end is not None and end["how"]["status"] == "error":
            how = end["how"]
            # A script that ends itself says why on its output.
            where = "\n" + _indent(how["trace"]) if how["trace"].strip() else result.printed
            head, _, rest = f"the script failed under {name}: {how['type']}: {how['message']}".partition("\n")
            own = f" ({how['own']})" if how.get("own") else ""
            problems.append("\n".join(filter(None, (head + own, rest))) + where)
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
    loaded = ends[1]["notes"]["loaded"] if ends[1] else {}
    if updates[1] and not loaded:
        unverified.append("no initial weights were transferred")
    count = max((step.iteration for step in steps), default=0)
    if ends[0] and ends[1]:
        _compare_ends(ends[0], ends[1], steps, problems, unverified, program)
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
    if not problems and not updates[0] and not steps:
        unverified.append("the script made no optimizer update, and printed and wrote nothing that could be compared")
    others = ends[1]["notes"]["others"] if ends[1] else []
    facts = {"weights": ", ".join(sorted({*loaded.values(), *others})) or "none"}
    report = ScriptReport(script, steps, count, problems, sorted(set(unverified)), facts, rtol, atol)
    report.trains = bool(updates[0] or updates[1])
    return report


def _all_steps(left: worker_process.WorkerResult, right: worker_process.WorkerResult) -> list[Step]:
    """The compared values of two whole runs; none if a run failed."""
    steps: list[Step] = []
    ends = [result.records.get("end") for result in (left, right)]
    if not ends[0] or not ends[1] or left.problem or right.problem:
        return steps
    for x, y in zip(*_updates(left, right), strict=False):
        steps += _steps(x, y, x["iteration"], x["optimizer"], [])
    _compare_ends(ends[0], ends[1], steps, [], [], "")
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
    x: Mapping[str, Any],
    y: Mapping[str, Any],
    steps: list[Step],
    problems: list[str],
    unverified: list[str],
    program: str,
) -> None:
    if x["how"]["status"] == y["how"]["status"] == "finished" and steps:
        last = steps[-1]
        steps += [
            step
            for step in _steps({**x, "losses": []}, {**y, "losses": []}, last.iteration, last.optimizer, [])
            if not step.name.startswith("loss")
        ]
    outputs.compare(x["written"], y["written"], lambda *step: steps.append(Step(*step)), problems, unverified)
    if x["printed"] is not None and y["printed"] is not None:
        printed.compare(x["printed"], y["printed"], lambda *step: steps.append(Step(*step)), problems, program)


def _by_name(reported: Sequence[Sequence[Any]]) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {}
    for name, value in reported:
        found.setdefault(name, []).append(value)
    return found


def _at(values: Sequence[float], i: int) -> float | None:
    return float(values[i]) if i < len(values) else None


def _indent(text: str) -> str:
    return "\n".join("    " + line for line in text.strip().splitlines()[-12:])
