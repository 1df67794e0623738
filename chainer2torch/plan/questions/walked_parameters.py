"""Names that a loop over the parameters of a link binds: ``for name, param in model.namedparams():``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.torch_classes import words

_WALKS = frozenset({"params", "namedparams", "parameters", "named_parameters"})


def is_walked_parameter(context: Context, node: ast.expr) -> bool:
    """Whether a value is a parameter for sure, as every statement that gives its name a value is such a loop."""
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    if not isinstance(node, ast.Name) or "disable_update" in context.analysis.once(words):
        return False  # frozen ones require none in PyTorch
    stores = [
        n
        for n in nodes_of(function)
        if isinstance(n, ast.Name)
        and n.id == node.id
        and not isinstance(n.ctx, ast.Load)
        or isinstance(n, ast.arg)
        and n.arg == node.id
    ]
    return bool(stores) and all(_is_bound_by_walk(context, store) for store in stores)


def _is_bound_by_walk(context: Context, store: ast.AST) -> bool:
    loop = context.source.parents.get(store)
    if isinstance(loop, ast.Tuple):
        if loop.elts[-1] is not store:
            return False
        loop = context.source.parents.get(loop)
    walk = loop.iter if isinstance(loop, (ast.For, ast.comprehension)) else None
    return (
        isinstance(walk, ast.Call)
        and isinstance(walk.func, ast.Attribute)
        and walk.func.attr in _WALKS
        and context.analysis.is_link(context.kind(walk.func.value))
    )
