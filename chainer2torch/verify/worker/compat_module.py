"""The helpers as the torch worker sees them: a module ``chainer_compat`` over the rooms of the package's ``compat/``.

A migrated project has one vendored file of that name. Snippets have none: their helpers are looked up in the rooms,
each imported when one of its names is first used, so that an error in one room fails only the cases that need it.
"""

import ast
import contextlib
import hashlib
import importlib
import os
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy
import torch

from chainer2torch.vendor.short_forms import LONG_BESIDE, SHORT_FORMS

from . import wire


def install(*folders: str) -> None:
    """Puts a module ``chainer_compat`` in ``sys.modules`` that finds every helper of the rooms in some folders.

    These are packages of chainer2torch; what two of them define is taken from the first.
    """
    rooms: dict[str, str] = {}
    for folder in folders:
        for file in _files(folder):
            with open(os.path.join(folder, file), encoding="utf-8") as stream:
                for name in _top_level(ast.parse(stream.read())):
                    room = file[:-3].replace(os.sep, ".")
                    dotted = f"chainer2torch.{os.path.basename(folder)}.{room}"
                    if rooms.setdefault(name, dotted) != dotted:
                        rooms[f"faithful_{name}"] = dotted

    module = types.ModuleType("chainer_compat")

    def lookup(name: str) -> Any:
        if name not in rooms:
            raise AttributeError(f"no helper `{name}` of chainer2torch")
        own = name.removeprefix("faithful_") if name.startswith("faithful_") else name
        value = getattr(importlib.import_module(rooms[name]), own)
        setattr(module, name, value)
        return value

    module.__getattr__ = lookup  # type: ignore[method-assign]
    sys.modules["chainer_compat"] = module
    for name in sorted(SHORT_FORMS):
        if f"faithful_{name}" in rooms:
            _replace(lookup(f"faithful_{name}"), lookup(name), name)


def _replace(long: Any, short: Any, name: str) -> None:
    """Has all rooms use a helper that takes the place of another one, as they do when they are vendored."""
    for room in [room for path, room in sys.modules.copy().items() if path.startswith("chainer2torch.compat.")]:
        beside = any(hasattr(room, other) for other in LONG_BESIDE.get(name, ()))
        if getattr(room, name, None) is long and not beside:
            setattr(room, name, short)


def _files(compat_dir: str) -> list[str]:
    """The rooms, ``package/room.py``, in the order of their own names."""
    found = [
        os.path.relpath(os.path.join(folder, file), compat_dir)
        for folder, _, files in os.walk(compat_dir)
        for file in files
        if file.endswith(".py") and file != "__init__.py"
    ]
    return sorted(found, key=os.path.basename)


def _top_level(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id


def helper(name: str, room: str = "serializers") -> Any:
    """A helper of ``compat/serializers/``: the migrated project's own copy where it has it, else the package's."""
    vendored = sys.modules.get("chainer_compat")
    try:
        return getattr(vendored, name)
    except AttributeError:
        return getattr(importlib.import_module(f"chainer2torch.compat.serializers.{room}"), name)


@contextlib.contextmanager
def mode(train: bool) -> Iterator[None]:
    """Runs a block in train or test mode for helpers and functions that belong to no module.

    The mode is the thread's in ``compat/modes.py``; a migrated project without it has no such function.
    """
    state = getattr(sys.modules.get("chainer_compat"), "_mode", None)
    if state is None:
        yield
        return
    before, state.train = state.train, train
    try:
        yield
    finally:
        state.train = before


def load_npz(path: str, module: torch.nn.Module) -> None:
    """Loads a file of Chainer's ``save_npz`` into a module, strictly."""
    helper("load_npz")(path, module)


def read_npz(path: str) -> dict[str, Any]:
    """The arrays of a file of Chainer's ``save_npz`` by key."""
    arrays: dict[str, Any] = helper("read_npz")(path)
    return arrays


Pairs = Iterator[tuple[str, Any]]


def chainer_arrays(module: torch.nn.Module, most: int = 0) -> Pairs:
    """Parameters and persistent values of a module one by one, under Chainer's names and in Chainer's layouts; of large
    ones ``most`` values, where that is given.
    """
    for key, value in helper("chainer_entries")(module).items():
        array = None if value is None else numpy.asarray(value)
        if array is not None and array.dtype.kind in "biuf":
            yield key, numpy.array(wire.sample(array, most))


def waiting(module: torch.nn.Module) -> list[str]:
    """Chainer's names of the parameters that have no shape yet."""
    return [key for key, value in helper("chainer_entries")(module).items() if value is None]


def gradients(module: torch.nn.Module, arrays: Callable[[torch.nn.Module], Pairs] = chainer_arrays) -> Pairs:
    """The parameters' gradients under Chainer's names and in Chainer's layouts; parameters without one are left out.

    A layout is a permutation of the elements, so a gradient passes through the mapping of its parameter: each parameter
    lends its place to its gradient while the arrays are written. What did not change is not a parameter's.
    """
    parameters = [p for p in module.parameters() if not isinstance(p, torch.nn.UninitializedParameter)]
    values = [p.data for p in parameters]
    before = {key: _digest(array) for key, array in arrays(module)}
    try:
        for p in parameters:
            p.data = torch.full_like(p.data, _NO_GRADIENT) if p.grad is None else p.grad.detach().to_dense()
        for key, array in arrays(module):
            if array.dtype.kind == "f" and not numpy.any(array == _NO_GRADIENT) and _digest(array) != before.get(key):
                yield key, array
    finally:
        for p, value in zip(parameters, values, strict=True):
            p.data = value


def _digest(array: Any) -> tuple[Any, ...]:
    """Equal for equal arrays only: what stands for an array that need not be kept."""
    return array.shape, str(array.dtype), hashlib.sha256(numpy.ascontiguousarray(array).data).digest()


# Stands for a gradient that is None; exact in every float dtype.
_NO_GRADIENT = -12288.0
