"""Makes a trace and reads it: hints for the migration, models for ``verify models``."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.verify import worker_process
from chainer2torch.verify.models.entries import ModelEntry

FORMAT = 1
_ARRAY = re.compile(r"^(tensor|array) rank (\d+) dtype (\w+) shape \S+$")
_SCALARS = frozenset({"bool", "int", "float", "str"})


class TraceError(Exception):
    """A trace cannot be made or read; the message says why."""


def run_trace(
    tree: Path, argv: Sequence[str], *, iterations: int = 0, chainer_python: str | None = None, timeout: float = 600
) -> dict[str, Any]:
    """Runs ``argv`` (a script below ``tree`` and its arguments) once under Chainer, in place, and returns the trace.

    ``iterations`` ends the run after so many updates of an optimizer; 0 lets it run to its end. A script that fails
    gives a trace of what it did until then, with the error under ``problem``.

    Raises:
        TraceError: The script is not there, or nothing came back.
        WorkerError: The interpreter cannot be started.
    """
    if not argv or not (tree / argv[0]).is_file():
        raise TraceError(f"{tree / argv[0] if argv else tree}: no such script: trace -- train.py ARGS")
    with tempfile.TemporaryDirectory(prefix="chainer2torch-") as folder:
        result = worker_process.run_worker(
            worker_process.CHAINER_WORKER,
            Path(folder),
            {"kind": "trace", "tree": str(tree.resolve()), "argv": list(argv), "iterations": iterations},
            python=chainer_python,
            timeout=timeout,
            cwd=tree,
        )
    record = result.records.get("trace")
    if record is None:
        raise TraceError(result.problem or "the Chainer worker gave no trace")
    how = record["how"]
    return {
        "format": FORMAT,
        "argv": list(argv),
        "versions": result.versions,
        "problem": f"{how['type']}: {how['message']}" if how["status"] == "error" else None,
        "functions": record["functions"],
        "calls": record["calls"],
        "classes": record["classes"],
    }


def read(path: Path) -> dict[str, Any]:
    """The trace in a file. Raises TraceError when it is none."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TraceError(f"{path}: {error.strerror or error if isinstance(error, OSError) else 'not JSON'}") from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise TraceError(f"{path}: not a trace (format {FORMAT}) of `chainer2torch trace`")
    return data


def hints(trace: Mapping[str, Any]) -> dict[str, str]:
    """What the trace says of parameters, for the engine: ``{"net.py:Net.forward.x": "tensor rank 2"}``.

    Only what was the same in every call counts: a parameter that was given two ranks gets a hint without a rank, one
    that was given two kinds none.
    """
    found = {}
    for function, record in trace["functions"].items():
        forward = function.rsplit(".", 1)[-1] in ("forward", "__call__")
        for name, kinds in record["parameters"].items():
            hint = _hint(kinds, forward)
            if hint is not None:
                found[f"{function}.{name}"] = hint
    return found


def _hint(kinds: Sequence[str], forward: bool) -> str | None:
    if len(kinds) == 1 and (kinds[0] in _SCALARS or kinds[0].startswith("instance ")):
        return kinds[0]
    matches = [_ARRAY.match(kind) for kind in kinds]
    if not matches or not all(matches):
        return None
    families, ranks, dtypes = ({match[i] for match in matches if match} for i in (1, 2, 3))
    # An array that reaches a link lies on the device; elsewhere it may be one that stays with NumPy.
    if len(families) != 1 or (families == {"array"} and not forward):
        return None
    words = ["tensor" if families == {"tensor"} else "device"]
    if len(ranks) == 1:
        words += ["rank", *ranks]
    # Which float it was is a choice of the run; whether labels are int32 is the program's.
    if len(dtypes) == 1 and not next(iter(dtypes)).startswith("float"):
        words += ["dtype", *dtypes]
    return " ".join(words)


def entries(trace: Mapping[str, Any], tree: Path) -> tuple[list[Any], list[str]]:
    """The models of a trace for ``verify models``, and the links that it cannot make again, with the reason."""
    found, left = [], []
    for target, record in sorted(trace["classes"].items()):
        why = record.get("why")
        if "args" not in record and why is None:
            why = "its construction was not seen"
        elif not record.get("inputs") and why is None:
            why = "it was not called"
        elif record.get("main") and not guarded(tree / trace["argv"][0]):
            why = "its script runs when it is imported"
        if why is not None:
            left.append(f"{target}: {why}")
            continue
        inputs = {f"x{i}": spec for i, spec in enumerate(record["inputs"])}
        found.append(
            ModelEntry(
                target,
                [_value(a) for a in record["args"]],
                {key: _value(value) for key, value in record["kwargs"].items()},
                inputs,
                ["train", "eval"],
            )
        )
    return found, left


def guarded(path: Path) -> bool:
    """Whether a script can be imported without running: it asks for its ``__name__``."""
    return "__name__" in path.read_text(encoding="utf-8", errors="replace")


def _value(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple(_value(item) for item in value["tuple"])
    return [_value(item) for item in value] if isinstance(value, list) else value
