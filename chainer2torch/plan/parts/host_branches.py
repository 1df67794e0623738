"""``if xp == np: return _on_cpu(boxes)``: a function of NumPy's, which gets arrays of NumPy as before.

The arrays of a CPU are tensors by now, so the branch is taken with those, too.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Func, Kind, Ref, options
from chainer2torch.analysis.models.xp_modules import EITHER, MODULE_OF, XP
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import assigned
from chainer2torch.plan.parts.host_values import wrap

_NUMPY = Ref("numpy")


def handed_on_host(context: Context, decisions: Decisions, call: ast.Call, callee: Kind) -> None:
    """Makes host arrays of the arrays that such a function is handed, where nobody knows what they are."""
    infos = [k.info for k in options(callee) if isinstance(k, Func)]
    if not infos or len(infos) != len(options(callee)) or not all(_is_of_numpy(context, info) for info in infos):
        return
    modules = [module for branch in context.source.ancestors(call) for module in _asked(context, branch, call)]
    if not modules:
        return
    arrays = {name for module in modules for name in _arrays_of(context, module)}
    function = context.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef)
    info = context.analysis.functions.get(function) if function is not None else None
    arrays |= info.tensor_fed | info.host_fed if info is not None and arrays else set()
    for argument in (*call.args, *(k.value for k in call.keywords)):
        if isinstance(argument, ast.Name) and argument.id in arrays and context.analysis.kind(argument) == UNKNOWN:
            wrap(context, decisions, argument, "compat.to_host(value)")


def _is_of_numpy(context: Context, info: FuncInfo) -> bool:
    """Whether a function calls functions of NumPy, and none of Chainer's."""
    called = [context.analysis.kind(call.func) for call in info.inside.of(ast.Call)]
    names = [kind.name for kind in called if isinstance(kind, Ref)]
    return any(n.startswith("numpy.") for n in names) and not any(n.startswith(("chainer.", "cupy.")) for n in names)


def _asked(context: Context, branch: ast.AST, call: ast.Call) -> list[ast.expr]:
    """The array module of ``if xp is numpy:``, where a call stands in the branch that has NumPy's arrays."""
    if not isinstance(branch, ast.If) or not isinstance(branch.test, ast.Compare) or len(branch.test.ops) != 1:
        return []
    sides = (branch.test.left, branch.test.comparators[0])
    op = branch.test.ops[0]
    body = branch.body if isinstance(op, (ast.Is, ast.Eq)) else branch.orelse
    if not isinstance(op, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)) or _NUMPY not in map(context.analysis.kind, sides):
        return []
    inside = {id(place) for place in (call, *context.source.ancestors(call))}
    if not any(id(statement) in inside for statement in body):
        return []
    return [side for side in sides if context.analysis.kind(side) in (EITHER, XP)]


def _arrays_of(context: Context, module: ast.expr) -> set[str]:
    """The names of the arrays whose module it is: ``xp = cuda.get_array_module(x, y)``."""
    made = [module, *assigned(context, module, None)]
    calls = [node for node in made if isinstance(node, ast.Call) and context.reference(node.func) in MODULE_OF]
    return {a.id for made_by in calls for a in made_by.args if isinstance(a, ast.Name)}
