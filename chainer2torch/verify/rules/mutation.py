"""The mutation run: wrong rows and wrong helpers, and whether the rows' examples notice.

Chainer's side of every example runs once. A mutant of a row is migrated anew, a mutant of a helper is put in its place,
and PyTorch's side runs in this process, example by example, until one of them differs: then the mutant is killed.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import random
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from chainer2torch.project.worker_pool import collect
from chainer2torch.verify.judge.outcome import FAILED, Outcome, Pair
from chainer2torch.verify.judge.pairs import case_of
from chainer2torch.verify.judge.verdict import judge
from chainer2torch.verify.rules import helper_mutants, row_mutants
from chainer2torch.verify.rules.helper_mutants import HelperMutant
from chainer2torch.verify.rules.row_mutants import RowMutant
from chainer2torch.verify.rules.verify_rules import Plan
from chainer2torch.verify.worker import wire
from chainer2torch.verify.worker_process import CHAINER_WORKER, WorkerResult, run_cases

_Item = TypeVar("_Item")
KILLED, SURVIVED, UNSEEN, NOT_RUN, EQUIVALENT = "killed", "survived", "not emitted", "not run", "equivalent"
_SECONDS = 20  # for one example of a mutant: a mutant may loop for ever
_COMPAT = helper_mutants.COMPAT


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


class Bench:
    """The examples of some rows, Chainer's result for each, and PyTorch's side to run again and again."""

    def __init__(self, rows: Sequence[Any], rules: Any, migrate_source: Callable[..., Any], folder: Path):
        self.rules, self.migrate_source = rules, migrate_source
        self.pairs = self._planned(rows)
        self.by_text = {(p.row, p.label, p.chainer): p for p in self.pairs}
        inputs: dict[str, Any] = {}
        self.cases = {pair.id: case_of(pair, inputs) for pair in self.pairs}
        self.inputs = wire.escape(inputs)
        self.left = self._chainer(folder, inputs)
        self.job = {"device": "cpu", "reference": str(folder)}

    def _planned(self, rows: Sequence[Any]) -> list[Pair]:
        by_name = {row.name: row for row in rows}

        def work(name: str) -> list[Pair]:
            plan = Plan(self.rules, self.migrate_source)
            for index, example in enumerate(by_name[name].examples):
                plan.add_example(by_name[name], index, example)
            return plan.pairs

        found = collect(work, {name: len(row.examples) for name, row in by_name.items()}, 2)
        pairs = [pair for name in by_name for pair in found[name]]
        return [dataclasses.replace(pair, id=f"c{number}") for number, pair in enumerate(pairs)]

    def _chainer(self, folder: Path, inputs: Mapping[str, Any]) -> WorkerResult:
        import numpy

        numpy.savez(str(folder / "inputs.npz"), **wire.escape(dict(inputs)))
        cases = [dict(self.cases[pair.id], source=pair.chainer) for pair in self.pairs]
        return run_cases(CHAINER_WORKER, folder, {"kind": "snippets", "device": "cpu", "cases": cases}, timeout=1800)

    def known(self, pair: Pair) -> Pair | None:
        """The pair of the right row that runs the same original."""
        return self.by_text.get((pair.row, pair.label, pair.chainer))

    def difference(self, pair: Pair, code: str) -> str | None:
        """What is wrong with a text in the place of a pair's migrated one; None: it is equal."""
        from chainer2torch.verify.worker import torch_snippets

        reference = self.left.records.get(pair.id)
        if reference is None:
            return None
        case = dict(
            self.cases[pair.id],
            source=code,
            weights=reference.get("weights", {}),
            differentiated=reference.get("differentiated", []),
        )
        with _limited(_SECONDS):
            record, arrays = torch_snippets.run_case(case, self.inputs, self.job)
        outcome = Outcome(pair)
        judge(outcome, reference, record, self.left.arrays(pair.id), dict(arrays))
        return outcome.reasons[0] if outcome.status == FAILED else None


class _Slow(Exception):
    """An example of a mutant took too long."""


@contextlib.contextmanager
def _limited(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise _Slow(f"took more than {seconds} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def of_row(bench: Bench, mutant: RowMutant) -> tuple[str, str]:
    """What becomes of a wrong row, and why. First the examples as written, then every way to write them."""
    if row_mutants.is_equivalent(bench.rules.rows[mutant.row.name], mutant.row):
        return EQUIVALENT, "only the name of the call is replaced"
    rules = bench.rules.replacing(mutant.row)
    seen = False
    done: set[tuple[str, str]] = set()
    for matrix in (False, True):
        for index, example in enumerate(mutant.row.examples):
            plan = Plan(rules, bench.migrate_source, matrix)
            plan.add_example(mutant.row, index, example)
            failed = next((o for o in plan.outcomes if o.status == FAILED), None)
            if failed is not None:
                return KILLED, f"{failed.pair.label}: {failed.reasons[0].splitlines()[0]}"
            for pair in plan.pairs:
                right = bench.known(pair)
                if right is None or right.torch == pair.torch or (right.id, pair.torch) in done:
                    continue
                seen = True
                done.add((right.id, pair.torch))
                wrong = bench.difference(right, pair.torch)
                if wrong is not None:
                    return KILLED, f"{pair.label}: {wrong.splitlines()[0]}"
    return (SURVIVED if seen else UNSEEN), ""


def of_helper(bench: Bench, mutant: HelperMutant, pairs: Sequence[Pair]) -> tuple[str, str]:
    """What becomes of a wrong helper among the pairs that use it."""
    if not pairs:
        return NOT_RUN, "no example emits it"
    try:
        with helper_mutants.applied(mutant):
            for pair in pairs:
                wrong = bench.difference(pair, pair.torch)
                if wrong is not None:
                    return KILLED, f"{pair.row}, {pair.label}: {wrong.splitlines()[0]}"
    except LookupError:
        return NOT_RUN, "not reachable by its name"
    except Exception as error:  # a default that cannot be evaluated
        return KILLED, f"{type(error).__name__}: {error}"
    return SURVIVED, ""


def isolated(items: Sequence[Any], work: Callable[[Any], tuple[str, str]]) -> list[tuple[str, str]]:
    """``work`` for each item in a process of its own: an item that ends the process is killed, the others go on."""
    results: list[tuple[str, str]] = []
    while len(results) < len(items):
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            with os.fdopen(writer, "w", encoding="utf-8") as out:
                for item in items[len(results) :]:
                    try:
                        status, why = work(item)
                    except _Slow as error:
                        status, why = KILLED, str(error)
                    out.write(f"{status}\t{' '.join(why.split())[:300]}\n")
                    out.flush()
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader, encoding="utf-8") as lines:
            for line in lines:
                status, _, why = line.rstrip("\n").partition("\t")
                results.append((status, why))
        os.waitpid(child, 0)
        if len(results) < len(items):
            results.append((KILLED, "the process ended"))
    return results


def prepare_torch() -> None:
    """Makes this process one in which migrated snippets run: helpers to import, no Chainer."""
    import torch

    from chainer2torch.verify.worker import compat_module

    torch.set_num_threads(1)
    compat_module.install(str(_COMPAT))
    sys.modules["chainer"] = None  # type: ignore[assignment]


def run_rows(bench: Bench, chosen: Mapping[str, Sequence[RowMutant]], jobs: int) -> list[Verdict]:
    """The verdicts of the mutants of rows, by the row's name."""

    def work(name: str) -> list[tuple[str, str]]:
        return isolated(chosen[name], lambda mutant: of_row(bench, mutant))

    found = collect(work, {name: len(mutants) for name, mutants in chosen.items()}, jobs)
    return [
        Verdict("row", area_of(name), name, mutant.what, *result)
        for name, mutants in chosen.items()
        for mutant, result in zip(mutants, found[name], strict=True)
    ]


def run_helpers(bench: Bench, chosen: Sequence[HelperMutant], jobs: int) -> list[Verdict]:
    """The verdicts of the mutants of helpers."""
    groups: dict[str, list[HelperMutant]] = {}
    for mutant in chosen:
        groups.setdefault(f"{mutant.room}.{mutant.helper}", []).append(mutant)
    users = helper_mutants.users()
    by_helper: dict[str, list[Pair]] = {}
    for pair in bench.pairs:
        for name in set(re.findall(r"\bcompat\.(\w+)", pair.torch)):
            by_helper.setdefault(name, []).append(pair)

    def work(name: str) -> list[tuple[str, str]]:
        helper = groups[name][0].helper
        direct = by_helper.get(helper, [])
        others = [pair for user in sorted(users[helper] - {helper}) for pair in by_helper.get(user, [])]
        pairs = list({pair.id: pair for pair in _cheap_first(direct) + _cheap_first(others)}.values())
        return isolated(groups[name], lambda mutant: of_helper(bench, mutant, pairs[:_MOST]))

    found = collect(work, {name: len(mutants) for name, mutants in groups.items()}, jobs)
    return [
        Verdict(
            "helper",
            mutant.room.split(".")[0],
            f"{mutant.room}.{mutant.name}",
            f"line {mutant.line}: {mutant.what}",
            *result,
        )
        for name, mutants in groups.items()
        for mutant, result in zip(mutants, found[name], strict=True)
    ]


_MOST = 300  # examples for one helper


def _cheap_first(pairs: Iterable[Pair]) -> list[Pair]:
    """One of each example first, without those that draw large samples."""
    return sorted(pairs, key=lambda pair: (pair.compare == "moments", pair.initial, "as written" not in pair.label))


def every_row_mutant(rules: Any, names: Iterable[str] | None = None) -> dict[str, list[RowMutant]]:
    """The mutants of all rows that examples of their own can prove, by name; ``names``: of these rows only."""
    rows = [rules.rows[name] for name in (rules.rows if names is None else names)]
    proved = [row for row in rows if row.examples and not row.alias and row.state in ("exact", "close")]
    return {row.name: list(row_mutants.mutants(row)) for row in proved}


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


def mutate(rules: Any, sample: Sample, names: Iterable[str] | None = None) -> tuple[list[Verdict], int, int]:
    """The verdicts of a sample, and of how many mutants of rows and of helpers it was drawn.

    ``names``: only the mutants of these rows, and of the helpers that their templates name.
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
        needed = set(chosen) | _rows_that_emit(rules, {m.helper for m in helpers})
        bench = Bench([rules.rows[name] for name in sorted(needed)], rules, migrate_source, folder)
        prepare_torch()
        verdicts = run_rows(bench, chosen, sample.jobs) + run_helpers(bench, helpers, sample.jobs)
        return verdicts, len(every_row), len(every_helper)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _drawn(draw: random.Random, items: Sequence[_Item], count: int | None) -> Sequence[_Item]:
    return items if count is None or count >= len(items) else draw.sample(items, count)


def _named(rules: Any, names: Iterable[str]) -> set[str]:
    return {
        helper
        for name in names
        for text in rules.rows[name].templates
        for helper in re.findall(r"\bcompat\.(\w+)", text)
    }


def _rows_that_emit(rules: Any, helpers: set[str]) -> set[str]:
    """The rows with examples whose templates use one of the helpers, directly or not."""
    users = helper_mutants.users()
    wanted = {user for helper in helpers for user in users.get(helper, {helper})}
    return {
        name
        for name, row in rules.rows.items()
        if row.examples and any(set(re.findall(r"\bcompat\.(\w+)", text)) & wanted for text in row.templates)
    }
