"""Hands the mode to functions that belong to no module: parameters and arguments ``training``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Func, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddKeyword, AddParameter
from chainer2torch.plan.native.train_flags import (
    ASKED,
    NAME,
    asks,
    asks_the_first,
    flag_at,
    is_unreached,
    is_value,
    module_flag,
    train_flags,
    tells_mode,
)

_PASSED = "it is passed as a value where no module is known"
_IN_LAMBDA = "no module is known in this lambda"
_OF_COPIES = "a copy of the module takes this function along, which still asks the first one; make it a method"
_SWITCHED = "the program sets the mode for good: this asks the mode that was set, and `model.eval()` does not reach it"


def run(context: Context) -> Decisions:
    """Adds the parameter to the functions that ask for the mode, and the argument to their calls."""
    decisions = Decisions(context)
    analysis, source = context.analysis, context.source
    flags = analysis.once(train_flags)
    handed = flags.handed
    _mark(context, decisions)
    if not handed:
        return decisions
    for function in source.of(ast.FunctionDef, ast.AsyncFunctionDef):
        if analysis.functions.get(function) in handed:
            decisions.edit(function, AddParameter(source.start(function), NAME, "True"))
    for call in source.of(ast.Call):
        kinds = options(analysis.kind(call.func))
        if any(isinstance(kind, Func) and kind.info in handed for kind in kinds):
            flag = flag_at(analysis, source, call.func) or ASKED
            if flag != "True":
                decisions.edit(call, AddKeyword(source.span(call), NAME, flag))
    return decisions


def _mark(context: Context, decisions: Decisions) -> None:
    """Leaves to a person what no argument can reach."""
    for node, _ in context.analysis.names_in(context.source):
        name = context.reference(node)
        if name is None or not asks(context.analysis, name) or not isinstance(node.ctx, ast.Load):
            continue
        if tells_mode(context.source, node):
            continue
        reason = _reason(context, node)
        if reason:
            message = f"`model.eval()` does not reach this: {reason}; hand it the mode of the module"
            decisions.refine(node, context.rules.rows.get(name), "review", message)
        elif asks_the_first(context.analysis, context.source, node):
            decisions.refine(node, context.rules.rows.get(name), "review", _OF_COPIES)
        elif context.analysis.once(train_flags).in_switched(context.source) and _asks_the_switch(context, node):
            decisions.refine(node, context.rules.rows.get(name), "review", _SWITCHED, quiet=True)


def _reason(context: Context, node: ast.Name | ast.Attribute) -> str:
    """Why ``model.eval()`` does not reach what asks for the mode; empty where it does."""
    flags = context.analysis.once(train_flags)
    place = module_flag(context.analysis, context.source, node)
    if context.module in flags.unreached and is_unreached(context.analysis, context.source, node, place):
        return _PASSED if is_value(context.analysis, context.source, node) else _IN_LAMBDA
    return flags.unclear.get(place) or flags.unsure.get(place, "") if isinstance(place, FuncInfo) else ""


def _asks_the_switch(context: Context, node: ast.AST) -> bool:
    return context.training(node) == "compat.is_training()"
