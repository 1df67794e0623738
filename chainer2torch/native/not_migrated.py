"""What stands for a name of Chainer's that was not migrated, where it is needed while a module is imported."""

from __future__ import annotations

import sys
from typing import Any, NoReturn


class not_migrated:
    """Stands for a name of Chainer's that is left: a module that names it can be imported, what uses it raises."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name

    def __getattr__(self, name: str) -> not_migrated:
        if name.startswith("_") or name in ("place_as", "pytestmark"):  # a test runner looks for these
            raise AttributeError(name)
        return not_migrated(f"{self.__name__}.{name}") if self._at_top() else self._raise()

    def __call__(self, *args: Any, **kwargs: Any) -> not_migrated:
        return self if self._at_top() else self._raise()

    def _at_top(self) -> bool:
        # of an imported module or of a class there: a base class, a table, a decorator
        scope = sys._getframe(2)
        top = scope.f_locals is scope.f_globals or "__qualname__" in scope.f_locals
        return top and scope.f_globals.get("__name__") != "__main__"

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{self.__name__} was not migrated: the TODO(chainer2torch) at its use says why")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type]:
        return (type(str(self.__name__), (), {"__new__": lambda cls, *args, **kwargs: self._raise()}),)

    __enter__ = __exit__ = __getitem__ = __iter__ = __len__ = __bool__ = __instancecheck__ = __subclasscheck__ = _raise
    __setattr__ = __setitem__ = __contains__ = _raise
