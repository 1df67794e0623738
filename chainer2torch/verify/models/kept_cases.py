"""Cases of models under Chainer, each from what earlier runs have kept, where it is kept."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.verify import worker_process
from chainer2torch.verify.kept import Kept
from chainer2torch.verify.worker import wire

_VERSIONS = "versions"


def run(
    kept: Kept | None, folder: Path, job: Mapping[str, Any], inputs: Mapping[str, Any], **options: Any
) -> worker_process.WorkerResult:
    """``worker_process.run_cases`` of Chainer's worker; what is kept does not run. ``inputs``: all arrays."""
    if kept is None:
        return worker_process.run_cases(worker_process.CHAINER_WORKER, folder, job, **options)
    about = {name: value for name, value in job.items() if name not in ("cases", "tree")}
    keys = {}
    for case in job["cases"]:
        names = set(_arrays(case["inputs"]))
        keys[case["id"]] = kept.key(about, case, arrays={name: inputs[name] for name in inputs if name in names})
    versions: dict[str, str] = {}
    there: dict[str, dict[str, Any]] = {}
    with open(folder / "results.jsonl", "a", encoding="utf-8") as lines:
        for case in job["cases"]:
            record = kept.get(keys[case["id"]], folder)
            if record is not None:
                versions = record.pop(_VERSIONS)
                there[case["id"]] = record
                lines.write(json.dumps(record) + "\n")
    rest = [case for case in job["cases"] if case["id"] not in there]
    if not rest:
        wire.write_json(str(folder / "versions.json"), versions)
        return worker_process.WorkerResult(folder, there, versions, None, "")
    result = worker_process.run_cases(worker_process.CHAINER_WORKER, folder, {**job, "cases": rest}, **options)
    for case in rest:
        record = result.records.get(case["id"])
        if record is not None:
            files = [f"{case['id']}.npz", *record.get("weights", {}).values(), *record.get("held", {})]
            kept.put(keys[case["id"]], {**record, _VERSIONS: result.versions}, [folder / name for name in files])
    return result


def _arrays(spec: Any) -> Iterator[str]:
    """The names of the arrays in the inputs of a case."""
    if isinstance(spec, dict):
        if "array" in spec:
            yield spec["array"]
        for part in spec.values():
            yield from _arrays(part)
    elif isinstance(spec, (list, tuple)):
        for part in spec:
            yield from _arrays(part)
