"""Which major version of Chainer a project asks for, as its dependency files pin it."""

from __future__ import annotations

import dataclasses
import os
import posixpath
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from chainer2torch.project import files
from chainer2torch.project.dependencies.named import dependency_files, kind_of
from chainer2torch.project.files import FileError
from chainer2torch.project.tree import Tree

LAST_VERSION = 7
_CLAUSE = re.compile(r"(===|==|~=|<=|>=|!=|<|>|=|\^|~)?\s*v?(\d+)((?:\.(?:\d+|\*))*)")


@dataclasses.dataclass(frozen=True)
class Pin:
    """The highest major version that a project's requirements allow, and the file that says so.

    ``minor`` is the minor version, where they name one and no other: ``chainer==1.6.2`` gives 6.
    """

    major: int
    path: str
    minor: int | None = None

    def hint(self) -> str:
        """What to do where that version computed something else than the last one; nothing where the files are read
        as that version already (1), or where no difference was measured (5 and 6)."""
        if not 2 <= self.major <= 4:
            return ""
        return (
            f"{self.path} asks for Chainer {self.major}, and this reads calls as Chainer {LAST_VERSION} does; "
            f"--chainer-version {self.major} keeps what that version computed"
        )


def pinned(tree: Tree) -> Pin | None:
    """What the dependency files of the tree pin, else those of the nearest folder above it in its repository.

    None when nothing rules out the last version, or when files of one place disagree.
    """
    inside = [
        Pin(major, tree.show(path), minor) for path, kind, text in _own(tree) for major, minor in _asked(kind, text)
    ]
    folder = tree.base.resolve()
    found = inside or list(_in(folder) if not tree.place else ())
    above = [folder, *folder.parents]
    top = next((i for i, path in enumerate(above) if (path / ".git").exists()), 0)
    for path in above[1 : top + 1]:
        found = found or list(_in(path))
    if len({pin.major for pin in found}) != 1 or found[0].major >= LAST_VERSION:
        return None
    same = len({pin.minor for pin in found}) == 1
    return found[0] if same else dataclasses.replace(found[0], minor=None)


def _own(tree: Tree) -> Iterator[tuple[str, str, str]]:
    """The dependency files of a folder that was named: path, kind, text."""
    if not tree.place:
        return
    for entry, kind, raw in dependency_files(tree, []):  # what cannot be read is reported where it is edited
        yield entry.relative, kind, raw.decode("utf-8", "replace")
    for path, source in tree.sources.items():
        if posixpath.basename(path) == "setup.py":
            yield path, "setup.py", source.text


def _in(folder: Path) -> Iterator[Pin]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    for name in names:
        kind = "setup.py" if name == "setup.py" else kind_of(name)
        if kind is None or not (folder / name).is_file():
            continue
        try:
            text = files.read(folder / name).decode("utf-8", "replace")
        except FileError:
            continue
        for major, minor in _asked(kind, text):
            yield Pin(major, (folder / name).as_posix(), minor)


def _asked(kind: str, text: str) -> Iterator[tuple[int, int | None]]:
    """For each requirement on Chainer in a file, the highest major version that it allows, and the only minor one."""
    if "chainer" not in text.lower():
        return
    # only where there is something to read
    from chainer2torch.project.dependencies import python_places, requirement_places

    try:
        groups = python_places.groups(text)[0] if kind == "setup.py" else requirement_places.groups(kind, text)
    except (ValueError, SyntaxError):
        return
    for group in groups:
        for item in group.items:
            if item.requirement.name == "chainer":
                version = item.requirement.version
                yield highest_major(version), only_minor(version)


def highest_major(version: str) -> int:
    """The highest major version that a requirement's version allows (pip, Poetry or conda): ``>=1.5,<2`` gives 1.

    What has no upper bound, and an address, allows the last one.
    """
    if "/" in version or "@" in version:
        return LAST_VERSION
    return min((_bound(*clause) for clause in _clauses(version.replace('"', "").split(","))), default=LAST_VERSION)


def only_minor(version: str) -> int | None:
    """The minor version that a requirement names: ``==1.6.2``, ``~=1.6.0`` and ``==1.6.*`` give 6."""
    clauses = [] if "/" in version or "@" in version else list(_clauses(version.replace('"', "").split(",")))
    if len(clauses) != 1:
        return None
    operator, _, rest = clauses[0]
    parts = rest.strip(".").split(".")
    exact = operator in ("=", "==", "===") or operator == "~=" and len(parts) > 1
    return int(parts[0]) if exact and parts[0].isdigit() else None


def _clauses(parts: Iterable[str]) -> Iterator[tuple[str, int, str]]:
    for part in parts:
        match = _CLAUSE.match(part.strip().strip("()"))
        if match:
            yield match[1] or "=", int(match[2]), match[3]


def _bound(operator: str, major: int, rest: str) -> int:
    if operator in (">", ">=", "!="):
        return LAST_VERSION
    below = operator == "<" and not rest.strip(".0*")
    return min(major - 1 if below else major, LAST_VERSION)
