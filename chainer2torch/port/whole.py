"""``verify all``: the rules that a project uses, its models and its scripts, one after the other, and one outcome."""

from __future__ import annotations

import dataclasses
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from chainer2torch.port.look import Script
from chainer2torch.port.scripts import compare_script, synthetic_data
from chainer2torch.report.verification import Check, checks_of, document_of

RULES, MODELS, SCRIPTS = "rules", "models", "scripts"
# What each part may take of the time that is left when it begins.
_SHARE = {RULES: 0.2, MODELS: 0.7}
_LEAST = 20.0


@dataclasses.dataclass(frozen=True)
class Part:
    """What was compared of one kind."""

    name: str
    checks: tuple[Check, ...] = ()
    lines: tuple[str, ...] = ()
    differences: tuple[str, ...] = ()

    def count(self, status: str) -> int:
        """How many checks came out so."""
        return sum(check.status == status for check in self.checks)

    def line(self) -> str:
        """The outcome in one line."""
        if not self.checks:
            return "there are none"
        parts = [f"{self.count('passed')} of {len(self.checks)} proved"]
        for status, words in (("failed", "differ"), ("not verified", "not verified")):
            if self.count(status):
                parts.append(f"{self.count(status)} {words}")
        return ", ".join(parts)


@dataclasses.dataclass(frozen=True)
class Whole:
    """The outcome of all parts."""

    parts: tuple[Part, ...]
    at_least: float = 0

    @property
    def checks(self) -> tuple[Check, ...]:
        """Everything that was compared, by part."""
        return tuple(check for part in self.parts for check in part.checks)

    @property
    def share(self) -> float:
        """The percentage of classes and scripts that are proved; rules are ours, and count for nothing here."""
        own = [check for part in self.parts if part.name != RULES for check in part.checks]
        return 100 * sum(check.status == "passed" for check in own) / len(own) if own else 0.0

    @property
    def ok(self) -> bool:
        """Whether something was compared, nothing differs, and enough is proved."""
        checks = self.checks
        return (
            any(check.status == "passed" for check in checks)
            and not any(check.failed for check in checks)
            and self.share >= self.at_least
        )

    @property
    def exit_code(self) -> int:
        """0 only if something was compared, all of it was equal, and enough is proved."""
        return 0 if self.ok else 1

    def lines(self) -> Iterator[str]:
        """The outcome as text: a line for each part, then what differs and what is not verified."""
        for part in self.parts:
            yield f"{part.name:<9}{part.line()}"
        for status in ("failed", "not verified"):
            for part in self.parts:
                for check in part.checks:
                    if check.status == status:
                        word = "DIFFERENT" if status == "failed" else status
                        yield f"{word:<13}{check.name}: {_short(check.message)}"
        yield f"{self.share:.0f}% of the classes and scripts are proved"
        if self.share < self.at_least:
            yield f"FAILED: fewer than --at-least {self.at_least:g}"
        if not any(check.status == "passed" for check in self.checks):
            yield "FAILED: nothing was compared"

    def facts(self) -> tuple[tuple[str, str], ...]:
        """The same for the head of the page."""
        differences = dict.fromkeys(name for part in self.parts for name in part.differences)
        facts = [(part.name, part.line()) for part in self.parts]
        facts.append(("proved", f"{self.share:.0f}% of the classes and scripts"))
        if differences:
            facts.append(("made equal", f"declared differences that both sides have here: {', '.join(differences)}"))
        return tuple(facts)

    def document(self) -> str:
        """As JSON, of the form of ``verify --report``."""
        checks = [{**dataclasses.asdict(check), "part": part.name} for part in self.parts for check in part.checks]
        data = {"version": 1, "ok": self.ok, "share": round(self.share, 1), "checks": checks}
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False) + "\n"

    def junit(self) -> str:
        """As JUnit XML: a suite for each part, a test case for each check."""
        root = ElementTree.Element("testsuites")
        for part in self.parts:
            suite = ElementTree.SubElement(
                root,
                "testsuite",
                name=f"chainer2torch verify {part.name}",
                tests=str(len(part.checks)),
                failures=str(part.count("failed")),
                skipped=str(part.count("not verified")),
                errors="0",
            )
            for check in part.checks:
                case = ElementTree.SubElement(suite, "testcase", classname=check.name, name=part.name)
                message = "".join(c if c >= " " or c in "\t\n" else "?" for c in check.message)
                if check.failed:
                    ElementTree.SubElement(case, "failure", message=message.partition("\n")[0]).text = message
                elif check.status != "passed":
                    ElementTree.SubElement(case, "skipped", message=message.partition("\n")[0])
        return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


class Clock:
    """The time that is left of a budget."""

    def __init__(self, budget: float | None):
        self._end = float("inf") if budget is None else time.monotonic() + budget

    def left(self, part: str = "") -> float:
        """Seconds, or the share that a part may take."""
        return max(0.0, self._end - time.monotonic()) * _SHARE.get(part, 1.0)


def verify_all(
    src: Path,
    out: Path,
    symbols: Sequence[str],
    rules: Any,
    scripts: Sequence[Script],
    *,
    budget: float | None = None,
    at_least: float = 0,
    iterations: int = 5,
    cache: Path | None = None,
    tell: Callable[[Any, int], object] | None = None,
    say: Callable[[str], object] = lambda line: None,
    **comparing: Any,
) -> Whole:
    """Compares all that can be compared. ``symbols`` are the names of Chainer that ``src`` uses, ``rules`` the tables
    of the style of ``out``; ``say`` is told what begins.

    An interrupt ends it: what is there stays, and the rest is not verified.
    """
    clock = Clock(budget)
    parts: list[Part] = []

    def rules_used() -> Part:
        return _rules(symbols, rules, clock, comparing)

    def models() -> Part:
        from chainer2torch import verify

        left = clock.left(MODELS)
        report = verify.verify_models(
            src,
            out,
            tell=tell,
            cache=cache,
            budget=None if left == float("inf") else left,
            **_within(comparing, clock.left()),
        )
        if "interrupted" in report.problems:
            raise KeyboardInterrupt
        return Part(MODELS, _without_advice(report))

    def run_scripts() -> Part:
        with synthetic_data():
            return _scripts(src, out, scripts, iterations, clock, comparing, say)

    waiting = [(RULES, rules_used), (MODELS, models), (SCRIPTS, run_scripts)]
    for name, run in waiting:
        say(name)
        try:
            parts.append(run())
        except KeyboardInterrupt:
            parts += [_left(other, "interrupted") for other, _ in waiting[len(parts) :]]
            break
    return Whole(tuple(parts), at_least)


def _left(name: str, why: str) -> Part:
    return Part(name, (Check(name, 0, 0, 1, f"not reached: {why}"),))


def _within(comparing: Mapping[str, Any], left: float) -> dict[str, Any]:
    """The options with no more time for a worker than is left."""
    return {**comparing, "timeout": max(1.0, min(comparing.get("timeout", 600), left))}


def _without_advice(report: Any) -> tuple[Check, ...]:
    """The checks of models; that nothing is named in a table is no failure here."""
    report.problems = [problem for problem in report.problems if "no [[tool.chainer2torch" not in problem]
    return tuple(checks_of(json.loads(document_of(report))))


def _rules(symbols: Sequence[str], rules: Any, clock: Clock, comparing: Mapping[str, Any]) -> Part:
    """The examples of the rules that the project uses."""
    from chainer2torch import verify

    names = sorted({row.name for row in map(rules.find, symbols) if row is not None})
    if not names:
        return Part(RULES)
    if clock.left(RULES) < _LEAST:
        return _left(RULES, "its time was up (--budget)")
    report = verify.verify_rules(names, rules=rules, matrix=False, **_within(comparing, clock.left(RULES)))
    wanted = set(names)
    report.outcomes = [outcome for outcome in report.outcomes if outcome.pair.row in wanted]
    return Part(RULES, tuple(checks_of(json.loads(document_of(report)))))


def _scripts(
    src: Path,
    out: Path,
    scripts: Sequence[Script],
    iterations: int,
    clock: Clock,
    comparing: Mapping[str, Any],
    say: Callable[[str], object],
) -> Part:
    checks: list[Check] = []
    differences: dict[str, None] = {}
    ended = ""
    for number, script in enumerate(scripts):
        if clock.left() < _LEAST:
            ended = ended or "its time was up (--budget)"
        if ended:
            checks.append(Check(script.command, 0, 0, 1, f"not reached: {ended}"))
            continue
        say(script.command)
        try:
            # Each gets its part of the time that is left.
            left = clock.left() / (len(scripts) - number)
            check, declared = compare_script(
                src, out, script.command, iterations, _within(comparing, max(left, _LEAST))
            )
        except KeyboardInterrupt:
            ended = "interrupted"
            check, declared = Check(script.command, 0, 0, 1, "not reached: interrupted"), ()
        checks.append(check)
        differences.update(dict.fromkeys(declared))
    return Part(SCRIPTS, tuple(checks), differences=tuple(differences))


def _short(text: str, width: int = 200) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."
