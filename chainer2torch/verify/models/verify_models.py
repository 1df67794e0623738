"""``verify models``: each model of the project in both frameworks, from the same weights and inputs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from chainer2torch.verify import python2_sources, worker_process
from chainer2torch.verify.kept import kept
from chainer2torch.verify.models.batches import batches, run_batches
from chainer2torch.verify.models.entries import ModelEntry, ModelsError, file_of, read_classes, read_entries, read_names
from chainer2torch.verify.models.setting import Setting
from chainer2torch.verify.models.models_report import ModelsReport
from chainer2torch.verify.models.ports import Ports
from chainer2torch.verify.models.preloaded import slow_imports
from chainer2torch.verify.models.trials import Left, Open
from chainer2torch.verify.warm_workers import WarmWorkers

__all__ = ["ModelEntry", "ModelsError", "read_entries", "read_names", "verify_models"]

# what is wrong where no model could be run at all
NO_TABLE = (
    "no [[tool.chainer2torch.verify.model]]: it names a model's target, args and inputs, "
    "where the code does not tell them"
)


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
    budget: float | None = None,
    at_least: float = 0,
    junit: Path | None = None,
    trace: Path | None = None,
    map_file: Path | None = None,
    cache: Path | None = None,
    tell: Callable[[ModelsReport, int], object] | None = None,
) -> ModelsReport:
    """Runs the models of ``src`` under Chainer and their namesakes of ``out`` under PyTorch, and compares.

    They are those of ``src/pyproject.toml``, of ``trace``, and every other link of ``src`` whose arguments and inputs
    its code tells or are found by trying. What the original does not take is not verified.

    Compared are outputs, gradients of inputs and parameters, running statistics, and ``steps`` steps of plain gradient
    descent, in float32 and float64, in train and test mode. A difference comes with the first link that diverges.

    Args:
        src, out: The original tree and the migrated one; the modules are imported from their roots.
        names: Targets (``net:MLP``, or the class alone) to run, all by default.
        timeout: Seconds for each worker, of which each file of the project has its own.
        budget: Seconds for all; what was not reached then is not verified. An interrupt ends it in the same way.
        at_least: The percentage of classes that has to be proved for the exit status 0.
        trace: A file of ``chainer2torch trace``: its links are verified, too, with the arguments and shapes it saw.
        map_file: Tables in the place of those in ``src/pyproject.toml``: which classes and names a port by hand uses.
        cache: A folder that keeps what Chainer's side gave for the next run; none by default.
        tell: Is given the outcomes of some more classes as they come, and how many classes are still open.

    Raises:
        ModelsError: The table is wrong, or a name fits no model.
        DeviceError: ``device`` is not there.
        WorkerError: An interpreter cannot be started.
    """
    end = float("inf") if budget is None else time.monotonic() + budget
    worker_process.check_device(device, chainer_python, torch_python)
    imports = {worker_process.CHAINER_WORKER: slow_imports(src), worker_process.TORCH_WORKER: slow_imports(out)}
    warm = WarmWorkers(worker_process.environment(), imports)
    if device == "cpu":
        warm.prepare([(worker_process.CHAINER_WORKER, chainer_python), (worker_process.TORCH_WORKER, torch_python)])
    with warm, python2_sources.readable(src) as original:
        found = list(read_entries(src, map_file) if entries is None else entries)
        ports = Ports(out, read_classes(src, map_file))
        seen: list[Left] = []
        unclear: list[Left] = []
        if trace is not None:
            from chainer2torch.verify.trace.record import entries as traced_entries
            from chainer2torch.verify.trace.record import read

            traced, whats = traced_entries(read(trace), src)
            seen = [Left(what.partition(": ")[0], what.partition(": ")[2]) for what in whats]
            found += [e for e in traced if e.target not in {entry.target for entry in found}]
        inferred: list[Open] = []
        if entries is None:
            from chainer2torch.verify.models.inferred import infer

            inferred, unclear = infer(
                original, out, {*(entry.target for entry in found), *(what.target for what in seen)}, ports
            )
        if names:
            targets = [*(e.target for e in found), *(some.target for some in inferred), *(w.target for w in unclear)]
            unknown = [name for name in names if not any(_named(target, [name]) for target in targets)]
            if unknown:
                raise ModelsError(f"{file_of(src, map_file)}: no model is named {unknown[0]}")
            found = [entry for entry in found if _named(entry.target, names)]
            inferred = [some for some in inferred if _named(some.target, names)]
            unclear = [what for what in unclear if _named(what.target, names)]
        copies = [what for what in unclear if what.twin]
        unclear = [what for what in unclear if not what.twin]
        report = ModelsReport([], [], {}, device, at_least=at_least)
        report.add_left(seen, "trace")
        setting = Setting(
            original.resolve(),
            out.resolve(),
            steps,
            seed,
            chainer_python,
            torch_python,
            device,
            timeout,
            end,
            map_file=map_file,
            ports=ports,
            # a GPU cannot be used behind a fork
            warm=warm if device == "cpu" else None,
            kept=kept(cache, original.resolve(), chainer_python),
        )
        run_batches(batches(found, inferred, unclear), setting, report, tell)
        report.add_left(copies)
        if setting.kept is not None:
            setting.kept.thin_out()
    report.hints = _hints(src, report.left)
    if not report.compared and not found and not report.problems:
        report.problems.append(f"{src / 'pyproject.toml'}: {NO_TABLE}")
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
