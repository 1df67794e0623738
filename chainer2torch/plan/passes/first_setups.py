"""What ``optimizer.setup(...)`` means beyond taking parameters.

In the first versions it took arrays and their gradients: no model is there. And a parameter has the formula of the
optimizer that was set up with it last, also where another one steps.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Inst, Kind, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import within
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
        if _is_part_of_another(context, call) or any(
            part.startswith((f"{whole}.", f"{whole}["))
            and ast.unparse(other) != ast.unparse(optimizer)
            and _meet(context, call, another)
            for another, other, whole in setups
        ):
            row = context.rules.rows.get("chainer.GradientMethod.setup")
            decisions.refine(call.func, row, "review", _TWICE)
    return decisions


def _is_part_of_another(context: Context, call: ast.Call) -> bool:
    """Whether a link sets up an optimizer with a part of itself, and something else one with that link."""
    cls, part = context.enclosing_class(call), call.args[0]
    if cls is None or not context.analysis.derives(cls, "chainer.Link") or not _is_kept(context, call, part):
        return False
    return any(
        isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo) and cls in context.analysis.mro(kind.cls)
        for other, kinds in context.analysis.once(_all_setups)
        if other is not call
        for kind in kinds
    )


def _is_kept(context: Context, call: ast.Call, part: ast.expr) -> bool:
    """Whether a method has a part of its own link in hand: ``self.critic``, or a name that it registers."""
    if isinstance(part, ast.Attribute):
        return ast.unparse(part.value) == "self"
    method = context.source.enclosing(call, ast.FunctionDef)
    return (
        isinstance(part, ast.Name)
        and method is not None
        and any(
            isinstance(node, ast.Call)
            and ast.unparse(node.func) in ("self.add_link", "setattr")
            and ast.unparse(node.args[-1] if node.args else node.func) == part.id
            or isinstance(node, ast.Assign)
            and ast.unparse(node.value) == part.id
            and any(isinstance(t, ast.Attribute) and ast.unparse(t.value) == "self" for t in node.targets)
            for node in within(method).of(ast.Call, ast.Assign)
        )
    )


def _all_setups(analysis: Facts) -> list[tuple[ast.Call, tuple[Kind, ...]]]:
    """The calls of a program that may give an optimizer its model, with the kinds of the models."""
    return [
        (call, tuple(options(analysis.kind(call.args[0]))))
        for module in analysis.project.modules.values()
        if ".setup(" in module.source.text
        for call in module.source.of(ast.Call)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "setup"
        and len(call.args) == 1
    ]


def _meet(context: Context, call: ast.Call, other: ast.Call) -> bool:
    """Whether the same names mean the same at both calls: in one function, or attributes of one object."""
    scopes = [context.source.enclosing(node, *_SCOPES) for node in (call, other)]
    classes = {context.source.enclosing(node, ast.ClassDef) for node in (call, other)}
    own = len(classes) == 1 and all(ast.unparse(node.args[0]).startswith("self.") for node in (call, other))
    return own or scopes[0] is scopes[1]
