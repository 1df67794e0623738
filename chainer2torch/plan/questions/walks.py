"""Names in walks over links: ``for child in model.children()``."""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context

_WALKS = frozenset({"params", "namedparams", "children", "links", "namedlinks"})


def simple(node: ast.expr) -> bool:
    """Whether an expression may be written twice."""
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def walked(context: Context, node: ast.expr) -> str:
    """Which walk over links a name is the loop variable of; 'skipself' where it leaves the first link out."""
    if not isinstance(node, ast.Name):
        return ""
    for ancestor in context.source.ancestors(node):
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
