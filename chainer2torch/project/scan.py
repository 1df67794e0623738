"""From paths on the command line to results: which files there are, which belong together, what became of each."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from chainer2torch.project import candidates, files, hidden, ignored, notebooks, outward, submodules, transaction
from chainer2torch.project.asked_once import ask_once
from chainer2torch.project.files import Entry, FileError, Source
from chainer2torch.project.imported import add_imported
from chainer2torch.project.file_rows import row_of, row_of_requirements
from chainer2torch.project.newer_syntax import newer_syntax
from chainer2torch.project.tree import Engine, ResultLike, Tree
from chainer2torch.project.visible import visible
from chainer2torch.report.model import (
    Report,
    modernised,
)

STDIN, STDIN_NAME = Path("-"), "stdin.py"


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
        rows = [row_of(tree, path, migrated) for tree in self.trees for path in tree.reported]
        rows += [
            row_of_requirements(tree, path, moved, migrated)
            for tree in self.trees
            for path, moved in sorted(tree.requirements.items())
            if moved.sites
        ]
        notes = sorted({visible(tree.pin.hint()) for tree in self.trees if tree.pin is not None} - {""})
        notes += modernised(rows)
        notes += hidden.notes(tree.show(path) for tree in self.trees for path in tree.hidden)
        for tree in self.trees:
            notes += outward.notes(tree.base, tree.shown, tree.entries) if tree.place else []
            notes += submodules.notes(tree.base, tree.shown) if tree.place else []
        problems = sorted(self.problems, key=lambda problem: (problem.path, problem.line or 0))
        trainer = next((tree.trainer for tree in self.trees), "")
        return Report(rows, problems, migrated, notes=notes, trainer=trainer)


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
    git = _ignored(path, tree, excluded) if gitignore else excluded
    python = {
        entry.relative: entry.path
        for entry in tree.entries
        if entry.python and not excluded(entry.relative) and not git(entry.relative)
    }
    tree.reported = sorted(python)
    if gitignore:
        tree.hidden = list(hidden.find(tree.entries, lambda name: git(name) and not excluded(name)))
    tree.left_out = lambda name: excluded(name) or git(name) or files.is_not_source(name)
    problems.extend(
        FileError("C2T006", entry.path, "is not a regular file (a pipe, socket or device); it is left out")
        for entry in tree.entries
        if entry.kind == "special"
    )
    _load(tree, python, problems, context=None)
    return tree


def _ignored(path: Path, tree: Tree, excluded: Callable[[str], bool]) -> Callable[[str], bool]:
    """Says of a file whether git ignores it, and no file that is migrated imports it."""
    git = ignored.matcher(path, [entry.relative for entry in tree.entries])
    needed = hidden.imported(tree.entries, lambda name: git(name) or excluded(name))
    return lambda name: git(name) and name not in needed


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
    read = candidates.to_read(texts)
    tree.packages = candidates.around(read, texts)
    for relative in sorted(read | tree.packages):
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
        ask_once(tree.results, tree.reported)
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
        return engine(texts, pinned, tree.name)
    except Exception as error:  # a defect of ours: it is said which files cause it, and nothing is changed
        from chainer2torch.rules.table import RulesError

        if isinstance(error, RulesError):  # a mistake in somebody's own table
            raise
        message = _internal(error)
        found = 0
        for path in [path for path in tree.reported if path in texts]:
            tree.broken.add(path)
            try:
                engine({path: texts[path]}, pinned, tree.name)
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
