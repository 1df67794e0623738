"""Hooks that an optimizer of torch.optim calls as they are: classes and functions of the program's own."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Func, Inst, Kind, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.optimizer_forms import HOOKS
from chainer2torch.plan.project_rules import has_short_optimizers


def is_own_hook(context: Context, call: ast.Call) -> bool:
    """Whether ``optimizer.add_hook(hook)`` gets what asks an optimizer for its model at most.

    Hooks of Chainer's that come from elsewhere are objects of the same kind (native/late_hooks.py).
    """
    if len(call.args) != 1 or isinstance(call.args[0], ast.Starred) or call.keywords:
        return False
    if not has_short_optimizers(context.analysis, context.module):
        return False  # hooks are objects of the long form there
    return all(_asks_little(context, kind) for kind in options(context.kind(call.args[0])))


def _asks_little(context: Context, kind: Kind) -> bool:
    if isinstance(kind, Func):
        return _uses_target_only(kind.info, 0)
    if not isinstance(kind, Inst):
        return False
    owners = [owner for owner in context.analysis.mro(kind.cls) if owner != "builtins.object"]
    if isinstance(owners[0], str):
        return owners[0] in HOOKS
    if not all(isinstance(owner, ClassInfo) for owner in owners):
        return False
    methods = [
        owner.methods["__call__"] for owner in owners if isinstance(owner, ClassInfo) and "__call__" in owner.methods
    ]
    attrs = {name for owner in owners if isinstance(owner, ClassInfo) for name in owner.attrs}
    return bool(methods) and "timing" not in attrs and _uses_target_only(methods[0], 1)


def _uses_target_only(function: FuncInfo, first: int) -> bool:
    """Whether a function reads ``optimizer.target`` of what it gets, and does nothing else with it."""
    arguments = function.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)][first : first + 1]
    parents = {child: node for node in nodes_of(function.node) for child in ast.iter_child_nodes(node)}
    uses = [node for node in nodes_of(function.node) if isinstance(node, ast.Name) and node.id in names]
    outer = [parents[node] for node in uses]
    return bool(names) and all(isinstance(node, ast.Attribute) and node.attr == "target" for node in outer)


__all__ = ["is_own_hook"]
