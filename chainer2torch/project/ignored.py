"""Which files git ignores, by the .gitignore files of a tree and of the folders above it; git itself is not run."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any


def matcher(base: Path, relatives: Iterable[str]) -> Callable[[str], bool]:
    """Says of a path relative to ``base`` whether it is ignored. ``relatives`` are the paths of the tree's files.

    A folder that was named on the command line is looked at even when git ignores it.
    """
    base = base.resolve()
    above = _above(base)
    inside = {posixpath.dirname(path) for path in relatives if posixpath.basename(path) == ".gitignore"}
    if not above and not inside:
        return lambda path: False
    specs = [(folder, _spec(folder / ".gitignore")) for folder in above]
    if _ignored(base / "any", [(folder, spec) for folder, spec in specs]):
        specs = []  # the folder itself is ignored, and was asked for
    specs += [(base / folder, _spec(base / folder / ".gitignore")) for folder in sorted(inside, key=len)]
    return lambda path: _ignored(base / path, specs)


def _above(base: Path) -> list[Path]:
    """The folders from the top of the repository down to the one above ``base`` that have a .gitignore."""
    folders = [base, *base.parents]
    top = next((number for number, folder in enumerate(folders) if (folder / ".git").exists()), 0)
    return [folder for folder in reversed(folders[1 : top + 1]) if (folder / ".gitignore").is_file()]


def _spec(path: Path) -> Any:
    import pathspec

    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return pathspec.GitIgnoreSpec.from_lines(lines)


def _ignored(path: Path, specs: list[tuple[Path, Any]]) -> bool:
    """The last .gitignore that says something decides, the innermost one."""
    answer = False
    for folder, spec in specs:
        if folder in path.parents:
            said = spec.check_file(path.relative_to(folder).as_posix()).include
            answer = answer if said is None else said
    return answer
