"""States that outlive ``unchain_backward()``: what keeps a tensor of the cut part lets go of its graph.

Chainer makes the variables themselves forget how they were computed. A tensor of PyTorch cannot be made to, so what is
used again behind the cut is passed through ``compat.live``, which detaches a tensor whose graph was cut and leaves
every other one alone.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.edits import Replace, ReplaceStatement, Wrap
from chainer2torch.plan.passes.graphs import asked_only, graph_use, may_hold_graph
from chainer2torch.plan.sites import Plan

_CUTS = "unchain_backward"


def kept_states(plan: Plan) -> None:
    """Local names behind a cut, and attributes of links that carry a tensor from one call to the next."""
    if not plan.analysis.once(_cuts_graphs):
        return
    for call in plan.source.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr == _CUTS:
            _names_behind(plan, call)
    for node in plan.source.of(ast.ClassDef):
        cls = plan.analysis.classes.get(node)
        if cls is not None and plan.analysis.derives(cls, "chainer.Link"):
            _attributes_of_link(plan, cls)


def _cuts_graphs(analysis: Analysis) -> bool:
    return any(_CUTS in module.source.text for module in analysis.project.modules.values())


def _names_behind(plan: Plan, call: ast.Call) -> None:
    """``loss.unchain_backward()``: the names of the function that hold a part of its graph and are used again."""
    edit, statement = plan.edits.get(call), plan.source.parents.get(call)
    use = graph_use(plan, call)
    kept = use.kept
    if kept and isinstance(edit, Replace) and isinstance(statement, ast.Expr):
        del plan.edits[call]
        lines = [edit.template, *(f"{name} = compat.live({name})" for name in kept)]
        plan.edits[statement] = ReplaceStatement(
            plan.source.start(statement), "\n".join(lines), edit.operands, edit.training
        )
    for node in use.later if edit is not None else ():
        if node not in plan.wraps:
            plan.wraps[node] = Wrap(plan.source.span(node), "compat.live(value)")


def _attributes_of_link(plan: Plan, cls: ClassInfo) -> None:
    """``self.h`` that a method computes and the next call reads."""
    reads: list[ast.Attribute] = []
    computed: set[str] = set()
    for name, method in cls.methods.items():
        if name == "__init__" or method.is_static or method.is_classmethod:
            continue
        arguments = method.node.args.args
        for node in ast.walk(method.node):
            if not (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and arguments
                and node.value.id == arguments[0].arg
            ):
                continue
            if not any(may_hold_graph(k) for k in options(plan.analysis.kind(node))):
                continue
            if isinstance(node.ctx, ast.Load):
                reads.append(node)
            elif isinstance(node.ctx, ast.Store):
                computed.add(node.attr)
    for node in reads:
        if (
            node.attr in computed
            and not asked_only(plan.source, node)
            and node not in plan.wraps
            and not _is_called(plan, node)
        ):
            plan.wraps[node] = Wrap(plan.source.span(node), "compat.live(value)")


def _is_called(plan: Plan, node: ast.Attribute) -> bool:
    parent = plan.source.parents.get(node)
    return isinstance(parent, ast.Call) and parent.func is node


__all__ = ["kept_states"]
