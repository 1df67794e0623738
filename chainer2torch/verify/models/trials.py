"""Attempts at a model that the code alone does not tell: what Chainer itself takes of them is verified.

An attempt is a guess, and only ever one at what to *run*: both sides get what Chainer took, and the report says what
that was. Nothing is taken to be equal because of it.
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.verify.rules import given
from chainer2torch.verify import worker_process
from chainer2torch.verify.kept import Kept
from chainer2torch.verify.models.entries import Code, ModelEntry
from chainer2torch.verify.models.first_attempts import LABELS
from chainer2torch.verify.warm_workers import WarmWorkers
from chainer2torch.verify.worker import model_text

# For one model: no new attempt is begun after this.
SECONDS = 12
# Of extensions that are compiled.
_SOURCES = (".pyx", ".cpp", ".cc")
_ON_A_GPU = ("CUDA environment is not correctly set up", "module 'numpy' has no attribute 'cuda'")


@dataclasses.dataclass(frozen=True)
class Left:
    """A Chain whose constructor arguments or inputs the code does not tell: why, what it takes by name, and what may
    be tried (nothing, where trying makes no sense).
    """

    target: str
    why: str
    arguments: Sequence[str] = ()
    inputs: Sequence[str] = ()
    attempts: Sequence[ModelEntry] = ()
    package: str = ""
    # Whether a table in pyproject.toml would help: it can be imported, by its name.
    settled_by_table: bool = False
    # What the search begins with; None: nothing is searched.
    hints: Mapping[str, Any] | None = None
    # Of a class that the project makes nowhere: the targets of those that derive from it.
    derived: Sequence[str] = ()
    in_haste: bool = False  # whether its search had no time to end
    twin: str = ""  # the class of another file with the same text, here and in the port, which is run

    def __str__(self) -> str:
        return f"{self.target}: {self.why}"

    def table(self) -> list[str]:
        """The table for pyproject.toml that settles it, to be filled in."""

        def comment(names: Sequence[str]) -> str:
            return "  # " + ", ".join(names) if names else ""

        labels = {name: LABELS.search(name) is not None for name in self.inputs}
        arrays = ", ".join('"i32[4]<10"' if labels[name] else '"f32[4,8]"' for name in self.inputs)
        return [
            "[[tool.chainer2torch.verify.model]]",
            f'target = "{self.target}"',
            f"args = [{', '.join('...' for _ in self.arguments)}]{comment(self.arguments)}",
            f"inputs = [{arrays}]{comment(self.inputs)}",
        ]


@dataclasses.dataclass(frozen=True)
class Open:
    """A link whose arguments and inputs the code tells: the entry with its variants, and what a search begins with."""

    entries: Sequence[ModelEntry]
    hints: Mapping[str, Any] | None = None

    @property
    def target(self) -> str:
        """``module:Class``."""
        return self.entries[0].target


def choose(
    found: Sequence[Open],
    left: Sequence[Left],
    src: Path,
    out: Path,
    *,
    python: str | None = None,
    timeout: float = 600,
    stop: threading.Event | None = None,
    warm: WarmWorkers | None = None,
    kept: Kept | None = None,
    taken: list[Any] | None = None,
    device: str = "cpu",
) -> tuple[list[ModelEntry], list[Left]]:
    """Makes the attempts under Chainer: the models that it takes, and those that stay open, with the reason.

    Args:
        found: Models whose arguments and inputs the code tells, each with the variants that are tried, too.
        left: What the code does not tell.
        src: The tree of the original; its modules are imported.
        out: The migrated tree, whose helpers lie where the project's imports start.
        python, timeout: As of ``verify models``.
        stop: Ends the attempts when it is set.
        warm: Workers that wait for a job.
        kept: What earlier runs have found out.
        taken: What earlier rounds have found, which may be needed to make others; what is found here is added.
        device: Where Chainer tries them: kernels of a project run on a GPU only.
    """
    taken = [] if taken is None else taken
    groups: list[tuple[str, Sequence[ModelEntry], Left | None, Mapping[str, Any] | None]] = [
        (some.target, some.entries, None, some.hints) for some in found
    ]
    groups += [(what.target, what.attempts, what, what.hints) for what in left if _is_tried(what)]
    if not groups:
        return [], list(left)
    root = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
    try:
        cases = [_case(f"m{i}", target, entries, hints, out) for i, (target, entries, _, hints) in enumerate(groups)]
        job = {
            "kind": "trials",
            "tree": str(src),
            "seconds": SECONDS,
            "wall": timeout,
            "cases": cases,
            "known": taken[:],
            "device": device,
        }
        records = _tried(root, job, kept, python=python, timeout=timeout, stop=stop, warm=warm)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    taken += [[case, known] for case in cases if (known := records.get(case["id"], {})).get("status") == "ok"]
    chosen, still = [], [what for what in left if not _is_tried(what)]
    for i, (target, entries, what, hints) in enumerate(groups):
        record = records.get(f"m{i}")
        if record is None or record["status"] != "ok":
            arguments, inputs = (list(map(repr, entries[0].args)), list(entries[0].inputs)) if entries else ([], [])
            open_ = _refused(what or Left(target, "", arguments, inputs, settled_by_table=True), entries, record)
            if record is not None and (extension := _extension(src, record["message"])):
                why = f"the original needs its extension {extension}, which has to be built in both trees: {open_.why}"
                open_ = dataclasses.replace(open_, why=why, package="", settled_by_table=False)
            if record is not None and record.get("provisional"):
                open_ = dataclasses.replace(open_, why=f"its time was up before more was tried; so far: {open_.why}")
            hasty = record is None or bool(record.get("provisional") or record.get("in_haste"))
            still.append(dataclasses.replace(open_, in_haste=hasty))
        else:
            chosen.append(_taken(target, entries, record, what, hints))
    return chosen, still


def _tried(root: Path, job: dict[str, Any], kept: Kept | None, **options: Any) -> Mapping[str, Mapping[str, Any]]:
    """What came of each case; what earlier runs have found is not searched again.

    What Chainer took is good whatever else is searched; that nothing was found holds for the same cases only, for one
    model helps another.
    """
    if kept is None:
        return worker_process.run_cases(worker_process.CHAINER_WORKER, root, job, **options).records
    targets = sorted(case["target"] for case in job["cases"])
    keys: dict[str, tuple[str, str]] = {}
    known: dict[str, dict[str, Any]] = {}
    for case in job["cases"]:
        about = job["seconds"], job["device"], {name: value for name, value in case.items() if name != "id"}
        keys[case["id"]] = kept.key("taken", *about), kept.key("refused", targets, *about)
        record = next(filter(None, (kept.get(key, root) for key in keys[case["id"]])), None)
        if record is not None:
            known[case["id"]] = {**record, "id": case["id"]}
    open_ = [case for case in job["cases"] if case["id"] not in known]
    taken = [[case, known[case["id"]]] for case in job["cases"] if known.get(case["id"], {}).get("status") == "ok"]
    if not open_:
        return known
    job = {**job, "cases": open_, "known": [*job["known"], *taken]}
    found = worker_process.run_cases(worker_process.CHAINER_WORKER, root, job, **options).records
    for name, record in found.items():
        kept.put(keys[name][record["status"] != "ok"], record)
    return {**known, **found}


def _is_tried(what: Left) -> bool:
    return bool(what.attempts) or what.hints is not None


def _taken(
    target: str,
    entries: Sequence[ModelEntry],
    record: Mapping[str, Any],
    what: Left | None,
    hints: Mapping[str, Any] | None,
) -> ModelEntry:
    """The entry that Chainer took."""
    inputs = {name: _text(spec) for name, spec in record["inputs"].items()}
    size, seconds = record.get("size", 0), record.get("seconds", 0)
    is_old = bool(hints and hints["is_first_version"])
    if "attempt" in record:
        entry: ModelEntry = entries[record["attempt"]]
        tried = inputs != entries[0].inputs or what is not None
        return dataclasses.replace(
            entry, inputs=inputs, tried=tried, is_first_version=is_old, size=size, seconds=seconds
        )
    return ModelEntry(
        target,
        [Code(record["arguments"])] if record["arguments"] else [],
        {},
        inputs,
        ["train", "eval"],
        inferred=True,
        tried=True,
        method=record["method"],
        before=record.get("before", ""),
        called=record.get("called", ""),
        port_called=record.get("called", ""),
        started=[*(hints["started"] if hints else ()), *record.get("started", ())],
        is_first_version=is_old,
        size=size,
        seconds=seconds,
        plain=[name for name, spec in record["inputs"].items() if _is_plain(spec)],
    )


def _is_plain(spec: Any) -> bool:
    if isinstance(spec, list):
        return any(map(_is_plain, spec))
    return isinstance(spec, dict) and bool(spec.get("plain"))


def _case(
    key: str, target: str, entries: Sequence[ModelEntry], hints: Mapping[str, Any] | None, out: Path
) -> dict[str, Any]:
    """The attempts at one model, as the worker reads them."""
    attempts = [
        {
            "source": entry.text(),
            "arguments": entry.arguments(),
            "inputs": {name: plain_spec(spec) for name, spec in entry.inputs.items()},
        }
        for entry in entries
    ]
    return {
        "id": key,
        "target": target,
        **place_of(out, target),
        "attempts": attempts,
        "hints": hints,
        "is_first_version": bool(hints and hints["is_first_version"]),
    }


def place_of(out: Path, target: str) -> dict[str, str]:
    """Where a model's module is imported from, as the workers read it."""
    folder, module, file = model_text.place(target)
    return {"module": module, "root": folder or helpers_root(out, module), "file": file}


def helpers_root(out: Path, module: str) -> str:
    """The folder of ``out`` above a module in which its helpers lie, where its imports start; empty for ``out``."""
    parts = module.split(".")[:-1]
    for number in range(len(parts), 0, -1):
        if (out.joinpath(*parts[:number]) / "chainer_compat.py").is_file():
            return "/".join(parts[:number])
    return ""


def _extension(src: Path, message: str) -> str:
    """The source of a compiled module that an import did not find; empty where there is none."""
    lacks = re.search(r"cannot import name '(\w+)'|No module named '(?:[\w.]*\.)?(\w+)'", message)
    name = (lacks[1] or lacks[2]) if lacks else ""
    found = sorted(path for ending in _SOURCES for path in src.rglob(name + ending)) if name else []
    return found[0].relative_to(src).as_posix() if found else ""


def _refused(what: Left, entries: Sequence[ModelEntry], record: Mapping[str, Any] | None) -> Left:
    """Why nothing that was tried is taken."""
    if record is None:
        return dataclasses.replace(what, why="the Chainer worker ended or its time was up before it was tried")
    if "attempt" in record:
        said = f"Chainer: {record['type']} in {record['phase']}: {' '.join(record['message'].split())[:300]}"
        said += f" ({record['tried']} attempts, the best: {record['attempt']})"
        record = {**record, "said": said}
    missing = re.search(r"No module named '([\w.]+)'", record["message"])
    if missing and record["type"] in ("ImportError", "ModuleNotFoundError"):
        return dataclasses.replace(
            what, package=missing[1], settled_by_table=False, why=f"Chainer's side lacks a package: {record['message']}"
        )
    if any(said in record["message"] for said in _ON_A_GPU):
        why = "the original computes with CuPy alone (a kernel written as text, for example): it runs on a GPU only"
        return dataclasses.replace(what, settled_by_table=False, why=why)
    if "said" in record:
        return dataclasses.replace(what, why=record["said"])
    if not entries:
        return dataclasses.replace(what, why=f"Chainer: {record['type']} in {record['phase']}: {record['message']}")
    arrays = ", ".join(map(str, entries[0].inputs.values()))
    said = f"Chainer: {record['type']} in {record['phase']}: {' '.join(record['message'].split())[:300]}"
    said += f" (attempt 1 of {record.get('tried', 1)}: {entries[0].call()} of {arrays})"
    return dataclasses.replace(what, why=f"{what.why}; {said}" if what.why else said)


def plain_spec(spec: Any) -> Any:
    """An input as the worker draws it."""
    if isinstance(spec, (list, tuple)):
        return [plain_spec(item) for item in spec]
    if not isinstance(spec, str):
        return spec
    parsed = given.parse(spec)
    return {"dtype": parsed.dtype, "shape": list(parsed.shape), "below": int(parsed.high or 10)}


def _text(spec: Any) -> Any:
    """An input of a record, as it is written in pyproject.toml."""
    if isinstance(spec, list):
        return [_text(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    short = {"float32": "f32", "int32": "i32", "bool": "bool"}[spec["dtype"]]
    below = f"<{spec['below'] or 2}" if short == "i32" else ""
    return f"{short}[{','.join(map(str, spec['shape']))}]{below}"
