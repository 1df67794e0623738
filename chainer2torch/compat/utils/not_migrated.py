"""What stands for a name of Chainer's that was not migrated, where Chainer cannot be imported."""

from __future__ import annotations

import linecache
import re
import sys
from typing import Any, NoReturn


class not_migrated:
    """A stand-in: a module that names it (a base class, a default, a table, a decorator) can be imported.

    What uses it raises NotImplementedError and names the comment about it: a call, an object of a class that derives
    from it and, in a function, any name below it. Only what an imported module calls at its top, a decorator for
    example, gives another stand-in: nobody uses the result yet.
    """

    def __init__(self, name: str, file: str = ""):
        # the file that needs the name has the comment about it
        self.__dict__.update(__name__=name, __file__=file or sys._getframe(1).f_code.co_filename)

    def __getattr__(self, name: str) -> not_migrated:
        scope, asked = sys._getframe(1), name.startswith("__") or name in ("place_as", "pytestmark")
        in_class = "__qualname__" in scope.f_locals
        if asked or name.startswith("_") and scope.f_locals is not scope.f_globals and not in_class:
            raise AttributeError(f"{name}: {self._said()}")  # Python and test runners look for these
        found = not_migrated(f"{self.__name__}.{name}", str(self.__file__))
        top = scope.f_code.co_name == "<module>" or "__qualname__" in scope.f_locals
        while scope.f_back is not None and not top:  # a function that runs while a module is imported
            scope = scope.f_back
            top = scope.f_globals.get("__name__") == "importlib._bootstrap"
        return found if top else found._raise()

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(self._said())

    def _said(self) -> str:
        """The comment about this name: its place, its words, and what explains its code."""
        file, name, frame = str(self.__dict__.get("__file__")), str(self.__dict__.get("__name__")), sys._getframe()
        while frame.f_back is not None and frame.f_code.co_filename != file:
            frame = frame.f_back
        lines = enumerate(map(str.strip, linecache.getlines(file)), 1)
        marks = [
            (number, line) for number, line in lines if line.startswith("# TODO(chainer2torch ") or "# (C2T" in line
        ]
        named = [mark for mark in marks if f"): {name}" in mark[1]] or marks or [(1, "# TODO(chainer2torch CODE)")]
        above = [mark for mark in named if mark[0] <= frame.f_lineno and frame.f_code.co_filename == file]
        number, text = (above or named[:1])[-1]
        code = (re.findall(r"C2T\d+", text) or ["CODE"])[0]
        return f"{name} was not migrated. {file}:{number}: {text} (chainer2torch explain {code})"

    __enter__ = __exit__ = __getitem__ = __iter__ = __len__ = __bool__ = __instancecheck__ = __subclasscheck__ = _raise
    __setattr__ = __setitem__ = __contains__ = _raise

    def __call__(self, *args: Any, **kwargs: Any) -> not_migrated:
        scope = sys._getframe(1)
        top = scope.f_locals is scope.f_globals or "__qualname__" in scope.f_locals
        return self if top and scope.f_globals.get("__name__") != "__main__" else self._raise()

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type]:
        return (type(str(self.__name__), (), {"__new__": lambda cls, *args, **kwargs: self._raise()}),)
