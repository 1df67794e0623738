"""The examples of rows for a mutation run: planned once, and run under Chainer only where a mutant needs them.

PyTorch's side runs in this process, again and again, with the same inputs and weights.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.project.worker_pool import collect
from chainer2torch.verify.judge.outcome import FAILED, Outcome, Pair
from chainer2torch.verify.judge.pairs import COMPAT_DIR, NATIVE_DIR, case_of
from chainer2torch.verify.judge.verdict import judge
from chainer2torch.verify.rules.emitted import Record
from chainer2torch.verify.rules.verify_rules import Plan
from chainer2torch.verify.worker import wire
from chainer2torch.verify.worker_process import CHAINER_WORKER, WorkerResult, run_cases

Key = tuple[str, str, str]  # a pair's row, label and original text
_ASKS_DEFAULT = """
import inspect, numpy, numpy as np, chainer

def run():
    found = inspect.signature({name}).parameters["{parameter}"].default
    right, wrong = [found is text or type(found) is type(text) and found == text for text in ({right}, {wrong})]
    return right and not wrong
"""
_SECONDS = 3600  # for Chainer's side of all examples


@dataclasses.dataclass(frozen=True)
class Text:
    """What a wrong row emits for one pair, where it differs from what the right row emits."""

    label: str
    id: str
    code: str


@dataclasses.dataclass(frozen=True)
class Shown:
    """What migrating a row's examples with a wrong row shows: what killed it, if anything, the texts to be run,
    whether a call is left that the right row migrates, and the first text that the record has otherwise.
    """

    killed: str | None
    texts: Sequence[Text] = ()
    left: bool = False
    recorded: str = ""


@dataclasses.dataclass
class Bench:
    """The pairs of the right rows, Chainer's results for those that were asked for, and PyTorch's side of each."""

    rules: Any
    migrate_source: Callable[..., Any]
    folder: Path
    jobs: int = 2
    record: Record | None = None
    pairs: dict[str, Pair] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        self._by_key: dict[Key, Pair] = {}
        self._planned: set[tuple[str, bool]] = set()
        self._cases: dict[str, dict[str, Any]] = {}
        self._results: dict[str, WorkerResult] = {}
        self._inputs: dict[str, Any] = {}
        self._numbers = itertools.count()

    def plan(self, names: Iterable[str], matrix: bool) -> None:
        """Migrates the examples of some rows; with the ``matrix`` in every way to write them."""
        rows = {name: self.rules.every[name] for name in names if (name, matrix) not in self._planned}

        def work(name: str) -> list[Pair]:
            plan = Plan(self.rules, self.migrate_source, matrix)
            for index, example in enumerate(rows[name].examples):
                plan.add_example(rows[name], index, example)
            return plan.pairs

        found = collect(work, {name: len(row.examples) for name, row in rows.items()}, self.jobs)
        for name in rows:
            self._planned.add((name, matrix))
            for pair in found[name]:
                key = (pair.row, pair.label, pair.chainer)
                if key not in self._by_key:
                    pair = dataclasses.replace(pair, id=f"c{next(self._numbers)}")
                    self._by_key[key] = self.pairs[pair.id] = pair

    def of_rows(self, names: Iterable[str]) -> list[Pair]:
        """The pairs of some rows that have been planned."""
        wanted = set(names)
        return [pair for pair in self.pairs.values() if pair.row in wanted]

    def differing(self, row: Any, matrix: bool) -> Shown:
        """What migrating with a wrong row already shows."""
        rules = self.rules.replacing(row)
        texts: list[Text] = []
        keys: set[Key] = set()
        recorded = ""
        for index, example in enumerate(row.examples):
            plan = Plan(rules, self.migrate_source, matrix, self.rules.every[row.name])
            plan.add_example(row, index, example)
            failed = next((o for o in plan.outcomes if o.status == FAILED), None)
            if failed is not None:
                return Shown(f"{failed.pair.label}: {failed.reasons[0].splitlines()[0]}")
            for pair in plan.pairs:
                key = (pair.row, pair.label, pair.chainer)
                keys.add(key)
                right = self._by_key.get(key)
                if right is not None and right.torch != pair.torch:
                    texts.append(Text(pair.label, right.id, pair.torch))
                    if self.record is not None and self.record.notices(pair.row, pair.label, pair.torch):
                        recorded = recorded or pair.label
        left = matrix and any(key not in keys for key in self._by_key if key[0] == row.name)
        return Shown(None, texts, left, recorded)

    def run_chainer(self, ids: Iterable[str]) -> None:
        """Runs the originals of some pairs that have not been run yet."""
        missing = [self.pairs[id] for id in dict.fromkeys(ids) if id not in self._results]
        if not missing:
            return
        inputs: dict[str, Any] = {}
        self._cases.update({pair.id: case_of(pair, inputs) for pair in missing})
        self._inputs.update(wire.escape(inputs))
        folder = self.folder / f"chainer{len(self._results)}"
        folder.mkdir()
        _save(folder / "inputs.npz", wire.escape(inputs))
        cases = [dict(self._cases[pair.id], source=pair.chainer) for pair in missing]
        job = {"kind": "snippets", "device": "cpu", "cases": cases}
        result = run_cases(CHAINER_WORKER, folder, job, timeout=_SECONDS)
        self._results.update({pair.id: result for pair in missing})

    def known_defaults(self, questions: Sequence[tuple[str, str, str, str]]) -> list[bool]:
        """For each name, parameter and two texts: whether Chainer's own signature has the first default and not the
        second. False where Chainer has no such signature.
        """
        ids = [f"s{next(self._numbers)}" for _ in questions]
        for id, (name, parameter, right, wrong) in zip(ids, questions, strict=True):
            source = _ASKS_DEFAULT.format(name=name, parameter=parameter, right=right, wrong=wrong)
            self.pairs[id] = Pair(id, name, parameter, source, "", grad=False)
        self.run_chainer(ids)
        records = [self._results[id].records.get(id, {}) for id in ids]
        return [record.get("outputs") == {"t": "value", "v": True} for record in records]

    def difference(self, id: str, code: str) -> str | None:
        """What is wrong with a text in the place of a pair's migrated one; None: it is equal, or nothing was run.

        A text that raises is wrong where the right one gives a value, whatever the row says of inputs that it refuses.
        """
        result = self._results[id]
        reference = result.records.get(id)
        if reference is None:
            return None
        pair = self.pairs[id]
        if pair.loud == "may" and self._run(id, pair.torch)[0]["status"] == "ok":
            pair = dataclasses.replace(pair, loud="")
        record, arrays = self._run(id, code)
        outcome = Outcome(pair)
        judge(outcome, reference, record, result.arrays(id), arrays)
        return outcome.reasons[0] if outcome.status == FAILED else None

    def _run(self, id: str, code: str) -> tuple[dict[str, Any], dict[str, Any]]:
        """The record and the arrays of a text in the place of a pair's migrated one."""
        from chainer2torch.verify.worker import torch_snippets

        result = self._results[id]
        handed_on = {"weights": {}, "differentiated": [], **result.records[id]}
        case = dict(
            self._cases[id],
            source=code,
            weights=handed_on["weights"],
            differentiated=handed_on["differentiated"],
        )
        record, arrays = torch_snippets.run_case(case, self._inputs, {"device": "cpu", "reference": str(result.folder)})
        return record, dict(arrays)


def _save(path: Path, arrays: Mapping[str, Any]) -> None:
    import numpy

    numpy.savez(str(path), **arrays)


def prepare_torch(style: str) -> None:
    """Makes this process one in which migrated snippets run: the style's helpers to import, no Chainer."""
    import torch

    from chainer2torch.verify.worker import compat_module

    torch.set_num_threads(1)
    folders: Sequence[Path] = [NATIVE_DIR, COMPAT_DIR] if style == "native" else [COMPAT_DIR]
    compat_module.install(*map(str, folders))
    sys.modules["chainer"] = None  # type: ignore[assignment]
