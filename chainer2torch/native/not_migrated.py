"""What stands for a name of Chainer's that was not migrated, where Chainer cannot be imported."""

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
        return not_migrated(f"{self.__name__}.{name}")._used(sys._getframe(1))

    def __call__(self, *args: Any, **kwargs: Any) -> not_migrated:
        return self._used(sys._getframe(1))

    def _used(self, scope: Any) -> not_migrated:
        # the top of an imported module, or of a class there, makes bases, tables and decorators of it
        top = scope.f_locals is scope.f_globals or "__qualname__" in scope.f_locals
        return self if top and scope.f_globals.get("__name__") != "__main__" else self._raise()

    def _raise(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"{self.__name__} was not migrated: the TODO(chainer2torch) at its use says why")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type]:
        return (type(str(self.__name__), (), {"__new__": self._raise}),)

    __enter__ = __exit__ = __getitem__ = __iter__ = __len__ = __bool__ = __instancecheck__ = __subclasscheck__ = _raise
    __setattr__ = __setitem__ = __contains__ = _raise
