"""The mode that a block ``with chainer.using_config('train', value):`` sets for what stands in it."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.questions.config_names import entry_name

_Function = (ast.FunctionDef, ast.AsyncFunctionDef)


def block_value(analysis: Facts, source: Source, node: ast.AST) -> ast.expr | None:
    """What ``with chainer.using_config("train", value)`` around a node, in the same function, says."""
    for ancestor in source.ancestors(node):
        if isinstance(ancestor, (*_Function, ast.Lambda)):  # it may run later
            return None
        if isinstance(ancestor, ast.With) and not any(node is item for item in ancestor.items):
            for item in ancestor.items:
                value = _train_value(analysis, source, item.context_expr)
                if value is not None:
                    return value
    return None


def read_again(source: Source, value: ast.expr) -> str | None:
    """The text of a block's mode, to be written once more in it; None where it may say something else by then.

    ``False``, ``train``, ``self.mode`` and ``not train`` say the same again, unless the block gives the name or the
    member another value. What is computed may not.
    """
    read = value.operand if isinstance(value, ast.UnaryOp) else value
    block = source.enclosing(value, ast.With)
    places = nodes_of(block) if block is not None else []
    if isinstance(read, ast.Name):
        changed = any(isinstance(n, ast.Name) and n.id == read.id and not isinstance(n.ctx, ast.Load) for n in places)
    elif isinstance(read, ast.Attribute):
        changed = any(
            isinstance(n, ast.Attribute) and n.attr == read.attr and not isinstance(n.ctx, ast.Load) for n in places
        )
    else:
        changed = not isinstance(read, ast.Constant)
    return None if changed else ast.unparse(value)


def _train_value(analysis: Facts, source: Source, node: ast.expr) -> ast.expr | None:
    """The mode that ``using_config("train", value)`` sets."""
    if not isinstance(node, ast.Call) or Ref("chainer.using_config") not in options(analysis.kind(node.func)):
        return None
    given = {k.arg: k.value for k in node.keywords}
    name = node.args[0] if node.args else given.get("name")
    value = node.args[1] if len(node.args) > 1 else given.get("value")
    return value if entry_name(analysis, source, name) == "train" else None


__all__ = ["block_value", "read_again"]
