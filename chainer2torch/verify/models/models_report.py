"""The report of ``verify models``: how many classes are proved, and of each that is not one reason."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.models.trials import Left
from chainer2torch.verify.results import VerifyReport

PROVED, DIFFERS, RAISES, IN_PART, LEFT = "proved", "differs", "raises", "in part", "not verified"
_WORDS = {
    PROVED: "proved",
    DIFFERS: "differ",
    RAISES: "raise under PyTorch",
    IN_PART: "proved in part",
    LEFT: "not verified",
}


@dataclasses.dataclass
class ModelsReport(VerifyReport):
    """Outcomes by class; ``left`` is what was not run."""

    at_least: float = 0
    left: list[Left] = dataclasses.field(default_factory=list)

    def add_left(self, left: Sequence[Left], label: str = "inferred") -> list[Outcome]:
        """Adds what was not run; gives the outcomes."""
        outcomes = [Outcome(Pair(what.target, what.target, label, "", ""), UNVERIFIED, [what.why]) for what in left]
        self.left += left
        self.outcomes += outcomes
        return outcomes

    def classes(self) -> Mapping[str, str]:
        """Each class with what came of it: ``proved`` is that all its cases were compared and equal."""
        grouped: dict[str, list[Outcome]] = {}
        for outcome in self.outcomes:
            grouped.setdefault(outcome.pair.row, []).append(outcome)
        states = {row: _state(cases) for row, cases in grouped.items()}
        states.update(dict.fromkeys(self._inside(states), PROVED))
        states.update(dict.fromkeys(self._bases(states), PROVED))
        return {**states, **dict.fromkeys(self._copies(states), PROVED)}

    def _inside(self, states: Mapping[str, str]) -> Mapping[str, str]:
        """Classes that nothing was found for by itself, with a class that is proved and that makes and calls them: in
        each mode what they gave there is equal.
        """
        found: dict[str, str] = {}
        for row, state in states.items():
            cases = [case for case in self.outcomes if case.pair.row == row and case.status == PASSED and case.compared]
            if state == PROVED and any(case.inside for case in cases):
                modes = {case.pair.mode: frozenset[str]() for case in cases}
                for case in cases:
                    modes[case.pair.mode] |= case.inside
                for target in sorted(frozenset.intersection(*modes.values())):
                    if states.get(target) == LEFT:
                        found.setdefault(target, row)
        return found

    def _bases(self, states: Mapping[str, str]) -> Mapping[str, str]:
        """Classes that cannot be run, as they only are the base of others, with one that is proved; none of these
        differs.
        """
        found = {}
        for what in self.left:
            derived = [target for target in what.derived if target in states]
            proved = [target for target in derived if states[target] == PROVED]
            if states.get(what.target) == LEFT and proved and not {states[t] for t in derived} & {DIFFERS, RAISES}:
                found[what.target] = proved[0]
        return found

    def _copies(self, states: Mapping[str, str]) -> Mapping[str, str]:
        """Classes in copies of a file, with the one that is proved."""
        return {what.target: what.twin for what in self.left if what.twin and states.get(what.twin) == PROVED}

    @property
    def proved(self) -> float:
        """The percentage of classes that are proved."""
        states = list(self.classes().values())
        return 100 * states.count(PROVED) / len(states) if states else 0.0

    @property
    def ok(self) -> bool:
        """Whether nothing differs, something was compared, and enough classes are proved."""
        return super().ok and self.proved >= self.at_least

    def reason(self, row: str) -> str:
        """One line on a class that is not proved."""
        cases = [o for o in self.outcomes if o.pair.row == row and o.status != PASSED and o.reasons]
        first = next((o for o in cases if o.status == FAILED), cases[0] if cases else None)
        return " ".join(first.reasons[0].split()) if first is not None else ""

    def lines(self, verbose: bool = False) -> list[str]:
        """The report as text, with the classes counted."""
        return [*super().lines(verbose), *self._counted()]

    def _counted(self) -> Iterator[str]:
        own = self.classes()
        states = list(own.values())
        without = {**own, **{what.target: LEFT for what in self.left}}
        inside = self._inside(without)
        bases = self._bases({**without, **dict.fromkeys(inside, PROVED)})
        yield from (f"{row}: proved inside of {outer}" for row, outer in inside.items())
        yield from (f"{row}: proved as the base of {derived}" for row, derived in bases.items())
        yield from (f"{row}: a copy of {first}, which is proved" for row, first in self._copies(own).items())
        if states:
            rest = [
                f"{states.count(state)} {words}"
                for state, words in _WORDS.items()
                if state != PROVED and state in states
            ]
            yield (
                f"{states.count(PROVED)} of {len(states)} classes proved ({self.proved:.0f}%)"
                + (f"; {', '.join(rest)}" if rest else "")
            )
        if self.proved < self.at_least:
            yield f"FAILED: {self.proved:.0f}% of the classes are proved, fewer than --at-least {self.at_least:g}"


def _state(cases: Sequence[Outcome]) -> str:
    failed = [case for case in cases if case.status == FAILED]
    if failed:
        return RAISES if all(case.raised for case in failed) else DIFFERS
    passed = [case for case in cases if case.status == PASSED and case.compared]
    # A program that makes arrays of float32 itself has no float64 pass under Chainer either, and some run in one mode.
    rest = [case for case in cases if case not in passed and not case.float32_only and not case.original_raises]
    return PROVED if passed and not rest else IN_PART if passed else LEFT
