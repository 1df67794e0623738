"""Which files of a project have to be analysed together with those that name Chainer, decided before any is parsed.

A class may inherit from a link, or pass a Variable on, in a file in which the word Chainer does not occur; and an empty
``__init__.py`` says where a package begins.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Collection, Mapping

_WORD = re.compile(r"[^\W\d]\w*")


def related(sources: Mapping[str, str], start: Collection[str]) -> list[str]:
    """The files of ``start`` and all that import them or are imported by them, directly or through others.

    A file counts as importing a module when its text has the module's name as a word: sometimes too much, never too
    little. The order of ``sources`` is kept.
    """
    modules: dict[str, list[str]] = {}
    for path in sources:
        modules.setdefault(_module_name(path), []).append(path)
    neighbours: dict[str, set[str]] = {path: set() for path in sources}
    for path, text in sources.items():
        if "import" in text:
            for name in modules.keys() & set(_WORD.findall(text)):
                neighbours[path].update(modules[name])
                for other in modules[name]:
                    neighbours[other].add(path)
    found = set(start)
    pending = list(found)
    while pending:
        path = pending.pop()
        packages = {posixpath.join(folder, "__init__.py") for folder in _folders(path)}
        new = (neighbours[path] | (packages & sources.keys())) - found
        found |= new
        pending += new
    return [path for path in sources if path in found]


def _module_name(path: str) -> str:
    folder, name = posixpath.split(path)
    return posixpath.basename(folder) if name == "__init__.py" else name.removesuffix(".py")


def _folders(path: str) -> list[str]:
    folders = []
    while path:
        path = posixpath.dirname(path)
        folders.append(path)
    return folders
