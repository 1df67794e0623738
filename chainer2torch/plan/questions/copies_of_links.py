"""Copies of what nobody knows, which are links: by their arguments, or because they become children of one."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Method, Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_MODES = frozenset({"copy", "init", "share"})
_HOLDERS = frozenset({"chainer.ChainList", "chainer.Sequential"})
_ADDING = frozenset({"add_link", "append", "insert"})
_LISTS = (ast.ListComp, ast.GeneratorExp, ast.List, ast.Tuple)


def is_copy_of_link(context: Context, node: ast.Attribute) -> bool:
    """``x.copy('init')``, which no array, dict or list takes; ``ChainList(*[x.copy() for _ in devices])``."""
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node:
        return False
    given = [*call.args, *(k.value for k in call.keywords)]
    if given:
        return len(given) == 1 and isinstance(given[0], ast.Constant) and given[0].value in _MODES
    return _becomes_child(context, call)


def _becomes_child(context: Context, value: ast.expr) -> bool:
    """Whether a value, or the list that holds it, goes into a link, itself or by its name."""
    holder = context.source.parents.get(value)
    if isinstance(holder, ast.Starred):
        value, holder = holder, context.source.parents.get(holder)
    if isinstance(holder, _LISTS) and (not hasattr(holder, "elt") or holder.elt is value):
        return _becomes_child(context, holder)
    if isinstance(holder, ast.Call):
        return value in holder.args and _holds_links(context, holder)
    if not isinstance(holder, ast.Assign) or len(holder.targets) != 1:
        return False
    target = holder.targets[0]
    if isinstance(target, ast.Attribute):
        return _in_init_scope(context, holder)
    scope = context.source.enclosing(holder, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    name = target.id if isinstance(target, ast.Name) else ""
    uses = [node for node in nodes_of(scope) if isinstance(node, ast.Name) and node.id == name]
    return sum(isinstance(use.ctx, ast.Store) for use in uses) == 1 and any(
        _is_handed_to_link(context, use) for use in uses
    )


def _is_handed_to_link(context: Context, use: ast.Name) -> bool:
    value = context.source.parents.get(use)
    argument = value if isinstance(value, ast.Starred) else use
    call = context.source.parents.get(argument)
    return isinstance(call, ast.Call) and argument in call.args and _holds_links(context, call)


def _holds_links(context: Context, call: ast.Call) -> bool:
    callee = context.analysis.kind(call.func)
    if isinstance(callee, Method):
        return callee.name in _ADDING and context.analysis.is_link(callee.receiver)
    return isinstance(callee, Ref) and callee.name in _HOLDERS


def _in_init_scope(context: Context, statement: ast.Assign) -> bool:
    block = context.source.parents.get(statement)
    return isinstance(block, ast.With) and any(
        isinstance(item.context_expr, ast.Call)
        and isinstance(item.context_expr.func, ast.Attribute)
        and item.context_expr.func.attr == "init_scope"
        for item in block.items
    )
