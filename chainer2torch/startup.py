"""Answers that need nothing of the tool: ``--version``, and ``check`` of folders without a word of Chainer.

A hook runs ``check`` at every commit, and mostly there is nothing to say. Importing the command line alone takes five
times as long as starting Python, so this module imports nothing but ``os`` and ``sys``. It answers only where the
answer is plain; for everything else (options, settings, links, notebooks, files that git ignores) it gives None, and
the commands themselves do the work. tests/cli/test_startup.py holds that both say the same.
"""

from __future__ import annotations

import os
import sys

from chainer2torch.version import __version__

PACKAGES = ("libcst", "torch", "chainer", "pytorch-ignite", "pytorch-pfn-extras", "numpy")
_WORDS = (b"chainer", b"cupy")
_QUIET = ("-q", "--quiet")
_SUFFIXES = (".py", ".pyw", ".pyi")
# Beginnings and other parts of the names of files that say what is to be installed; rather too many than too few.
_DEPENDENCIES = ("requirements", "constraints", "pyproject.toml", "Pipfile", "environment", "conda", "setup.cfg")
_VERSION_CONTROL = frozenset({".git", ".hg", ".svn", ".bzr"})
# Folders that nobody writes by hand, what a killed run leaves behind, and notebooks.
_NOT_HERE = frozenset(
    {"__pycache__", "node_modules", "site-packages", ".tox", ".nox", ".eggs", ".ipynb_checkpoints", "pyvenv.cfg"}
)
_NOT_PLAIN = (".chainer2torch-journal", ".c2t-new", ".ipynb")


class _NotPlain(Exception):
    """There is something that only the command itself can decide."""


def answered(words: list[str]) -> int | None:
    """Answers a command line and gives its exit status; None where the commands themselves have to."""
    try:
        if words == ["--version"] and (lines := versions()) is not None:
            sys.stdout.write(f"chainer2torch {__version__}\n" + lines)
            sys.stdout.flush()
            return 0
        if words and words[0] == "check":
            folders = _folders(words[1:])
            count = _without_chainer(folders)
            if count is not None:
                if not any(word in _QUIET for word in words):
                    sys.stderr.write(summary(count))
                    sys.stderr.flush()
                return 0
    except OSError:  # the output is closed, or full: the commands say so
        pass
    return None


def _folders(words: list[str]) -> list[str]:
    """What is to be checked: the words without --quiet, and without a format that says nothing where nothing is."""
    found, place = [], 0
    while place < len(words):
        if words[place] == "--format" and words[place + 1 : place + 2] in (["text"], ["todo"]):
            place += 2
            continue
        if words[place] not in _QUIET:
            found.append(words[place])
        place += 1
    return found


def summary(count: int) -> str:
    """What ``check`` says of so many files of which none names Chainer."""
    files = f"{count} Python file" + ("" if count == 1 else "s")
    return files + (f": {count} without Chainer" if count else "") + "\n"


def versions() -> str | None:
    """The versions of the libraries that the tool works with, a line each; None where folders do not tell."""
    found: dict[str, str] = {}
    wanted = {package.replace("-", "_"): package for package in PACKAGES}
    try:
        for folder in sys.path:
            if not os.path.exists(folder or os.curdir):
                continue
            for name in os.listdir(folder or os.curdir):
                package, _, rest = name.partition("-")
                key = wanted.get(package.lower())
                if name.endswith((".dist-info", ".egg-info", ".egg-link", ".egg")) and key and key not in found:
                    if not rest.endswith(".dist-info"):
                        return None
                    found[key] = _version_in(os.path.join(folder, name, "METADATA"))
    except (OSError, ValueError):
        return None
    return "".join(
        f"{package} {found[package]}\n" if package in found else f"{package} is not installed\n" for package in PACKAGES
    )


def _version_in(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        for line in file:
            if line.startswith("Version:"):
                return line[len("Version:") :].strip()
    raise ValueError(path)


def _without_chainer(folders: list[str]) -> int | None:
    """How many Python files lie in these folders, where none of them can have to do with Chainer; else None."""
    if not folders or any(folder.startswith("-") or not os.path.isdir(folder) for folder in folders):
        return None
    try:
        start = os.path.realpath(folders[0])
        if _configured(start):
            return None
        return sum(map(_count, folders))
    except (OSError, _NotPlain):
        return None


def _configured(start: str) -> bool:
    """Whether the nearest pyproject.toml has options for this tool."""
    for folder in _upwards(start):
        path = os.path.join(folder, "pyproject.toml")
        if os.path.isfile(path):
            return b"chainer2torch" in _read(path)
    return False


def _upwards(folder: str) -> list[str]:
    """The folder and all that it lies in."""
    found = [folder]
    while found[-1] != os.path.dirname(found[-1]):
        found.append(os.path.dirname(found[-1]))
    return found


def _count(folder: str) -> int:
    """The number of Python files in a folder. _NotPlain, where one names Chainer or may not belong there."""
    parts: set[str] = set()  # names of Python files and of folders
    ignoring: list[str] = []
    count = _walked(folder, parts, ignoring)
    top = os.path.realpath(folder)
    above = _upwards(top)
    for place in above:
        if any(os.path.lexists(os.path.join(place, _NOT_PLAIN[0] + end)) for end in ("", ".new")):
            raise _NotPlain
    repository = next((number for number, place in enumerate(above) if os.path.exists(os.path.join(place, ".git"))), 0)
    for number, place in enumerate(above[1 : repository + 1]):
        parts.add(os.path.basename(above[number]))
        path = os.path.join(place, ".gitignore")
        if os.path.isfile(path):
            ignoring.append(path)
    for path in ignoring:
        if may_ignore(_read(path), parts):
            raise _NotPlain
    return count


def _walked(folder: str, parts: set[str], ignoring: list[str]) -> int:
    count = 0
    with os.scandir(folder) as children:
        for child in children:
            name = child.name
            if name in _VERSION_CONTROL:
                continue
            if name in _NOT_HERE or name.startswith(_NOT_PLAIN[0]) or name.endswith(_NOT_PLAIN[1:]):
                raise _NotPlain
            if child.is_dir(follow_symlinks=False):
                parts.add(name)
                count += _walked(child.path, parts, ignoring)
            elif not child.is_file(follow_symlinks=False):  # a link, or something that is no file
                raise _NotPlain
            elif os.path.splitext(name)[1] in _SUFFIXES:
                parts.add(name)
                count += 1
                if any(word in _read(child.path) for word in _WORDS):
                    raise _NotPlain
            elif name == ".gitignore":
                ignoring.append(child.path)
            else:
                _other(child.path, name)
    return count


def _other(path: str, name: str) -> None:
    """A file that is no Python by its name: it may say what is to be installed, or be a script all the same."""
    if any(part in path for part in _DEPENDENCIES):
        raw = _read(path).lower()
        if any(word in raw for word in _WORDS):
            raise _NotPlain
    if os.path.splitext(name)[1] in ("", "."):
        with open(path, "rb") as file:
            if file.read(2) == b"#!":
                raise _NotPlain


def _read(path: str) -> bytes:
    with open(path, "rb", buffering=0) as file:
        return file.readall()


def may_ignore(patterns: bytes, parts: set[str]) -> bool:
    """Whether a .gitignore may ignore one of these files and folders; it says yes rather too often.

    A pattern without a slash has to be the name of the file or of a folder above it, and so has the last part of any
    other pattern. Only that part is looked at, and only in the forms ``name`` and ``*name`` exactly.
    """
    names = {part.lower() for part in parts}
    endings = []
    for line in patterns.decode("utf-8", "replace").lower().split("\n"):
        pattern = line.strip()
        if not pattern or pattern.startswith(("#", "!")):  # what is not ignored again makes no difference
            continue
        last = pattern.rstrip("/").rpartition("/")[2]
        if last.startswith("*"):
            last = last[1:]
            if not last or last.startswith("*"):
                return True
            endings.append(last)
        if any(sign in last for sign in "*?[\\") and _may_match(last, names):
            return True
        if last in names:
            return True
    tails = tuple(endings)
    return any(name.endswith(tails) for name in names)


def _may_match(pattern: str, names: set[str]) -> bool:
    """Whether what stands before the first sign of a pattern is in a name, for ``*.py[cod]`` with what may follow."""
    if "\\" in pattern:
        return True
    sign = min(place for place in map(pattern.find, "*?[") if place >= 0)
    stem, rest = pattern[:sign], pattern[sign:]
    if rest[0] == "[" and rest.endswith("]") and rest[1:-1].isalnum():  # one of these characters, and no more
        return any(name.endswith(stem + character) for name in names for character in rest[1:-1])
    return not stem or any(stem in name for name in names)
