"""What a mutation run found: the score by area, and every mutant that no example noticed."""

from __future__ import annotations

import collections
import dataclasses
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.verify.rules.emitted import Record
from chainer2torch.verify.rules.mutation import (
    EQUIVALENT,
    KILLED,
    NOT_RUN,
    RECORDED,
    SURVIVED,
    Sample,
    Verdict,
    mutate,
)
from chainer2torch.verify.rules.verify_rules import select

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclasses.dataclass(frozen=True)
class Reason:
    """Why some mutants may survive: those of these names, and those that ran and are of a ``pattern``."""

    text: str
    mutants: frozenset[str] = frozenset()
    pattern: str = ""

    def fits(self, verdict: Verdict) -> bool:
        """Whether it is the reason of a survivor. A pattern says nothing of what was never emitted."""
        ran = verdict.status == SURVIVED and bool(self.pattern)
        return verdict.key in self.mutants or ran and re.fullmatch(self.pattern, verdict.key) is not None


@dataclasses.dataclass
class MutationReport:
    """The verdicts, of how many possible mutants they are a sample, and the reasons of survivors."""

    verdicts: Sequence[Verdict]
    possible: Mapping[str, int]
    reasons: Sequence[Reason] = ()

    def reason(self, verdict: Verdict) -> str:
        """Why a mutant may survive; empty: nobody has said."""
        return next((reason.text for reason in self.reasons if reason.fits(verdict)), "")

    def unexplained(self) -> list[Verdict]:
        """The mutants that ran, were not noticed, and have no reason."""
        noticed = (KILLED, RECORDED, EQUIVALENT, NOT_RUN)
        return [v for v in self.verdicts if v.status not in noticed and not self.reason(v)]

    @property
    def exit_code(self) -> int:
        """0 only if something ran and every survivor has a reason."""
        ran = any(verdict.status != NOT_RUN for verdict in self.verdicts)
        return 0 if ran and not self.unexplained() else 1

    def lines(self, verbose: bool = False) -> list[str]:
        """The report as text; ``verbose`` names what could not be run, too."""
        lines = [
            f"{'kind':<8}{'area':<16}{'mutants':>8}{'killed':>8}{'recorded':>10}{'survived':>10}{'not run':>9}"
            f"{'equivalent':>12}   killed  or recorded"
        ]
        lines += self._table()
        for kind in dict.fromkeys(verdict.kind for verdict in self.verdicts):
            ran = sum(verdict.kind == kind for verdict in self.verdicts)
            lines.append(f"{kind} mutants: {ran} of {self.possible[kind]} possible ones")
        for verdict in self.verdicts:
            if verdict.status in (KILLED, RECORDED, EQUIVALENT) or verdict.status == NOT_RUN and not verbose:
                continue
            reason = self.reason(verdict) or verdict.why
            lines.append(f"{verdict.status}: {verdict.key}" + (f" ({reason})" if reason else ""))
        return lines

    def _table(self) -> Iterator[str]:
        counts: dict[tuple[str, str], collections.Counter[str]] = {}
        for verdict in self.verdicts:
            for area in (verdict.area, "all"):
                counts.setdefault((verdict.kind, area), collections.Counter())[verdict.status] += 1
        for (kind, area), count in sorted(counts.items(), key=lambda entry: (entry[0][0], entry[0][1] == "all", entry)):
            killed, recorded, left, same = (count[one] for one in (KILLED, RECORDED, NOT_RUN, EQUIVALENT))
            ran = sum(count.values()) - left - same
            survived = ran - killed - recorded
            scores = [f"{part / ran:.1%}" if ran else "-" for part in (killed, killed + recorded)]
            yield (
                f"{kind:<8}{area:<16}{sum(count.values()):>8}{killed:>8}{recorded:>10}{survived:>10}{left:>9}"
                f"{same:>12}{scores[0]:>9}{scores[1]:>13}"
            )


def run(
    rules: Any, names: Sequence[str], mutants: str, seed: int, survivors: Path | None, record: Path | None = None
) -> MutationReport:
    """Runs a sample: ``mutants`` is the number of rows' mutants and, behind a comma, of helpers', each may be `all`.

    ``record``: the folder of the record of emitted texts, which notices what no value does.

    Raises:
        LookupError: A name that fits no row, or a sample that is not understood.
    """
    parts = mutants.split(",")
    if len(parts) > 2 or not all(part.isdigit() or part == "all" for part in parts):
        raise LookupError(f"--mutants {mutants}: it is two numbers such as 300,150, or `all`")
    numbers = [None if part == "all" else int(part) for part in parts]
    sample = Sample(numbers[0], numbers[1] if len(numbers) > 1 else 0, seed)
    chosen = [row.name for row in select(rules, names)] if names else None
    texts = Record.read(record, rules.style) if record is not None else None
    verdicts, rows, helpers = mutate(rules, sample, chosen, texts)
    return MutationReport(verdicts, {"row": rows, "helper": helpers}, reasons(survivors))


def reasons(path: Path | None) -> list[Reason]:
    """The survivors of a file: `[[survivor]]` with `mutants` or a `pattern`, and the `reason` they share."""
    if path is None:
        return []
    entries = tomllib.loads(path.read_text(encoding="utf-8")).get("survivor", ())
    return [Reason(e["reason"], frozenset(e.get("mutants", ())), e.get("pattern", "")) for e in entries]
