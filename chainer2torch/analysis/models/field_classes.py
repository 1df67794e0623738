"""Classes whose constructor is written for them: ``@dataclass``, those of attrs, ``class Out(typing.NamedTuple)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, Dct, Inst, Kind, NamedTuple, Ref, Tup
from chainer2torch.analysis.lattice import generalized, join_all
from chainer2torch.analysis.module_index import ClassInfo

REPLACE = "dataclasses.replace"
_TAKEN_APART = frozenset(
    f"{module}.as{form}" for module in ("attr", "attrs", "dataclasses") for form in ("dict", "tuple")
)
_TUPLE = Ref("typing.NamedTuple")
_RECORDS = frozenset(
    {"dataclasses.dataclass", "attr.s", "attr.attrs", "attr.dataclass", "attr.define", "attrs.define", "attrs.frozen"}
)
_FIELDS = frozenset({"attr.ib", "attr.attrib", "attr.field", "attrs.field"})


def constructed(
    interpreter: Interpreter, cls: ClassInfo, args: list[Kind], keywords: dict[str, Kind], rest: Kind | None
) -> None:
    """What the constructor that ``@dataclass`` or ``NamedTuple`` writes puts into the fields of a class."""
    names = fields(interpreter, cls)
    given = dict(zip(names, args)) | {name: kind for name, kind in keywords.items() if name in names}
    for name, owner in names.items():
        kind = given.get(name, rest)
        if kind is not None:
            interpreter.set_attribute(owner, name, generalized(kind))


def replaced(interpreter: Interpreter, obj: Kind, keywords: dict[str, Kind]) -> Kind:
    """``dataclasses.replace(batch, x=x)``: another object of the class."""
    if isinstance(obj, Inst) and isinstance(obj.cls, ClassInfo):
        constructed(interpreter, obj.cls, [], keywords, None)
    return obj


def result(interpreter: Interpreter, name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind | None:
    """What a function gives that makes another object of one, or a container; None: it is another function."""
    if name == REPLACE and args:
        return replaced(interpreter, args[0], keywords)
    if name not in _TAKEN_APART or not args or not isinstance(args[0], Inst) or not isinstance(args[0].cls, ClassInfo):
        return None
    kinds = {field: interpreter.attribute(args[0], field) for field in fields(interpreter, args[0].cls)}
    whole = Dct(join_all(list(kinds.values())), tuple(kinds.items())) if kinds else Dct(BOTTOM)
    return Tup(tuple(kinds.values())) if name.endswith("astuple") else whole


def named_tuple(node: ast.ClassDef, bases: list[Kind]) -> Kind | None:
    """The class of tuples that ``class Out(NamedTuple)`` is, if it has fields alone."""
    if bases != [_TUPLE]:
        return None
    plain = all(isinstance(s, ast.AnnAssign) or _is_text(s) for s in node.body)
    targets = [s.target for s in node.body if isinstance(s, ast.AnnAssign)]
    return NamedTuple(tuple(t.id for t in targets if isinstance(t, ast.Name))) if plain else None


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def fields(facts: Facts, cls: ClassInfo) -> dict[str, ClassInfo]:
    """The fields of a class whose constructor is written for it, in order, and in which class each of them stands."""
    found: dict[str, ClassInfo] = {}
    for one in reversed(facts.mro(cls)):
        if isinstance(one, ClassInfo) and _is_record(facts, one):
            for statement in one.node.body:
                target = _field(facts, statement)
                if target is not None:
                    found[target] = one
    return found


def _is_record(facts: Facts, cls: ClassInfo) -> bool:
    made_by = [d.func if isinstance(d, ast.Call) else d for d in cls.node.decorator_list]
    names = [kind.name for node in made_by if isinstance(kind := facts.kind(node), Ref)]
    return not _RECORDS.isdisjoint(names) or _TUPLE in cls.bases


def _field(facts: Facts, statement: ast.stmt) -> str | None:
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call):
        made_by = facts.kind(statement.value.func)
        if isinstance(made_by, Ref) and made_by.name in _FIELDS and isinstance(statement.targets[0], ast.Name):
            return statement.targets[0].id
    return None


__all__ = ["constructed", "fields", "named_tuple", "replaced", "result"]
