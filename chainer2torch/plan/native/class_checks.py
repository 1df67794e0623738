"""``isinstance(optimizer, optimizers.SGD)``: the class of PyTorch in the place of Chainer's, where the answer stays."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.optimizer_forms import CORRECTS, FORMS, classes_of


def asked_classes(objects: Objects, use: Use) -> dict[ast.expr, str]:
    """The classes of which an optimizer is asked, with what takes their place; {} where it is asked nothing.

    It is also {} where the answer would be another one: ``torch.optim.SGD`` stands for two of Chainer's classes.
    """
    call, context = use.parent, use.context
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.args[0] is not use.node:
        return {}
    if context.kind(call.func) != Ref("builtins.isinstance"):
        return {}
    asked = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else [call.args[1]]
    names = {node: _class(context, node) for node in asked}
    made = possible_classes(objects, use)
    for name in names.values():
        if not all(_answers_alike(objects, cls, name) for cls in made):
            return {}
    return {node: FORMS[name].torch for node, name in names.items()}


def possible_classes(objects: Objects, use: Use) -> set[str | ClassInfo]:
    """The classes that an optimizer may have at a place, with what the tests around it say."""
    context = use.context
    found = {cls for inst in objects.of(context.kind(use.node)) for cls in classes_of(inst.cls)}
    inner: ast.AST = use.node
    for outer in context.source.ancestors(use.node):
        if isinstance(outer, ast.If) and inner is not outer.test and places.is_simple(use.node):
            if not places.is_rebound(use.node, (n for s in (*outer.body, *outer.orelse) for n in nodes_of(s))):
                found = _narrowed(objects, context, outer.test, use.node, found, inner in outer.body)
        elif isinstance(outer, ast.IfExp) and inner is not outer.test and places.is_simple(use.node):
            found = _narrowed(objects, context, outer.test, use.node, found, inner is outer.body)
        inner = outer
    return found


def _narrowed(
    objects: Objects, context: Context, test: ast.expr, optimizer: ast.expr, found: set[str | ClassInfo], holds: bool
) -> set[str | ClassInfo]:
    """The classes for which a test may hold, or may not hold."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _narrowed(objects, context, test.operand, optimizer, found, not holds)
    if isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) == holds:
            for value in test.values:
                found = _narrowed(objects, context, value, optimizer, found, holds)
        return found
    if not isinstance(test, ast.Call) or len(test.args) != 2 or ast.unparse(test.args[0]) != ast.unparse(optimizer):
        return found
    asked, answer = test.args[1], set(found)
    if context.kind(test.func) == Ref("builtins.isinstance"):
        names = [_class(context, node) for node in (asked.elts if isinstance(asked, ast.Tuple) else [asked])]
        if not all(names):
            return found
        answer = {c for c in found if any(objects.analysis.derives(c, name) for name in names)}
    elif context.kind(test.func) == Ref("builtins.hasattr") and isinstance(asked, ast.Constant):
        if not all(c in FORMS for c in found):
            return found
        answer = {c for c in found if has_setting(c, str(asked.value))}
    else:
        return found
    return answer if holds else found - answer


def has_setting(cls: object, name: str) -> bool:
    """Whether Chainer's optimizers of a class have an attribute of this name that is a setting of theirs."""
    form = FORMS.get(cls) if isinstance(cls, str) else None
    return form is not None and (name in form.hyperparameters or name == "lr" and cls in CORRECTS)


def _class(context: Context, node: ast.expr) -> str:
    """Chainer's own name of a class; "" for any other value."""
    kind = context.kind(node)
    row = context.rules.rows.get(kind.name) if isinstance(kind, Ref) and context.reference(node) is not None else None
    return row.name if row is not None else ""


def _answers_alike(objects: Objects, cls: str | ClassInfo, name: str) -> bool:
    if not isinstance(cls, str) or cls not in FORMS or name not in FORMS:
        return False
    return objects.analysis.derives(cls, name) == (FORMS[cls].torch == FORMS[name].torch)


__all__ = ["asked_classes", "has_setting", "possible_classes"]
