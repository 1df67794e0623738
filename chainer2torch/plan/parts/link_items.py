"""Children of links by their names: ``chain["l1"]``, ``chain.__getitem__("l1")``; a module has no subscripts."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Kind, options, scalar_type
from chainer2torch.analysis.models.link_calls import is_item
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.parts import stacked_walks
from chainer2torch.plan.parts.chain_items import unknown_item
from chainer2torch.plan.questions.module_names import child_name
from chainer2torch.plan.questions.overridden_methods import is_super


def item_by_method(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``super().__getitem__(name)`` in a Chain, for which ``nn.Module`` has nothing; ``self.__getitem__(name)``."""
    function, cls = call.func, context.enclosing_class(call)
    if not isinstance(function, ast.Attribute) or not is_item(call):
        return
    if not is_super(function.value):
        kinds = options(context.analysis.kind(function.value))
        if all(isinstance(k, Inst) and _is_looked_up(context, k, call.args[0]) for k in kinds):
            operands = {"chain": context.operand(function.value), "name": child_name(context, kinds, call.args[0])}
            decisions.replace(call, "getattr(chain, name)", operands)
        return
    method = context.source.enclosing(call, ast.FunctionDef)
    if cls is None or not isinstance(method, ast.FunctionDef) or not method.args.args:
        return
    bases = [c for c in context.analysis.mro(cls) if c is not cls]
    if any(isinstance(c, ClassInfo) and "__getitem__" in c.methods for c in bases):
        return
    if next((c for c in bases if isinstance(c, str)), "") == "chainer.Chain":
        operands = {
            "self": Operand(code=method.args.args[0].arg),
            "name": child_name(context, [Inst(cls)], call.args[0]),
        }
        decisions.replace(call, "getattr(self, name)", operands)


def subscript(context: Context, decisions: Decisions, node: ast.Subscript) -> None:
    """``chain['l1']``: what a Chain became has no subscripts."""
    kinds = options(context.analysis.kind(node.value))
    if any(map(stacked_walks.is_stacked, kinds)):
        decisions.mark(node, None, "chainer.links.NStep.__getitem__", "manual", stacked_walks.STACKED, "C2T200")
        return
    if isinstance(node.slice, ast.Slice) and isinstance(node.ctx, ast.Load) and context.choices.style == "native":
        if kinds and all(_is_own_list(context, k) for k in kinds):  # nn.ModuleList makes another of the class of it
            decisions.wrap(node.value, "list(value)")
        return
    if not isinstance(node.ctx, ast.Load) or not all(
        isinstance(k, Inst) and _is_looked_up(context, k, node.slice) for k in kinds
    ):
        unknown_item(context, decisions, node)
        return
    operands = {"chain": context.operand(node.value), "name": child_name(context, kinds, node.slice)}
    with decisions.provided(free=((Part.EDIT, node),)):
        decisions.replace(node, "getattr(chain, name)", operands)


def _is_looked_up(context: Context, link: Inst, name: ast.expr) -> bool:
    """Whether a link is asked for a child by name (of which no more is known: only a Chain takes one)."""
    return (
        link.cls != "chainer.Chain"
        and not (isinstance(link.cls, str) and context.analysis.once(_has_own_items))
        and (scalar_type(context.analysis.kind(name)) == "str" or context.analysis.derives(link.cls, "chainer.Chain"))
        and context.analysis.is_link(link)
        and not any(isinstance(c, ClassInfo) and "__getitem__" in c.methods for c in context.analysis.mro(link.cls))
    )


def _has_own_items(analysis: Analysis) -> bool:
    """Whether a link of the project says itself what a subscript gives: any link may be one of these."""
    return any(
        "__getitem__" in cls.methods and analysis.derives(cls, "chainer.Link") for cls in analysis.classes.values()
    )


def _is_own_list(context: Context, kind: Kind) -> bool:
    """Whether a value is a list of links of the project's own class, as Chainer slices it: a list of Python's."""
    return (
        isinstance(kind, Inst)
        and isinstance(kind.cls, ClassInfo)
        and context.analysis.derives(kind.cls, "chainer.ChainList")
        and not any(isinstance(c, ClassInfo) and "__getitem__" in c.methods for c in context.analysis.mro(kind.cls))
    )
