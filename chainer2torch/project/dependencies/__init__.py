"""What a project asks to be installed: Chainer and CuPy become the packages that the migrated code imports.

``named`` finds the files, ``places`` and ``python_places`` the requirements in a file, ``editing`` replaces them and
leaves every other character, ``moving`` decides for a project what goes, what comes and what has to stay.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from chainer2torch.project.dependencies.named import dependency_files
from chainer2torch.project.scan import Project

if TYPE_CHECKING:
    from chainer2torch.rules.table import Library


def move(project: Project, load_libraries: Callable[[], Mapping[str, Library]], rewrite: bool) -> None:
    """Edits the dependency files of every folder of a project, into ``tree.requirements`` and the results of setup.py.

    With ``rewrite=False`` they are only looked at. The table of libraries is loaded when some file has something in it.
    """
    for tree in project.trees:
        found = list(dependency_files(tree, project.problems)) if tree.place else []
        if found or tree.place and any(posixpath.basename(path) == "setup.py" for path in tree.results):
            # a hook that finds no Chainer should cost no time
            from chainer2torch.project.dependencies.moving import move_tree

            move_tree(tree, found, load_libraries, rewrite, project.problems)


__all__ = ["move"]
