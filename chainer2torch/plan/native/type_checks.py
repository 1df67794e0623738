"""``check_type_forward`` of the program's own functions: in the native style PyTorch itself refuses wrong inputs.

The method computes nothing. What it refuses, a program that ran never passed: the declared difference `type-checks`.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove

_CHECK = "check_type_forward"
_FUNCTIONS = ("chainer.Function", "chainer.FunctionNode")


def run(context: Context) -> Decisions:
    """Takes the method out of every class of the file that has another one."""
    decisions = Decisions(context)
    if _CHECK not in context.source.text or context.analysis.once(_is_called):
        return decisions
    for node in context.source.of(ast.ClassDef):
        cls = context.analysis.classes.get(node)
        if cls is None or not any(context.analysis.derives(cls, base) for base in _FUNCTIONS):
            continue
        for method in node.body if len(node.body) > 1 else ():
            if isinstance(method, ast.FunctionDef) and method.name == _CHECK and not method.decorator_list:
                decisions.edit(method, Remove(context.source.start(method)))
                decisions.remove(*method.body)
                _tell(context, decisions, method)
    return decisions


def _tell(context: Context, decisions: Decisions, method: ast.FunctionDef) -> None:
    """Says of each condition that it is gone."""
    for node in nodes_of(method):
        symbol = context.reference(node.func) if isinstance(node, ast.Call) else None
        row = context.rules.rows.get(symbol) if symbol is not None else None
        if row is not None and row.state == "exact":
            assert isinstance(node, ast.Call) and symbol is not None
            decisions.mark(node.func, row, symbol, "exact", difference="type-checks")


def _is_called(analysis: Analysis) -> bool:
    """Whether the program itself calls such a method, as a subclass does that adds to it."""
    return any(
        node.attr == _CHECK
        for module in analysis.project.modules.values()
        if _CHECK in module.source.text
        for node in module.source.of(ast.Attribute)
    )
