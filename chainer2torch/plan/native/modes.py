"""Hands the mode to functions that belong to no module: parameters and arguments ``training``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Func, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddKeyword, AddParameter
from chainer2torch.plan.native.train_flags import (
    NAME,
    asks,
    flag_at,
    is_unreached,
    is_value,
    module_flag,
    train_flags,
)

_PASSED = "it is passed as a value where no module is known"
_IN_LAMBDA = "no module is known in this lambda"


def run(context: Context) -> Decisions:
    """Adds the parameter to the functions that ask for the mode, and the argument to their calls."""
    decisions = Decisions(context)
    analysis, source = context.analysis, context.source
    flags = analysis.once(train_flags)
    handed = flags.handed
    if flags.unclear or context.module in flags.unreached:
        _mark(context, decisions)
    if not handed:
        return decisions
    for function in source.of(ast.FunctionDef, ast.AsyncFunctionDef):
        if analysis.functions.get(function) in handed:
            decisions.edit(function, AddParameter(source.start(function), NAME, "True"))
    for call in source.of(ast.Call):
        kinds = options(analysis.kind(call.func))
        if any(isinstance(kind, Func) and kind.info in handed for kind in kinds):
            flag = flag_at(analysis, source, call.func)
            if flag not in (None, "True"):
                decisions.edit(call, AddKeyword(source.span(call), NAME, flag))
    return decisions


def _mark(context: Context, decisions: Decisions) -> None:
    """Leaves to a person what no argument can reach."""
    analysis, source = context.analysis, context.source
    flags = analysis.once(train_flags)
    unclear, unreached = flags.unclear, flags.unreached
    for node in source.of(ast.Name, ast.Attribute):
        name = context.reference(node)
        if name is None or not asks(analysis, name):
            continue
        place = module_flag(analysis, source, node)
        if context.module in unreached and is_unreached(analysis, source, node, place):
            reason = _PASSED if is_value(analysis, source, node) else _IN_LAMBDA
        elif isinstance(place, FuncInfo) and place in unclear:
            reason = unclear[place]
        else:
            continue
        message = f"`model.eval()` does not reach this: {reason}; hand it the mode of the module"
        decisions.refine(node, context.rules.rows.get(name), "review", message)
