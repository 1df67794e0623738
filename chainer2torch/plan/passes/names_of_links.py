"""Names of links and parameters, which a module of PyTorch does not have, and parameters without values."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Ref, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.sites import Plan
from chainer2torch.rules.table import Row

_WALKS = frozenset({"params", "namedparams", "children", "links", "namedlinks"})
_ARRAYS = frozenset({"array", "data"})
_AT_RUN_TIME = "What it is called on is not known here; the helper looks at run time."
_TOLD = (
    "A module learns its name when `compat.children`, `compat.links` or the setup() of an optimizer walks over "
    "what holds it, and asking before raises; that of a model which nothing holds is never told"
)
_OWN = (
    "Chainer sets the name of a link when it is registered in another, whatever the class gave it; here it stays "
    "what the class gave it"
)
_CLASS = "the class may have another name now, as nn.Conv2d for Convolution2D"


def parameter_name(plan: Plan, node: ast.AST, row: Row) -> None:
    """``link.W.name``: what holds the parameter is in sight, and tells."""
    assert isinstance(node, ast.Attribute)
    operands = {"self": plan.operand(node.value)}
    owned = isinstance(node.value, ast.Attribute) and plan.analysis.is_link(plan.analysis.kind(node.value.value))
    if not isinstance(node.ctx, ast.Load):
        plan.mark(node, row, row.name, "manual", "assignment to it has no counterpart")
    elif owned and isinstance(node.value, ast.Attribute) and _simple(node.value.value):
        operands["owner"] = plan.operand(node.value.value)
        plan.replace(node, "compat.parameter_name(self, owner)", operands)
        plan.mark(node, row, row.name, row.state)
    else:
        plan.replace(node, row.cases[0].torch, operands)
        plan.mark(node, row, row.name, row.state)


def link_name(plan: Plan, node: ast.AST, row: Row) -> None:
    """``child.name`` in a walk over links, ``self.l1.name``; elsewhere nothing says whether the name was told."""
    assert isinstance(node, ast.Attribute)
    if not isinstance(node.ctx, ast.Load):
        plan.mark(node, row, row.name, "manual", "a module has no name that could be set")
        return
    operands = {"self": plan.operand(node.value)}
    held = node.value
    if (
        isinstance(held, ast.Attribute)
        and plan.analysis.is_link(plan.analysis.kind(held.value))
        and _simple(held.value)
    ):
        operands["parent"] = plan.operand(held.value)
        plan.replace(node, "compat.link_name(self, parent)", operands)
        plan.mark(node, row, row.name, "exact")
        return
    plan.replace(node, row.cases[0].torch, operands)
    if _walked(plan, held) in ("children", "skipself"):
        plan.mark(node, row, row.name, "exact")
    else:
        plan.mark(node, row, row.name, "review", _TOLD)


def names(plan: Plan) -> None:
    """What the walk over the file has left of names, of names of classes, and of parameters without values."""
    for node in plan.source.of(ast.Attribute, ast.Compare):
        if isinstance(node, ast.Compare):
            _has_array(plan, node)
        elif node.attr == "name" and node not in plan.sites:
            _name(plan, node)
        elif node.attr == "__name__" and isinstance(node.ctx, ast.Load):
            _class_name(plan, node)


def _name(plan: Plan, node: ast.Attribute) -> None:
    kinds = options(plan.analysis.kind(node.value))
    if any(
        isinstance(k, Inst)
        and plan.analysis.derives(k.cls, "chainer.Link")
        and any(isinstance(c, ClassInfo) and "name" in c.attrs for c in plan.analysis.mro(k.cls))
        for k in kinds
    ):
        plan.mark(node, plan.rules.rows.get("chainer.Link"), "chainer.Link.name", "review", _OWN)
    elif kinds == (UNKNOWN,) and isinstance(node.ctx, ast.Load) and plan.imports_chainer and _walked(plan, node.value):
        plan.replace(node, "compat.name_of(obj)", {"obj": plan.operand(node.value)})
        plan.mark(node, None, "?.name", "exact", _AT_RUN_TIME, "C2T390")


def _class_name(plan: Plan, node: ast.Attribute) -> None:
    """``type(link).__name__``, ``link.__class__.__name__``."""
    cls = node.value
    if isinstance(cls, ast.Call) and len(cls.args) == 1 and plan.analysis.kind(cls.func) == Ref("builtins.type"):
        link: ast.expr = cls.args[0]
    elif isinstance(cls, ast.Attribute) and cls.attr == "__class__":
        link = cls.value
    else:
        return
    if any(_has_other_class(plan, k) for k in options(plan.analysis.kind(link))):
        plan.mark(node, plan.rules.rows.get("chainer.Link"), "chainer.Link.__class__", "review", _CLASS)


def _has_other_class(plan: Plan, kind: Kind) -> bool:
    """Whether a link is of a class of Chainer's, not of one of the project's own."""
    return isinstance(kind, Inst) and isinstance(kind.cls, str) and plan.analysis.derives(kind.cls, "chainer.Link")


def _has_array(plan: Plan, node: ast.Compare) -> None:
    """``param.array is None``: a parameter without values has no array to look at."""
    if len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return
    held, none = node.left, node.comparators[0]
    if not (
        isinstance(none, ast.Constant)
        and none.value is None
        and isinstance(held, ast.Attribute)
        and held.attr in _ARRAYS
        and plan.imports_chainer
    ):
        return
    kinds = options(plan.analysis.kind(held.value))
    operands = {"self": plan.operand(held.value)}
    if all(isinstance(k, Tensor) and not k.array for k in kinds):
        row = plan.rules.rows["chainer.Parameter.is_initialized"]
        known = isinstance(node.ops[0], (ast.IsNot, ast.NotEq))
        plan.sites.pop(held, None)
        plan.edits.pop(held, None)
        plan.replace(node, f"{'' if known else 'not '}compat.parameter_is_initialized(self)", operands)
        plan.mark(held, row, row.name, row.state)
    elif held.attr == "data" and kinds == (UNKNOWN,) and held not in plan.edits and not plan.migrated:
        plan.replace(held, "compat.data_of(self)", operands)
        plan.mark(held, None, "?.data", "exact", _AT_RUN_TIME, "C2T390")


def _simple(node: ast.expr) -> bool:
    """Whether an expression may be written twice."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _walked(plan: Plan, node: ast.expr) -> str:
    """Which walk over links a name is the loop variable of; 'skipself' where it leaves the first link out."""
    if not isinstance(node, ast.Name):
        return ""
    for ancestor in plan.source.ancestors(node):
        loops = (
            [(ancestor.target, ancestor.iter)]
            if isinstance(ancestor, (ast.For, ast.AsyncFor))
            else [(g.target, g.iter) for g in ancestor.generators]
            if isinstance(ancestor, (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp))
            else []
        )
        for target, walk in loops:
            if any(isinstance(n, ast.Name) and n.id == node.id for n in ast.walk(target)):
                return _walk_in(walk)
        if isinstance(ancestor, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
    return ""


def _walk_in(node: ast.expr) -> str:
    """``model.children()``, also in ``enumerate(...)``, ``sorted(...)``, ``zip(...)``."""
    for call in ast.walk(node):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _WALKS:
            given = [*call.args, *(k.value for k in call.keywords)]
            skips = len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value is True
            return "skipself" if skips and call.func.attr in ("links", "namedlinks") else call.func.attr
    return ""


__all__ = ["link_name", "names", "parameter_name"]
