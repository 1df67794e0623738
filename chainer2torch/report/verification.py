"""Results of ``chainer2torch verify`` for a report: JUnit XML, or the JSON that ``verify --report`` writes."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

_STOPPED = re.compile(r"^(?:[\w, ]+: )?PyTorch: \w+ in |^the script failed under PyTorch: ")
PASSED, FAILED, UNVERIFIED = "passed", "failed", "not verified"


class VerificationError(Exception):
    """A file with results cannot be read."""


@dataclasses.dataclass(frozen=True)
class Check:
    """One thing that was compared. ``errors`` are (label, relative error) pairs to plot, where they are known;
    ``layers`` the same of a model's layers, in the order of the calls.
    """

    name: str
    passed: int
    failed: int
    unverified: int
    message: str = ""
    errors: tuple[tuple[str, float], ...] = ()
    layers: tuple[tuple[str, float], ...] = ()

    @property
    def status(self) -> str:
        """The worst of its cases."""
        return FAILED if self.failed else PASSED if self.passed else UNVERIFIED

    @property
    def raises(self) -> bool:
        """Whether PyTorch stopped with an error, where Chainer did not: no value differs."""
        return bool(self.failed) and _STOPPED.search(self.message) is not None


def read(path: Path) -> tuple[Check, ...]:
    """Reads a file of results."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise VerificationError(f"{path}: cannot be read ({error.strerror})") from None
    try:
        return checks_of(json.loads(raw)) if raw.lstrip()[:1] == b"{" else _from_junit(raw)
    except (ValueError, KeyError, TypeError, AttributeError, SyntaxError) as error:
        raise VerificationError(f"{path}: neither JUnit XML nor JSON of `chainer2torch verify` ({error})") from None


def checks_of(document: dict[str, Any]) -> tuple[Check, ...]:
    """The checks of a document that ``document_of`` has made."""
    if document["version"] != 1:
        raise ValueError("not version 1")
    return tuple(
        Check(
            item["name"],
            int(item["passed"]),
            int(item["failed"]),
            int(item["unverified"]),
            str(item.get("message", "")),
            *(tuple((str(label), float(error)) for label, error in item.get(key, ())) for key in ("errors", "layers")),
        )
        for item in document["checks"]
    )


def _from_junit(raw: bytes) -> tuple[Check, ...]:
    from xml.etree import ElementTree

    if b"<!DOCTYPE" in raw or b"<!ENTITY" in raw:  # JUnit files have none; entities could expand without end
        raise ValueError("it declares entities")
    root = ElementTree.fromstring(raw)
    if root.tag not in ("testsuites", "testsuite"):
        raise ValueError(f"its root is <{root.tag}>")
    counts: dict[str, tuple[int, int, int]] = {}
    failures: dict[str, str] = {}
    skips: dict[str, str] = {}
    for case in root.iter("testcase"):
        name = case.get("classname") or case.get("name") or "?"
        passed, failed, unverified = counts.get(name, (0, 0, 0))
        wrong = [child for tag in ("failure", "error") for child in case.findall(tag)]
        skipped = case.find("skipped")
        plain = not wrong and skipped is None
        counts[name] = passed + plain, failed + bool(wrong), unverified + (not wrong and skipped is not None)
        reason = wrong[0] if wrong else skipped
        if reason is not None:
            (failures if wrong else skips).setdefault(name, f"{case.get('name')}: {reason.get('message') or ''}")
    messages = {**skips, **failures}
    return tuple(Check(name, *counts[name], messages.get(name, "")) for name in sorted(counts))


def document_of(result: Any) -> str:
    """The result of ``verify rules`` or ``verify models`` (a VerifyReport) or ``verify script`` as JSON, version 1."""
    checks = _rules(result) if hasattr(result, "rows") else _script(result)
    # what was interrupted has compared nothing: it is no difference
    problems = [
        Check("chainer2torch", 0, int(str(problem) != "interrupted"), int(str(problem) == "interrupted"), str(problem))
        for problem in result.problems
    ]
    listed = [
        {
            "name": check.name,
            "passed": check.passed,
            "failed": check.failed,
            "unverified": check.unverified,
            "message": check.message,
            "errors": [list(pair) for pair in check.errors],
            **({"layers": [list(pair) for pair in check.layers]} if check.layers else {}),
        }
        for check in [*checks, *problems]
    ]
    return (
        json.dumps(
            {"version": 1, "ok": bool(result.ok), "checks": listed}, indent=2, ensure_ascii=False, allow_nan=False
        )
        + "\n"
    )


def _rules(result: Any) -> list[Check]:
    reasons: dict[str, str] = {}
    layers: dict[str, tuple[tuple[str, float], ...]] = {}
    for outcome in result.outcomes:
        if outcome.layers and (outcome.status == FAILED or outcome.pair.row not in layers):
            # An infinite error is off the scale, as every error above it.
            layers[outcome.pair.row] = tuple(
                (f"{name} ({outcome.pair.label})", min(error, 1e3)) for name, error in outcome.layers
            )
        if outcome.status != PASSED and outcome.reasons:
            reasons.setdefault(outcome.pair.row, f"{outcome.pair.label}: {'; '.join(outcome.reasons)}")
    return [
        Check(
            row.row,
            row.passed,
            row.failed,
            row.unverified,
            reasons.get(row.row, ""),
            _finite(
                [(f"{dtype} value", error) for dtype, error in row.forward.items()]
                + [(f"{dtype} gradient", error) for dtype, error in row.backward.items()]
            ),
            layers.get(row.row, ()),
        )
        for row in result.rows()
    ]


def _script(result: Any) -> list[Check]:
    names: dict[str, list[Any]] = {}
    for step in result.steps:
        names.setdefault(step.name, []).append(step)
    checks = []
    for name, steps in names.items():
        wrong = [step for step in steps if result.differs(step)]
        first = f"first at iteration {wrong[0].iteration}: {wrong[0].chainer} and {wrong[0].torch}" if wrong else ""
        excused = bool(wrong) and result.ok  # equal in float64: rounding that the iterations amplify
        checks.append(
            Check(
                f"{result.script}: {name}",
                len(steps) - (0 if excused else len(wrong)),
                0 if excused else len(wrong),
                0,
                first + (" (equal in float64)" if excused else ""),
                _finite([(f"iteration {step.iteration}", step.relative) for step in steps]),
            )
        )
    return checks


def _finite(pairs: list[tuple[str, float]]) -> tuple[tuple[str, float], ...]:
    """Infinite and undefined errors belong to failures, which have words."""
    return tuple((label, error) for label, error in pairs if error == error and abs(error) != float("inf"))
