"""Datasets of several columns that nobody slices: torch's StackDataset gives their examples, too.

A slice of Chainer's is a list of examples, and of StackDataset a tuple of slices.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, options, scalar_type
from chainer2torch.plan.context import Context
from chainer2torch.plan.project_rules import has_short_iterators

_ITERATORS = frozenset(f"chainer.iterators.{name}Iterator" for name in ("Serial", "Multiprocess", "Multithread"))


def gives_single_examples(context: Context, call: ast.Call) -> bool:
    """Whether all that is done with a dataset asks it for one example after the other, or for its length."""
    if context.choices.style != "native" or not has_short_iterators(context.analysis, context.module):
        return False
    if context.analysis.once(_asks_for_datasets):
        return False
    statement = context.source.parents.get(call)
    if not isinstance(statement, ast.Assign):
        return _asks_for_examples(context, call)
    target = statement.targets[0]
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return False
    scope = context.scopes.get(target)
    if isinstance(scope, ast.Module) and _is_taken(context, target.id):
        return False
    uses = [n for n in context.source.of(ast.Name) if n.id == target.id and context.scopes.get(n) is scope]
    return all(not isinstance(n.ctx, ast.Load) or _asks_for_examples(context, n) for n in uses)


def _asks_for_examples(context: Context, node: ast.expr) -> bool:
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.keyword):
        parent = context.source.parents.get(parent)
    if isinstance(parent, ast.Call) and node is not parent.func:
        callee = context.kind(parent.func)
        return isinstance(callee, Ref) and (callee.name in _ITERATORS or callee.name == "builtins.len")
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
        return all(scalar_type(k) == "int" for k in options(context.kind(parent.slice)))
    return isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node


def _asks_for_datasets(analysis: Analysis) -> bool:
    """Whether something asks an iterator for its dataset, for more than its length."""
    return any(
        node.attr == "dataset"
        and isinstance(node.ctx, ast.Load)
        and not isinstance(analysis.kind(node), Ref)
        and not (isinstance(call := module.source.parents.get(node), ast.Call) and ast.unparse(call.func) == "len")
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )


def _is_taken(context: Context, name: str) -> bool:
    """Whether another file may take a module's name."""
    return any(
        node.attr == name if isinstance(node, ast.Attribute) else any(alias.name in (name, "*") for alias in node.names)
        for module in context.analysis.project.modules.values()
        if module is not context.module
        for node in module.source.of(ast.Attribute, ast.ImportFrom)
    )


__all__ = ["gives_single_examples"]
