"""States that outlive ``unchain_backward()``: what keeps a tensor of the cut part lets go of its graph.

Chainer makes the variables themselves forget how they were computed. A tensor of PyTorch cannot be made to, so what is
used again behind the cut is passed through ``compat.live``, which detaches a tensor whose graph was cut and leaves
every other one alone.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.questions.cut_graphs import carried, cuts
from chainer2torch.plan.questions.graph_use import graph_use

_CUTS = "unchain_backward"


def run(context: Context) -> Decisions:
    """Local names behind a cut, and attributes of links that carry a tensor from one call to the next."""
    decisions = Decisions(context)
    if not context.analysis.once(_cuts_graphs):
        return decisions
    if context.choices.style == "native" and context.module.path not in context.analysis.once(cuts).long:
        return decisions  # every cut is written out where it is made
    for call in context.source.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == _CUTS:
            _names_behind(context, decisions, call)
    for node in context.source.of(ast.ClassDef):
        cls = context.analysis.classes.get(node)
        if cls is not None and context.analysis.derives(cls, "chainer.Link"):
            _attributes_of_link(context, decisions, cls)
    return decisions


def _cuts_graphs(analysis: Analysis) -> bool:
    return any(_CUTS in module.source.text for module in analysis.project.modules.values())


def _names_behind(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``loss.unchain_backward()``: the names of the function that hold a part of its graph and are used again."""
    statement = context.source.parents.get(call)
    use = graph_use(context, call)
    with decisions.provided(taken=((Part.EDIT, call),)):
        if use.kept and isinstance(statement, ast.Expr):
            lines = ["call", *(f"{name} = compat.live({name})" for name in use.kept)]
            text = "\n".join(lines)
            operands = {"call": context.operand(call)}
            decisions.edit(statement, ReplaceStatement(context.source.start(statement), text, operands))
        for node in use.later:
            decisions.wrap(node, "compat.live(value)")


def _attributes_of_link(context: Context, decisions: Decisions, cls: ClassInfo) -> None:
    """``self.h`` that a method computes and the next call reads."""
    for node in carried(context.analysis, context.source, cls):
        if not _is_called(context, node):
            decisions.wrap(node, "compat.live(value)")


def _is_called(context: Context, node: ast.Attribute) -> bool:
    parent = context.source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node
