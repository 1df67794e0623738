"""Classes whose constructor Python writes: ``@dataclasses.dataclass``, and ``class Out(typing.NamedTuple)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, NamedTuple, Ref
from chainer2torch.analysis.lattice import generalized
from chainer2torch.analysis.module_index import ClassInfo

REPLACE = "dataclasses.replace"
_DATACLASS, _TUPLE = Ref("dataclasses.dataclass"), Ref("typing.NamedTuple")


def constructed(
    interpreter: Interpreter, cls: ClassInfo, args: list[Kind], keywords: dict[str, Kind], rest: Kind | None
) -> None:
    """The fields of a dataclass get what a call hands over; ``rest`` is what more arguments may follow."""
    owners = [c for c in reversed(interpreter.mro(cls)) if isinstance(c, ClassInfo)]
    if not any(_is_dataclass(interpreter, owner) for owner in owners):
        return
    names = list(dict.fromkeys(name for owner in owners for name in _fields(owner.node)))
    given = dict(zip(names, args)) | {name: kind for name, kind in keywords.items() if name in names}
    if rest is not None:
        given = dict.fromkeys(names, rest) | given
    for name, kind in given.items():
        interpreter.set_attribute(cls, name, generalized(kind))


def replaced(interpreter: Interpreter, obj: Kind, keywords: dict[str, Kind]) -> Kind:
    """``dataclasses.replace(batch, x=x)``: another object of the class."""
    if isinstance(obj, Inst) and isinstance(obj.cls, ClassInfo):
        constructed(interpreter, obj.cls, [], keywords, None)
    return obj


def named_tuple(node: ast.ClassDef, bases: list[Kind]) -> Kind | None:
    """The class of tuples that ``class Out(NamedTuple)`` is, if it has fields alone."""
    if bases != [_TUPLE]:
        return None
    plain = all(isinstance(s, ast.AnnAssign) or _is_text(s) for s in node.body)
    return NamedTuple(tuple(_fields(node))) if plain else None


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_dataclass(interpreter: Interpreter, cls: ClassInfo) -> bool:
    decorators = [d.func if isinstance(d, ast.Call) else d for d in cls.node.decorator_list]
    return any(interpreter.facts.get(decorator, UNKNOWN) == _DATACLASS for decorator in decorators)


def _fields(node: ast.ClassDef) -> list[str]:
    found = [s.target for s in node.body if isinstance(s, ast.AnnAssign)]
    return [target.id for target in found if isinstance(target, ast.Name)]


__all__ = ["REPLACE", "constructed", "named_tuple", "replaced"]
