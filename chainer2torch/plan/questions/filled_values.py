"""Names of zeros and ones: ``t = chainer.Variable(xp.ones(n, dtype='i'))``, and nothing but functions get ``t``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.argument_guards import is_filled
from chainer2torch.plan.context import Context

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_READ = frozenset({"shape", "dtype", "size", "ndim"})


def stays_filled(context: Context, node: ast.expr) -> bool:
    """Whether an argument is zeros or ones as it stands, or a name of such that nobody writes into.

    The name gets one value in its function, which hands it to functions of Chainer's and asks it for its shape only.
    """
    if not isinstance(node, ast.Name):
        return is_filled(node)
    function = context.source.enclosing(node, *_SCOPES)
    scope = context.scope(node, node.id)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    names = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == node.id]
    stores = [n for n in names if not isinstance(n.ctx, ast.Load)]
    if len(stores) != 1 or any(isinstance(n, ast.arg) and n.arg == node.id for n in nodes_of(function)):
        return False
    if any(context.scope(n, n.id) is not scope for n in names) or scope is not context.scope(stores[0], node.id):
        return False
    made = context.source.parents[stores[0]]
    known = isinstance(made, ast.Assign) and made.targets == [stores[0]] and is_filled(made.value)
    return known and all(_only_reads(context, n) for n in names if n is not stores[0])


def _only_reads(context: Context, load: ast.Name) -> bool:
    """Whether an expression is handed to a function of Chainer's, or asked for its shape."""
    parent = context.source.parents[load]
    if isinstance(parent, ast.keyword):
        parent = context.source.parents[parent]
    if isinstance(parent, ast.Attribute):
        return parent.attr in _READ and isinstance(parent.ctx, ast.Load)
    if not isinstance(parent, ast.Call) or parent.func is load:
        return False
    kinds = options(context.kind(parent.func))
    return bool(kinds) and all(isinstance(k, Ref) and k.name.startswith("chainer.functions.") for k in kinds)


__all__ = ["stays_filled"]
