"""What ``verify rules`` and ``verify models`` found: as a table, as text, and as JUnit XML."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from xml.etree import ElementTree

from chainer2torch.verify.judge import tolerances
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome


@dataclasses.dataclass(frozen=True)
class RowSummary:
    """All cases of one row: how many came out how, and the largest relative errors by dtype."""

    row: str
    passed: int
    failed: int
    unverified: int
    forward: dict[str, float]
    backward: dict[str, float]


@dataclasses.dataclass
class VerifyReport:
    """The outcome of a verification: cases, what went wrong outside of them, and what belongs under the result."""

    outcomes: list[Outcome]
    problems: list[str]
    versions: dict[str, str]
    device: str = "cpu"
    without_examples: list[str] = dataclasses.field(default_factory=list)
    # The rows without examples that name a test file as their proof, by that file.
    elsewhere: dict[str, list[str]] = dataclasses.field(default_factory=dict)
    # What a person can do about that which was not verified.
    hints: list[str] = dataclasses.field(default_factory=list)

    @property
    def compared(self) -> int:
        """How many cases were compared and equal."""
        return sum(outcome.status == PASSED and outcome.compared > 0 for outcome in self.outcomes)

    @property
    def ok(self) -> bool:
        """Whether something was compared and everything that was compared is equal."""
        return self.compared > 0 and not self.problems and not any(o.status == FAILED for o in self.outcomes)

    @property
    def exit_code(self) -> int:
        """0 only if something was compared and everything that was compared is equal."""
        return 0 if self.ok else 1

    def rows(self) -> Iterator[RowSummary]:
        """One summary a row, by name."""
        grouped: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            grouped.setdefault(outcome.pair.row, []).append(outcome)
        for row in sorted(grouped):
            cases = grouped[row]
            run = [case for case in cases if case.compared]
            passed, failed, unverified = (
                sum(case.status == status for case in cases) for status in (PASSED, FAILED, UNVERIFIED)
            )
            yield RowSummary(
                row,
                passed,
                failed,
                unverified,
                {dtype: max(c.forward for c in run if c.pair.dtype == dtype) for dtype in _dtypes(run)},
                {dtype: max(c.backward for c in run if c.pair.dtype == dtype) for dtype in _dtypes(run)},
            )

    def table(self) -> list[str]:
        """The table of errors: one line a row."""
        rows = list(self.rows())
        width = max([len(row.row) for row in rows], default=4)
        head = f"{'row':<{width}}  {'equal':>5} {'failed':>6} {'not v.':>6}  largest relative error: value, gradient"
        lines = [head]
        for row in rows:
            errors = "; ".join(f"{dtype} {row.forward[dtype]:.1e}, {row.backward[dtype]:.1e}" for dtype in row.forward)
            lines.append(f"{row.row:<{width}}  {row.passed:>5} {row.failed:>6} {row.unverified:>6}  {errors or '-'}")
        return lines

    def lines(self, verbose: bool = False) -> list[str]:
        """The report as text; ``verbose`` lists every case that was not verified."""
        out = self.table()
        for outcome in self.outcomes:
            if outcome.status == FAILED:
                out.append(f"FAILED {outcome.pair.row} ({outcome.pair.label})")
                out += ["    " + line for reason in outcome.reasons[:5] for line in reason.splitlines()]
        out += list(dict.fromkeys(f"{o.pair.row}: {text}" for o in self.outcomes for text in o.notes))
        unverified = [o for o in self.outcomes if o.status == UNVERIFIED]
        if verbose:
            out += [f"not verified: {o.pair.row} ({o.pair.label}): {'; '.join(o.reasons)}" for o in unverified]
        out += [f"not verified: {name} has no example" for name in self.without_examples]
        out += [f"not run here, proved by {file}: {', '.join(names)}" for file, names in self.elsewhere.items()]
        out += self.hints
        out += [f"ERROR: {problem}" for problem in self.problems]
        failed = sum(o.status == FAILED for o in self.outcomes)
        if not self.compared:
            out.append("FAILED: nothing was compared")
        rounded = sum(o.rounded for o in self.outcomes)
        but = f" ({rounded} of them but for rounding in float32)" if rounded else ""
        out.append(f"{self.compared} cases equal{but}, {failed} failed, {len(unverified)} not verified")
        out.append(
            f"tolerances (relative, absolute): {tolerances.table()}; integers equal; "
            f"samples within {tolerances.MOMENT_SIGMAS:g} standard errors"
        )
        out.append(
            "inputs from a seed (the row's name); device "
            + self.device
            + "; "
            + "; ".join(f"{name} {version}" for name, version in self.versions.items())
        )
        return out

    def junit(self) -> str:
        """The report as JUnit XML: a test case each, what was not verified as skipped."""
        failed = sum(o.status == FAILED for o in self.outcomes)
        skipped = sum(o.status == UNVERIFIED for o in self.outcomes)
        suite = ElementTree.Element(
            "testsuite",
            name="chainer2torch verify",
            tests=str(len(self.outcomes)),
            failures=str(failed),
            skipped=str(skipped),
            errors=str(len(self.problems)),
        )
        for outcome in self.outcomes:
            case = ElementTree.SubElement(suite, "testcase", classname=outcome.pair.row, name=outcome.pair.label)
            text = _clean("\n".join(outcome.reasons))
            if outcome.status == FAILED:
                ElementTree.SubElement(case, "failure", message=text.partition("\n")[0]).text = text
            elif outcome.status == UNVERIFIED:
                ElementTree.SubElement(case, "skipped", message=text.partition("\n")[0])
        for problem in self.problems:
            case = ElementTree.SubElement(suite, "testcase", classname="chainer2torch", name="worker")
            ElementTree.SubElement(case, "error", message=_clean(problem).partition("\n")[0]).text = _clean(problem)
        if not self.compared and not failed and not self.problems:
            case = ElementTree.SubElement(suite, "testcase", classname="chainer2torch", name="something was compared")
            ElementTree.SubElement(case, "failure", message="nothing was compared")
        root = ElementTree.Element("testsuites")
        root.append(suite)
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _dtypes(cases: list[Outcome]) -> list[str]:
    return sorted({case.pair.dtype for case in cases})


def _clean(text: str) -> str:
    """Without the control characters that XML cannot hold."""
    return re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f]", "?", text)
