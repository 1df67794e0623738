"""The strict loader of the rule tables (``rules/**/*.toml``). The format is described in docs/adding-a-rule.md."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from chainer2torch.rules.resources import rules_dir
from chainer2torch.rules.row import (
    MACROS,
    ROW_KEYS,
    STATES,
    Case,
    Example,
    Row,
    check,
    in_native_style,
    row_of,
    unknown_keys,
)
from chainer2torch.rules.lazy_tables import Later, Rows
from chainer2torch.rules.table_files import Library, RulesError, fields_of, libraries_of, prefix_of, read_table

_NATIVE_FOLDER = "native/"  # the tables of the native style, which stand over the others


class Rules:
    """All rows by their dotted Chainer name.

    ``packs`` are tables for libraries on Chainer: their rows are there only after :meth:`with_packs`.
    """

    def __init__(
        self,
        rows: Mapping[str, Row],
        module_aliases: Mapping[str, str],
        libraries: Mapping[str, Library] | None = None,
        packs: Mapping[str, Mapping[str, Row]] | None = None,
        old: Mapping[str, Row] | None = None,
        python: Mapping[str, Row] | None = None,
        style: str = "faithful",
        under: Mapping[str, Mapping[str, Row]] | None = None,
    ):
        self.style = style
        self.rows = _as_rows(rows)
        self.old = _as_rows(old or {})  # what calls were in version 1
        self.python = _as_rows(python or {})  # what begins in Python: a pass decides that such a row applies
        self.libraries = dict(libraries or {})
        self.packs = dict(packs or {})
        self.under = dict(under or {})  # by a question about the project: the rows that stand if its answer is yes
        self._aliases_given = dict(module_aliases)
        self.without = functools.lru_cache(maxsize=None)(self._without)
        self.with_packs = functools.lru_cache(maxsize=None)(self._with_packs)
        self._module_aliases = tuple(
            (tuple(pattern.split(".")), target.split(".")) for pattern, target in module_aliases.items()
        )
        self._prefixes = _with_prefixes(rows)
        # asked again and again, and always the same: the tables do not change
        self.canonical = functools.lru_cache(maxsize=None)(self._canonical)
        self.member = functools.lru_cache(maxsize=None)(self._member)
        self.bases = functools.lru_cache(maxsize=None)(self._bases)
        self.of_symbol = functools.lru_cache(maxsize=None)(self._of_symbol)

    def _with_packs(self, libraries: frozenset[str]) -> Rules:
        """These rules and the packs of some libraries; a library without a pack adds nothing."""
        packs = [self.packs[library] for library in sorted(libraries) if library in self.packs]
        if not packs:
            return self
        rows = self.rows
        for pack in packs:
            rows = rows.merged(pack)
        return self._with(rows)

    def _without(self, question: str) -> Rules:
        """These rules with the rows that lie under those of the native tables that have this ``unless``."""
        return self._with(_as_rows(self.under[question]).merged(self.rows))

    def _with(self, rows: Rows[Row]) -> Rules:
        return Rules(
            rows, self._aliases_given, self.libraries, self.packs, self.old, self.python, self.style, self.under
        )

    def replacing(self, row: Row) -> Rules:
        """These rules with another row in the place of the one of its name."""
        one = Rows({row.name: row})
        rows, python = (self.rows, one.merged(self.python)) if row.kind else (one.merged(self.rows), self.python)
        under = {
            question: {name: below for name, below in _as_rows(rows_of).items() if name != row.name}
            for question, rows_of in self.under.items()
        }
        return Rules(rows, self._aliases_given, self.libraries, self.packs, self.old, python, self.style, under)

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
                candidate = ".".join([*target, *parts[len(pattern) :]])
                # A pattern with a wildcard is a guess about Chainer's layout: it counts only if a row of a name in that
                # module confirms it.
                if "*" not in pattern or len(parts) > len(pattern) and candidate in self.rows:
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

    def _of_symbol(self, symbol: str, code: str = "") -> Row | None:
        """The row that answers for a symbol of a report, also for `?.std` and `numpy.abs`, which begin in Python.

        A symbol can be a name of the program, as `self.alias` is; then the code says which row it is.
        """
        row = self.python.get(symbol) or self.find(symbol)
        if row is None and symbol.endswith(".__init__"):
            row = self.find(symbol.removesuffix(".__init__"))
        if row is None:  # `numpy.*`
            parts = symbol.split(".")
            patterns = (".".join([*parts[:count], "*"]) for count in range(len(parts) - 1, 0, -1))
            row = next((self.python[pattern] for pattern in patterns if pattern in self.python), None)
        if row is None and code:
            of_code = [found for found in self.python.values() if found.code == code and found.state == "exact"]
            row = of_code[0] if len(of_code) == 1 else None
        return row

    @property
    def every(self) -> Rows[Row]:
        """The rows of Chainer's names and of what begins in Python."""
        return self.rows.merged(self.python)

    def _member(self, class_name: str, attribute: str) -> Row | None:
        """The row of a method or attribute, looked up along the ``base`` chain of the class."""
        for owner in self.bases(class_name):
            row = self.rows.get(f"{owner}.{attribute}")
            if row is not None:
                return self.rows.get(row.alias) if row.alias else row
        return None

    def keeps(self, class_name: str, attribute: str) -> bool:
        """Whether what a class became has a member without a row, under the same name."""
        return any(row is not None and attribute in row.keeps for row in map(self.rows.get, self.bases(class_name)))

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


def load_rules(
    extra_dirs: Iterable[Path | str] = (), *, strict: bool = True, lazy: bool = False, style: str = "faithful"
) -> Rules:
    """Loads the shipped tables and the user's own; a user's row replaces ours of the same name.

    With ``strict=False`` rows that are not well formed are left out instead of raising :class:`RulesError`. With
    ``lazy`` the shipped rows, which our tests have checked, are each read when they are first asked for. With the
    ``style`` "native" the tables in ``native/`` stand over the others. The shipped tables by themselves, which do not
    change, are read once in a process.
    """
    folders = tuple(map(Path, extra_dirs))
    return _loaded(folders, strict, lazy, style) if folders else _shipped(strict, lazy, style)


@functools.cache
def _shipped(strict: bool, lazy: bool, style: str) -> Rules:
    return _loaded((), strict, lazy, style)


def _loaded(extra_dirs: tuple[Path, ...], strict: bool, lazy: bool, style: str) -> Rules:
    rows: dict[str, Row | Later[Row]] = {}
    packs: dict[str, dict[str, Row | Later[Row]]] = {}
    libraries: dict[str, Library] = {}
    old: dict[str, Row | Later[Row]] = {}
    python: dict[str, Row | Later[Row]] = {}
    native: list[tuple[Path, str]] = []
    under: dict[str, dict[str, Row | Later[Row]]] = {}
    problems: list[str] = []
    aliases: dict[str, str] = {}
    shipped = rules_dir()
    for directory in (shipped, *extra_dirs):
        if not Path(directory).is_dir():
            raise RulesError(f"{directory}: no such directory of rule tables")
        seen: dict[str, str] = {}
        for path in sorted(Path(directory).rglob("*.toml")):
            label = path.relative_to(directory).as_posix()
            if label.startswith(_NATIVE_FOLDER):
                if style == "native":
                    native.append((path, label))
                continue
            about, found = read_table(path, label, problems, lazy and directory is shipped)
            aliases.update(about.get("module_aliases", {}))
            libraries.update(libraries_of(about.get("libraries", {}), label, problems))
            pack = label.split("/")[1] if label.startswith("packs/") and label.count("/") > 1 else ""
            if "era" in about:
                old.update(found)
                continue
            for name, row in found:
                if name in seen:
                    problems.append(f"{label} [{name}]: the row stands in {seen[name]} already")
                    continue
                if "kind" in about:
                    seen[name] = label
                    python[name] = row
                    continue
                if pack and name.split(".")[0] != pack:
                    problems.append(f"{label} [{name}]: packs/{pack}/ is for names of {pack}")
                    continue
                seen[name] = label
                (packs.setdefault(pack, {}) if pack else rows)[name] = row
    for path, label in native:
        _add_native(rows, packs, under, old, path, label, problems, lazy)
    if strict and problems:
        raise RulesError("\n".join(problems))
    packed = {name: Rows(pack) for name, pack in packs.items()}
    lower = {question: Rows(found) for question, found in under.items()}
    return Rules(Rows(rows), aliases, libraries, packed, Rows(old), Rows(python), style, lower)


def _add_native(
    today: dict[str, Row | Later[Row]],
    packs: Mapping[str, dict[str, Row | Later[Row]]],
    under: dict[str, dict[str, Row | Later[Row]]],
    old: dict[str, Row | Later[Row]],
    path: Path,
    label: str,
    problems: list[str],
    lazy: bool,
) -> None:
    """Puts the rows of a table of the native style over those of the same names, of version 1 or a pack if it says so.

    A table with ``unless`` leaves those beneath to projects about which the answer to this question is yes.
    """
    about, found = fields_of(path, label, problems, lazy)
    rows = old if about.pop("era", None) else today
    prefix = prefix_of(about.pop("module", ""))
    rows = packs.get(prefix.partition(".")[0], rows)
    unless = about.pop("unless", "")
    for key, fields in found:
        name = prefix + key
        if name not in rows:
            problems.append(f"{label} [{key}]: the native style changes a row that there is, and there is none")
            continue
        if unless:
            under.setdefault(unless, {})[name] = rows[name]
        make = functools.partial(_native_row, rows[name], name, label, fields)
        if lazy:
            rows[name] = Later(functools.partial(make, []))
            continue
        errors = list(unknown_keys(fields.value(), ROW_KEYS))
        row = make(errors)
        errors = errors or list(check(row))
        problems.extend(f"{label} [{key}]: {error}" for error in errors)
        if not errors:
            rows[name] = row


def _native_row(
    below: Row | Later[Row], name: str, label: str, fields: Later[dict[str, Any]], errors: list[str]
) -> Row:
    """The row of a name in the native style."""
    base = below.value() if isinstance(below, Later) else below
    own = row_of(name, label, fields.value(), errors)
    return in_native_style(base, own, fields.value().keys())


def _with_prefixes(names: Iterable[str]) -> set[str]:
    """Dotted names, and the modules and classes that they lie below."""
    found: set[str] = set()
    for name in names:
        while name and name not in found:
            found.add(name)
            name = name.rpartition(".")[0]
    return found


def _as_rows(rows: Mapping[str, Row]) -> Rows[Row]:
    return rows if isinstance(rows, Rows) else Rows(rows)


__all__ = ["MACROS", "STATES", "Case", "Example", "Library", "Row", "Rules", "RulesError", "load_rules"]
