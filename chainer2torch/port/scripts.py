"""One script in both frameworks, as one check: equal, different, or not verified with the reason."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.report.verification import Check, checks_of, document_of

_DATA_ROOT = "CHAINER_DATASET_ROOT"
# A script that fails under Chainer, too, says nothing of the migration.
_ORIGINAL = "the script failed under Chainer"


def compare_script(
    src: Path, out: Path, command: str, iterations: int, comparing: Mapping[str, Any]
) -> tuple[Check, Sequence[str]]:
    """What came of one script, as one check, and the declared differences that were made on both sides."""
    from chainer2torch import verify

    try:
        report = verify.verify_script(src, out, shlex.split(command), iterations=iterations, **comparing)
    except FileNotFoundError as error:
        return Check(command, 0, 0, 1, str(error)), ()
    values = checks_of(json.loads(document_of(report))) if report.steps else ()
    message = "; ".join(dict.fromkeys(check.message for check in values if check.failed))
    errors = tuple((f"{check.name.rpartition(': ')[2]}: {label}", e) for check in values for label, e in check.errors)
    if report.ok:
        return Check(command, 1, 0, 0, "; ".join([_extent(report), *report.unverified]), errors), report.differences
    original = [problem for problem in report.problems if problem.startswith(_ORIGINAL)]
    if original:
        return Check(command, 0, 0, 1, _reason(original[0])), ()
    if report.problems or report.first_difference is not None:
        said = message or "; ".join(map(_reason, report.problems))
        return Check(command, 0, 1, 0, said, errors), report.differences
    return Check(command, 0, 0, 1, "; ".join(report.unverified) or "nothing was compared"), ()


def _extent(report: Any) -> str:
    """How much was compared, and how far the losses are from each other."""
    shown = report if report.first_difference is None or report.double is None else report.double
    losses = [
        step.relative for step in shown.steps if step.name.startswith("loss") and step.name not in shown.undecided
    ]
    double = " in float64" if shown is not report else ""
    updates = f"{shown.iterations} update" + "s" * (shown.iterations != 1)
    if "as the GPU" in report.facts.get("device", ""):
        double += ", on the CPU as the GPU that it asks for"
    return f"{updates}{double}, largest relative difference of a loss {max(losses, default=0.0):.1e}"


def _reason(problem: str) -> str:
    """A problem, which says where the program stopped, without the trace below it."""
    return problem.partition("\n")[0]


@contextlib.contextmanager
def synthetic_data() -> Iterator[None]:
    """Chainer's data sets as small synthetic ones, unless the user says where the real ones lie."""
    if os.environ.get(_DATA_ROOT):
        yield
        return
    from chainer2torch.verify.script import synthetic_data as sets

    with tempfile.TemporaryDirectory(prefix="chainer2torch-data-") as folder:
        sets.write_all(Path(folder), n_train=400, n_test=100)
        os.environ[_DATA_ROOT] = folder
        try:
            yield
        finally:
            del os.environ[_DATA_ROOT]
