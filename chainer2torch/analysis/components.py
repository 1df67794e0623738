"""Which files of a project can meet in one run: those that import each other, directly or through others."""

from __future__ import annotations

import posixpath
from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from chainer2torch.analysis.places import FileInfo, Places

if TYPE_CHECKING:  # where all parts are known nobody asks for facts
    from chainer2torch.analysis.facts import Facts
    from chainer2torch.analysis.module_index import ModuleInfo


def components(analysis: Facts) -> Mapping[ModuleInfo, frozenset[ModuleInfo]]:
    """The component of each file. Ask it with ``analysis.once``."""
    modules = analysis.project.modules
    result: dict[ModuleInfo, frozenset[ModuleInfo]] = {}
    whole = analysis.project.whole
    for group in groups(neighbours(whole, modules)):
        together = frozenset(modules[path] for path in group)
        result.update(dict.fromkeys(together, together))
    return result


def meeting(analysis: Facts) -> Mapping[ModuleInfo, frozenset[ModuleInfo]]:
    """For each file those that may be loaded in a run in which it is loaded. Ask it with ``analysis.once``.

    Two scripts that import one library are in one component, but do not meet.
    """
    modules = analysis.project.modules
    run = runs(analysis.project.whole, modules)
    loaded: dict[str, frozenset[str]] = {}  # by the script that is started
    started = [path for path in modules if not any(path in others for one, others in run.items() if one != path)]
    covered: set[str] = set()
    for path in (*started, *modules):  # those of a circle of imports have nobody who starts them
        if path not in covered or path in started:
            loaded[path] = frozenset(_reached(run, path))
            covered |= loaded[path]
    result: dict[ModuleInfo, frozenset[ModuleInfo]] = {}
    known: dict[frozenset[str], frozenset[ModuleInfo]] = {}
    for path, module in modules.items():
        scripts = frozenset(script for script, files in loaded.items() if path in files)
        if scripts not in known:
            known[scripts] = frozenset(modules[other] for script in scripts for other in loaded[script])
        result[module] = known[scripts]
    return result


def _reached(run: Mapping[str, set[str]], path: str) -> set[str]:
    found, pending = {path}, [path]
    while pending:
        new = run[pending.pop()] - found
        found |= new
        pending += new
    return found


def neighbours(
    places: Places, paths: Mapping[str, object], inside: Mapping[str, Collection[str]] | None = None
) -> dict[str, set[str]]:
    """The files that each of some files may run, or that may run it; ``inside``: see ``runs``."""
    found: dict[str, set[str]] = {path: set() for path in paths}
    for path, others in runs(places, paths, inside).items():
        for other in others:
            found[path].add(other)
            found[other].add(path)
    return found


def runs(
    places: Places, paths: Mapping[str, object], inside: Mapping[str, Collection[str]] | None = None
) -> dict[str, set[str]]:
    """The files that each of some files may run, by its imports.

    With ``inside``, the files by their folders, also those that lie in the packages and folders that it imports.

    An import that is not resolved counts as one of every file of that name; a file that imports what a computed name
    says is together with all others.
    """
    stems: dict[str, list[str]] = {}
    for path in paths:
        stems.setdefault(_stem(path), []).append(path)
    found: dict[str, set[str]] = {}
    for path in paths:
        file = places.files[path]
        others = set(paths) if file.outline.dynamic else set[str]()
        for statement in file.outline.imports:
            for name in statement.dotted():
                found_here = list(_resolved(places, file, name, statement.level or 0))
                resolved = {one.path for one in found_here if isinstance(one, FileInfo)} & paths.keys()
                for one in found_here if inside else ():
                    others.update(_beside(one, inside or {}))
                others |= resolved or set(stems.get(name.split(".")[0], ()))
        found[path] = others
    return found


def groups(connected: Mapping[str, set[str]]) -> list[list[str]]:
    """The files that are connected, directly or through others, in the order in which they are given."""
    groups: dict[str, list[str]] = {}
    root_of: dict[str, str] = {}
    for path in connected:
        if path not in root_of:
            pending = [path]
            while pending:
                one = pending.pop()
                if one not in root_of:
                    root_of[one] = path
                    pending += connected[one]
        groups.setdefault(root_of[path], []).append(path)
    return list(groups.values())


def _beside(found: FileInfo | str, inside: Mapping[str, Collection[str]]) -> Collection[str]:
    """What is an attribute of a package or a folder: the modules in it."""
    if isinstance(found, FileInfo):
        return inside[found.directory] if found.path.endswith("__init__.py") else ()
    return inside.get(found, ()) if found else ()


def _resolved(places: Places, file: FileInfo, name: str, level: int) -> Iterator[FileInfo | str]:
    """What an import of a name runs: the module, and the packages and folders of the project that it lies in."""
    parts = name.split(".") if name else []
    for length in range(0 if level else 1, len(parts) + 1):
        dotted = ".".join(parts[:length])
        found = places.find_relative(level, dotted, file) if level else places.find(dotted, file)
        if found is not None:
            yield found


def _stem(path: str) -> str:
    folder, name = posixpath.split(path)
    return posixpath.basename(folder) if name == "__init__.py" else name.removesuffix(".py")


__all__ = ["components", "groups", "meeting", "neighbours", "runs"]
