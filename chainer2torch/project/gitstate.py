"""Asks git which files it could give back as they are: --write replaces no others.

A repository is somebody else's until its owner says otherwise, and its .git/config can name programs. So git is only
asked for its index, in a call that runs none of them (no hooks, no monitor of the file system, no filters, no helpers
that fetch), and the contents are compared here.
"""

from __future__ import annotations

import dataclasses
import hashlib
import os
import subprocess
from collections.abc import Iterable
from pathlib import Path

UNTRACKED = "is not in git's index (untracked or ignored)"
CHANGED = "has changes that are not committed or staged"
HIDDEN = "is marked assume-unchanged or skip-worktree, so git does not see its changes"
# What a configuration could make run is switched off by name; the work tree cannot be moved elsewhere.
_SAFE = (
    *("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "core.untrackedCache=false"),
    *("--no-optional-locks", "--no-pager", "--no-replace-objects", "--literal-pathspecs"),
)
# These would have git look at another repository than the one around the file.
_ELSEWHERE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF")


@dataclasses.dataclass(frozen=True)
class _Entry:
    """One file of the index: the name of its content, and whether git was told not to look at it."""

    blob: str
    hidden: bool
    merged: bool


def not_recoverable(paths: Iterable[Path]) -> dict[Path, str]:
    """Those of ``paths`` that lie in a git work tree and whose content its index does not have, each with the reason.

    Files outside any repository are not returned: there is no history to compare with. Raises RuntimeError when a
    repository is there and git cannot say (git missing, ownership not trusted).
    """
    by_repository: dict[Path, list[Path]] = {}
    for path in paths:
        real = Path(os.path.realpath(path))
        top = next((folder for folder in real.parents if (folder / ".git").exists()), None)
        if top is not None and real.exists():
            by_repository.setdefault(top, []).append(real)
    found: dict[Path, str] = {}
    for top, members in by_repository.items():
        index = _index(top)
        differing: list[Path] = []
        for path in sorted(members):
            entry = index.get(path.relative_to(top).as_posix())
            if entry is None:
                found[path] = UNTRACKED
            elif entry.hidden:
                found[path] = HIDDEN
            elif not entry.merged or _blob(path.read_bytes(), entry.blob) != entry.blob:
                differing.append(path)
        converted = _line_ends_converted(top) if differing else frozenset()
        for path in differing:
            relative = path.relative_to(top).as_posix()
            lines = path.read_bytes().replace(b"\r\n", b"\n")
            if relative not in converted or _blob(lines, index[relative].blob) != index[relative].blob:
                found[path] = CHANGED
    return dict(sorted(found.items()))


def _blob(data: bytes, like: str) -> str:
    """Git's name for a content, in the kind of repository (SHA-1 or SHA-256) that has names such as ``like``."""
    digest = hashlib.sha256() if len(like) == 64 else hashlib.sha1(usedforsecurity=False)
    digest.update(b"blob %d\0" % len(data))
    digest.update(data)
    return digest.hexdigest()


def _index(top: Path) -> dict[str, _Entry]:
    """What git has of every file. The whole repository at once: thousands of names fit on no command line."""
    found = {}
    for item in _git(top, "ls-files", "--stage", "-v", "-z").split(b"\0"):
        if item:
            facts, _, name = item.partition(b"\t")
            tag, _, blob, stage = facts.decode("ascii").split(" ")
            found[os.fsdecode(name)] = _Entry(blob, tag.islower() or tag == "S", stage == "0")
    return found


def _line_ends_converted(top: Path) -> frozenset[str]:
    """Files that git checks out with other line ends than it keeps: they may differ in these and be unchanged."""
    everywhere = _git(top, "config", "--default", "false", "--get", "core.autocrlf").strip() in (b"true", b"input")
    found = []
    for item in _git(top, "ls-files", "--eol", "-z").split(b"\0"):
        facts, _, name = item.partition(b"\t")
        attributes = facts.partition(b"attr/")[2].split()
        if b"w/crlf" in facts and b"-text" not in attributes and (attributes or everywhere):
            found.append(os.fsdecode(name))
    return frozenset(found)


def _git(top: Path, *arguments: str) -> bytes:
    environment = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    environment.update(GIT_NO_LAZY_FETCH="1", GIT_TERMINAL_PROMPT="0")
    command = ["git", "-C", str(top), f"--work-tree={top}", *_SAFE, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=environment, stdin=subprocess.DEVNULL)
    except OSError as error:
        raise RuntimeError(f"{top} is a git repository, but git cannot be run: {error}") from None
    if done.returncode != 0:
        message = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise RuntimeError(f"{top}: git {arguments[0]} failed: {message[0] if message else done.returncode}")
    return done.stdout
