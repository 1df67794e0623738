"""What ``optimizer.setup(...)`` means beyond taking parameters.

In the first versions it took arrays and their gradients: no model is there. And a parameter has the formula of the
optimizer that was set up with it last, also where another one steps.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.optimizer_places import holds_no_model
from chainer2torch.plan.questions.paths import is_path

_MESSAGE = (
    "it is set up with arrays and their gradients, as in the first versions of Chainer; make the arrays parameters "
    "(nn.Parameter), hand the optimizer a list of them, and let backward() fill their gradients"
)

_TWICE = (
    "another optimizer is set up with a part of the same model: in Chainer both go by the formula of the one that was "
    "set up last there, in PyTorch each by its own; give each parameter to one optimizer"
)
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def run(context: Context) -> Decisions:
    """Leaves such calls to a person."""
    decisions = Decisions(context)
    setups: list[tuple[ast.Call, ast.expr, str]] = []
    for call in context.source.of(ast.Call):
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "setup" or len(call.args) != 1:
            continue
        makers = options(context.kind(call.func.value))
        if any(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.Optimizer") for k in makers):
            if holds_no_model(context.analysis, context.kind(call.args[0])):
                row = context.rules.rows.get("chainer.GradientMethod.setup")
                decisions.refine(call.func, row, "manual", _MESSAGE)
            elif context.choices.style == "native" and is_path(call.args[0]):
                setups.append((call, call.func.value, ast.unparse(call.args[0])))
    for call, optimizer, part in setups:
        if any(
            part.startswith((f"{whole}.", f"{whole}["))
            and ast.unparse(other) != ast.unparse(optimizer)
            and _meet(context, call, another)
            for another, other, whole in setups
        ):
            row = context.rules.rows.get("chainer.GradientMethod.setup")
            decisions.refine(call.func, row, "review", _TWICE)
    return decisions


def _meet(context: Context, call: ast.Call, other: ast.Call) -> bool:
    """Whether the same names mean the same at both calls: in one function, or attributes of one object."""
    scopes = [context.source.enclosing(node, *_SCOPES) for node in (call, other)]
    classes = {context.source.enclosing(node, ast.ClassDef) for node in (call, other)}
    own = len(classes) == 1 and all(ast.unparse(node.args[0]).startswith("self.") for node in (call, other))
    return own or scopes[0] is scopes[1]
