"""Writes chainer2torch/vendor/protocols.toml: the methods of helpers that a library calls by their names.

    python docs/protocols.py

A helper's method overrides one of a class of torch, ppe, Ignite or the standard library: the library calls it, though
no text names it. Or its class is no subclass and stands in the place of a class of ppe that has the same name, as a
trigger does: a module of ppe other than the class's own then names the method.
"""

from __future__ import annotations

import ast
import functools
import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytorch_pfn_extras.training

import chainer2torch.compat
import chainer2torch.native

OURS = {"every": ("_chainer_slots",)}
CALLED = {"callable": ("default_name", "finalize", "initialize", "name", "on_error", "priority", "trigger")}
# what helpers hand to a library in the place of one of its own objects
GIVEN = {
    "_NamedByParents": ("named_parameters",),
    "_ReopenedFile": ("read", "readline", "seek", "seekable", "tell"),
}
TARGET = Path(chainer2torch.compat.__file__).parents[1] / "vendor" / "protocols.toml"


def rooms() -> Iterator[ModuleType]:
    """The modules of helpers."""
    for package in (chainer2torch.compat, chainer2torch.native):
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            yield importlib.import_module(found.name)


def overridden() -> dict[str, list[str]]:
    """For each class of helpers its methods that override one of a library, in whichever class it is a base of."""
    found: dict[str, set[str]] = {}
    for room in rooms():
        for _, cls in inspect.getmembers(room, inspect.isclass):
            ours = [owner for owner in cls.__mro__ if owner.__module__.startswith("chainer2torch.")]
            theirs = {name for owner in cls.__mro__ if owner not in (*ours, object) for name in vars(owner)}
            for owner in ours:
                names = {name for name, value in vars(owner).items() if name in theirs and _is_ours(owner, name, value)}
                found.setdefault(owner.__name__, set()).update(names)
            if cls in ours:
                for owner in ours:
                    found[owner.__name__] |= _replaced().get(cls.__name__, frozenset()) & vars(owner).keys()
    return {name: sorted(names) for name, names in sorted(found.items()) if names}


@functools.lru_cache(maxsize=1)
def _replaced() -> dict[str, frozenset[str]]:
    """The classes of ppe's training, each with the methods of it that other modules of ppe name."""
    package = pytorch_pfn_extras.training
    modules = [
        importlib.import_module(found.name)
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".", onerror=lambda _: None)
        if not found.name.endswith("_notebook")  # they need IPython
    ]
    named = {module.__name__: _attributes(module) for module in modules}
    classes: dict[str, frozenset[str]] = {}
    for module in modules:
        elsewhere = frozenset[str]().union(*(names for home, names in named.items() if home != module.__name__))
        for name, cls in inspect.getmembers(module, inspect.isclass):
            if cls.__module__ == module.__name__:
                methods = {method for owner in cls.__mro__[:-1] for method in vars(owner) if not method.startswith("_")}
                classes[name] = elsewhere & methods
    return classes


def _attributes(module: ModuleType) -> frozenset[str]:
    return frozenset(
        node.attr for node in ast.walk(ast.parse(inspect.getsource(module))) if isinstance(node, ast.Attribute)
    )


def _is_ours(owner: type, name: str, value: object) -> bool:
    """Whether a class defines a member itself: torch wraps ``step`` of an optimizer's class when one is made."""
    home = getattr(value, "__qualname__", owner.__qualname__)
    return not name.startswith("__") and home.partition(".")[0] == owner.__qualname__


def text() -> str:
    """The file."""
    lines = [
        "# Methods that a library calls on the objects of a class: they stay in the vendored helpers although no text",
        "# names them. Written by docs/protocols.py from the helpers' classes; a test holds it. `every`: what weights",
        "# and verify ask modules for. `callable`: what pytorch-pfn-extras asks whatever it is given as an extension.",
    ]
    every = {**OURS, **CALLED, **GIVEN, **overridden()}
    lines += [f"{cls} = [{', '.join(map(_quoted, names))}]" for cls, names in every.items()]
    return "\n".join(lines) + "\n"


def _quoted(name: str) -> str:
    return f'"{name}"'


if __name__ == "__main__":
    TARGET.write_text(text(), encoding="utf-8")
