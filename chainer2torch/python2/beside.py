"""Imports that Python 2 alone finds: of a module that lies beside the file in its package, by its bare name."""

from __future__ import annotations

import ast
import posixpath
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping

# what a script does when it is started: it asks whether it is, or reads its arguments
_STARTED = re.compile(r"^(?:if\s+__name__\s*==|\S[^\n]*\.parse_args\(|[^#\s][^#\n]*\bsys\.argv\b)", re.MULTILINE)
_NOTEBOOK, _INSTALLED = ".ipynb", ("setup.py", "setup.cfg", "pyproject.toml")
_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+(\w[^\n]*)", re.MULTILINE)
_ANY_IMPORT = re.compile(r"^[ \t]*(?:import|from)[ \t]+([.\w][^\n]*)", re.MULTILINE)
_WORD = re.compile(r"\w+")


def siblings_of(path: str, known: Collection[str], texts: Mapping[str, str]) -> frozenset[str]:
    """The modules beside a file that Python 2 would have imported by their bare names.

    Only in a package; and not where a file of the folder is a script, which finds them by these names today, too, or
    where nobody can have imported the package. What is run for the package itself, ``__init__.py``, such a script does
    not run.
    """
    folder, name = posixpath.split(path)
    if posixpath.join(folder, "__init__.py") not in known:
        return frozenset()
    beside = [other for other in known if posixpath.dirname(other) == folder]
    if name != "__init__.py":
        if any(_is_script(other, texts[other]) for other in beside if other in texts):
            return frozenset()
        if not texts.get(posixpath.join(folder, "__init__.py"), "").strip() and not _is_imported(folder, known, texts):
            return frozenset()
    found = {posixpath.splitext(posixpath.basename(other))[0] for other in beside if other.endswith(".py")}
    for other in known:
        above, _, name = posixpath.dirname(other).rpartition("/")
        if name and above == folder and posixpath.basename(other) == "__init__.py":
            found.add(name)
    return frozenset(found - {"__init__"})


def _is_script(path: str, text: str) -> bool:
    """Whether a file is started by itself, as notebooks are."""
    return path.endswith(_NOTEBOOK) or _STARTED.search(text) is not None


def _is_imported(folder: str, known: Collection[str], texts: Mapping[str, str]) -> bool:
    """Whether a package can be imported by its name: a file of the project does so, or it is installed."""
    above = posixpath.dirname(folder)
    while True:
        if any(posixpath.join(above, name) in known for name in _INSTALLED):
            return True
        if not above:
            break
        above = posixpath.dirname(above)
    name = posixpath.basename(folder)
    return any(name in _WORD.findall(found[1]) for text in texts.values() for found in _ANY_IMPORT.finditer(text))


def only_python2(
    texts: Mapping[str, str], known: Collection[str], old: Iterable[str], parses: Callable[[str], bool]
) -> Iterator[str]:
    """The files that Python 3 parses, and that only Python 2 runs: they import what lies beside them by bare names.

    In a folder that shares a path with one of the ``old`` files, which are Python 2: another project may put its
    folders on the path. An ``__init__.py`` finds no module of its own package by a bare name, where nothing does that.
    """
    folders = {posixpath.dirname(path) for path in old}
    sets_path = not folders or any("sys.path" in text for text in texts.values())
    for path, text in texts.items():
        folder, name = posixpath.split(path)
        if not any(_shares(folder, other) for other in folders) and (sets_path or name != "__init__.py"):
            continue
        siblings = siblings_of(path, known, texts)
        if siblings and _may_import(text, siblings) and parses(text) and _imports(text, siblings):
            yield path


def import_of(path: str, text: str, old: Collection[str]) -> str | None:
    """The first of the ``old`` files that a file imports: such a file runs under Python 2 alone, too."""
    folder = posixpath.dirname(path)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for parts in (name.split(".") for name in names):
            for start in dict.fromkeys((folder, "")):
                steps = [posixpath.join(start, *parts[: n + 1]) for n in range(len(parts))]
                files = [f"{steps[-1]}.py", *(f"{step}/__init__.py" for step in steps)]
                found = next((file for file in files if file in old and file != path), None)
                if found is not None:
                    return found
    return None


def in_packages(texts: Mapping[str, str], old: Collection[str]) -> Iterator[str]:
    """The files in packages whose ``__init__.py`` is one of the ``old`` files; those that are started alone are not."""
    folders = {posixpath.dirname(path) for path in old if posixpath.basename(path) == "__init__.py"} - {""}
    started = {posixpath.dirname(path) for path, text in texts.items() if _is_script(path, text)}
    for path in texts:
        folder = posixpath.dirname(path)
        if folder in folders and folder not in started:
            yield path


def run_with(texts: Mapping[str, str], old: Collection[str]) -> Iterator[str]:
    """The files that files of Python 2 import, or that import one: one interpreter runs both."""
    stems = {posixpath.splitext(posixpath.basename(path))[0] for path in old} - {"__init__"}
    named = {word for path in old for found in _IMPORT.finditer(texts[path]) for word in _WORD.findall(found[1])}
    for path, text in texts.items():
        stem = posixpath.splitext(posixpath.basename(path))[0]
        if path not in old and (stem in named or _may_import(text, stems)):
            yield path


def _shares(folder: str, other: str) -> bool:
    return folder == other or f"{folder}/".startswith(f"{other}/" if other else "") or other.startswith(f"{folder}/")


def _may_import(text: str, siblings: Collection[str]) -> bool:
    return any(word in siblings for found in _IMPORT.finditer(text) for word in _WORD.findall(found[1]))


def _imports(text: str, siblings: Collection[str]) -> bool:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import) and any(alias.name.partition(".")[0] in siblings for alias in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
            if (node.module or "").partition(".")[0] in siblings:
                return True
    return False
