"""Classes of the project on ``dict``: a registry that is filled by ``self[name] = cls``."""

from __future__ import annotations

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind
from chainer2torch.analysis.module_index import ClassInfo

_DICTIONARIES = frozenset(
    {"builtins.dict", "collections.OrderedDict", "collections.UserDict", "collections.defaultdict"}
)
_ITEMS = "items of a dictionary"


def put(interpreter: Interpreter, container: Kind | None, kind: Kind) -> None:
    """``registry[name] = value``"""
    if isinstance(container, Inst) and isinstance(container.cls, ClassInfo) and _is_dictionary(interpreter, container):
        interpreter.set_attribute(container.cls, _ITEMS, kind)


def item(interpreter: Interpreter, container: Inst, found: Kind) -> Kind:
    """``registry[name]``: what somebody has put there, where no method of the class says it (``found``)."""
    if found == UNKNOWN and isinstance(container.cls, ClassInfo) and _is_dictionary(interpreter, container):
        return interpreter.class_attribute(container.cls, _ITEMS, None)
    return found


def _is_dictionary(interpreter: Interpreter, container: Inst) -> bool:
    assert isinstance(container.cls, ClassInfo)
    return any(owner in _DICTIONARIES for owner in interpreter.mro(container.cls) if isinstance(owner, str))


__all__ = ["item", "put"]
