"""``@torch.no_grad()`` for functions of version 1 whose Variables are all volatile."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddDecorator
from chainer2torch.plan.match import case_for
from chainer2torch.plan.questions.choice import chosen
from chainer2torch.plan.questions.unrecorded import unrecorded


def run(context: Context) -> Decisions:
    """Decides on the functions around volatile Variables that become plain tensors."""
    decisions = Decisions(context)
    seen: set[ast.FunctionDef] = set()
    for call in context.source.of(ast.Call) if "volatile" in context.source.text else ():
        assert isinstance(call, ast.Call)
        function = unrecorded(context, call)
        if function is None or function in seen or not _counts_on_it(context, call):
            continue
        seen.add(function)
        decisions.edit(function, AddDecorator(context.source.start(function), "torch.no_grad()"))
    return decisions


def _counts_on_it(context: Context, call: ast.Call) -> bool:
    choice = chosen(context, call)
    case = case_for(choice.question)[0] if choice is not None else None
    return case is not None and "unrecorded()" in (case.when or "")
