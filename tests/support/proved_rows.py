"""The examples of rows as tests run them: in parts, so that each process of a test run takes its share of them."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from chainer2torch.verify.judge.outcome import FAILED, PASSED, Outcome
from chainer2torch.verify.rules.verify_rules import verify_rules

# A part takes some ten seconds: what the last process does alone stays short, and each start is worth it.
PARTS = 12


def part(rows: Iterable[Any], number: int) -> list[Any]:
    """The rows of one of ``PARTS`` parts, each with about the same number of examples."""
    ordered = sorted(rows, key=lambda row: row.name)
    total = sum(len(row.examples) for row in ordered)
    found, before = [], 0
    for row in ordered:
        if before * PARTS // total == number:
            found.append(row)
        before += len(row.examples)
    return found


def outcomes(rows: Sequence[Any], rules: Any, matrix: bool | Collection[str]) -> dict[str, list[Outcome]]:
    """What came of the examples of these rows, by row."""
    report = verify_rules(rows=rows, rules=rules, matrix=matrix, timeout=900)
    assert report.problems == []
    found: dict[str, list[Outcome]] = {row.name: [] for row in rows}
    for outcome in report.outcomes:
        found[outcome.pair.row].append(outcome)
    return found


def differing(found: dict[str, list[Outcome]]) -> Iterator[str]:
    """A line for each case that failed."""
    for name, cases in found.items():
        for one in cases:
            if one.status == FAILED:
                yield f"{name}, {one.pair.label}: " + "; ".join(one.reasons)


def is_compared(outcome: Outcome) -> bool:
    """Whether values were compared, and equal."""
    return outcome.status == PASSED and bool(outcome.compared)
