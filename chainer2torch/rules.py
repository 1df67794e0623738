"""The strict loader of the rule tables (``rules/**/*.toml``). The format is described in docs/adding-a-rule.md."""
from __future__ import annotations

import ast
import builtins
import dataclasses
import difflib
import functools
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.resources import rules_dir
from chainer2torch.signature import Signature

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

STATES = ("exact", "close", "review", "manual")
MACROS = frozenset({"TRAINING", "LONG", "CONST"})
_ROW_KEYS = frozenset({
    "signature", "torch", "cases", "fallback", "drop", "value", "returns", "state", "bound", "note", "next",
    "attribute", "set", "base", "alias", "function", "example", "code", "proof", "ignores", "renames",
})
_EXAMPLE_KEYS = frozenset({
    "given", "before", "setup", "after", "mode", "arrays", "grad", "compare", "dtypes", "rtol", "atol", "raises",
})
_CASE_KEYS = frozenset({"when", "torch"})
_TEMPLATE_ROOTS = frozenset({
    "torch", "compat", "numpy", "pytorch_pfn_extras", "ignite", "contextlib", "functools", "math", "pfrl",
    "torchvision",
})
_KNOWN = MACROS | _TEMPLATE_ROOTS | {"self", "value"} | frozenset(dir(builtins))


class RulesError(Exception):
    """A table is not well formed; the message names the file, the row and the remedy, one problem a line."""


@dataclasses.dataclass(frozen=True)
class Case:
    """One alternative of a row: the guard (None: always) and the template."""

    when: str | None
    torch: str


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

    @property
    def templates(self) -> Iterator[str]:
        """Every template of the row, cases first."""
        for case in self.cases:
            yield case.torch
        for text in (self.fallback, self.value, self.set):
            if text is not None:
                yield text


@dataclasses.dataclass(frozen=True)
class Library:
    """A library that is built on Chainer, by the name that is imported: its name in print, what to install for it
    (``package``), what takes its place in PyTorch, and a sentence for the report."""

    module: str
    name: str
    package: str
    counterpart: str
    note: str = ""

    @property
    def advice(self) -> str:
        """What the report says where it is used."""
        return f"{self.name} is built on Chainer; its counterpart for PyTorch: {self.counterpart}. {self.note}".strip()


class Rules:
    """All rows by their dotted Chainer name.

    ``packs`` are tables for libraries on Chainer: their rows are there only after :meth:`with_packs`.
    """

    def __init__(self, rows: Mapping[str, Row], module_aliases: Mapping[str, str],
                 libraries: Mapping[str, Library] | None = None, packs: Mapping[str, Mapping[str, Row]] | None = None,
                 old: Mapping[str, Row] | None = None):
        self.rows = dict(rows)
        self.old = dict(old or {})  # what calls were in version 1
        self.libraries = dict(libraries or {})
        self.packs = dict(packs or {})
        self._own_rows, self._aliases_given = self.rows, dict(module_aliases)
        self.with_packs = functools.lru_cache(maxsize=None)(self._with_packs)
        self._module_aliases = tuple(
            (tuple(pattern.split(".")), target.split(".")) for pattern, target in module_aliases.items())
        self._prefixes = {name.rsplit(".", i)[0] for name in rows for i in range(name.count(".") + 1)}
        # asked again and again, and always the same: the tables do not change
        self.canonical = functools.lru_cache(maxsize=None)(self._canonical)
        self.member = functools.lru_cache(maxsize=None)(self._member)
        self.bases = functools.lru_cache(maxsize=None)(self._bases)

    def _with_packs(self, libraries: frozenset[str]) -> Rules:
        """These rules and the packs of some libraries; a library without a pack adds nothing."""
        loaded = {name: row for library in sorted(libraries) for name, row in self.packs.get(library, {}).items()}
        if not loaded:
            return self
        return Rules({**loaded, **self._own_rows}, self._aliases_given, self.libraries, self.packs, self.old)

    def _canonical(self, name: str) -> str:
        """The one spelling of a dotted Chainer name: old import paths and deep paths become the public name."""
        for _ in range(8):
            row = self.rows.get(name)
            if row is not None and row.alias:
                name = row.alias
                continue
            renamed = self._rename_prefix(name)
            if renamed == name:
                return name
            name = renamed
        return name

    def _rename_prefix(self, name: str) -> str:
        if name in self.rows:
            return name
        parts = name.split(".")
        for pattern, target in self._module_aliases:
            if len(parts) >= len(pattern) and all(p in ("*", q) for p, q in zip(pattern, parts)):
                candidate = ".".join([*target, *parts[len(pattern):]])
                # A pattern with a wildcard is a guess about Chainer's layout: it counts only if a row confirms it.
                if "*" not in pattern or candidate in self.rows:
                    return candidate
        return name

    def library(self, name: str) -> Library | None:
        """The library on Chainer to which a dotted name belongs."""
        parts = name.split(".")
        prefixes = (".".join(parts[:count]) for count in range(len(parts), 0, -1))
        return next((self.libraries[prefix] for prefix in prefixes if prefix in self.libraries), None)

    def find(self, name: str) -> Row | None:
        """The row of a dotted name in any of its spellings."""
        return self.rows.get(self.canonical(name))

    def _member(self, class_name: str, attribute: str) -> Row | None:
        """The row of a method or attribute, looked up along the ``base`` chain of the class."""
        for owner in self.bases(class_name):
            row = self.rows.get(f"{owner}.{attribute}")
            if row is not None:
                return self.rows.get(row.alias) if row.alias else row
        return None

    def _bases(self, class_name: str) -> tuple[str, ...]:
        """The dotted names of a class and of its bases, as far as the tables know them."""
        name: str | None = self.canonical(class_name)
        seen: dict[str, None] = {}
        while name and name not in seen:
            seen[name] = None
            row = self.rows.get(name)
            name = self.canonical(row.base) if row is not None and row.base else None
        return tuple(seen)

    def is_subclass(self, class_name: str, base: str) -> bool:
        """Whether the tables say that ``class_name`` derives from ``base``."""
        return self.canonical(base) in self.bases(class_name)

    def is_namespace(self, name: str) -> bool:
        """Whether some row lies below this dotted name (a module or class of Chainer)."""
        return name in self._prefixes


def load_rules(extra_dirs: Iterable[Path | str] = (), *, strict: bool = True) -> Rules:
    """Loads the shipped tables and the user's own; a user's row replaces ours of the same name.

    With ``strict=False`` rows that are not well formed are left out instead of raising :class:`RulesError`.
    """
    rows: dict[str, Row] = {}
    packs: dict[str, dict[str, Row]] = {}
    libraries: dict[str, Library] = {}
    old: dict[str, Row] = {}
    problems: list[str] = []
    aliases: dict[str, str] = {}
    for directory in (rules_dir(), *map(Path, extra_dirs)):
        if not Path(directory).is_dir():
            raise RulesError(f"{directory}: no such directory of rule tables")
        seen: dict[str, str] = {}
        for path in sorted(Path(directory).rglob("*.toml")):
            label = path.relative_to(directory).as_posix()
            data = _read(path, label, problems)
            aliases.update(data.pop("module_aliases", {}))
            libraries.update(_libraries(data.pop("libraries", {}), label, problems))
            pack = label.split("/")[1] if label.startswith("packs/") and label.count("/") > 1 else ""
            if "era" in data:
                del data["era"]
                old.update((row.name, row) for row in _rows(data, label, problems))
                continue
            for row in _rows(data, label, problems):
                if row.name in seen:
                    problems.append(f"{label} [{row.name}]: the row stands in {seen[row.name]} already")
                    continue
                if pack and row.name.split(".")[0] != pack:
                    problems.append(f"{label} [{row.name}]: packs/{pack}/ is for names of {pack}")
                    continue
                seen[row.name] = label
                (packs.setdefault(pack, {}) if pack else rows)[row.name] = row
    if strict and problems:
        raise RulesError("\n".join(problems))
    return Rules(rows, aliases, libraries, packs, old)


def _libraries(data: Any, label: str, problems: list[str]) -> dict[str, Library]:
    found: dict[str, Library] = {}
    known = {field.name for field in dataclasses.fields(Library)} - {"module"}
    for module, fields in data.items():
        where = f"{label} [libraries.{module}]"
        errors = list(_unknown(fields, frozenset(known)))
        errors += [f"the key `{key}` is missing" for key in sorted(known - {"note"} - set(fields))]
        problems.extend(f"{where}: {error}" for error in errors)
        if not errors:
            found[module] = Library(module, **fields)
    return found


def _read(path: Path, label: str, problems: list[str]) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        problems.append(f"{label}: not valid TOML: {error}")
        return {}


def _rows(data: dict[str, Any], label: str, problems: list[str]) -> Iterator[Row]:
    module = data.pop("module", None)
    if module is None:
        if data:
            problems.append(f'{label}: the line `module = "chainer..."` is missing')
        return
    for key, fields in data.items():
        where = f"{label} [{key}]"
        if not isinstance(fields, dict):
            problems.append(f"{where}: a row is a table, not {fields!r}")
            continue
        errors = list(_unknown(fields, _ROW_KEYS))
        row = _row(f"{module}.{key}", label, fields, errors)
        errors.extend(_check(row))
        if errors:
            problems.extend(f"{where}: {error}" for error in errors)
        else:
            yield row


def _unknown(fields: Iterable[str], known: frozenset[str]) -> Iterator[str]:
    for key in fields:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            yield f"unknown key `{key}`" + (f"; did you mean `{near[0]}`?" if near else "")


def _row(name: str, label: str, fields: dict[str, Any], errors: list[str]) -> Row:
    signature = None
    if "signature" in fields:
        try:
            signature = Signature.parse(fields["signature"])
        except ValueError as error:
            errors.append(str(error))
    cases = []
    for case in fields.get("cases", ()):
        errors.extend(_unknown(case, _CASE_KEYS))
        if not _CASE_KEYS <= case.keys():
            errors.append("a case needs `when` and `torch`")
            continue
        cases.append(Case(case["when"], case["torch"]))
    if "torch" in fields:
        cases.append(Case(None, fields["torch"]))
    examples = []
    for example in fields.get("example", ()):
        errors.extend(_unknown(example, _EXAMPLE_KEYS))
        if "before" not in example:
            errors.append("an example needs `before`")
            continue
        options = {k: v for k, v in example.items() if k not in ("given", "before")}
        examples.append(Example(example.get("given", {}), example["before"], options))
    return Row(
        name=name, table=label, signature=signature, cases=tuple(cases), fallback=fields.get("fallback"),
        drop=fields.get("drop", {}), value=fields.get("value"), returns=fields.get("returns", "unknown"),
        state=fields.get("state", "manual"), bound=fields.get("bound"), note=fields.get("note", ""),
        next=fields.get("next", ""), attribute=fields.get("attribute", False), set=fields.get("set"),
        base=fields.get("base"), alias=fields.get("alias"), function=fields.get("function"),
        examples=tuple(examples), proof=fields.get("proof"), code=fields.get("code") or _default_code(name, label),
        ignores=tuple(fields.get("ignores", ())), renames=fields.get("renames", {}),
    )


def _check(row: Row) -> Iterator[str]:
    if row.alias or row.ignores and not row.cases:
        return
    if row.state not in STATES:
        yield f"state `{row.state}` is not one of {', '.join(STATES)}"
    if row.state in ("exact", "close") and not row.examples and not row.proof:
        yield (f"state `{row.state}` needs at least one [[{row.name.rsplit('.', 1)[1]}.example]]: it is the proof "
               "(or `proof`: the row or the test that holds it)")
    if row.state == "close" and row.bound is None:
        yield "state `close` needs `bound`, the measured largest relative difference"
    if row.state == "manual" and not row.note:
        yield "state `manual` needs a `note` that says why"
    parameters = row.signature.names if row.signature else frozenset()
    for case in row.cases:
        if case.when is not None:
            yield from _parse_problem(case.when, "guard")
    for text in row.templates:
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
    local = {a.arg for n in nodes if isinstance(n, ast.Lambda)
             for a in [*n.args.args, *n.args.kwonlyargs, *filter(None, [n.args.vararg, n.args.kwarg])]}
    names = [n for n in nodes if isinstance(n, ast.Name)]
    local |= {n.id for n in names if isinstance(n.ctx, ast.Store)}
    return tuple(n.id for n in names if n.id not in local)


def _unbound(text: str, bound: Collection[str]) -> Iterator[str]:
    for name in _names_in(text):
        if name not in bound and name not in _KNOWN:
            yield f"template `{text}` uses `{name}`, which is not a parameter, a macro, or one of " + \
                ", ".join(sorted(_TEMPLATE_ROOTS))


# The hundreds of a code tell the room: C2T1xx functions, 2xx links, ... (docs/codes.md).
_CODES = (
    ("?", "C2T390"),
    ("chainer.functions", "C2T100"), ("chainer.links", "C2T200"), ("chainer.Link", "C2T200"),
    ("chainer.Chain", "C2T200"), ("chainer.Sequential", "C2T200"), ("chainer.initializers", "C2T210"),
    ("chainer.link_hooks", "C2T220"), ("chainer.Parameter", "C2T310"), ("chainer.Variable", "C2T300"),
    ("chainer.backends", "C2T330"), ("chainer.backend", "C2T330"), ("chainer.get_device", "C2T330"),
    ("numpy", "C2T320"), ("cupy", "C2T320"), ("chainer.config", "C2T400"), ("chainer.using_config", "C2T400"),
    ("chainer.no_backprop_mode", "C2T400"), ("chainer.optimizer", "C2T500"), ("chainer.optimizers", "C2T500"),
    ("chainer.Optimizer", "C2T500"), ("chainer.GradientMethod", "C2T500"),
    ("chainer.dataset", "C2T610"), ("chainer.iterators", "C2T620"), ("chainer.training", "C2T600"),
    ("chainer.report", "C2T630"), ("chainermn", "C2T700"), ("chainer.serializers", "C2T800"),
)
_LIBRARY_CODE = "C2T091"


def _default_code(name: str, table: str) -> str:
    if table.startswith("packs/"):
        return _LIBRARY_CODE
    best = max((entry for entry in _CODES if name.startswith(entry[0])), key=lambda e: len(e[0]), default=None)
    return best[1] if best else "C2T090"
