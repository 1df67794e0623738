"""Arrays that a condition sends to a GPU: ``if gpu >= 0: x = cuda.to_gpu(x)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context

_TO_GPU = (Ref("chainer.backends.cuda.to_gpu"), Ref("chainer.cuda.to_gpu"))


def is_sent_by_choice(context: Context, node: ast.expr) -> bool:
    """Whether a value is an array in any case: ``if gpu >= 0: x = cuda.to_gpu(x)`` stands before it."""
    if not isinstance(node, ast.Name) or context.migrated:
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    around = set(context.source.ancestors(node))
    for line in within(function or context.source.tree).of(ast.Assign):
        if not any(_is(target, node) for target in line.targets):
            continue
        value = line.value
        if not isinstance(value, ast.Call) or not value.args or not _is(value.args[0], node):
            continue
        choice = context.source.enclosing(value, ast.If)
        before = value.lineno <= node.lineno and choice is not None and choice not in around
        if before and context.analysis.kind(value.func) in _TO_GPU:
            return True
    return False


def _is(node: ast.expr, name: ast.Name) -> bool:
    return isinstance(node, ast.Name) and node.id == name.id
