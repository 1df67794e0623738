"""Which modules of helpers one process can load: of these it loads the first one that Python finds.

They all have the name ``chainer_compat``. Where a script adds folders to ``sys.path``, the files that it imports can
have their helpers in another folder than itself, and what is added, and when, is computed. So modules of helpers that
can meet in this way each hold what all of these files use, and it does not matter which one is found.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping

from chainer2torch.project import candidates
from chainer2torch.project.tree import Tree

_PATH = "sys.path"


def meetings(tree: Tree, homes: Mapping[str, str]) -> dict[str, set[str]]:
    """For each folder with helpers, the files of the processes that may find helpers in another folder as well.

    ``homes`` says where those of each file lie; files that import them from their own package are not among them.
    """
    found: dict[str, set[str]] = {}
    changing = {path for path, result in tree.results.items() if _PATH in result.code}
    if not changing or len(set(homes.values())) < 2:
        return found
    links, places = _links(tree), set(homes.values())
    for start in tree.results:
        loaded = reached({start}, links)
        beside = {posixpath.dirname(path) for path in loaded} & places  # also where the files there do not load them
        folders = beside | {homes[path] for path in loaded if path in homes}
        if len(folders) > 1 and loaded & changing:
            for folder in folders:
                found.setdefault(folder, set()).update(loaded)
    return found


def reached(start: set[str], links: Mapping[str, set[str]]) -> set[str]:
    """Files, and those that links lead to from there."""
    found, stack = set(start), list(start)
    while stack:
        new = links.get(stack.pop(), set()) - found
        found |= new
        stack += new
    return found


def _links(tree: Tree) -> dict[str, set[str]]:
    """By file, those that it imports, and those that an import may mean which only a changed path resolves."""
    ends: dict[str, set[str]] = {}  # by the ends of their paths as an import writes them
    for path in tree.results:
        parts = path.rpartition(".")[0].removesuffix("/__init__").split("/")
        for begin in range(len(parts)):
            ends.setdefault("/".join(parts[begin:]), set()).add(path)
    links: dict[str, set[str]] = {}
    for path, result in tree.results.items():
        links[path] = set(result.imports)
        for dots, module in candidates.imported_modules(result.code.encode("utf-8", "surrogateescape")):
            meant = ends.get(module, set())
            if not dots and not meant & result.imports:
                links[path] |= meant
    return links


__all__ = ["meetings", "reached"]
