"""The mutation run: wrong rows and wrong helpers, and whether the rows' examples notice.

A mutant of a row is migrated anew, a mutant of a helper is put in its place, and the examples that it changes run in
both frameworks until one of them differs: then the mutant is killed.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
import shutil
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from chainer2torch.project.worker_pool import collect
from chainer2torch.verify.judge.outcome import Pair
from chainer2torch.verify.rules import helper_mutants, row_mutants
from chainer2torch.verify.rules.bench import Bench, Shown, Text, prepare_torch
from chainer2torch.verify.rules.emitted import Record
from chainer2torch.verify.rules.helper_mutants import HelperMutant
from chainer2torch.verify.rules.isolation import Result, isolated, limited
from chainer2torch.verify.rules.row_mutants import RowMutant

_Item = TypeVar("_Item")
KILLED, SURVIVED, UNSEEN, NOT_RUN, EQUIVALENT = "killed", "survived", "not emitted", "not run", "equivalent"
RECORDED = "recorded"  # only the record of emitted texts shows it: every value was equal
_SECONDS = 20  # for one example of a mutant: a mutant may loop for ever
_COMPAT = helper_mutants.COMPAT
_HELPER = re.compile(r"\b(?:compat|native)\.(\w+)")


@dataclasses.dataclass(frozen=True)
class Verdict:
    """What became of one mutant. ``subject``: the row or the helper; ``why``: what killed it."""

    kind: str
    area: str
    subject: str
    what: str
    status: str
    why: str = ""

    @property
    def key(self) -> str:
        """What a list of survivors calls it."""
        return f"{self.subject}: {self.what}"


def area_of(name: str) -> str:
    """The part of Chainer that a row is about."""
    starts = (
        ("chainer.functions.", "functions"),
        ("chainer.links.", "links"),
        ("numpy.", "arrays"),
        ("cupy.", "arrays"),
        ("xp.", "arrays"),
        ("chainer.Variable", "variable"),
        ("chainer.Parameter", "variable"),
        ("chainer.optimizer", "optimizers"),
        ("chainer.training", "training"),
    )
    return next((area for start, area in starts if name.startswith(start)), "other")


@dataclasses.dataclass
class _Trial:
    """A mutant that still lives. ``seen``: another text than the right one was run. ``left``: a call of an example is
    left as it is, with a message, that the right row migrates: such a row claims less, and nothing that is wrong.
    ``recorded``: the example whose recorded text is another one.
    """

    mutant: Any
    verdict: Result | None = None
    seen: bool = False
    left: bool = False
    recorded: str = ""
    done: set[tuple[str, str]] = dataclasses.field(default_factory=set)
    todo: list[Text] = dataclasses.field(default_factory=list)

    def take(self, shown: Shown) -> None:
        """What migrating has shown, and what is to be run."""
        if shown.killed is not None:
            self.verdict = KILLED, shown.killed
        self.todo = [text for text in shown.texts if (text.id, text.code) not in self.done]
        self.done |= {(text.id, text.code) for text in self.todo}
        self.seen, self.left = self.seen or bool(self.todo), self.left or shown.left
        self.recorded = self.recorded or shown.recorded

    def result(self) -> Result:
        if self.verdict is not None:
            return self.verdict
        if self.recorded:
            return RECORDED, self.recorded
        if self.left and not self.seen:
            return EQUIVALENT, "the calls that would show it are left as they are, with a message"
        return (SURVIVED if self.seen else UNSEEN), ""


def run_rows(bench: Bench, chosen: Mapping[str, Sequence[RowMutant]]) -> list[Verdict]:
    """The verdicts of the mutants of rows, by the row's name.

    First the examples as written, then every way to write them for the mutants that are left. Each round looks at the
    emitted texts, runs Chainer for the examples whose text has changed, and then PyTorch until one of them differs.
    Wrong defaults that no example notices are looked up in Chainer's own signatures, as the tests of the rows do.
    """
    trials = {name: [_Trial(mutant) for mutant in mutants] for name, mutants in chosen.items()}
    for trial in itertools.chain.from_iterable(trials.values()):
        if row_mutants.is_equivalent(bench.rules.every[trial.mutant.row.name], trial.mutant.row):
            trial.verdict = EQUIVALENT, "only the name of the call is replaced"
    for matrix in (False, True):
        living = {name: [t for t in those if t.verdict is None] for name, those in trials.items()}
        _round(bench, {name: those for name, those in living.items() if those}, matrix)
    _look_at_signatures(bench, [t for those in trials.values() for t in those if t.verdict is None])
    return [
        Verdict("row", area_of(name), name, trial.mutant.what, *trial.result())
        for name, those in trials.items()
        for trial in those
    ]


def _round(bench: Bench, living: Mapping[str, Sequence[_Trial]], matrix: bool) -> None:
    """Migrates and runs the examples of some rows with each wrong row that lives."""
    bench.plan(living, matrix)

    def texts(name: str) -> list[Shown]:
        return [bench.differing(trial.mutant.row, matrix) for trial in living[name]]

    found = collect(texts, {name: len(those) for name, those in living.items()}, bench.jobs)
    for name, those in living.items():
        for trial, shown in zip(those, found[name], strict=True):
            trial.take(shown)
    running = [t for those in living.values() for t in those if t.verdict is None and t.todo]
    bench.run_chainer(text.id for trial in running for text in trial.todo)
    _run(running, lambda trial: _of_texts(bench, trial.todo), bench.jobs)


def _look_at_signatures(bench: Bench, living: Sequence[_Trial]) -> None:
    """Kills the wrong defaults that Chainer's own signature contradicts."""
    trials = [trial for trial in living if trial.mutant.parameter]
    questions = []
    for trial in trials:
        row, parameter = trial.mutant.row, trial.mutant.parameter
        right = bench.rules.every[row.name].signature.defaults[parameter]
        questions.append((row.name, parameter, right, row.signature.defaults[parameter]))
    for trial, known in zip(trials, bench.known_defaults(questions), strict=True):
        if known:
            trial.verdict = KILLED, "the signature is not Chainer's"


def _of_texts(bench: Bench, texts: Sequence[Text]) -> Result:
    for text in texts:
        with limited(_SECONDS):
            wrong = bench.difference(text.id, text.code)
        if wrong is not None:
            return KILLED, f"{text.label}: {wrong.splitlines()[0]}"
    return SURVIVED, ""


def _run(trials: Sequence[_Trial], work: Callable[[_Trial], Result], jobs: int) -> None:
    """Gives each trial that ends in a kill its verdict."""
    shares = {str(number): trials[number::jobs] for number in range(jobs)}

    def share(number: str) -> list[Result]:
        return isolated(shares[number], work, KILLED)

    found = collect(share, {number: len(part) for number, part in shares.items()}, jobs)
    for number, part in shares.items():
        for trial, (status, why) in zip(part, found[number], strict=True):
            if status != SURVIVED:
                trial.verdict = status, why


def of_helper(bench: Bench, mutant: HelperMutant, texts: Sequence[Text]) -> Result:
    """What becomes of a wrong helper among the examples that use it."""
    try:
        with helper_mutants.applied(mutant):
            return _of_texts(bench, texts)
    except LookupError:
        return NOT_RUN, "not reachable by its name"
    except Exception as error:  # a default that cannot be evaluated
        return KILLED, f"{type(error).__name__}: {error}"


def run_helpers(bench: Bench, chosen: Sequence[HelperMutant]) -> list[Verdict]:
    """The verdicts of the mutants of helpers: as for rows, by the examples that emit them."""
    trials = [_Trial(mutant) for mutant in chosen]
    users = helper_mutants.users()
    for matrix in (False, True):
        living = [trial for trial in trials if trial.verdict is None]
        bench.plan(rows_that_emit(bench.rules, {t.mutant.helper for t in living}), matrix)
        by_helper: dict[str, list[Pair]] = {}
        for pair in bench.pairs.values():
            for name in set(_HELPER.findall(pair.torch)):
                by_helper.setdefault(name, []).append(pair)
        for trial in living:
            helper = trial.mutant.helper
            others = [pair for user in sorted(users[helper] - {helper}) for pair in by_helper.get(user, [])]
            pairs = _cheap_first(by_helper.get(helper, [])) + _cheap_first(others)
            trial.take(Shown(None, [Text(f"{p.row}, {p.label}", p.id, p.torch) for p in pairs[:_MOST]]))
        running = [trial for trial in living if trial.todo]
        bench.run_chainer(text.id for trial in running for text in trial.todo)
        _run(running, lambda trial: of_helper(bench, trial.mutant, trial.todo), bench.jobs)
    for trial in trials:
        if trial.verdict is None and not trial.seen:
            trial.verdict = NOT_RUN, "no example emits it"
    return [
        Verdict(
            "helper",
            trial.mutant.room.split(".")[0],
            f"{trial.mutant.room}.{trial.mutant.name}",
            f"line {trial.mutant.line}: {trial.mutant.what}",
            *trial.result(),
        )
        for trial in trials
    ]


_MOST = 300  # examples for one helper


def _cheap_first(pairs: Iterable[Pair]) -> list[Pair]:
    """One of each example first, without those that draw large samples."""
    return sorted(pairs, key=lambda pair: (pair.compare == "moments", not pair.initial, "as written" not in pair.label))


def every_row_mutant(rules: Any, names: Iterable[str] | None = None) -> dict[str, list[RowMutant]]:
    """The mutants of all rows that examples of their own can prove, by name; ``names``: of these rows only.

    In the native style those of what its tables add: the rest is a matter of the faithful style.
    """
    rows = [rules.every[name] for name in (rules.every if names is None else names)]
    proved = [row for row in rows if row.examples and not row.alias and row.state in ("exact", "close")]
    if rules.style == "native":
        proved = [row for row in proved if row.native]
    return {row.name: list(row_mutants.mutants(row, rules.style == "native")) for row in proved}


def every_helper_mutant(helpers: set[str] | None = None) -> list[HelperMutant]:
    """The mutants of all helpers, or of the named ones."""
    found = [mutant for path in sorted(_COMPAT.rglob("*.py")) for mutant in helper_mutants.mutants(path)]
    return [mutant for mutant in found if helpers is None or mutant.helper in helpers]


@dataclasses.dataclass(frozen=True)
class Sample:
    """How many mutants of rows and of helpers to draw, from which seed; ``rows`` and ``helpers``: None is all."""

    rows: int | None = None
    helpers: int | None = None
    seed: int = 0
    jobs: int = 2


def mutate(
    rules: Any, sample: Sample, names: Iterable[str] | None = None, record: Record | None = None
) -> tuple[list[Verdict], int, int]:
    """The verdicts of a sample, and of how many mutants of rows and of helpers it was drawn.

    ``names``: only the mutants of these rows, and of the helpers that their templates name. ``record``: what their
    examples become.
    """
    from chainer2torch.engine import migrate_source

    every_row = [(name, m) for name, mutants in every_row_mutant(rules, names).items() for m in mutants]
    every_helper = every_helper_mutant(None if names is None else _named(rules, names))
    draw = random.Random(sample.seed)
    chosen: dict[str, list[RowMutant]] = {}
    for name, mutant in _drawn(draw, every_row, sample.rows):
        chosen.setdefault(name, []).append(mutant)
    helpers = _drawn(draw, every_helper, sample.helpers)
    folder = Path(tempfile.mkdtemp(prefix="chainer2torch-"))
    try:
        bench = Bench(rules, migrate_source, folder, sample.jobs, record)
        prepare_torch(rules.style)
        verdicts = run_rows(bench, chosen) + run_helpers(bench, helpers)
        return verdicts, len(every_row), len(every_helper)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _drawn(draw: random.Random, items: Sequence[_Item], count: int | None) -> Sequence[_Item]:
    return items if count is None or count >= len(items) else draw.sample(items, count)


def _named(rules: Any, names: Iterable[str]) -> set[str]:
    return {helper for name in names for text in rules.every[name].templates for helper in _HELPER.findall(text)}


def rows_that_emit(rules: Any, helpers: set[str]) -> set[str]:
    """The rows with examples whose templates use one of the helpers, directly or not."""
    users = helper_mutants.users()
    wanted = {user for helper in helpers for user in users.get(helper, {helper})}
    return {
        name
        for name, row in rules.every.items()
        if row.examples and any(set(_HELPER.findall(text)) & wanted for text in row.templates)
    }
