"""Gradients of new parameters: Chainer fills them with NaN until somebody clears them, PyTorch has None there.

``zerograds()`` makes zeros of the NaN, and leaves None as it is.

What a program asks of them where its model has just been made differs: a norm is NaN and not an error, `is not None`
is true, and a backward pass adds to NaN.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, Ref, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching

_MESSAGE = (
    "nothing has cleared the gradients of this new model: Chainer's are NaN until then, PyTorch's None or sums from 0"
)
_ZEROS = "this new model had no gradients before: Chainer's are zeros here, PyTorch's None until the first backward()"
_CLEARING = frozenset({"cleargrad", "cleargrads", "update", "zero_grads", "initialize"})
_ZEROING = frozenset({"zerograd", "zerograds"})
_WALKS = frozenset({"params", "namedparams"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SETTING_UP = frozenset({"setup"})


def run(context: Context) -> Decisions:
    """Marks what reads such a gradient, in the function that makes the model."""
    decisions = Decisions(context)
    if not context.imports_chainer or context.migrated:
        return decisions
    for node in context.source.of(ast.Attribute):
        if node.attr != "grad" or not isinstance(node.ctx, ast.Load):
            continue
        if not all(isinstance(kind, Tensor) and not kind.array for kind in options(context.kind(node.value))):
            continue
        model = _model_of(context, node.value)
        message = _difference(context, node, model) if model is not None else ""
        if message:
            decisions.refine(node, context.rules.rows.get("chainer.Variable.grad"), "review", message)
    return decisions


def _model_of(context: Context, parameter: ast.expr) -> ast.Name | None:
    """``model`` of ``model.fc.W``, and of a ``p`` that goes through ``model.params()``."""
    root = parameter
    while isinstance(root, (ast.Attribute, ast.Subscript)):
        root = root.value
    if not isinstance(root, ast.Name):
        return None
    if root is not parameter:
        return root
    for around in context.source.ancestors(parameter):
        if isinstance(around, _FUNCTIONS):
            return None
        loops = [around] if isinstance(around, ast.For) else getattr(around, "generators", ())
        for loop in loops:
            if any(isinstance(n, ast.Name) and n.id == root.id for n in nodes_of(loop.target)):
                return _walked(loop.iter)
    return None


def _walked(walk: ast.expr) -> ast.Name | None:
    for node in nodes_of(walk):
        if isinstance(node, ast.Attribute) and node.attr in _WALKS and isinstance(node.value, ast.Name):
            return node.value
    return None


def _difference(context: Context, node: ast.Attribute, model: ast.Name) -> str:
    """What is read where a name has just got a new model; empty: what stands between has cleared the gradients."""
    made = reaching(context, model)
    if len(made) != 1 or not isinstance(made[0], ast.Call) or not _constructs(context, made[0]):
        return ""
    scope = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    start, end = context.source.start(made[0]), context.source.start(node)
    message = _MESSAGE
    for call in nodes_of(scope):
        if not isinstance(call, ast.Call) or not start < context.source.start(call) < end or _holds(call, node):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
        if name in _CLEARING or name not in _SETTING_UP and _is_handed_on(context, call, model.id):
            return ""
        if name in _ZEROING:
            message = _ZEROS
        elif name == "backward" and message == _ZEROS:
            return ""
    return message


def _constructs(context: Context, call: ast.Call) -> bool:
    """Whether a call makes a link: of a class, not of a function that may have trained it."""
    return all(
        isinstance(kind, Class) or isinstance(kind, Ref) and kind.name.startswith("chainer.links.")
        for kind in options(context.kind(call.func))
    )


def _holds(call: ast.Call, node: ast.AST) -> bool:
    return any(part is node for part in nodes_of(call))


def _is_handed_on(context: Context, call: ast.Call, name: str) -> bool:
    """Whether a function gets the model, or a part of it; it may clear its gradients. Calls and walks of it do not."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return any(
        isinstance(part, ast.Name) and part.id == name and not _is_asked(context.source.parents.get(part), part)
        for argument in given
        for part in nodes_of(argument)
    )


def _is_asked(around: ast.AST | None, model: ast.Name) -> bool:
    return (
        isinstance(around, ast.Call)
        and around.func is model
        or (isinstance(around, ast.Attribute) and around.attr in _WALKS)
    )
