"""One row of a rule table: what it holds, how it is read, and what has to hold for it (docs/adding-a-rule.md)."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import difflib
import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from chainer2torch.rules import differences
from chainer2torch.rules.row_codes import default_code
from chainer2torch.rules.signature import Signature

STATES = ("exact", "close", "review", "manual")
# What a rule is about when it does not begin with a name of Chainer's in the source: a pass decides that it applies
KINDS = ("member", "operator", "class", "function", "module", "dropped")
MACROS = frozenset({"TRAINING", "LONG", "CONST", "DTYPE", "DEVICE", "HANDED", "WIDTHS"})
ROW_KEYS = frozenset(
    {
        "signature",
        "torch",
        "cases",
        "fallback",
        "drop",
        "value",
        "type_only",
        "tested_as",
        "returns",
        "state",
        "bound",
        "note",
        "next",
        "attribute",
        "set",
        "base",
        "alias",
        "function",
        "example",
        "code",
        "proof",
        "ignores",
        "renames",
        "keeps",
        "differs_without",
        "until",
        "loud",
        "quiet",
        "difference",
        "once",
    }
)
_EXAMPLE_KEYS = frozenset(
    {
        "given",
        "before",
        "setup",
        "after",
        "becomes",
        "mode",
        "arrays",
        "grad",
        "compare",
        "dtypes",
        "rtol",
        "atol",
        "raises",
        "unknown",
        "loud",
        "host",
    }
)
_CASE_KEYS = frozenset({"when", "torch", "difference"})
_NEEDED = frozenset({"when", "torch"})
# modules in which names stand that take the place of dropped ones
MODERN_ROOTS = ("PIL", "collections", "matplotlib", "os", "scipy", "sys", "time", "warnings", "xml")
TEMPLATE_ROOTS = frozenset(
    {
        "torch",
        "compat",
        "native",
        "numpy",
        "pytorch_pfn_extras",
        "ignite",
        "contextlib",
        "copy",
        "functools",
        "inspect",
        "math",
        "parameterized",
        "pfrl",
        "torchvision",
        *MODERN_ROOTS,
        "pytest",
    }
)
_KNOWN = MACROS | TEMPLATE_ROOTS | {"self", "value"} | frozenset(dir(builtins))


@dataclasses.dataclass(frozen=True)
class Case:
    """One alternative of a row: the guard (None: always) and the template.

    ``native`` ones belong to the native style: a guard of theirs that cannot be decided does not hold. ``difference``
    names the declared difference that such a case makes (docs/differences.md).
    """

    when: str | None
    torch: str
    native: bool = False
    difference: str = ""


@dataclasses.dataclass(frozen=True)
class Example:
    """One example of a row: its proof and its documentation."""

    given: Mapping[str, Any]
    before: str
    options: Mapping[str, Any]

    @property
    def after(self) -> str | None:
        """The text that migrating ``before`` must give, if the row states it."""
        return self.options.get("after")


@dataclasses.dataclass(frozen=True)
class Row:
    """One public Chainer name and what becomes of it."""

    name: str
    table: str
    signature: Signature | None
    cases: tuple[Case, ...]
    fallback: str | None
    drop: Mapping[str, str]
    value: str | None
    returns: str
    state: str
    bound: float | None
    note: str
    next: str
    attribute: bool
    set: str | None
    base: str | None
    alias: str | None
    function: str | None
    examples: tuple[Example, ...]
    proof: str | None
    code: str
    # rows of an older version: arguments without meaning today, and those that have another name
    ignores: tuple[str, ...] = ()
    renames: Mapping[str, str] = dataclasses.field(default_factory=dict)
    differs_without: str | None = None  # the argument whose default was another one, whatever the signatures say
    until: int = 0  # the last version in which the very same call computed something else
    type_only: bool = False  # `value` is what isinstance() asks for, not what calls the name through a variable
    tested_as: str = ""  # what isinstance() asks for, where all that the name becomes derives from it
    keeps: frozenset[str] = frozenset()  # members without a row that the class has afterwards as before
    kind: str = ""  # one of KINDS; empty for a name of Chainer's
    loud: str = ""  # on which inputs PyTorch raises where Chainer gives a value (native style: "equal or raises")
    once: bool = False  # the question is one of the project: it has one marker for it, and the report every place
    quiet: bool = False  # a place for review that asks a person nothing: it is in the report, without a marker
    difference: str = ""  # the declared difference that every use of the name makes
    native: frozenset[str] = (
        frozenset()
    )  # the keys that the native style has for it; empty: it is as in the faithful one
    beneath: str = ""  # the table of the row over which a row of the native style stands

    @property
    def home(self) -> str:
        """The table that says what the name has to do with: in the native style that of the row beneath."""
        return self.beneath or self.table

    @property
    def templates(self) -> Iterator[str]:
        """Every template of the row, cases first."""
        for case in self.cases:
            yield case.torch
        for text in (self.fallback, self.value, self.set):
            if text is not None:
                yield text


def unknown_keys(fields: Iterable[str], known: frozenset[str]) -> Iterator[str]:
    """A problem for each key that is none of the known ones."""
    for key in fields:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            yield f"unknown key `{key}`" + (f"; did you mean `{near[0]}`?" if near else "")


def row_of(name: str, label: str, fields: dict[str, Any], errors: list[str], kind: str = "") -> Row:
    """The row of a dotted name from the keys in its table; what is wrong is added to ``errors``."""
    signature = None
    if "signature" in fields:
        try:
            signature = Signature.parse(fields["signature"])
        except ValueError as error:
            errors.append(str(error))
    cases = []
    for case in fields.get("cases", ()):
        errors.extend(unknown_keys(case, _CASE_KEYS))
        if not _NEEDED <= case.keys():
            errors.append("a case needs `when` and `torch`")
            continue
        cases.append(Case(case["when"], case["torch"], difference=case.get("difference", "")))
    if "torch" in fields:
        cases.append(Case(None, fields["torch"]))
    examples = []
    for example in fields.get("example", ()):
        errors.extend(unknown_keys(example, _EXAMPLE_KEYS))
        if "before" not in example:
            errors.append("an example needs `before`")
            continue
        options = {k: v for k, v in example.items() if k not in ("given", "before")}
        examples.append(Example(example.get("given", {}), example["before"], options))
    return Row(
        name=name,
        table=label,
        signature=signature,
        cases=tuple(cases),
        fallback=fields.get("fallback"),
        drop=fields.get("drop", {}),
        value=fields.get("value"),
        returns=fields.get("returns", "unknown"),
        state=fields.get("state", "manual"),
        bound=fields.get("bound"),
        note=fields.get("note", ""),
        next=fields.get("next", ""),
        attribute=fields.get("attribute", False),
        set=fields.get("set"),
        base=fields.get("base"),
        alias=fields.get("alias"),
        function=fields.get("function"),
        examples=tuple(examples),
        proof=fields.get("proof"),
        code=fields.get("code") or default_code(name, label),
        ignores=tuple(fields.get("ignores", ())),
        renames=fields.get("renames", {}),
        differs_without=fields.get("differs_without"),
        until=fields.get("until", 0),
        type_only=fields.get("type_only", False),
        tested_as=fields.get("tested_as", ""),
        keeps=frozenset(fields.get("keeps", ())),
        kind=kind,
        loud=fields.get("loud", ""),
        quiet=fields.get("quiet", False),
        difference=fields.get("difference", ""),
        once=fields.get("once", False),
    )


def in_native_style(base: Row, own: Row, fields: Collection[str]) -> Row:
    """The row of a name in the native style: what ``own`` says, whose keys are ``fields``, over the ``base``.

    Its cases come before those of the base, unless the last one has no guard. The examples of both prove it; the texts
    that the base's examples state are those of the faithful style. What Chainer refuses proves nothing here: a program
    that ran never passed it.
    """
    cases = tuple(dataclasses.replace(case, native=True) for case in own.cases)
    if not any(case.when is None for case in cases):
        cases += base.cases
    inherited = tuple(
        dataclasses.replace(
            example, options={k: v for k, v in example.options.items() if k not in ("after", "becomes")}
        )
        for example in base.examples
        if not example.options.get("raises")
    )
    given = set(fields) - {"cases", "torch", "example", "drop"}
    changed: dict[str, Any] = {key: getattr(own, key) for key in given}
    if "state" in given and "bound" not in given:
        changed["bound"] = None
    return dataclasses.replace(
        base,
        **changed,
        cases=cases,
        drop={**base.drop, **own.drop},
        examples=own.examples + inherited,
        table=own.table,
        native=frozenset(fields),
        beneath=base.home,
    )


def _check_of_python(row: Row) -> Iterator[str]:
    """What is wrong with a row of what begins in Python: a pass writes what it becomes, and its examples prove it."""
    if row.kind not in KINDS:
        yield f"kind `{row.kind}` is not one of {', '.join(KINDS)}"
    if row.state not in ("exact", "review", "manual"):
        yield f"state `{row.state}` is not one of exact, review, manual"
    if row.function or row.alias or row.base or row.kind != "dropped" and any(True for _ in row.templates):
        yield f"a row of kind {row.kind} has no template: a pass writes what it becomes, and the examples show it"
    if row.state == "exact" and not row.examples:
        yield f"a row of kind {row.kind} that is exact needs an executed example; `proof` is not enough"
    if row.state != "exact" and not row.next:
        yield f"a row of kind {row.kind} that is not exact needs `next`: what the person should do"
    if not row.note:
        yield f"a row of kind {row.kind} needs a `note` that says how the two differ"


def check(row: Row) -> Iterator[str]:
    """What is wrong with a row: its claims without proof, its templates and guards."""
    if row.kind:
        yield from _check_of_python(row)
        if row.kind == "dropped":
            yield from _check_templates(row)
        return
    if row.alias or row.ignores and not row.cases:
        return
    if row.state not in STATES:
        yield f"state `{row.state}` is not one of {', '.join(STATES)}"
    if row.state in ("exact", "close") and not row.examples and not row.proof:
        yield (
            f"state `{row.state}` needs at least one [[{row.name.rsplit('.', 1)[1]}.example]]: it is the proof "
            "(or `proof`: the row or the test that holds it)"
        )
    if row.state == "close" and row.bound is None:
        yield "state `close` needs `bound`, the measured largest relative difference"
    if row.state == "manual" and not row.note:
        yield "state `manual` needs a `note` that says why"
    yield from _check_templates(row)


def _check_templates(row: Row) -> Iterator[str]:
    parameters = row.signature.names if row.signature else frozenset()
    for difference in (row.difference, *(case.difference for case in row.cases)):
        if difference and difference not in differences.table():
            yield f"difference `{difference}` is not declared: {', '.join(differences.table())} are"
    for case in row.cases:
        if case.when is not None:
            yield from _parse_problem(case.when, "guard")
    for template in row.templates:
        # what is written in the place of an assignment can be one
        for text in template.split(" = ", 1) if template == row.set else [template]:
            problems = list(_parse_problem(text, "template"))
            yield from problems or _unbound(text, parameters)


def _parse_problem(text: str, what: str) -> Iterator[str]:
    try:
        _names_in(text)
    except SyntaxError as error:
        yield f"{what} `{text}` is not an expression: {error.msg}"


@functools.lru_cache(maxsize=4096)  # many rows have the same templates
def _names_in(text: str) -> tuple[str, ...]:
    """The names that an expression takes from outside of itself."""
    nodes = list(ast.walk(ast.parse(text.strip(), mode="eval")))
    local = {
        a.arg
        for n in nodes
        if isinstance(n, ast.Lambda)
        for a in [*n.args.args, *n.args.kwonlyargs, *filter(None, [n.args.vararg, n.args.kwarg])]
    }
    names = [n for n in nodes if isinstance(n, ast.Name)]
    local |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return tuple(n.id for n in names if n.id not in local)


def _unbound(text: str, bound: Collection[str]) -> Iterator[str]:
    for name in _names_in(text):
        if name not in bound and name not in _KNOWN:
            yield f"template `{text}` uses `{name}`, which is not a parameter, a macro, or one of " + ", ".join(
                sorted(TEMPLATE_ROOTS)
            )
