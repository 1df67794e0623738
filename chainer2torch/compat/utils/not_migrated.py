"""What stands for a name of Chainer's that was not migrated, where Chainer cannot be imported."""

from __future__ import annotations

import linecache
import sys
from typing import Any, NoReturn


class not_migrated:
    """A stand-in: a module that names it (a base class, a default, a table, a decorator) can be imported.

    Calling it raises NotImplementedError, so does making an object of a class that derives from it. Only what an
    imported module calls at its top, a decorator for example, gives another stand-in: nobody uses the result yet.
    """

    def __init__(self, name: str, file: str = ""):
        # the file that needs the name has the comment about it
        self.__dict__.update(__name__=name, __file__=file or sys._getframe(1).f_code.co_filename)

    def __getattr__(self, name: str) -> not_migrated:
        if name.startswith("__"):
            raise AttributeError(name)
        return not_migrated(f"{self.__name__}.{name}", str(self.__file__))

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{self.__name__} was not migrated; {self._marker()} says why")

    def _marker(self) -> str:
        """The comment about this name: its place and its words."""
        file = str(self.__file__)
        for number, line in enumerate(linecache.getlines(file), 1):
            if line.lstrip().startswith("# TODO(chainer2torch ") and f": {self.__name__}: " in line:
                return f"{file}:{number}: `{line.strip()}`"
        return "the comment TODO(chainer2torch ...)"

    __enter__ = __exit__ = __getitem__ = __iter__ = __len__ = __bool__ = __instancecheck__ = __subclasscheck__ = _raise

    def __call__(self, *args: Any, **kwargs: Any) -> not_migrated:
        scope = sys._getframe(1)
        top = scope.f_locals is scope.f_globals or "__qualname__" in scope.f_locals
        return self if top and scope.f_globals.get("__name__") != "__main__" else self._raise()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type]:
        return (type(str(self.__name__), (), {"__new__": lambda cls, *args, **kwargs: self._raise()}),)
