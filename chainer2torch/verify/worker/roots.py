"""Where imports of a project start: a model of ``src/net.py`` finds its neighbours as a script in ``src`` does.

Written for Python 3.6: both workers use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import importlib
import os
import sys

from . import definitions, missing


class Roots:
    """The folders of a tree from which a module's imports start, for one module after the other."""

    def __init__(self, tree):
        self.tree = os.path.abspath(tree)
        self.inner = []
        self.module = ""
        sys.path.insert(0, self.tree)
        missing.install(self.tree, self.find)
        definitions.install(self.tree)

    def enter(self, module, own="", file=""):
        """Makes what stands beside ``module`` (a dotted name from the tree on) importable by its own name.

        ``own`` is a folder below the tree that the scripts of the project start from, though it is a package; ``file``
        is the module's, where it has another name.
        Modules of other folders are forgotten: two folders may have a ``net.py`` each. Returns whether it changed.
        """
        definitions.alias(module, file)
        start = os.path.join(self.tree, *own.split("/")) if own else self.tree
        inner = self.inside(module)
        if start != self.tree and start not in inner:
            inner.append(start)
        self.module = module
        if inner == self.inner:
            return False
        sys.path[:] = inner + [path for path in sys.path if path not in self.inner]
        self.inner = inner
        for name, found in list(sys.modules.items()):
            file = getattr(found, "__file__", None)
            if file and os.path.abspath(file).startswith(self.tree + os.sep):
                del sys.modules[name]
        return True

    def find(self, top, path=""):
        """Whether a folder of the tree has the module ``top`` that the import in a file did not find: the nearest to
        that file is where imports may start from now on.
        """
        base = os.path.dirname(path) if path else os.path.join(self.tree, *self.module.split(".")[:-1])
        found = []
        for folder, folders, files in os.walk(self.tree):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            if folder not in sys.path and (top in folders or top + ".py" in files):
                found.append(folder)
        if not found:
            return False
        near = min(found, key=lambda folder: len(os.path.relpath(folder, base).split(os.sep)))
        self.inner = self.inner + [near]
        sys.path.append(near)
        importlib.invalidate_caches()
        return True

    def inside(self, module):
        """The folders below the tree that are no packages, from the module's own on; none where it has no file."""
        folder = os.path.join(self.tree, *module.split("."))
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            if not os.path.isfile(folder + ".py"):
                return []
            folder = os.path.dirname(folder)
        found = []
        while folder != self.tree:
            if not os.path.isfile(os.path.join(folder, "__init__.py")):
                found.append(folder)
            folder = os.path.dirname(folder)
        return found
