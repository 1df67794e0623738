"""Walks over the parameters or children of a link whose order does not matter, and that ask for no names."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.shared_links import shares_parameters

_WALKS = frozenset({"params", "children"})
_KEEP_ORDER = frozenset({"enumerate", "list", "zip"})
_NAMES = frozenset({"name", "link", "update_rule"})


def walks_freely(context: Context, call: ast.Call) -> bool:
    """Whether ``for p in link.params():`` does with each what it does with the others, so that any order will do.

    A parameter that is reached twice comes once from torch: where a project shares links, the answer is no.
    """
    return _loops(context, call, call)


def walks_in_order(context: Context, call: ast.Call) -> bool:
    """Whether a loop walks freely or, through ``enumerate`` and ``zip``, in an order that both sides share."""
    outer: ast.AST = call
    while isinstance(parent := context.source.parents.get(outer), ast.Call) and outer in parent.args:
        if not isinstance(parent.func, ast.Name) or parent.func.id not in _KEEP_ORDER:
            return False
        outer = parent
    return _loops(context, call, outer)


def _loops(context: Context, call: ast.Call, iterable: ast.AST) -> bool:
    loop = context.source.parents.get(iterable)
    if not isinstance(loop, (ast.For, ast.comprehension)) or loop.iter is not iterable:
        return False
    names = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
    inside = ast.walk(loop if isinstance(loop, ast.For) else context.source.statement(call))
    named = any(
        isinstance(n, ast.Attribute) and n.attr in _NAMES and isinstance(n.value, ast.Name) and n.value.id in names
        for n in inside
    )
    return not named and not context.analysis.once(_has_own_ways)


def _has_own_ways(analysis: Analysis) -> bool:
    """Whether classes of the project say themselves what they hold, or a link or parameter has two places."""
    if any(_WALKS & cls.methods.keys() for cls in analysis.classes.values()):
        return True
    if any(shares_parameters(analysis, module) for module in analysis.project.modules.values()):
        return True
    return any(
        isinstance(value, ast.Attribute) and analysis.is_link(analysis.kind(value))
        for module in analysis.project.modules.values()
        for value in _second_names(module.source.of(ast.Assign))
    )


def _second_names(assignments: list[ast.Assign]) -> Iterator[ast.expr]:
    """What is assigned to an attribute."""
    for node in assignments:
        if any(isinstance(target, ast.Attribute) for target in node.targets):
            yield node.value
            if isinstance(node.value, ast.Attribute) and node.value.attr in ("W", "b"):
                yield node.value.value
