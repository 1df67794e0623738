"""Which calls make layers of torch, and where their initial values are set."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.choice import chosen
from chainer2torch.plan.questions.first_values import filler_of
from chainer2torch.plan.questions.init_scopes import initialized_by_scope
from chainer2torch.plan.questions.sequentials import in_sequential

_BEGIN_OTHERWISE = re.compile(r"(native\.conv|torch\.nn\.(Lazy)?(Linear|Conv|Bilinear))")


_PLAIN = frozenset({"torch.nn.Module()", "torch.nn.ModuleList()"})  # no layers: they have no values to start from


def makes_torch_layer(context: Context, call: ast.AST) -> bool:
    """Whether a call of one of Chainer's links becomes one of the layers of torch.nn."""
    # layers without parameters (nn.Dropout and the like) do not occur: they are functions in Chainer
    if not isinstance(call, ast.Call) or not any(
        context.analysis.derives(k.cls, "chainer.Link") for k in options(context.kind(call)) if isinstance(k, Inst)
    ):
        return False
    choice = context.ask(chosen, call)
    return choice is not None and choice.is_torch_module and choice.template not in _PLAIN


def filler(context: Context, call: ast.Call) -> str:
    """The function that gives the one layer that a call makes Chainer's first values, in the native style."""
    choice = context.ask(chosen, call)
    template = choice.template or "" if choice is not None else ""
    return filler_of(template)


def needs_first_values(context: Context, call: ast.AST) -> bool:
    """Whether a call makes a layer of torch that would begin with other values than Chainer's.

    In the native style what begins alike does not count, nor what statements or an argument give all its values.
    """
    native = context.choices.style == "native"
    if not native or not isinstance(call, ast.Call):
        return makes_torch_layer(context, call)
    if not any(context.analysis.is_link(k) for k in options(context.kind(call))):
        return False
    choice = context.ask(chosen, call)
    if choice is None or choice.values.by_helper or not _BEGIN_OTHERWISE.match(choice.template or ""):
        return False
    without_bias = choice.question.literal("nobias") is True
    return not ("weight" in choice.values.names and (without_bias or "bias" in choice.values.names))


def is_made_by_scope(context: Context, scope: ast.With, call: ast.Call) -> bool:
    """Whether a scope makes the layer of a call in any case, by itself: not under a condition, nor in a Sequential."""
    return context.source.statement(call) in scope.body and not in_sequential(context, call)


def layers_of_scope(context: Context, scope: ast.With) -> list[ast.Call]:
    """The layers whose values are set by lines behind the scope."""
    calls = [n for statement in scope.body for n in nodes_of(statement) if isinstance(n, ast.Call)]
    return [call for call in calls if initialized_by_scope(context, call) is scope]
