"""``isinstance(optimizer, optimizers.SGD)``: the class of PyTorch in the place of Chainer's, where the answer stays."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.optimizer_forms import FORMS


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
    """The classes that an optimizer may have at a place, with what ``if isinstance(...)`` around it says."""
    context = use.context
    found = {inst.cls for inst in objects.of(context.kind(use.node))}
    inner: ast.AST = use.node
    for outer in context.source.ancestors(use.node):
        if isinstance(outer, ast.If) and inner is not outer.test and isinstance(use.node, ast.Name):
            names = _tested(context, outer, use.node)
            derived = {c for c in found if any(objects.analysis.derives(c, name) for name in names)}
            if names:
                found = derived if inner in outer.body else found - derived
        inner = outer
    return found


def _tested(context: Context, branch: ast.If, name: ast.Name) -> list[str]:
    """The classes in ``if isinstance(name, ...)``, where the name keeps its value below that."""
    test = branch.test
    if not isinstance(test, ast.Call) or context.kind(test.func) != Ref("builtins.isinstance") or len(test.args) != 2:
        return []
    if ast.unparse(test.args[0]) != name.id or places.is_rebound(name, (n for s in branch.body for n in ast.walk(s))):
        return []
    if places.is_rebound(name, (n for s in branch.orelse for n in ast.walk(s))):
        return []
    asked = test.args[1].elts if isinstance(test.args[1], ast.Tuple) else [test.args[1]]
    names = [_class(context, node) for node in asked]
    return names if all(names) else []


def _class(context: Context, node: ast.expr) -> str:
    """Chainer's own name of a class; "" for any other value."""
    kind = context.kind(node)
    row = context.rules.rows.get(kind.name) if isinstance(kind, Ref) and context.reference(node) is not None else None
    return row.name if row is not None else ""


def _answers_alike(objects: Objects, cls: str | ClassInfo, name: str) -> bool:
    if not isinstance(cls, str) or cls not in FORMS or name not in FORMS:
        return False
    return objects.analysis.derives(cls, name) == (FORMS[cls].torch == FORMS[name].torch)


__all__ = ["asked_classes", "possible_classes"]
