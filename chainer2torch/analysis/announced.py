"""Methods that a class only announces (``raise NotImplementedError``), or that classes below it have in its place."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Func, Inst, Kind
from chainer2torch.analysis.models.class_methods import class_of, made_by
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo

if TYPE_CHECKING:
    from chainer2torch.analysis.interpreter import Interpreter


def attributes_below(facts: Interpreter, cls: ClassInfo, name: str) -> list[Kind]:
    """What classes of the project that derive from a class have as an attribute of this name, and not as a method."""
    heirs = [heir for heir in facts.heirs(cls) if name in heir.attrs and name not in heir.methods]
    for heir in heirs:
        facts.reads(heir, name)
    return [heir.attrs[name] for heir in heirs]


def overriding(facts: Facts, callee: Func, node: ast.Call | None) -> list[Func]:
    """The methods that ``self.make()`` in a class may call instead of its own: those of the classes below it."""
    receiver, name = callee.receiver, callee.info.name
    if not isinstance(receiver, Inst) or receiver.sites or not isinstance(receiver.cls, ClassInfo):
        return []
    function = node.func if node is not None else None
    if not isinstance(function, ast.Attribute) or function.attr != name or name.startswith("__"):
        return []
    if _is_super(function.value):
        return []
    below = those_below(facts, receiver.cls, name)
    return [Func(one, Inst(heir)) for heir, one in below if one is not callee.info and not one.is_announced]


def property_of_super(interpreter: Interpreter, base: Kind, node: ast.Attribute) -> Kind | None:
    """``super().held`` of a property: that of the base, and of no class below it, which may be the one around it."""
    if not isinstance(base, Inst) or not _is_super(node.value) or not isinstance(base.cls, ClassInfo):
        return None
    owners = (c for c in interpreter.mro(base.cls) if isinstance(c, ClassInfo) and node.attr in c.methods)
    found = next((owner.methods[node.attr] for owner in owners), None)
    return interpreter.call_function(found, base, [], {}, None) if found is not None and found.is_property else None


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "id", "") == "super"


def given_by(interpreter: Interpreter, methods: list[Func]) -> list[Kind]:
    """What methods give, whatever they are called with: who makes their objects may call them, too."""
    found: list[Kind] = []
    for method in methods:
        interpreter.reads(method.info, "return")
        if method.info.returns is not None:
            own = class_of(method.info, method.receiver)
            found.append(
                method.info.returns if own is None else made_by(interpreter, method.info, method.info.returns, own)
            )
    return found


def those_below(facts: Facts, cls: ClassInfo, name: str) -> list[tuple[ClassInfo, FuncInfo]]:
    """The methods of this name in classes of the project that derive from a class."""
    return [(heir, heir.methods[name]) for heir in facts.heirs(cls) if name in heir.methods]
