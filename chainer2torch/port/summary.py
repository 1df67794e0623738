"""What a call of ``port`` ends with: where things stand, and what a person does next."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from chainer2torch.port.checks import MODELS, Compared
from chainer2torch.port.left import Task
from chainer2torch.port.look import Look
from chainer2torch.port.writing import Written
from chainer2torch.report.extras import Step
from chainer2torch.report.model import Report

_STEPS = 3
_COMPARED = 2  # comparisons that have a line
_WIDTH = 11


@dataclasses.dataclass(frozen=True)
class Stand:
    """Everything that one call has found out."""

    src: Path
    out: Path
    page: Path
    look: Look
    report: Report
    written: Written
    compared: tuple[Compared, ...]
    tasks: tuple[Task, ...]
    importing: tuple[str, ...]
    first: int
    unproved: int = 0  # places that ask nothing and were not executed, for want of a GPU most of them

    @property
    def open(self) -> bool:
        """Whether a person has something to do before the copy can be used."""
        return bool(self.tasks or self.importing) or self.differs

    @property
    def places(self) -> int:
        """How many comments are left."""
        return sum(len(task.places) for task in self.tasks)

    @property
    def differs(self) -> bool:
        """Whether a comparison has found a difference."""
        return any(compared.count("failed") for compared in self.compared)

    def facts(self) -> list[tuple[str, str]]:
        """Where things stand: what was looked at, what was done, what is proved, what is left."""
        totals = self.report.totals()
        done = totals["exact"] + totals["close"]
        migrated = f"{_count(self.written.count, 'file')} written" if self.written.count else "nothing to write"
        if self.written.edited:
            migrated += f", {len(self.written.edited)} kept with your changes"
        needs = f"{done} of {totals['sites']} places of Chainer need nobody"
        if self.unproved:  # they have no comment
            needs += f"; {self.unproved} without a question, but not executed (most need a GPU)"
        lines = [
            ("looked at", f"{self.src}: {self.look.line()}"),
            ("migrated", f"to {self.out}: {migrated}; {needs}"),
        ]
        lines += [
            ("compared" if not i else "", compared.line()) for i, compared in enumerate(self.compared[:_COMPARED])
        ]
        lines.append(("left", self._left()))
        return lines

    def _left(self) -> str:
        since = f" ({self.first} at first)" if self.first != self.places else ""
        text = f"{_count(self.places, 'comment')} TODO(chainer2torch ...){since}"
        if self.tasks:
            text += f", of {_count(len(self.tasks), 'kind')}"
        if self.importing:
            text += f"; {_count(len(self.importing), 'file')} with an import of Chainer"
        return text

    def steps(self) -> list[Step]:
        """What to do next, in order."""
        return list(self._steps())

    def _steps(self) -> Iterator[Step]:
        again = shlex.join(["chainer2torch", "port", str(self.src), "-o", str(self.out)])
        for problem in self.report.problems:
            yield Step(problem.place, problem.message, f"{again}   # when it is done")
        for path in self.look.absent:
            why = "check out this git submodule: what the project takes from there was not read"
            yield Step(path, why, f"git submodule update --init && {again}")
        for path in self.written.behind:
            yield Step(str(self.out / path), "you have changed it, and so has its source: take over what is new there")
        for compared in self.compared:
            for check in compared.checks:
                if check.failed:
                    where = f"{compared.name}: {check.name}" if compared.name == MODELS else check.name
                    words = "stops, where Chainer does not" if check.raises else "differs from Chainer"
                    yield Step(where, f"{words}: {check.message or 'see the page'}")
        for task in self.tasks:
            first = task.places[0]
            more = f" (and {len(task.places) - 1} more)" if len(task.places) > 1 else ""
            yield Step(f"{self.out / first.path}:{first.line}{more}", task.text, f"chainer2torch explain {task.code}")
        marked = {place.path for task in self.tasks for place in task.places}
        for path in self.importing:
            if path not in marked:
                yield Step(str(self.out / path), "still imports Chainer", f"chainer2torch check {self.out / path}")
        for compared in self.compared:
            if compared.why:
                yield Step(compared.name, f"not compared: {compared.why}", again)
        yield from self._last(again)

    def _last(self, again: str) -> Iterator[Step]:
        for compared in self.compared:
            for check in compared.checks:
                if compared.name != MODELS and check.status == "not verified":
                    yield Step(
                        compared.name,
                        f"not verified: {check.message}; give it what it needs, and call it again",
                        f"{again} --run {shlex.quote(compared.name)}",
                    )
        ran = {compared.name for compared in self.compared}
        scripts = [script for script in self.look.scripts if not any(name.startswith(script.path) for name in ran)]
        for script in scripts[:1]:
            yield Step(
                script.path,
                "run it in both frameworks in lockstep (this runs the program)"
                + (
                    f"; put what it needs for {', '.join(w for w in script.needs if w[0] != '-')}"
                    if script.needs
                    else ""
                ),
                f"{again} --run {shlex.quote(script.command)}",
            )
        for path in self.look.weights[:1]:
            yield Step(
                str(self.src / path),
                "turn the trained weights into PyTorch's, in the folder of the copy",
                f"chainer2torch weights {shlex.quote(str(self.src / path))} --model MODULE:CLASS -o weights.pt",
            )
        for compared in self.compared:
            names = [check.name for check in compared.checks if check.status == "not verified"]
            if names and compared.name == MODELS:
                more = f" (and {len(names) - 1} more)" if len(names) > 1 else ""
                yield Step(
                    f"{names[0]}{more}",
                    "not verified; the command says why, and prints the lines for pyproject.toml that settle it",
                    shlex.join(["chainer2torch", "verify", "models", str(self.src), str(self.out)]),
                )
        if not self.report.problems and not self.open:
            yield Step(str(self.out), "commit the copy in place of the original, and open the pull request")


def lines(stand: Stand) -> Sequence[str]:
    """About ten lines for a terminal."""
    steps = stand.steps()
    out = [f"{name:<{_WIDTH}}{text}" for name, text in stand.facts()]
    for number, step in enumerate(steps[:_STEPS], 1):
        out.append(f"{'next' if number == 1 else '':<{_WIDTH - 3}}{number}. {step.place}: {_short(step.text)}")
    if len(steps) > _STEPS:
        more = len(steps) - _STEPS
        out.append(f"{'':<{_WIDTH}}and {more} more step{'s' * (more > 1)} in the page")
    return [*out, f"{'page':<{_WIDTH}}{stand.page}"]


def _short(text: str, width: int = 160) -> str:
    text = " ".join(text.split())
    return text if len(text) <= width else text[: width - 3].rstrip() + "..."


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")
