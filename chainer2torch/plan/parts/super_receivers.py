"""What a helper gets where a method is called on ``super()``."""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.questions.overridden_methods import is_super
from chainer2torch.plan.questions.choice import helpers_of

# helpers that ask a module for its own method first: `super()` itself tells them where to begin
_ASK_SUPER = frozenset({"addgrads", "copyparams", "namedparams", "params", "zerograds"})


def instance_behind(context: Context, receiver: ast.expr | None, template: str) -> Operand | None:
    """What a helper gets for ``super()``, which has no attributes of the instance: the instance itself."""
    if (
        not isinstance(receiver, ast.Call)
        or not is_super(receiver)
        or not template.startswith("compat.")
        or helpers_of(template) & _ASK_SUPER
    ):
        return None
    if len(receiver.args) == 2:
        return context.operand(receiver.args[1])
    method = context.source.enclosing(receiver, ast.FunctionDef)
    if isinstance(method, ast.FunctionDef) and method.args.args:
        return Operand(code=method.args.args[0].arg)
    return None
