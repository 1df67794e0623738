"""Where imports of a project start: a model of ``src/net.py`` finds its neighbours as a script in ``src`` does.

Written for Python 3.6: both workers use it.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import importlib
import importlib.machinery
import os
import sys
import types

from . import definitions, missing


class Roots:
    """The folders of a tree from which a module's imports start, for one module after the other."""

    def __init__(self, tree):
        self.tree = os.path.abspath(tree)
        self.inner = []
        self.module = ""
        self.spaces = []
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
        for name in self.spaces:
            sys.modules.pop(name, None)
        self.spaces = []
        if inner == self.inner:
            self._open(module, start)
            return False
        sys.path[:] = inner + [path for path in sys.path if path not in self.inner]
        self.inner = inner
        for name in [name for name, found in sys.modules.copy().items() if self._lies_inside(found)]:
            del sys.modules[name]
        self._open(module, start)
        return True

    def _lies_inside(self, module):
        """Whether a module is the project's; a folder without ``__init__.py`` has no file, but a path."""
        file = getattr(module, "__file__", None)
        if not file and type(getattr(module, "__path__", None)).__name__ == "_NamespacePath":
            file = next(iter(module.__path__), None)
        return bool(file) and os.path.abspath(file).startswith(self.tree + os.sep)

    def _open(self, module, start):
        """Makes the folders above a module packages where something else has their name: ``cmd/net.py`` beside the
        ``cmd`` of Python, ``mnist/mnist.py`` of which the folder is no package.
        """
        parts = module.split(".")
        spec = importlib.machinery.PathFinder.find_spec(parts[0])
        # A file or package of that name goes before a folder without __init__.py, wherever it is.
        is_other = getattr(spec, "origin", None) not in (None, "namespace") or parts[0] in sys.builtin_module_names
        base = start if os.path.isdir(os.path.join(start, *parts[:-1])) else self.tree
        for number in range(1, len(parts)) if is_other else ():
            folder = os.path.join(base, *parts[:number])
            if not os.path.isdir(folder) or os.path.isfile(os.path.join(folder, "__init__.py")):
                break
            name = ".".join(parts[:number])
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].__path__ = [folder]
            self.spaces.append(name)

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
