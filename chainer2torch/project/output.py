"""Puts results on disk or on the screen: a migrated copy of the tree, the files themselves, or a patch."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import posixpath
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from chainer2torch.analysis.memory import made_once
from chainer2torch.project import files, gitstate
from chainer2torch.vendor import compat_file
from chainer2torch.vendor.choices import has_choices
from chainer2torch.vendor.said import words
from chainer2torch.project.files import FileError, interrupts_wait
from chainer2torch.project.one_process import meetings, reached
from chainer2torch.project.scan import Project
from chainer2torch.project.settings_files import words_of_settings
from chainer2torch.project.tree import Tree
from chainer2torch.project.transaction import Transaction
from chainer2torch.project.visible import visible

_LISTED = 50  # names in one message
_FLAG = "is_training"  # the helper that reads the mode of the thread


class UsageError(Exception):
    """Nothing was done: the request itself is wrong, and the message says how to ask."""


@dataclasses.dataclass(frozen=True)
class Change:
    """New bytes for one file of a tree; ``old`` is None when the file is new."""

    tree: Tree
    relative: str
    old: bytes | None
    new: bytes

    @property
    def source(self) -> Path:
        """Where the file lies (or would lie) in the source tree."""
        return self.tree.base / self.relative

    @property
    def is_helpers(self) -> bool:
        """Whether it is the module with the helpers, which other files import."""
        return posixpath.basename(self.relative) == compat_file.FILE_NAME


def changes(project: Project) -> list[Change]:
    """All files whose bytes change, the vendored helpers last in each tree. Problems are added to the project."""
    found: list[Change] = []
    for tree in project.trees:
        texts: dict[str, str] = {}
        encoded: dict[str, bytes] = {}
        for path in tree.reported:
            result = tree.results.get(path)
            if result is None or path in tree.broken or not result.changed:
                continue
            try:
                encoded[path] = tree.sources[path].encode(result.code)
                texts[path] = result.code
            except UnicodeEncodeError as error:
                tree.broken.add(path)
                project.problems.append(
                    FileError(
                        "C2T003",
                        tree.show(path),
                        f"the migrated text has {error.object[error.start]!r}, which "
                        f"{error.encoding} cannot hold; convert the file to UTF-8",
                    )
                )
        for path, moved in sorted(tree.requirements.items()):
            if moved.text != moved.source.text:
                found.append(Change(tree, path, moved.source.raw, moved.source.encode(moved.text)))
        helpers = list(_helpers(tree, texts, project.problems))
        done = [path for path in texts if path not in tree.broken]  # without its helpers a file is not written
        found.extend(Change(tree, path, tree.sources[path].raw, encoded[path]) for path in done)
        found.extend(helpers)
    return found


def _helpers(tree: Tree, texts: dict[str, str], problems: list[FileError]) -> Iterator[Change]:
    """One ``chainer_compat.py`` for each import root, with what its changed and its other files use.

    A script finds the one beside it first, and so does whatever it loads: the helpers of a folder are also those of the
    folders in it, and of the files above it that its own files import. Where scripts add folders to ``sys.path`` they
    can find those of several folders: see ``meetings``. One that takes them from a package finds these only.
    """
    homes: dict[str, tuple[str, set[str]]] = {}  # by file: where its helpers lie, and which ones it uses
    for path in texts:
        used = set(tree.results[path].helpers)
        if used:
            homes[path] = _clean(tree.results[path].root), used
    changed = {root for root, _ in homes.values()}
    said = _words(tree, texts) if changed else {}
    for path, source in tree.sources.items():  # files that were migrated before keep what they use
        if path not in texts and changed and (used := set(compat_file.names_used(source.text, tree.style))):
            homes[path] = _root_of_migrated(tree, path), used
    # what is asked for in one module of helpers is set in all of them
    flags = {f"helper.{_FLAG}"} if any(_FLAG in used for _, used in homes.values()) else set()
    beside = {path: home for path, (home, _) in homes.items() if not _package(tree, texts, path)}
    together = meetings(tree, beside)
    for root in sorted({home for home, _ in homes.values()}):
        met = together.get(root, set())
        if not any(_share_a_path(root, other) for other in changed) and not met & texts.keys():
            continue
        loaded = _loaded_from(tree, root)
        names = {
            name
            for path, (home, used) in homes.items()
            if home == root
            or path in beside
            and (
                path in met
                or _lies_in(home, root)
                or _lies_in(root, home)
                and (path in loaded or path not in tree.results)
            )
            for name in used
        }
        relative = posixpath.join(root, compat_file.FILE_NAME)
        target = tree.base / relative
        try:
            old = files.read(target) if os.path.lexists(target) else None
            if old is not None and not compat_file.is_ours(old.decode("utf-8", "replace")):
                raise FileError(
                    "C2T008",
                    tree.show(relative),
                    "exists and was not written by chainer2torch, which needs that name "
                    "for its helpers; rename it and its imports, and run the command again",
                )
            places = {posixpath.dirname(path) for path in met}
            heard = {
                word for place, found in said.items() if place in places or _share_a_path(place, root) for word in found
            } | flags
            settings = words_of_settings(tree) if has_choices(names) else ()
            new = _built(tree, names, heard, settings).encode()
        except (FileError, compat_file.VendorError) as error:
            internal = FileError("C2T009", tree.show(relative), str(error))
            problems.append(error if isinstance(error, FileError) else internal)
            tree.broken.update(path for path in texts if _clean(tree.results[path].root) == root)
            continue
        if new != old:
            yield Change(tree, relative, old, new)


def _built(tree: Tree, names: set[str], heard: set[str], settings: Iterable[str]) -> str:
    """The text of a module of helpers; it need not be built anew for what an earlier run has built it for."""
    parts = [sorted(names), tree.style, sorted(heard), sorted(settings)]
    return made_once(
        tree.memory,
        lambda: compat_file.build(names, style=tree.style, said=heard, settings=settings),
        "helpers",
        *parts,
    )


def _words(tree: Tree, texts: dict[str, str]) -> dict[str, set[str]]:
    """The names that the texts of the tree may mean: what none of them says need not be in the helpers.

    By the folder of the text and by that of its helpers: scripts in folders beside it have helpers of their own.
    """
    found: dict[str, set[str]] = {}
    for path, source in tree.sources.items():
        if path.rpartition("/")[2] != compat_file.FILE_NAME:
            result = tree.results.get(path)
            known = result.said if result is not None and texts.get(path, source.text) is result.code else None
            said = words(texts.get(path, source.text)) if known is None else known
            for place in {posixpath.dirname(path), _clean(result.root) if result is not None else ""}:
                found.setdefault(place, set()).update(said)
    return found


def _loaded_from(tree: Tree, folder: str) -> set[str]:
    """The files that those of a folder import, and what these import."""
    start = {path for path in tree.results if _lies_in(posixpath.dirname(path), folder)}
    return reached(start, {path: set(result.imports) for path, result in tree.results.items()})


def _package(tree: Tree, texts: dict[str, str], path: str) -> str:
    """The package that a file imports its helpers from: under that name no other module is found."""
    return compat_file.package_named(texts.get(path, tree.sources[path].text))


def _lies_in(folder: str, other: str) -> bool:
    return not other or folder == other or folder.startswith(f"{other}/")


def _share_a_path(root: str, other: str) -> bool:
    """Whether one folder lies in the other."""
    return _lies_in(root, other) or _lies_in(other, root)


def _clean(root: str) -> str:
    return "" if root in ("", ".") else root.strip("/")


def _root_of_migrated(tree: Tree, path: str) -> str:
    """Where the helpers of a file lie that an earlier run migrated: where its import finds them."""
    package = compat_file.package_named(tree.sources[path].text).replace(".", "/")
    first, _, below = package.partition("/")
    if tree.name and first == tree.name and (tree.base / below / compat_file.FILE_NAME).is_file():
        return below
    folder = posixpath.dirname(path)
    while folder and not (tree.base / folder / package / compat_file.FILE_NAME).is_file():
        folder = posixpath.dirname(folder)
    return posixpath.join(folder, package)


def write_out(project: Project, wanted: Iterable[Change], out: Path, force: bool) -> None:
    """Copies every tree to ``out`` with the changed files in place of the old ones."""
    wanted = list(wanted)
    places = _places(project, out, force)
    for tree, (place, single) in places:
        new = {change.relative: change for change in wanted if change.tree is tree}
        base = place.parent if single else place
        for helpers in [change for change in new.values() if change.is_helpers]:
            _write(project, helpers, base / helpers.relative)
        for entry in tree.entries:
            target, change = place if single else place / entry.relative, new.get(entry.relative)
            if change is not None and entry.relative not in tree.broken:
                if not change.is_helpers:
                    _write(project, change, target, like=entry.path)
                continue
            with _reported(project.problems):
                if entry.kind == "dir":
                    target.mkdir(parents=True, exist_ok=True)
                elif entry.kind != "special" and (entry.relative not in tree.broken or os.access(entry.path, os.R_OK)):
                    files.copy(entry, target)
        if not single:
            _copy_folder_modes(tree, place, project.problems)


def _write(project: Project, change: Change, target: Path, like: Path | None = None) -> None:
    """Writes one file. When it cannot be written it is not migrated, nor is what needs it: the report says so."""
    try:
        files.write_atomic(target, change.new, like=like)
    except FileError as error:
        _not_written(project, change, error)


def _not_written(project: Project, change: Change, error: FileError) -> None:
    project.problems.append(error)
    change.tree.broken.add(change.relative)
    if change.is_helpers:
        change.tree.broken.update(_that_need(change))


def _that_need(helpers: Change) -> list[str]:
    """The changed files that import this module with helpers."""
    root = posixpath.dirname(helpers.relative)
    return [
        path
        for path, result in helpers.tree.results.items()
        if result.changed and result.helpers and _clean(result.root) == root
    ]


def _copy_folder_modes(tree: Tree, place: Path, problems: list[FileError]) -> None:
    # Last and innermost first: a folder may be read-only in the source.
    for entry in reversed(tree.entries):
        if entry.kind == "dir" and (place / entry.relative).is_dir():
            with _reported(problems):
                shutil.copymode(entry.path, place / entry.relative)


def _places(project: Project, out: Path, force: bool) -> list[tuple[Tree, tuple[Path, bool]]]:
    """Where each tree goes: one folder becomes OUT itself, one file OUT or a file in it, several stand side by side."""
    real = Path(os.path.realpath(out))
    for tree in project.trees:
        if tree.place:
            base = Path(os.path.realpath(tree.base))
            if real == base or base in real.parents:
                raise UsageError(f"{out}: the output lies inside the source {tree.base}; choose a folder outside of it")
            if real in base.parents:
                raise UsageError(f"{out}: the output contains the source {tree.base}; choose another folder")
    if len(project.trees) == 1 and not project.trees[0].place and len(project.trees[0].entries) == 1:
        tree = project.trees[0]
        if out.suffix in {*files.PYTHON_SUFFIXES, files.NOTEBOOK_SUFFIX} and not out.is_dir():
            if out.exists() and not force:
                raise UsageError(f"{out}: exists already; --force overwrites it")
            if real == tree.entries[0].path.resolve():
                raise UsageError(f"{out}: is the source itself; use --write to migrate in place")
            return [(tree, (out, True))]
    if out.is_dir():
        if any(out.iterdir()) and not force:
            raise UsageError(f"{out}: exists and is not empty; --force writes into it, or choose another folder")
    elif os.path.lexists(out):
        raise UsageError(f"{out}: exists and is not a folder")
    sources = {entry.path.resolve() for tree in project.trees if not tree.place for entry in tree.entries}
    several = len(project.trees) > 1
    places = [(tree, (out / tree.place if several and tree.place else out, False)) for tree in project.trees]
    targets: dict[Path, Path] = {}
    for tree, (place, _) in places:
        for entry in tree.entries:
            target = place / entry.relative
            if target.resolve() in sources:
                raise UsageError(f"{target}: is a source itself; use --write to migrate in place")
            if entry.kind == "file" and targets.setdefault(target, entry.path) != entry.path:
                raise UsageError(f"{targets[target]} and {entry.path} would both become {target}; migrate each alone")
    return places


def write_back(project: Project, wanted: Iterable[Change], force: bool) -> None:
    """Replaces the files themselves, all together; in git only what git can give back, unless forced."""
    wanted = list(wanted)
    if not force:
        _refuse_what_git_lacks(wanted)
    ordered = sorted(wanted, key=lambda change: not change.is_helpers)  # what others import comes first
    by_base: dict[Path, list[Change]] = {}
    for change in ordered:
        if change.relative not in change.tree.broken:
            by_base.setdefault(Path(os.path.realpath(change.tree.base)), []).append(change)
    with interrupts_wait(), contextlib.ExitStack() as open_ones:
        begun: list[tuple[Transaction, list[Change]]] = []
        done: dict[Path, bytes] = {}  # a file can be asked for twice: by its name, and in its folder
        for members in by_base.values():
            transaction = Transaction(members[0].tree.base, dict.fromkeys(change.relative for change in members))
            try:
                open_ones.enter_context(transaction)
            except FileError as error:  # the folder takes no file
                for change in members:
                    change.tree.broken.add(change.relative)
                project.problems.append(error)
                continue
            begun.append((transaction, _added(project, transaction, members, done)))
        for transaction, members in begun:
            failed = transaction.commit()
            for change in members:
                if change.relative in failed and change.relative not in change.tree.broken:
                    _not_written(project, change, failed[change.relative])


def _added(
    project: Project, transaction: Transaction, members: Iterable[Change], done: dict[Path, bytes]
) -> list[Change]:
    """Prepares the files of one folder; those that could be. ``done`` are those of other folders, too."""
    added: list[Change] = []
    needs: dict[str, list[str]] = {}
    for change in members:
        target = transaction.base / change.relative
        if change.relative in change.tree.broken or done.get(target) == change.new:
            continue
        try:
            if target in done:
                raise FileError("C2T007", change.source, "is in two of the folders that were named; name one of them")
            transaction.add(change.relative, change.new, change.old, needs.get(change.relative, ()))
        except FileError as error:
            _not_written(project, change, error)
            continue
        done[target] = change.new
        added.append(change)
        for path in _that_need(change) if change.is_helpers else ():
            needs.setdefault(path, []).append(change.relative)
    return added


def _refuse_what_git_lacks(wanted: list[Change]) -> None:
    try:
        lost = gitstate.not_recoverable(change.source for change in wanted)
    except RuntimeError as error:
        raise UsageError(f"{error}; --force writes without asking git") from None
    if lost:
        lines = [f"{visible(str(path))}: {why}" for path, why in lost.items()]
        shown = lines[:_LISTED] + ([f"and {len(lines) - _LISTED} more"] if len(lines) > _LISTED else [])
        raise UsageError(
            "--write replaces files, and git could not give back what these hold now; commit them, "
            "or use --force or -o:\n" + "\n".join(f"  {line}" for line in shown)
        )


class _reported:  # noqa: N801 - reads as a statement
    """Turns the error of one file into a problem, so that the others are still done."""

    def __init__(self, problems: list[FileError]) -> None:
        self.problems = problems

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, OSError):
            error = FileError("C2T007", error.filename or "?", f"cannot be written: {files.reason(error)}")
        if isinstance(error, FileError):
            self.problems.append(error)
            return True
        return False
