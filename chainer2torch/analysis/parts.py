"""The parts of a project that can be analysed apart from each other, with the result that they have together."""

from __future__ import annotations

from chainer2torch.analysis.components import groups, neighbours
from chainer2torch.analysis.places import Places


def connected(places: Places) -> list[list[str]]:
    """The paths of the files that imports connect, in the order of the project; then places know where they lead.

    Files of two of these groups cannot meet in one run: no import leads from one to the other, whichever imports which.
    """
    inside: dict[str, list[str]] = {}  # `package.module` is an attribute of the package, too
    for path, file in places.files.items():
        inside.setdefault(file.directory, []).append(path)
    return groups(neighbours(places, places.files, inside))


def parts(places: Places, found: list[list[str]]) -> list[list[str]]:
    """The paths of each part, in the order of the project; ``found`` are the files that imports connect.

    Where a class says itself what is saved of it, the form of all files of weights depends on it: what one program
    writes another may read. Then the project is one part.
    """
    if any(file.outline.own_protocol for file in places.files.values()):
        return [list(places.files)]
    return found


__all__ = ["connected", "parts"]
