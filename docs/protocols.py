"""Writes chainer2torch/vendor/protocols.toml: the methods of helpers that a library calls by their names.

    python docs/protocols.py

A helper's method overrides one of a class of torch, ppe, Ignite or the standard library: the library calls it, though
no text names it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import chainer2torch.compat
import chainer2torch.native

OURS = ("_chainer_slots",)
TARGET = Path(chainer2torch.compat.__file__).parents[1] / "vendor" / "protocols.toml"


def rooms() -> Iterator[ModuleType]:
    """The modules of helpers."""
    for package in (chainer2torch.compat, chainer2torch.native):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield importlib.import_module(found.name)


def overridden() -> dict[str, list[str]]:
    """For each class of a library the methods that some helper overrides."""
    found: dict[str, set[str]] = {}
    for room in rooms():
        for _, cls in inspect.getmembers(room, inspect.isclass):
            if not cls.__module__.startswith("chainer2torch."):
                continue
            for base in cls.__mro__[1:]:
                if base is object or base.__module__.startswith("chainer2torch."):
                    continue
                names = {n for n, value in vars(cls).items() if n in vars(base) and _is_ours(n, value)}
                if names:
                    found.setdefault(f"{base.__module__}.{base.__qualname__}", set()).update(names)
    return {name: sorted(names) for name, names in sorted(found.items())}


def _is_ours(name: str, value: object) -> bool:
    """Whether a class defines a member itself: torch wraps ``step`` of an optimizer's class when one is made."""
    module = getattr(value, "__module__", None)
    return not name.startswith("__") and (not isinstance(module, str) or module.startswith("chainer2torch."))


def text() -> str:
    """The file."""
    lines = [
        "# Methods that a library calls on the objects of its subclasses: they stay in the vendored helpers although",
        "# no text names them. Written by docs/protocols.py from the helpers' classes; a test holds it.",
    ]
    lines += [f'"chainer2torch" = [{", ".join(map(_quoted, OURS))}]  # weights and verify ask modules for these']
    lines += [f'"{cls}" = [{", ".join(map(_quoted, names))}]' for cls, names in overridden().items()]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return f'"{name}"'


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
