"""The parts of a project that can be analysed apart from each other, with the result that they have together."""

from __future__ import annotations

from chainer2torch.analysis.components import groups, neighbours
from chainer2torch.analysis.places import Places


def parts(places: Places) -> list[list[str]]:
    """The paths of each part, in the order of the project. Afterwards the places know where all imports lead.

    Files of two parts cannot meet in one run: no import leads from one to the other, whichever imports which. Where a
    class says itself what is saved of it, the form of all files of weights depends on it: what one program writes
    another may read. Then the project is one part.
    """
    inside: dict[str, list[str]] = {}  # `package.module` is an attribute of the package, too
    for path, file in places.files.items():
        inside.setdefault(file.directory, []).append(path)
    connected = neighbours(places, places.files, inside)
    if any(file.outline.own_protocol for file in places.files.values()):
        return [list(places.files)]
    return groups(connected)


__all__ = ["parts"]
