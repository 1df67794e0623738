"""Entries that a program adds to Chainer's configuration: ``chainer.config.my_option = 3``."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any


class _Entries:
    """Entries for all threads; ``local`` are those of one thread, which come first."""

    def __init__(self, local: Any = None):
        self.__dict__["_local"] = local

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or self._local is None:
            raise AttributeError(name)
        return getattr(self._local, name) if hasattr(self._local, name) else getattr(own_global_config, name)

    def __setattr__(self, name: str, value: Any) -> None:
        (self.__dict__ if self._local is None else vars(self._local))[name] = value

    def __delattr__(self, name: str) -> None:
        delattr(self._local, name) if self._local is not None else object.__delattr__(self, name)


# one for all copies of these helpers: of a library and of a program that were migrated each by itself, too
own_global_config: Any = vars(threading).setdefault("_global_config_of_chainer", _Entries())
own_config: Any = vars(threading).setdefault("_config_of_chainer", _Entries(threading.local()))


@contextlib.contextmanager
def using_own_config(name: str, value: Any) -> Iterator[None]:
    """Sets an entry of this thread while a block runs. Source: chainer.using_config."""
    entries = vars(own_config._local)
    before = {name: entries[name]} if name in entries else {}
    entries[name] = value
    try:
        yield
    finally:
        entries.pop(name, None)
        entries.update(before)
