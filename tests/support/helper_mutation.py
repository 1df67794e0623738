"""A mutation run over the helpers' own tests: one change in a helper, and whether the tests that name it notice.

    python -m tests.support.helper_mutation [--count N] [--seed S] [--only WORD] [--calls RECORD] [TESTS...]

The tests (default: those of tests/compat, tests/native, tests/plan/native, tests/programs and tests/weights, and those
of tests/engine that import helpers) are collected once. Each mutant gets a process of its own, forked from there, in
which the helper is wrong, also in the text that migrated programs get as chainer_compat. Those tests run that say its
name, or the name of a helper that uses it, until one fails. With a record of what each test calls
(``tests.support.helper_calls``) they are those that run what is changed. What these tests leave is run by the examples
of the rows that emit the helper. What is changed, and the verdicts, are those of ``verify rules --mutants``
(docs/mutation.md); "not run" are mutants in functions that no such test and no example calls.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import contextlib
import dataclasses
import functools
import mmap
import multiprocessing
import os
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from unittest import mock

import hypothesis
import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.rules.table import load_rules
from chainer2torch.vendor import compat_file
from chainer2torch.verify.rules import helper_mutants, mutation
from chainer2torch.verify.rules.bench import Bench, prepare_torch
from chainer2torch.verify.rules.helper_mutants import HelperMutant
from chainer2torch.verify.rules.isolation import isolated, limited
from chainer2torch.verify.rules.mutation import KILLED, NOT_RUN, SURVIVED, Verdict
from chainer2torch.verify.rules.mutation_report import MutationReport, reasons
from tests.support import helper_calls, rank_processes

ROOT = Path(__file__).resolve().parents[2]
SURVIVORS = ROOT / "tests/verify/survivors.toml"
SECONDS, LONGEST = 20, 10  # of processor time, for all tests of one mutant, and for one test
MOST = 80  # tests for one mutant
SIGNATURES = "test_defaults_are_"  # how tests are called that compare all signatures
_WORD = re.compile(r"[A-Za-z_]\w*")


def every_mutant(only: str = "") -> list[HelperMutant]:
    """The mutants of all helpers of both styles, or of those whose dotted name has a word in it."""
    paths = [path for folder in (helper_mutants.COMPAT, helper_mutants.NATIVE) for path in sorted(folder.rglob("*.py"))]
    found = [mutant for path in paths for mutant in helper_mutants.mutants(path)]
    return [mutant for mutant in found if only in f"{mutant.package}.{mutant.room}.{mutant.name}"]


@functools.cache
def _words_of_file(path: Path) -> dict[str, frozenset[str]]:
    """The words of each definition at the top of a test file, and of what of the file it names."""
    text = path.read_text(encoding="utf-8")
    own: dict[str, frozenset[str]] = {}
    for node in ast.parse(text).body:
        words = frozenset(_WORD.findall(ast.get_source_segment(text, node) or ""))
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            own[node.name] = words | {word for d in node.decorator_list for word in _WORD.findall(ast.unparse(d))}
        elif isinstance(node, ast.Assign):
            own.update((t.id, words) for t in node.targets if isinstance(t, ast.Name))
    found = {}
    for name in own:
        reached, pending = {name}, [name]
        while pending:
            new = {word for word in own[pending.pop()] if word in own and word not in reached}
            reached |= new
            pending += new
        found[name] = frozenset().union(*(own[one] for one in reached))
    return found


@functools.cache
def _imported(path: Path) -> frozenset[str]:
    """The last parts of all names that a test file imports."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imports = [node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom))]
    return frozenset(alias.name.rpartition(".")[2] for node in imports for alias in node.names)


def words(item: pytest.Item) -> frozenset[str]:
    """The words that a test says: in its own text, in what it uses of its file, and in its parameters."""
    top = item.nodeid.partition("::")[2].partition("::")[0].partition("[")[0]
    return _words_of_file(item.path).get(top, frozenset()) | frozenset(_WORD.findall(item.nodeid))


_Record = Mapping[str, helper_calls.Called]


@functools.cache
def _statements(path: Path) -> dict[int, tuple[int, int]]:
    """For each line of a module, the first and the last line of the innermost statement, or head of one, there."""
    found: dict[int, tuple[int, int]] = {}
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):  # outer ones first
        if isinstance(node, (ast.stmt, ast.excepthandler)):
            body = [inner.lineno for inner in getattr(node, "body", ()) if isinstance(inner, ast.stmt)]
            last = max(node.lineno, min(body) - 1) if body else node.end_lineno or node.lineno
            found.update(dict.fromkeys(range(node.lineno, last + 1), (node.lineno, last)))
    return found


def _runs(mutant: HelperMutant, called: helper_calls.Called) -> bool:
    """Whether a test runs what a mutant changes: its statement, or, of a default, the function."""
    place = f"{mutant.package}.{mutant.room}"
    first, last = _statements(mutant.path).get(mutant.line, (mutant.line, mutant.line))
    lines = called.lines.get(place, frozenset())
    if mutant.default:
        return f"{place}:{mutant.name}" in called.names
    return any(first <= line <= last for line in lines)


def calling(
    mutant: HelperMutant, said: Sequence[tuple[pytest.Item, frozenset[str]]], record: _Record
) -> list[pytest.Item]:
    """The tests that run what a mutant changes, by a record: those first that say the helper's name, and cheap ones.

    What runs it in the module of helpers of a migrated program comes later: there only the function is known. The last
    ones call no helper and are the same test with other parameters: they may look at what one of these has kept.
    """
    ranks = []
    for item, texts in said:
        called = record.get(item.nodeid, helper_calls.Called())
        runs = _runs(mutant, called)
        if called.seconds > LONGEST:
            continue  # it would be stopped, wrong or not
        if runs or f":{mutant.name}" in called.names:
            ranks.append((not runs, mutant.helper not in texts, called.seconds, item))
    found = [item for *_, item in sorted(ranks, key=lambda rank: rank[:3])]
    functions = {item.nodeid.partition("[")[0] for item in found}
    silent = [item for item, _ in said if item.nodeid not in record]
    return found + [item for item in silent if item.nodeid.partition("[")[0] in functions]


def chosen(mutant: HelperMutant, said: Sequence[tuple[pytest.Item, frozenset[str]]]) -> list[pytest.Item]:
    """The tests for a mutant, those first that say the name of the helper and of its method.

    Where none does and none of its users is named, those of the files that import its module.
    """
    users = _users().get(mutant.helper, {mutant.helper})
    method = mutant.name.rpartition(".")[2]
    ranks: list[tuple[int, int, pytest.Item]] = []
    for item, texts in said:
        if mutant.helper in texts:
            ranks.append((0 if method in texts else 1, _cost(item), item))
        elif users & texts:
            ranks.append((2, _cost(item), item))
    if not ranks:  # a test may put the name together: `getattr(positive_distributions, f"{name}Distribution")`
        module = mutant.room.rpartition(".")[2]
        ranks = [(_nearness(mutant, item), _cost(item), item) for item, _ in said if module in _imported(item.path)]
    every = [item for _, _, item in sorted(ranks, key=lambda rank: rank[:2])]  # stable: in the order of the files
    if len(every) <= MOST:
        return every
    # the first ones, and of the rest as many as may be, spread over all of them
    rest = every[MOST // 2 :]
    return every[: MOST // 2] + rest[:: max(1, len(rest) * 2 // MOST)][: MOST // 2]


def _nearness(mutant: HelperMutant, item: pytest.Item) -> int:
    """Tests first whose parameters or name say how the helper's name begins, or the name of its method."""
    said = _WORD.findall(item.nodeid.replace("_", " "))
    near = any(len(word) > 2 and mutant.helper.startswith(word) for word in said)
    return 3 if near or mutant.name.rpartition(".")[2].strip("_") in said else 4


def _cost(item: pytest.Item) -> int:
    """Tests that are one of many usually take little time."""
    return 0 if "[" in item.nodeid else 1


@functools.cache
def _users() -> dict[str, set[str]]:
    return helper_mutants.users()


@contextlib.contextmanager
def _wrong_everywhere(mutant: HelperMutant) -> Iterator[None]:
    """The mutant in its module, and in the text from which modules of helpers are made."""
    wrong, read = helper_mutants.wrong_text(mutant), Path.read_text

    def text(self: Path, *args: object, **kwargs: object) -> str:
        return wrong if self == mutant.path else read(self, *args, **kwargs)  # type: ignore[arg-type]

    compat_file._module.cache_clear()
    with helper_mutants.applied(mutant, told=True), mock.patch.object(Path, "read_text", text):
        yield


class Run:
    """A plugin of pytest: it runs mutants where pytest would run the tests that it has collected."""

    def __init__(self, mutants: Sequence[HelperMutant], out: list[Verdict], record: _Record) -> None:
        self.mutants, self.out, self.record = mutants, out, record

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        said = [(item, words(item)) for item in session.items]
        work = functools.partial(self._work, session, said)
        for mutant in self.mutants:
            started = time.monotonic()
            (found,) = isolated([mutant], work, KILLED)
            verdict = Verdict(
                "helper",
                mutant.package,
                f"{mutant.package}.{mutant.room}.{mutant.name}",
                f"line {mutant.line}: {mutant.what}",
                *found,
            )
            self.out.append(verdict)
            seconds = time.monotonic() - started
            print(f"{verdict.status}: {verdict.key} ({verdict.why}) {seconds:.1f} s", file=sys.stderr, flush=True)
        return True

    def _work(
        self, session: pytest.Session, said: Sequence[tuple[pytest.Item, frozenset[str]]], mutant: HelperMutant
    ) -> tuple[str, str]:
        items = calling(mutant, said, self.record) or chosen(mutant, said)
        if mutant.default:  # these read signatures, and call nothing
            items = [item for item, _ in said if item.name.startswith(SIGNATURES)] + items
        if not items:
            return NOT_RUN, "no test names it"
        with open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            os.dup2(nowhere.fileno(), 2)
        started, tried = time.process_time(), 0
        ran = mmap.mmap(-1, 1)  # processes that the tests fork share it
        setattr(builtins, helper_mutants.RAN, ran)
        fork = mock.patch.object(rank_processes, "_CONTEXT", multiprocessing.get_context("fork"))  # from the wrong one
        try:
            with _wrong_everywhere(mutant), fork:
                for item in items:
                    before, tried = session.testsfailed, tried + 1
                    with limited(LONGEST):
                        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
                    if session.testsfailed > before and (ran[0] or item.name.startswith(SIGNATURES)):
                        return KILLED, item.nodeid
                    if time.process_time() - started > SECONDS:
                        break
        except LookupError:
            return NOT_RUN, "not reachable by its name"
        if not ran[0]:
            return NOT_RUN, f"none of {tried} tests calls it"
        return SURVIVED, f"{tried} of {len(items)} tests"


def run(mutants: Sequence[HelperMutant], tests: Sequence[Path], record: _Record | None = None) -> list[Verdict]:
    """The verdicts of some mutants, by the tests in some files or folders; ``record`` says what each test calls."""
    import torch

    torch.set_num_threads(1)
    # a failure is enough, the smallest one is not needed
    phases = (hypothesis.Phase.explicit, hypothesis.Phase.generate)
    hypothesis.settings.register_profile("mutants", phases=phases, deadline=None, database=None)
    hypothesis.settings.load_profile("mutants")
    out: list[Verdict] = []
    options = ["-q", "-s", "-p", "no:xdist", "-m", "not slow"]
    status = pytest.main([*options, *map(str, tests)], plugins=[Run(mutants, out, record or {})])
    if len(out) < len(mutants):
        raise SystemExit(f"the tests could not be collected: pytest ended with {status}")
    return out


def by_examples(mutants: Sequence[HelperMutant], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts, with those of the rows' examples where the tests killed nothing."""
    found = dict(zip(mutants, verdicts, strict=True))
    for style, package in (("faithful", "compat"), ("native", "native")):
        left = [m for m, v in found.items() if m.package == package and v.status in (SURVIVED, NOT_RUN)]
        if not left:
            continue
        with tempfile.TemporaryDirectory(prefix="chainer2torch-") as folder:
            bench = Bench(load_rules(style=style), migrate_source, Path(folder), 1, None)
            prepare_torch(style)
            for mutant, verdict in zip(left, mutation.run_helpers(bench, left), strict=True):
                if verdict.status != NOT_RUN and found[mutant].status != verdict.status:
                    found[mutant] = dataclasses.replace(found[mutant], status=verdict.status, why=verdict.why)
    return list(found.values())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.support.helper_mutation", description=__doc__)
    parser.add_argument("--count", type=int, default=150, help="so many mutants, drawn (default 150)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", metavar="WORD", help="mutants of helpers with this in their dotted name")
    parser.add_argument(
        "--calls", type=Path, metavar="RECORD", help="what each test calls, by tests.support.helper_calls"
    )
    parser.add_argument("tests", nargs="*", type=Path, default=helper_calls.FOLDERS)
    args = parser.parse_args()
    every = every_mutant(args.only)
    mutants = random.Random(args.seed).sample(every, min(args.count, len(every)))
    # in the order in which they were drawn: a run that is stopped has reached every room alike
    verdicts = by_examples(mutants, run(mutants, args.tests, helper_calls.read(args.calls) if args.calls else None))
    verdicts.sort(key=lambda verdict: verdict.key)
    report = MutationReport(verdicts, {"helper": len(every)}, reasons(SURVIVORS))
    print("\n".join(report.lines(verbose=True)))
    return report.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
