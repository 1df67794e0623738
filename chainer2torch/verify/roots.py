"""Where imports of a project start: a model of ``src/net.py`` finds its neighbours as a script in ``src`` does.

Written for Python 3.6: both workers use it.
"""
# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import os
import sys


class Roots:
    """The folders of a tree from which its modules are imported, one at a time besides the tree itself."""

    def __init__(self, tree):
        self.tree = os.path.abspath(tree)
        self.root = self.tree
        sys.path.insert(0, self.tree)

    def enter(self, module):
        """Makes what stands beside ``module`` (a dotted name from the tree on) importable by its own name.

        Modules of another folder are forgotten: two folders may have a ``net.py`` each. Returns whether it changed.
        """
        root = self.root_of(module)
        if root == self.root:
            return False
        if self.root != self.tree:
            sys.path.remove(self.root)
        if root != self.tree:
            sys.path.insert(0, root)
        self.root = root
        for name, found in list(sys.modules.items()):
            file = getattr(found, "__file__", None)
            if file and os.path.abspath(file).startswith(self.tree + os.sep):
                del sys.modules[name]
        return True

    def root_of(self, module):
        """The folder above the packages that ``module`` is in; the tree itself where it has no file there."""
        folder = os.path.join(self.tree, *module.split("."))
        if not os.path.isfile(os.path.join(folder, "__init__.py")):
            if not os.path.isfile(folder + ".py"):
                return self.tree
            folder = os.path.dirname(folder)
        while folder != self.tree and os.path.isfile(os.path.join(folder, "__init__.py")):
            folder = os.path.dirname(folder)
        return folder
