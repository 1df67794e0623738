"""A module that is migrated in part may still import Chainer: it gets the patches that today's Python needs."""

import importlib.abc
import sys
import types
from typing import Any

from . import chainer_patches


def patch_chainer_when_imported() -> None:
    """Applies the patches once something imports Chainer, and not before."""
    if "chainer" not in sys.modules:
        sys.meta_path.insert(0, _Finder())


def imports_chainer(model: Any) -> bool:
    """Whether the module that defines the class of ``model`` holds Chainer or a part of it."""
    module = sys.modules.get(type(model).__module__)
    return (
        any(
            value.__name__.partition(".")[0] == "chainer"
            for value in vars(module).values()
            if isinstance(value, types.ModuleType)
        )
        if module is not None
        else False
    )


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> None:
        """Finds nothing itself."""
        if fullname == "chainer" and self in sys.meta_path:
            sys.meta_path.remove(self)
            chainer_patches.apply()
