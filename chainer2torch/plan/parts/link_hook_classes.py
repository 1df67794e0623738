"""Hooks of links that users write: what they see is the same, unless they look at the link itself."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.table import Row

_SAME = frozenset({"forward_name", "args", "kwargs", "out"})
_LOOKS = "the hook looks at the layer itself, whose class and attributes have PyTorch's names"
_CALLS = "Chainer calls no hooks for a link that defines `__call__`; here they are called for every module"


def link_hook(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``class MyHook(chainer.LinkHook)``, or the class as a value: exact if the whole project makes no difference."""
    note = context.analysis.once(_difference)
    if note:
        decisions.mark(node, row, row.name, "review", note)  # the first mark of a node stands
    call = context.source.parents.get(node)
    assert isinstance(node, ast.expr)
    if isinstance(call, ast.Call) and call.func is node:
        emit_call(context, decisions, call, row, node)
    else:
        emit_value(context, decisions, node, row)


def _difference(analysis: Analysis) -> str:
    """What hooks of the project can notice; empty if nothing."""
    classes = list(analysis.classes.values())
    if any("__call__" in cls.methods and analysis.derives(cls, "chainer.Link") for cls in classes):
        return _CALLS
    hooks = (cls for cls in classes if analysis.derives(cls, "chainer.LinkHook"))
    return _LOOKS if any(_looks(cls) for cls in hooks) else ""


def _looks(cls: ClassInfo) -> bool:
    for name, method in cls.methods.items():
        if name in ("forward_preprocess", "forward_postprocess") and any(
            not (isinstance(use, ast.Attribute) and use.attr in _SAME) for use in _uses(cls, method)
        ):
            return True
        if name in ("added", "deleted") and any(not _asks_for_none(use) for use in _uses(cls, method)):
            return True
    return False


def _uses(cls: ClassInfo, method: FuncInfo) -> list[ast.AST | None]:
    """What is around each use of a method's argument."""
    parameters = method.node.args.args
    if len(parameters) < 2:
        return [None]
    parents = cls.module.source.parents
    return [parents.get(n) for n in nodes_of(method.node) if isinstance(n, ast.Name) and n.id == parameters[1].arg]


def _asks_for_none(use: ast.AST | None) -> bool:
    return isinstance(use, ast.Compare) and all(isinstance(op, (ast.Is, ast.IsNot)) for op in use.ops)
