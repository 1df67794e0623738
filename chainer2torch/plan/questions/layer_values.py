"""The statements of a constructor that give its layers Chainer's first values: plain nn.init, or the helper's one line.

Chainer draws weights from N(0, 1 / fan_in): ``nn.init.kaiming_normal_`` with the gain of a linear function. Its biases
are zeros. The helper stays where a layer has no shape yet, is not always made, or may have no bias.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Sequence

from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.questions.choice import Choice, chosen
from chainer2torch.plan.questions.layers import init_like_chainer, lines_of_values, needs_first_values

_PLAIN = re.compile(r"torch\.nn\.(Linear|Conv(Transpose)?\d)")
_WEIGHT = "torch.nn.init.kaiming_normal_({}.weight, nonlinearity='linear')"
_BIAS = "torch.nn.init.zeros_({}.bias)"
_NAMES = ("layer", "link", "module")
_WIDTH = 88  # of a statement, without the indent of a method


def lines_of_layers(
    context: Context,
    layers: Sequence[tuple[ast.Call, str]],
    owner: str,
    is_made: Callable[[ast.Call], bool],
    operands: dict[str, Operand],
) -> list[str]:
    """The statements for some layers, each a call and what it is assigned to (``self.fc``); ``owner``: ``self``.

    ``is_made``: whether a layer is there in any case, by itself.
    """
    started = [(call, target) for call, target in layers if needs_first_values(context, call)]
    lines: list[str] = []
    if started and context.choices.init != "torch":
        always = all(is_made(call) for call, _ in started)
        plain = _plain(context, started) if always and context.choices.style == "native" else None
        lines = plain if plain is not None else [f"{init_like_chainer(context)}({owner})"]
    for call, target in layers:
        lines += lines_of_values(context, call, target, operands)
    return lines


def _plain(context: Context, layers: Sequence[tuple[ast.Call, str]]) -> list[str] | None:
    choices = [(context.ask(chosen, call), target) for call, target in layers]
    known = [(choice, target) for choice, target in choices if choice is not None and _is_plain(choice)]
    if len(known) != len(layers) or len({target for _, target in known}) != len(known):
        return None
    weights = [target for choice, target in known if "weight" not in choice.values.given]
    biases = [
        target
        for choice, target in known
        if choice.question.literal("nobias") is False and "bias" not in choice.values.given
    ]
    variable = _variable(context, layers[0][0])
    if variable is None:
        return None
    if weights == biases:
        return _loop(variable, weights, (_WEIGHT, _BIAS))
    return [*_loop(variable, weights, (_WEIGHT,)), *_loop(variable, biases, (_BIAS,))]


def _is_plain(choice: Choice) -> bool:
    return _PLAIN.match(choice.template or "") is not None and choice.question.literal("nobias") in (True, False)


def _loop(variable: str, targets: Sequence[str], statements: Sequence[str]) -> list[str]:
    """Some statements for each of the layers: in a loop where there is more than one."""
    if len(targets) < 2:
        return [statement.format(target) for target in targets for statement in statements]
    head = f"for {variable} in ({', '.join(targets)}):"
    if len(head) > _WIDTH:
        rows = textwrap.wrap(", ".join(targets) + ",", _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        head = "\n".join([f"for {variable} in (", *(f"        {row}" for row in rows), "):"])
    return ["\n".join([head, *(f"    {statement.format(variable)}" for statement in statements)])]


def _variable(context: Context, call: ast.Call) -> str | None:
    """A name for the layers of a loop that the function does not use."""
    function = context.source.enclosing(call, ast.FunctionDef)
    if not isinstance(function, ast.FunctionDef):
        return None
    used = {n.id for n in ast.walk(function) if isinstance(n, ast.Name)} | {
        n.arg for n in ast.walk(function) if isinstance(n, ast.arg)
    }
    return next((name for name in _NAMES if name not in used), None)


__all__ = ["lines_of_layers"]
