"""Which calls make layers of torch, and where their initial values are set."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.match import parsed
from chainer2torch.plan.questions.choice import chosen
from chainer2torch.plan.questions.first_values import is_number
from chainer2torch.plan.questions.init_scopes import initialized_by_scope

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


def init_like_chainer(context: Context) -> str:
    """The helper that gives layers Chainer's first values."""
    return "native.init_like_chainer" if context.choices.style == "native" else "compat.init_like_chainer"


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
    if choice is None or not _BEGIN_OTHERWISE.match(choice.template or ""):
        return False
    without_bias = choice.question.literal("nobias") is True
    return not ("weight" in choice.values.given and (without_bias or "bias" in choice.values.given))


def layers_of_scope(context: Context, scope: ast.With) -> list[ast.Call]:
    """The layers whose values are set by lines behind the scope."""
    calls = [n for statement in scope.body for n in ast.walk(statement) if isinstance(n, ast.Call)]
    return [call for call in calls if initialized_by_scope(context, call) is scope]


def lines_of_values(context: Context, call: ast.Call, layer: str, operands: dict[str, Operand]) -> list[str]:
    """The statements that set the first values of a layer; what their names stand for is put into ``operands``."""
    choice = context.ask(chosen, call)
    if choice is None:
        return []
    return [_line(context, f"{layer}.{name}", value, operands) for name, value in choice.values.given.items()]


def _line(context: Context, parameter: str, value: ast.expr, operands: dict[str, Operand]) -> str:
    def name_of(node: ast.expr) -> str:
        operands[name := f"_v{len(operands)}"] = context.operand(node)
        return name

    if is_number(value):
        if ast.literal_eval(value) in (0, 1):
            return f"torch.nn.init.{'zeros' if ast.literal_eval(value) == 0 else 'ones'}_({parameter})"
        return f"torch.nn.init.constant_({parameter}, {name_of(value)})"
    made = context.ask(chosen, value) if isinstance(value, ast.Call) else None
    tree = parsed(made.template) if made is not None and made.template is not None else None
    if made is not None and isinstance(tree, ast.Call) and ast.unparse(tree.func) == "functools.partial":
        given = made.question.bound.given
        if all(n.id in given or n.id in _ROOTS for n in ast.walk(tree) if isinstance(n, ast.Name)):
            names = {n: name_of(node) for n, node in given.items()}
            rest = ", ".join(f"{k.arg}={_renamed(k.value, names)}" for k in tree.keywords)
            return f"{ast.unparse(tree.args[0])}({parameter}, {rest})"
    if made is not None and (made.template or "").startswith("torch.nn.init."):
        return f"{made.template}({parameter})"
    return f"{name_of(value)}({parameter})"


def _renamed(node: ast.expr, names: Mapping[str, str]) -> str:
    renamed = ast.parse(ast.unparse(node), mode="eval").body
    for part in ast.walk(renamed):
        if isinstance(part, ast.Name):
            part.id = names.get(part.id, part.id)
    return ast.unparse(renamed)


_ROOTS = frozenset({"functools", "native", "torch"})
