"""What stands for a name of Chainer's that was not migrated, where Chainer cannot be imported."""

from __future__ import annotations

import linecache
import sys
from typing import Any, NoReturn


class not_migrated:
    """Stands for a name of Chainer's that is left: a module that names it can be imported, what uses it raises."""

    def __init__(self, name: str, file: str = "") -> None:
        self.__dict__.update(__name__=name, __file__=file or sys._getframe(1).f_code.co_filename)

    def __getattr__(self, name: str) -> not_migrated:
        if name.startswith("_") or name in ("place_as", "pytestmark"):  # a test runner looks for these
            raise AttributeError(name)
        found = not_migrated(f"{self.__name__}.{name}", str(self.__file__))
        return found if self._at_top() else found._raise()

    def __call__(self, *args: Any, **kwargs: Any) -> not_migrated:
        return self if self._at_top() else self._raise()

    def _at_top(self) -> bool:
        # of an imported module or of a class there: a base class, a table, a decorator
        scope = sys._getframe(2)
        top = scope.f_locals is scope.f_globals or "__qualname__" in scope.f_locals
        return top and scope.f_globals.get("__name__") != "__main__"

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        lines = enumerate(linecache.getlines(str(self.__file__)), 1)
        marks = [f"line {i}: {line.strip()}" for i, line in lines if f"): {self.__name__}" in line]
        why = marks[0] if marks else "the TODO(chainer2torch) at its use says why"
        raise NotImplementedError(f"{self.__name__} was not migrated: {self.__file__}, {why}")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type]:
        return (type(str(self.__name__), (), {"__new__": lambda cls, *args, **kwargs: self._raise()}),)

    __enter__ = __exit__ = __getitem__ = __iter__ = __len__ = __bool__ = __instancecheck__ = __subclasscheck__ = _raise
    __setattr__ = __setitem__ = __contains__ = _raise
