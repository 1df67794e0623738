"""Attributes of classes that are None at times: ``self.class_weight = class_weight``, which is None by default.

Kinds do not say it: where a value is sometimes None, they keep what it is otherwise.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.nones import may_be_none, parameters_of_none

_Attribute = tuple[ClassInfo, str]


def may_hold_none(context: Context, node: ast.expr) -> bool:
    """Whether a value, or what an object of the project holds under this name, may be None."""
    if may_be_none(context, node) or _is_left_out(node):
        return True
    if not isinstance(node, ast.Attribute):
        return False
    setting = [cls for cls, name in context.analysis.once(attributes_of_none) if name == node.attr]
    owners = [k.cls for k in options(context.kind(node.value)) if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)]
    mro = context.analysis.mro
    return any(cls in mro(owner) or owner in mro(cls) for owner in owners for cls in setting)  # an heir may set it


def attributes_of_none(analysis: Analysis) -> frozenset[_Attribute]:
    """The attributes that a class, or a method of it, gives None or a parameter that may be None."""
    found = {
        (cls, name)
        for cls in analysis.classes.values()
        for name, value, function in _assigned(cls)
        if _is_none(analysis, value, function)
    }
    for cls in analysis.classes.values():  # properties that give such an attribute, or None
        for name, value, method in _given(cls):
            own = isinstance(value, ast.Attribute) and (cls, value.attr) in found
            if own or _is_none(analysis, value, method):
                found.add((cls, name))
    return frozenset(found)


def _given(cls: ClassInfo) -> Iterator[tuple[str, ast.expr, ast.AST]]:
    """What the properties of a class return."""
    for name, method in cls.methods.items():
        for node in within(method.node).of(ast.Return) if method.is_property else ():
            if node.value is not None:
                yield name, node.value, method.node


def _assigned(cls: ClassInfo) -> Iterator[tuple[str, ast.expr, ast.AST | None]]:
    """What attributes are given, and in which method: ``name = None``, ``self.name = value``."""
    for statement in cls.node.body:
        if isinstance(statement, ast.Assign):
            yield from ((t.id, statement.value, None) for t in statement.targets if isinstance(t, ast.Name))
    for method in cls.methods.values():
        for node in within(method.node).of(ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                    if target.value.id == "self":
                        yield target.attr, node.value, method.node
        for call in within(method.node).of(ast.Call):  # `self.add_persistent('name', value)`
            if isinstance(call.func, ast.Attribute) and call.func.attr == "add_persistent" and len(call.args) == 2:
                if isinstance(call.args[0], ast.Constant):
                    yield str(call.args[0].value), call.args[1], method.node


def _is_none(analysis: Analysis, value: ast.expr, function: ast.AST | None) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_none(analysis, value.body, function) or _is_none(analysis, value.orelse, function)
    if isinstance(value, ast.Constant):
        return value.value is None
    if _is_left_out(value):
        return True
    if not isinstance(value, ast.Name):
        return False
    return analysis.kind(value) == NONE or (function, value.id) in analysis.once(parameters_of_none)


def _is_left_out(value: ast.expr) -> bool:
    """``options.get('mean')``, ``options.pop('mean', None)``: None where nobody gave it."""
    if not isinstance(value, ast.Call) or not isinstance(value.func, ast.Attribute) or value.keywords:
        return False
    if value.func.attr not in ("get", "pop") or len(value.args) != 2:
        return value.func.attr == "get" and len(value.args) == 1
    return isinstance(value.args[1], ast.Constant) and value.args[1].value is None


__all__ = ["may_hold_none"]
