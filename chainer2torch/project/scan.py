"""From paths on the command line to results: which files there are, which belong together, what became of each."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Protocol, TypeVar

from chainer2torch.plan.site import Mention, Site
from chainer2torch.project import candidates, files, ignored, notebooks, outward, transaction
from chainer2torch.project.files import Entry, FileError, Source
from chainer2torch.project.imported import add_imported
from chainer2torch.project.newer_syntax import newer_syntax
from chainer2torch.project.visible import visible, visible_lines
from chainer2torch.report.model import (
    CLEAN,
    ERROR,
    LEFT,
    MIGRATED,
    NO_CHAINER,
    PARTIAL,
    FileRow,
    Report,
    modernised,
)

STDIN, STDIN_NAME = Path("-"), "stdin.py"
Item = TypeVar("Item", Site, Mention)


class ResultLike(Protocol):
    """What is read of the engine's FileResult."""

    code: str
    helpers: frozenset[str]
    root: str
    left: int
    error: str | None
    defect: bool
    kinds: list[str]
    python2: bool
    imports: frozenset[str]
    modules: frozenset[str] | None
    uses: frozenset[str]

    @property
    def changed(self) -> bool: ...

    @property
    def sites(self) -> Iterable[Site]: ...

    @property
    def kept(self) -> Iterable[Site]: ...

    @property
    def mentions(self) -> Iterable[Mention]: ...


class MovedLike(Protocol):
    """A dependency file as it was and as it becomes, with what the report says of it."""

    source: Source
    text: str
    sites: list[Site]


class PinLike(Protocol):
    """The version of Chainer that a project's requirements ask for."""

    @property
    def major(self) -> int: ...

    @property
    def minor(self) -> int | None: ...

    @property
    def path(self) -> str: ...

    def hint(self) -> str: ...


# texts by path, and the major version of Chainer that their project asks for
Engine = Callable[[Mapping[str, str], "int | None"], Mapping[str, ResultLike]]


@dataclasses.dataclass
class Tree:
    """Files that are analysed together: a folder that was named, or named files of one import root.

    Paths are relative to ``base``, with ``/``. ``reported`` are the Python files that were asked for; ``sources`` can
    hold more, which are only read to know what the others import.
    """

    base: Path
    shown: str
    place: str = ""
    entries: list[Entry] = dataclasses.field(default_factory=list)
    reported: list[str] = dataclasses.field(default_factory=list)
    sources: dict[str, Source] = dataclasses.field(default_factory=dict)
    broken: set[str] = dataclasses.field(default_factory=set)
    results: Mapping[str, ResultLike] = dataclasses.field(default_factory=dict)
    requirements: dict[str, MovedLike] = dataclasses.field(default_factory=dict)
    left_out: Callable[[str], bool] = lambda path: False
    pin: PinLike | None = None
    style: str = "faithful"  # the style of the output, which says what the helpers are
    interrupted: list[Path] = dataclasses.field(default_factory=list)  # folders in which a run that wrote was killed
    unread: dict[str, bytes] = dataclasses.field(default_factory=dict)  # of the standard input: what is not Chainer

    def show(self, relative: str) -> str:
        """The path as the user would write it."""
        return self.shown + relative

    def named(self, relative: str) -> str:
        """The path as a report or a terminal may show it."""
        return visible(self.show(relative))


@dataclasses.dataclass
class Project:
    """All trees of a command, and what could not be handled."""

    trees: list[Tree] = dataclasses.field(default_factory=list)
    problems: list[FileError] = dataclasses.field(default_factory=list)

    def interrupted(self) -> list[Path]:
        """The folders in which a run that wrote was killed: its trees, and what is in and above them."""
        found = [folder for tree in self.trees for folder in transaction.interrupted(tree.base) + tree.interrupted]
        return list(dict.fromkeys(Path(os.path.realpath(folder)) for folder in found))

    def report(self, migrated: bool) -> Report:
        """The report; ``migrated`` says that texts were made (else they were only looked at)."""
        rows = [_row(tree, path, migrated) for tree in self.trees for path in tree.reported]
        rows += [
            _requirements_row(tree, path, moved, migrated)
            for tree in self.trees
            for path, moved in sorted(tree.requirements.items())
            if moved.sites
        ]
        notes = sorted({visible(tree.pin.hint()) for tree in self.trees if tree.pin is not None} - {""})
        notes += modernised(rows)
        for tree in self.trees:
            notes += outward.notes(tree.base, tree.shown, tree.entries) if tree.place else []
        return Report(
            rows, sorted(self.problems, key=lambda problem: (problem.path, problem.line or 0)), migrated, notes=notes
        )


def collect(
    paths: Iterable[Path],
    exclude: Iterable[str] = (),
    *,
    gitignore: bool = True,
    stdin: str = STDIN_NAME,
    text: bytes | None = None,
) -> Project:
    """Finds and reads the files; what cannot be read becomes a problem and the rest is still done.

    ``-`` is the standard input, or ``text``, under the name ``stdin``. What git ignores in a folder is no source,
    unless told so.
    """
    project = Project()
    excluded = _matcher(exclude)
    by_base: dict[Path, Tree] = {}
    for path in paths:
        try:
            if path == STDIN:
                project.trees.append(_in_memory(stdin, sys.stdin.buffer.read() if text is None else text))
            elif path.is_dir():
                project.trees.append(_folder(path, excluded, project.problems, gitignore))
            else:
                files.read(path)  # a missing or special file is reported here
                base = _import_base(path)
                tree = by_base.setdefault(base, Tree(base, _prefix(path, base)))
                relative = path.resolve().relative_to(base).as_posix()
                if relative not in tree.reported:
                    tree.entries.append(Entry(path, relative, "file", True))
                    tree.reported.append(relative)
        except FileError as error:
            project.problems.append(error)
    for tree in by_base.values():
        project.trees.append(tree)
        _load(tree, {entry.relative: entry.path for entry in tree.entries}, project.problems, context={})
    return project


def _in_memory(name: str, raw: bytes) -> Tree:
    """The text of an editor; where it has a file of this name, what it imports from its project is known, too."""
    path = Path(name)
    relative = path.name
    tree = Tree(path.parent, name[: len(name) - len(relative)], reported=[relative])
    if not candidates.mentions_chainer(raw):
        tree.unread[relative] = raw
        return tree
    if name != STDIN_NAME and path.is_file():
        base = _import_base(path)
        relative = path.resolve().relative_to(base).as_posix()
        tree = Tree(base, _prefix(path, base), reported=[relative])
        _load(tree, {}, [], context={relative: raw})
    tree.sources[relative] = _decode(raw, name)
    return tree


def _folder(path: Path, excluded: Callable[[str], bool], problems: list[FileError], gitignore: bool) -> Tree:
    shown = path.as_posix()
    tree = Tree(path, "" if shown == "." else shown.rstrip("/") + "/", path.resolve().name)
    for entry in files.walk(path, problems.append):
        if not files.is_transient(entry.path):
            tree.entries.append(entry)
        elif entry.path.name.startswith(files.JOURNAL) and entry.path.parent not in tree.interrupted:
            tree.interrupted.append(entry.path.parent)
    git = ignored.matcher(path, [entry.relative for entry in tree.entries]) if gitignore else excluded
    python = {
        entry.relative: entry.path
        for entry in tree.entries
        if entry.python and not excluded(entry.relative) and not git(entry.relative)
    }
    tree.reported = sorted(python)
    tree.left_out = lambda name: excluded(name) or git(name) or files.is_not_source(name)
    problems.extend(
        FileError("C2T006", entry.path, "is not a regular file (a pipe, socket or device); it is left out")
        for entry in tree.entries
        if entry.kind == "special"
    )
    _load(tree, python, problems, context=None)
    return tree


def _load(
    tree: Tree, python: Mapping[str, Path], problems: list[FileError], context: Mapping[str, bytes] | None
) -> None:
    """Reads the files; with ``context`` (texts that are here already) what they import as well."""
    raws = dict(context or {})
    for relative, path in python.items():
        try:
            raws[relative] = files.read(path)
        except FileError as error:
            tree.broken.add(relative)
            problems.append(error)
    if context is not None:
        add_imported(tree.base, raws)
    texts = {path: notebooks.plain(raw) if notebooks.is_notebook(path) else raw for path, raw in raws.items()}
    for relative in sorted(candidates.to_read(texts)):
        try:
            tree.sources[relative] = _decode(raws[relative], python.get(relative, tree.base / relative))
        except FileError as error:
            if relative in python:
                tree.broken.add(relative)
                problems.append(error)


def _decode(raw: bytes, path: str | Path) -> Source:
    return notebooks.read(raw, path) if notebooks.is_notebook(path) else files.decode(raw, path)


def base_of(path: Path) -> Path:
    """The folder whose files are analysed, and written, together when this path is named."""
    return path if path.is_dir() else _import_base(path)


def _import_base(path: Path) -> Path:
    """The folder from which a file is imported: above the packages that it lies in."""
    folder = path.resolve().parent
    while (folder / "__init__.py").is_file() and folder.parent != folder:
        folder = folder.parent
    return folder


def _prefix(path: Path, base: Path) -> str:
    depth = len(path.resolve().relative_to(base).parts)
    shown = Path(os.path.normpath(path))
    parts = shown.parts[:-depth] if len(shown.parts) >= depth else ()
    return Path(*parts).as_posix().rstrip("/") + "/" if parts else ""


def _matcher(patterns: Iterable[str]) -> Callable[[str], bool]:
    patterns = list(patterns)
    if not patterns:
        return lambda path: False
    import pathspec

    spec = pathspec.PathSpec.from_lines("gitwildmatch", patterns)
    return spec.match_file


def analyse(project: Project, engine: Engine) -> None:
    """Runs the engine over each tree that has Chainer in it; an error in one file does not cost the others."""
    for tree in project.trees:
        texts = {path: source.text for path, source in tree.sources.items()}
        if not texts:
            continue
        tree.results = _run(engine, texts, tree, project.problems)
        for path, result in tree.results.items():
            if result.error and path in tree.reported:
                tree.broken.add(path)
                project.problems.append(_problem(tree, path, result))
            elif isinstance(source := tree.sources[path], notebooks.Notebook):
                try:
                    source.sources(result.code)
                except FileError as error:
                    tree.broken.add(path)
                    project.problems.append(FileError(error.code, tree.show(path), error.message))


def _problem(tree: Tree, path: str, result: ResultLike) -> FileError:
    """What is said of a file that the engine could not do."""
    if result.defect:
        return FileError("C2T009", tree.show(path), " ".join((result.error or "").split()))
    source = tree.sources[path]
    problem = _syntax_problem(tree.show(path), source.text, result.error or "")
    return source.place_problem(problem) if isinstance(source, notebooks.Notebook) else problem


def _run(engine: Engine, texts: Mapping[str, str], tree: Tree, problems: list[FileError]) -> Mapping[str, ResultLike]:
    """The engine's results. When it fails over the whole project nothing of it is migrated.

    Its files one by one would come out as other files, because what they mean is decided by the project.
    """
    pinned = tree.pin.major if tree.pin else None
    try:
        return engine(texts, pinned)
    except Exception as error:  # a defect of ours: it is said which files cause it, and nothing is changed
        from chainer2torch.rules.table import RulesError

        if isinstance(error, RulesError):  # a mistake in somebody's own table
            raise
        message = _internal(error)
        found = 0
        for path in [path for path in tree.reported if path in texts]:
            tree.broken.add(path)
            try:
                engine({path: texts[path]}, pinned)
            except Exception as its_own:
                found += 1
                problems.append(FileError("C2T009", tree.show(path), _internal(its_own)))
        where = "the files named above cause it" if found else "none of its files alone causes it"
        remedy = "--exclude leaves files out" if found else "try its folders one by one"
        text = f"{message}; nothing of this project was migrated ({where}; {remedy})"
        problems.append(FileError("C2T009", tree.show("") or ".", text))
        return {}


def _internal(error: Exception) -> str:
    text = f"internal error of chainer2torch ({type(error).__name__}: {error}); please report it"
    return " ".join(text.split())


# What Python 3 calls a syntax error and Python 2 does not, by the line where Python 3 stops.
_PYTHON2 = (
    (re.compile(r"^\s*print\b(?!\s*\()|^\s*print\s*>>"), "print statement"),
    (re.compile(r"^\s*exec\b(?!\s*\()"), "exec statement"),
    (re.compile(r"^\s*except\b[^:(]*,[^:]*:"), "`except Error, name`"),
    (re.compile(r"^\s*raise\s+[\w.]+\s*,"), "`raise Error, value`"),
    (re.compile(r"<>"), "`<>`"),
    (re.compile(r"(?<![\w.])0[0-7]+\b"), "an octal number without `0o`"),
    (re.compile(r"(?<![\w.])\d+[lL]\b"), "a long integer"),
    (re.compile(r"\b[uU][rR]['\"]"), "a ur'' string"),
    (re.compile(r"`[^`]+`"), "backquotes"),
    (re.compile(r"\blambda\s*\(|^\s*def\b.*\(.*\(.*\).*\)\s*:"), "a tuple as parameter"),
)


def _syntax_problem(path: str, text: str, message: str) -> FileError:
    match = re.match(r"line (\d+): (.*)", message, re.DOTALL)
    line = int(match[1]) if match else None
    lines = re.split(r"\r\n|\r|\n", text)
    here = lines[line - 1] if line is not None and 0 < line <= len(lines) else ""
    for pattern, name in _PYTHON2:
        if pattern.search(here):
            return FileError(
                "C2T005",
                path,
                f"is Python 2 ({name}), and more than the converter can do, or it was told not to (--no-modernize); "
                "convert it by hand, and run chainer2torch again",
                line,
            )
    if "tab" in message.lower():
        return FileError(
            "C2T005",
            path,
            "mixes tabs and spaces as only Python 2 allows, and has more than the converter can do, or it was told not "
            f"to (--no-modernize); `reindent {path}` or `expand -t 8`, and run chainer2torch again",
            line,
        )
    said = match[2] if match else message
    newer = newer_syntax(text, here, said)
    return FileError("C2T004", path, newer or f"syntax error: {said}", line)


def _row(tree: Tree, path: str, migrated: bool) -> FileRow:
    shown, result = tree.named(path), tree.results.get(path)
    if path in tree.broken:
        return FileRow(shown, ERROR)
    if result is None:
        return FileRow(shown, NO_CHAINER)
    source = tree.sources.get(path)
    sites, kept, mentions = tuple(map(_site, result.sites)), tuple(map(_site, result.kept)), tuple(result.mentions)
    before, after = source.text if source is not None else None, result.code
    if isinstance(source, notebooks.Notebook):
        sites, kept, mentions = _in_cells(source, sites), _placed(source, kept), _placed(source, mentions)
        before, after = source.shown(), source.shown(source.sources(after)) if migrated else ""
    if not migrated:
        status = LEFT if sites else CLEAN
        return FileRow(shown, status, sites, None, before, None, mentions, kept, result.python2)
    unfinished = result.left > 0 or any(site.open for site in sites)
    if result.changed:
        status = PARTIAL if unfinished else MIGRATED
    else:
        status = LEFT if unfinished else CLEAN
    return FileRow(shown, status, sites, result.left, before, after, mentions, kept, result.python2)


def _site(site: Site) -> Site:
    """The site as a report may show it: a text of the source in it can hold anything."""
    if site.symbol.isprintable() and site.message.isprintable():
        return site
    return dataclasses.replace(site, symbol=visible(site.symbol), message=visible_lines(site.message))


def _requirements_row(tree: Tree, path: str, moved: MovedLike, migrated: bool) -> FileRow:
    shown, open_ = tree.named(path), any(site.open for site in moved.sites)
    if path in tree.broken:
        return FileRow(shown, ERROR)
    if not migrated:
        return FileRow(shown, LEFT, tuple(moved.sites), before=moved.source.text)
    status = (PARTIAL if open_ else MIGRATED) if moved.text != moved.source.text else LEFT if open_ else CLEAN
    return FileRow(shown, status, tuple(moved.sites), 0, moved.source.text, moved.text)


def _placed(notebook: notebooks.Notebook, found: Iterable[Item]) -> tuple[Item, ...]:
    """The same sites or mentions, with the cells in which they stand."""
    return tuple(
        item.in_cell(notebook.shown_line(place), notebook.column(item.line, item.column), place)
        for item in found
        for place in [notebook.place(item.line)]
    )


def _in_cells(notebook: notebooks.Notebook, rows: Iterable[Site]) -> tuple[Site, ...]:
    """The sites with their cells, and the magics that name Chainer."""
    placed = list(_placed(notebook, rows))
    placed += [
        Site(
            notebook.shown_line(place),
            1,
            name,
            "manual",
            notebooks.MAGIC,
            "named in a magic or a shell line, which is kept as it is",
            place,
        )
        for place, name in notebook.mentions()
    ]
    return tuple(sorted(placed, key=lambda site: (site.line, site.column, site.symbol)))
