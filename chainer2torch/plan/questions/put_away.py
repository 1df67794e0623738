"""Tensors that something else holds, too, when their graph is cut: ``out.append(y)`` above ``y.unchain_backward()``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of

FILLING = frozenset({"append", "appendleft", "extend", "insert", "setdefault", "update"})


def is_put_away(scope: ast.AST, name: str, cut: ast.Call) -> bool:
    """Whether a list, a dictionary or an attribute gets the value of a name above its cut: that one has its graph
    still, where the name alone is detached.
    """
    above = [node for node in nodes_of(scope) if getattr(node, "lineno", cut.lineno) < cut.lineno]
    held: list[ast.expr] = []
    for node in above:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in FILLING:
            held += node.args
        elif isinstance(node, ast.Assign) and any(isinstance(t, (ast.Attribute, ast.Subscript)) for t in node.targets):
            held.append(node.value)
    items = (item for one in held for item in (one.elts if isinstance(one, (ast.Tuple, ast.List)) else (one,)))
    return any(isinstance(item, ast.Name) and item.id == name for item in items)


__all__ = ["FILLING", "is_put_away"]
