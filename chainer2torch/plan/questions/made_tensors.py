"""Which arrays of NumPy become tensors where they are made, because the call around them wants a tensor."""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context
from chainer2torch.plan.match import case_for, evaluate, parsed
from chainer2torch.plan.questions.array_makers import Maker, maker
from chainer2torch.plan.questions.choice import chosen

_GUARD = "is_made"


def made_tensor(context: Context, call: ast.Call) -> Maker | None:
    """What a call of NumPy becomes, if the case that the call around it takes counts on a tensor."""
    found = maker(context, call)
    parent = context.source.parents.get(call)
    outer = context.source.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if found is None or not isinstance(outer, ast.Call) or outer.func is call:
        return None
    choice = chosen(context, outer)
    if choice is None:
        return None
    case, _ = case_for(choice.question)
    name = next((name for name, node in choice.question.bound.given.items() if node is call), None)
    if case is None or case.when is None or name is None or f"{_GUARD}({name})" not in case.when:
        return None
    return found if evaluate(parsed(f"{_GUARD}({name})"), choice.question) is True else None


__all__ = ["made_tensor"]
