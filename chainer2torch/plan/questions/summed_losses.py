"""Losses that a loop adds up, one a step: the labels of a late step may be padding and nothing else.

A batch of which every label is ignored does not occur in ordinary training: there PyTorch's own loss will do. Where
sequences of different lengths are padded and each step has its loss, every step behind the longest is such a batch, and
the nan of one step would be the loss of all.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_LOOPS = (ast.For, ast.While)
_COMPREHENSIONS = (ast.ListComp, ast.GeneratorExp)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_summed(context: Context, call: ast.Call) -> bool:
    """Whether a loop adds what a call gives to what it gave before, or collects it."""
    node: ast.AST = call
    for outer in context.source.ancestors(call):
        if isinstance(outer, _COMPREHENSIONS):
            return node is outer.elt
        if isinstance(outer, _FUNCTIONS):
            return False
        if isinstance(outer, ast.Call) and isinstance(outer.func, ast.Attribute) and outer.func.attr == "append":
            return _in_loop(context, outer)
        if isinstance(outer, ast.stmt):
            return _in_loop(context, outer) and _adds(context, outer)
        node = outer
    return False


def _adds(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement adds to a name, or gives its value one that another statement of the loop adds."""
    if isinstance(statement, ast.AugAssign):
        return isinstance(statement.op, ast.Add)
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    written = ast.dump(ast.parse(ast.unparse(target), mode="eval").body)
    if any(
        isinstance(part, ast.BinOp)
        and isinstance(part.op, ast.Add)
        and written in map(ast.dump, (part.left, part.right))
        for part in nodes_of(statement.value)
    ):
        return True
    loop = context.source.enclosing(statement, *_LOOPS)
    return isinstance(target, ast.Name) and any(
        isinstance(other, ast.AugAssign)
        and isinstance(other.op, ast.Add)
        and isinstance(other.value, ast.Name)
        and other.value.id == target.id
        for other in nodes_of(loop or statement)
    )


def _in_loop(context: Context, node: ast.AST) -> bool:
    """Whether a loop of the same function is around a node."""
    for outer in context.source.ancestors(node):
        if isinstance(outer, (*_LOOPS, *_FUNCTIONS)):
            return isinstance(outer, _LOOPS)
    return False
