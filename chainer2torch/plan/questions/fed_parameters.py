"""Parameters that are handed a tensor, also by a function that got it handed on: ``known(xs)`` in ``forward(xs)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Func, Inst, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.nones import bound
from chainer2torch.plan.questions.xp_uses import called

_Parameters = frozenset[tuple[FuncInfo, str]]


def is_fed_parameter(context: Context, node: ast.expr) -> bool:
    """Whether a name of unknown kind is such a parameter of the function around it."""
    if not isinstance(node, ast.Name) or context.analysis.kind(node) != UNKNOWN:
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    info = context.analysis.functions.get(function) if function is not None else None
    return info is not None and (info, node.id) in context.analysis.once(_fed)


def _fed(analysis: Analysis) -> _Parameters:
    handed: dict[tuple[FuncInfo, str], set[tuple[FuncInfo, str]]] = {}
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            function = module.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
            outer = analysis.functions.get(function) if function is not None else None
            if outer is None or not isinstance(call, ast.Call):
                continue
            kinds = [kind for kind in options(analysis.kind(call.func)) if isinstance(kind, (Func, Inst))]
            for info in (one for kind in kinds if (one := called(analysis, kind)) is not None):
                for name, value in bound(info, call):
                    if isinstance(value, ast.Name) and value.id in outer.params and analysis.kind(value) == UNKNOWN:
                        handed.setdefault((outer, value.id), set()).add((info, name))
    found = {(info, name) for info in analysis.functions.values() for name in info.tensor_fed}
    waiting = list(found)
    while waiting:
        more = handed.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return frozenset(found)


__all__ = ["is_fed_parameter"]
