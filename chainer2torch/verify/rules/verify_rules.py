"""``verify rules``: every example of every row, migrated and executed in both frameworks, with its call matrix."""

from __future__ import annotations

import ast
import dataclasses
import functools
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from chainer2torch.project.worker_pool import Failed, spread
from chainer2torch.verify import worker_process
from chainer2torch.verify.rules import snippets
from chainer2torch.verify.rules.callmatrix import (
    AS_VALUE,
    AS_WRITTEN,
    OTHER,
    Variant,
    as_value,
    given_options,
    variants,
    with_options,
)
from chainer2torch.verify.rules.coverage import never_emitted
from chainer2torch.verify.rules.given import GivenError, is_float
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.judge.pairs import Batch, run_pairs
from chainer2torch.verify.results import VerifyReport

_METHODS = ("chainer.Variable.", "chainer.Parameter.", "numpy.ndarray.")
# NumPy says of few of its functions which arguments may be named.
_POSITIONAL = ("numpy.", "cupy.", "xp.")
# How programs import them.
_SHORT = {"F": "chainer.functions", "L": "chainer.links"}
_WORTH_FORKING = 100  # examples
_ROUGH = 1e-5  # options may mix widths: float64 parameters over float32 data
_MODES = {"train": ("train",), "eval": ("eval",), "both": ("train", "eval")}


def verify_rules(
    names: Sequence[str] = (),
    *,
    rows: Sequence[Any] | None = None,
    rules: Any = None,
    chainer_python: str | None = None,
    torch_python: str | None = None,
    device: str = "cpu",
    timeout: float = 600,
    junit: Path | None = None,
    matrix: bool | Collection[str] = True,
    migrate_source: Callable[..., Any] | None = None,
) -> VerifyReport:
    """Migrates and runs the examples of the named rows (all rows when none is named) and compares.

    A name is a row's dotted name, its last part, or a prefix such as ``chainer.links``. ``rows`` are the rows
    themselves, these and no others, in the place of names. ``matrix=False`` leaves out the generated call matrix; a
    collection names the rows that have theirs. ``junit`` is a file for the result as XML.

    Raises:
        LookupError: A name that fits no row.
        DeviceError: ``device`` is not there.
        WorkerError: An interpreter cannot be started.
    """
    worker_process.check_device(device, chainer_python, torch_python)
    if rules is None:
        from chainer2torch.rules.table import load_rules

        rules = load_rules()
    if migrate_source is None:
        from chainer2torch.engine import migrate_source
    assert migrate_source is not None
    rows = list(select(rules, names) if rows is None else rows)
    plan = _planned(rows, rules, migrate_source, matrix)
    if plan.pairs:
        batch = run_pairs(
            plan.pairs,
            chainer_python=chainer_python,
            torch_python=torch_python,
            device=device,
            timeout=timeout,
            style=rules.style,
        )
    else:
        batch = Batch([], {}, [])
    without = sorted(
        row.name
        for row in rows
        if not row.examples and not row.alias and row.state in ("exact", "close") and not row.name.endswith(".__call__")
    )  # calling a link is in the examples of its class
    without = [name for name in without if not rules.rows[name].proof]
    elsewhere: dict[str, list[str]] = {}
    for row in rows:
        if row.proof and not row.examples and rules.find(row.proof) is None:
            elsewhere.setdefault(row.proof, []).append(row.name)
    report = VerifyReport(plan.outcomes + batch.outcomes, batch.problems, batch.versions, device, without, elsewhere)
    if junit is not None:
        junit.write_text(report.junit(), encoding="utf-8")
    return report


def _planned(
    rows: Sequence[Any], rules: Any, migrate_source: Callable[..., Any], matrix: bool | Collection[str]
) -> Plan:
    """What all rows need: in two processes where they are many, as migrating the calls keeps one core busy for long."""
    by_name = {row.name: row for row in rows}

    def one(name: str) -> tuple[list[Pair], list[Outcome]]:
        plan = Plan(rules, migrate_source, matrix if isinstance(matrix, bool) else name in matrix)
        plan.add(by_name[name])
        return plan.pairs, plan.outcomes

    sizes = {name: len(row.examples) for name, row in by_name.items()}
    parts = dict(spread(one, sizes, 1 if sum(sizes.values()) < _WORTH_FORKING else min(2, os.cpu_count() or 1)))
    whole = Plan(rules, migrate_source)
    for name in by_name:
        part = parts[name]
        if isinstance(part, Failed):
            raise RuntimeError(f"{name}: {part.reason}")
        pairs, outcomes = part
        whole.pairs += [dataclasses.replace(pair, id=f"c{len(whole.pairs) + i}") for i, pair in enumerate(pairs)]
        whole.outcomes += outcomes
    return whole


def select(rules: Any, names: Sequence[str]) -> Iterator[Any]:
    """The rows of the given names, in the order of their names; LookupError for a name that fits none."""
    if not names:
        yield from (rules.every[name] for name in sorted(rules.every))
        return
    wanted: set[str] = set()
    for name in names:
        short, _, rest = name.partition(".")
        name = f"{_SHORT[short]}.{rest}" if short in _SHORT and rest else name
        fits = {
            full for full in rules.every if full == name or full.endswith("." + name) or full.startswith(name + ".")
        }
        if not fits:
            raise LookupError(f"no rule is named {name}")
        wanted |= fits
    yield from (rules.every[name] for name in sorted(wanted))


def _never_given(row: Any, example: Any) -> list[Variant]:
    """The first plain example of a row with each option that none of the examples gives, but the templates ask for."""
    plain = [one for one in row.examples if not one.options.get("raises") and not one.options.get("loud")]
    if row.signature is None or not plain or example is not plain[0]:
        return []
    texts = [*row.templates, *(case.when for case in row.cases if case.when)]
    asked = {node.id for text in texts for node in ast.walk(ast.parse(text.strip())) if isinstance(node, ast.Name)}
    for one in row.examples:
        asked -= given_options(row.name, row.signature, one.options.get("setup", ""), one.before)
    return list(with_options(row.name, row.signature, example.options.get("setup", ""), example.before, asked))


def _known_or_not(hints: Mapping[str, str]) -> list[Mapping[str, str]]:
    """The kinds of the inputs, and that none is known."""
    return [hints, {}] if hints else [hints]


def without_checks(pair: Pair) -> Pair:
    """A pair whose original raises in a type check that the migrated side does not have: both give a value."""
    return dataclasses.replace(pair, raises=False, grad=False) if pair.unchecked and pair.raises else pair


@dataclasses.dataclass
class Plan:
    """Collects what is to be run. Examples that cannot be run at all are outcomes already.

    ``written``: where the row at hand is a wrong copy, the right one: it says in which ways examples are written.
    """

    rules: Any
    migrate_source: Callable[..., Any]
    matrix: bool = True
    written: Any = None
    pairs: list[Pair] = dataclasses.field(default_factory=list)
    outcomes: list[Outcome] = dataclasses.field(default_factory=list)

    def add(self, row: Any) -> None:
        """Adds every example of a row, and what of the row none of them emits."""
        for index, example in enumerate(row.examples):
            try:
                self.add_example(row, index, example)
            except (GivenError, SyntaxError) as error:
                self._note(row, f"example {index + 1}", FAILED, f"the example is not well formed: {error}")
        self._add_coverage(row)

    def _add_coverage(self, row: Any) -> None:
        """A template that is never emitted proves nothing: a failure, or left to the test file that the row names."""
        proof = self.rules.find(row.proof) if row.proof else None
        elsewhere = bool(row.proof) and proof is None
        if row.alias or not (row.examples or proof):
            return
        rows = [row, proof] if proof is not None else [row]
        claims = row.state in ("exact", "close") and not elsewhere
        for branch in never_emitted(row, self.rules, self._migrations(rows)):
            self._note(
                row,
                branch.label,
                FAILED if claims else UNVERIFIED,
                f"no example emits `{branch.template}`" + (f"; left to {row.proof}" if elsewhere else ""),
            )

    def _migrations(self, rows: Sequence[Any]) -> Iterator[Callable[[Any], str]]:
        """What migrates each way of each example with other rules, those first that use most of the templates: as
        written and as a value, with the kinds of the inputs, then without them.
        """
        ways = [
            (way, example, known)
            for row in rows
            for example in row.examples
            for way in self._ways(row, example, matrix=True)
            if not way.label.startswith(OTHER)  # neither side may take such a call
            for known in _known_or_not(snippets.hints(example.given, example.options))
        ]
        plain = (AS_WRITTEN, AS_VALUE)
        ways.sort(key=lambda entry: (entry[0].label not in plain, not entry[2], entry[0].label != AS_WRITTEN))
        for way, example, known in ways:
            yield functools.partial(self._migrated_text, snippets.build(way, example.given), known)

    def _migrated_text(self, source: str, known: Mapping[str, str], rules: Any) -> str:
        return snippets.migrate(source, self.migrate_source, rules, known).code

    def _ways(self, row: Any, example: Any, matrix: bool) -> list[Variant]:
        """The ways to write an example that are run; without the ``matrix`` as written and as a value."""
        row = self.written or row
        setup = example.options.get("setup", "")
        ways = variants(row.name, row.signature, setup, example.before, list(example.given))
        ways = ways if matrix else ways[:1]
        if row.value is not None and row.signature is not None and not row.type_only:
            chosen = as_value(row.name, row.signature, setup, example.before, row.value)
            ways += [chosen] if chosen is not None else []
        return ways + (_never_given(row, example) if matrix else [])

    def add_example(self, row: Any, index: int, example: Any) -> None:
        """Adds every way to write one example."""
        options = example.options
        for way in self._ways(row, example, self.matrix):
            given = {**example.given, **{name: "=" + repr(value) for name, value in way.values.items()}}
            source = snippets.build(way, example.given)
            label = f"example {index + 1}, {way.label}"
            known = snippets.hints(example.given, options)
            first = way.label == AS_WRITTEN
            tried = way.label.startswith(OTHER)
            may_be_left = row.state in ("review", "manual") or tried or way.label == "values in variables"
            emitted = self._migrate(row, label, source, known, may_be_left)
            if emitted is not None:
                # a row that is as in the faithful style may have parts in it that are not
                stated = self.rules.style != "native" or row.native
                if (
                    first
                    and stated
                    and example.after is not None
                    and not snippets.same_text(example.after, emitted.after)
                ):
                    self._note(
                        row,
                        label,
                        FAILED,
                        f"the emitted text is\n    {emitted.after}\nand the example says\n    {example.after.strip()}",
                    )
                # what the faithful style leaves to such a row, one of the native style may decide
                if first and row.kind and stated and not self._applies(row, emitted):
                    self._note(row, label, FAILED, "the example does not use the rule: no place in it is of this row")
                becomes = options.get("becomes")
                if first and stated and becomes is not None and not snippets.same_text(becomes, emitted.made):
                    self._note(
                        row,
                        label,
                        FAILED,
                        f"`setup` becomes\n    {emitted.made}\nand the example says\n    {becomes.strip()}",
                    )
                self._add_pairs(row, f"{index + 1}", label, source, emitted.code, given, options, not first, tried)
            # Methods and attributes: without the receiver's kind nothing says that they are Chainer's.
            blind_too = known and not row.name.startswith(_METHODS)
            if blind_too and (first or way.label == "values in variables"):
                blind = self._migrate(row, f"{label}, kinds unknown", source, {}, True)
                if blind is not None and (emitted is None or blind.code != emitted.code):
                    self._add_pairs(
                        row, f"{index + 1}", f"{label}, kinds unknown", source, blind.code, given, options, True
                    )

    def _applies(self, row: Any, emitted: snippets.Migrated) -> bool:
        """Whether a place of the migrated example is exact because of this row."""
        return any(self.rules.of_symbol(symbol, code) is row for symbol, code in emitted.exact)

    def _migrate(
        self, row: Any, label: str, source: str, known: Mapping[str, str], may_be_left: bool
    ) -> snippets.Migrated | None:
        """The migrated snippet, or None, with an outcome noted, when it still needs Chainer."""
        try:
            migrated = snippets.migrate(source, self.migrate_source, self.rules, known)
        except Exception as error:
            self._note(row, label, FAILED, f"migrating the example raised {type(error).__name__}: {error}")
            return None
        if migrated.left is None:
            return migrated
        self._note(row, label, UNVERIFIED if may_be_left else FAILED, f"not migrated: {migrated.left}")
        return None

    def _add_pairs(
        self,
        row: Any,
        index: str,
        label: str,
        source: str,
        code: str,
        given: Mapping[str, Any],
        options: Mapping[str, Any],
        short: bool,
        tried: bool = False,
    ) -> None:
        """One pair a dtype and mode; ``short``: generated ways run in one dtype, on arrays that are not contiguous.

        ``tried``: a call that either side may refuse.
        """
        floats = "setup" in options or any(map(is_float, given.values()))
        dtypes = options.get("dtypes", ["float32", "float64"]) if floats else ["float32"]
        for dtype in dtypes[:1] if short else dtypes:
            for mode in _MODES[options.get("mode", "train")]:
                self.pairs.append(
                    without_checks(
                        Pair(
                            id=f"c{len(self.pairs)}",
                            row=row.name,
                            label=f"{label}, {dtype}, {mode}",
                            chainer=source,
                            torch=code,
                            given=given,
                            dtype=dtype,
                            mode=mode,
                            compare=options.get("compare", "allclose"),
                            grad=options.get("grad", True),
                            raises=options.get("raises", False),
                            # written in another way, the call may take another case, which does not raise
                            loud="must" if options.get("loud") and not short else "may" if row.loud or tried else "",
                            arrays=tuple(options.get("arrays", ())),
                            rtol=options.get("rtol", row.bound or (_ROUGH if tried else None)),
                            atol=options.get("atol", _ROUGH if tried else None),
                            seed=f"{row.name}/{index}",
                            strided=short,
                            initial=not short and dtype == dtypes[0],
                            may_not_be_a_call=short and row.name.startswith(_POSITIONAL),
                            tried=tried,
                            host=options.get("host", ""),
                        )
                    )
                )

    def _note(self, row: Any, label: str, status: str, reason: str) -> None:
        pair = Pair(f"n{len(self.outcomes)}", row.name, label, "", "")
        self.outcomes.append(Outcome(pair, status, [reason]))


__all__ = ["FAILED", "PASSED", "UNVERIFIED", "Plan", "select", "verify_rules"]
