"""The statements of a constructor that give its layers Chainer's first values: plain nn.init, or the helper's one line.

Chainer draws weights from N(0, 1 / fan_in): ``nn.init.kaiming_normal_`` with the gain of a linear function. Its biases
are zeros. The helper stays where a layer has no shape yet, is not always made, or may have no bias. Layers that begin
alike share a loop.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.match import parsed
from chainer2torch.plan.questions.choice import Choice, chosen
from chainer2torch.plan.questions.first_values import (
    filler_of,
    as_argument,
    is_nothing,
    is_number,
    scale_of,
)
from chainer2torch.plan.questions.layers import filler, needs_first_values

Layer = tuple[ast.Call, str]
"""The call that makes a layer, and what it is assigned to: ``self.fc``."""
_PLAIN = re.compile(r"torch\.nn\.(Linear|Conv(Transpose)?\d)")
_WEIGHT = "torch.nn.init.kaiming_normal_({}.weight, nonlinearity='linear')"
_BIAS = "torch.nn.init.zeros_({}.bias)"
_NAMES = ("layer", "link", "module")
_BLOCKS = ("block", "part", "group")
_ROOTS = frozenset({"functools", "native", "torch"})
_WIDTH = 88  # of a statement, without the indent of a method


def lines_of_layers(
    context: Context,
    layers: Sequence[Layer],
    owner: str,
    is_made: Callable[[ast.Call], bool],
    operands: dict[str, Operand],
) -> list[str]:
    """The statements for some layers; what their names stand for is put into ``operands``. ``owner``: ``self``.

    ``is_made``: whether a layer is there in any case, by itself.
    """
    started = [layer for layer in layers if needs_first_values(context, layer[0])]
    lines: list[str] = []
    filled: Sequence[Layer] = ()
    variable = _variable(context, layers[0][0]) if layers else None
    if started and context.choices.init != "torch":
        if context.choices.style == "native":
            filled = [layer for layer in started if is_made(layer[0])]  # the others are where they are made
        else:
            lines = [f"compat.init_like_chainer({owner})"]
    plain = all(_is_plain(context.ask(chosen, call)) for call, _ in filled)
    groups: dict[tuple[str, ...], list[str]] = {}
    for layer in layers:
        choice = context.ask(chosen, layer[0])
        if choice is not None:
            statements = tuple(_statements(context, choice, layer in filled and plain, operands))
            if layer in filled and not plain:
                statements = (f"{filler(context, layer[0])}({{}})", *statements)
            groups.setdefault(statements, []).append(layer[1])
    for statements, targets in groups.items():
        if variable is None:
            lines += [statement.replace("{}", target) for target in targets for statement in statements]
        else:
            lines += _loop(variable, list(dict.fromkeys(targets)), statements)
    return lines


def lines_of_held_layers(context: Context, held: Sequence[tuple[str, Sequence[ast.Call]]]) -> list[str]:
    """The loop over the modules of some links that gives the layers in them, those of the calls, Chainer's values."""
    choices = [context.ask(chosen, call) for _, calls in held for call in calls]
    variable = _variable(context, held[0][1][0]) if held else None
    if variable is None or not all(map(_is_plain, choices)):
        return []
    found = [choice for choice in choices if choice is not None]
    types = sorted({(choice.template or "").partition("(")[0] for choice in found})
    biases = {choice.question.literal("nobias") is False for choice in found}
    asked = types[0] if len(types) == 1 else f"({', '.join(types)})"
    inner = [f"if isinstance({variable}, {asked}):", f"    {_WEIGHT.format(variable)}"]
    if len(biases) == 2:
        inner += [f"    if {variable}.bias is not None:", f"        {_BIAS.format(variable)}"]
    elif True in biases:
        inner.append(f"    {_BIAS.format(variable)}")
    targets = [target for target, _ in held]
    owner = _variable(context, held[0][1][0], _BLOCKS) if len(targets) > 1 else targets[0]
    if owner is None:
        return []
    body = "\n".join([f"for {variable} in {owner}.modules():", *(f"    {line}" for line in inner)])
    return _loop(owner, targets, [body]) if len(targets) > 1 else [body]


def _is_plain(choice: Choice | None) -> bool:
    return (
        choice is not None
        and _PLAIN.match(choice.template or "") is not None
        and choice.question.literal("nobias") in (True, False)
    )


def _statements(context: Context, choice: Choice, plain: bool, operands: dict[str, Operand]) -> Iterator[str]:
    """The statements for one layer, ``{}`` for the layer itself; ``plain``: those for Chainer's own values, too."""
    values = choice.values
    if values.by_helper:
        yield _by_helper(context, choice, operands)
        return
    if plain and "weight" not in values.names:
        yield _WEIGHT
    for name, value in values.given.items():
        yield _line(context, f"{{}}.{name}", value, operands)
    for name, value in values.computed.items():
        yield _computed(context, f"{{}}.{name}", value, choice.question.bound.given, operands)
    if plain and "bias" not in values.names and choice.question.literal("nobias") is False:
        yield _BIAS


def _by_helper(context: Context, choice: Choice, operands: dict[str, Operand]) -> str:
    """The statement that hands the values to the helper, which knows what to do when the layer has its shape."""
    given = choice.question.bound.given
    values = {name: _operand(context, value, operands) for name, value in choice.values.given.items()}
    for parameter, computed in choice.values.computed.items():
        name, value = as_argument(parameter, computed)
        named = {n.id for n in nodes_of(value) if isinstance(n, ast.Name)}
        names = {n: _operand(context, given[n], operands) if n in given else n for n in sorted(named)}
        values[name] = _renamed(value, names)
    function = filler_of(choice.template or "")
    return f"{function}({{}}, {', '.join(f'{name}={value}' for name, value in values.items())})"


def _loop(variable: str, targets: Sequence[str], statements: Sequence[str]) -> list[str]:
    """Some statements for each of the layers: in a loop where there is more than one."""
    if len(targets) < 2 or not statements:
        return [statement.replace("{}", target) for target in targets for statement in statements]
    head = f"for {variable} in ({', '.join(targets)}):"
    if len(head) > _WIDTH:
        rows = textwrap.wrap(", ".join(targets) + ",", _WIDTH - 4, break_long_words=False, break_on_hyphens=False)
        head = "\n".join([f"for {variable} in (", *(f"        {row}" for row in rows), "):"])
    body = "\n".join(statement.replace("{}", variable) for statement in statements)
    return [f"{head}\n{textwrap.indent(body, '    ')}"]


def _variable(context: Context, call: ast.Call, names: Sequence[str] = _NAMES) -> str | None:
    """A name for the layers of a loop that the function does not use; in the faithful style there are no loops."""
    function = context.source.enclosing(call, ast.FunctionDef)
    if context.choices.style != "native" or not isinstance(function, ast.FunctionDef):
        return None
    nodes = list(nodes_of(function))
    used = {n.id for n in nodes if isinstance(n, ast.Name)} | {n.arg for n in nodes if isinstance(n, ast.arg)}
    return next((name for name in names if name not in used), None)


def _line(context: Context, parameter: str, value: ast.expr, operands: dict[str, Operand]) -> str:
    """The statement that gives a parameter a value of the call: a number, or an initializer."""
    if is_number(value):
        if ast.literal_eval(value) in (0, 1):
            return f"torch.nn.init.{'zeros' if ast.literal_eval(value) == 0 else 'ones'}_({parameter})"
        return f"torch.nn.init.constant_({parameter}, {_operand(context, value, operands)})"
    made = context.ask(chosen, value) if isinstance(value, ast.Call) else None
    tree = parsed(made.template) if made is not None and made.template is not None else None
    if made is not None and tree is not None and (_is_partial(tree) or isinstance(tree, ast.Lambda)):
        given = made.question.bound.given
        known = {*given, *_ROOTS, *_taken(tree)}
        if all(n.id in known for n in nodes_of(tree) if isinstance(n, ast.Name)):
            return _computed(context, parameter, tree, given, operands)
    if made is not None and (made.template or "").startswith("torch.nn.init."):
        return f"{made.template}({parameter})"
    return f"{_operand(context, value, operands)}({parameter})"


def _computed(
    context: Context, parameter: str, value: ast.expr, given: Mapping[str, ast.expr], operands: dict[str, Operand]
) -> str:
    """The statement that gives a parameter the value of an expression of a row."""
    if is_nothing(value):
        # ones that nothing trains or saves: on a GPU the backward pass of a normalization fails for a bias alone
        layer, _, name = parameter.rpartition(".")
        ones = f"torch.ones_like({layer}.bias), persistent=False"
        return f"del {parameter}\n{layer}.register_buffer({name!r}, {ones})"
    if is_number(value):
        return _line(context, parameter, value, operands)
    names = {n.id: n.id for n in nodes_of(value) if isinstance(n, ast.Name)}
    taken = _taken(value)
    names.update({name: _operand(context, given[name], operands) for name in names if name in given})
    if isinstance(value, ast.Lambda):
        return _renamed(value.body, names | dict.fromkeys(taken, parameter))
    scale = scale_of(value)
    if scale is not None:
        root = ast.parse(f"{parameter.replace('{}', '_layer')}[0].numel() ** 0.5", mode="eval").body
        std = _renamed(ast.BinOp(scale, ast.Div(), root), names).replace("_layer", "{}")
        return f"torch.nn.init.normal_({parameter}, std={std})"
    if isinstance(value, ast.Call) and _is_partial(value):
        rest = ", ".join(f"{k.arg}={_renamed(k.value, names)}" for k in value.keywords)
        return f"{ast.unparse(value.args[0])}({parameter}, {rest})"
    return f"{_renamed(value, names)}({parameter})"


def _is_partial(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Call) and ast.unparse(tree.func) == "functools.partial"


def _taken(tree: ast.expr) -> list[str]:
    """The names of the arguments that a function of a row takes."""
    return [a.arg for a in tree.args.args] if isinstance(tree, ast.Lambda) else []


def _operand(context: Context, node: ast.expr, operands: dict[str, Operand]) -> str:
    """The name of an expression in the statements: one for all that are spelled alike, as they mean the same there."""
    new = context.operand(node)
    for name, operand in operands.items():
        if name.startswith("_v") and _text(context, operand) == _text(context, new):
            return name
    operands[name := f"_v{len(operands)}"] = new
    return name


def _text(context: Context, operand: Operand) -> str | None:
    return operand.code if operand.span is None else context.source.text[slice(*operand.span)]


def _renamed(node: ast.expr, names: Mapping[str, str]) -> str:
    renamed = ast.parse(ast.unparse(node), mode="eval").body
    for part in nodes_of(renamed):
        if isinstance(part, ast.Name):
            part.id = names.get(part.id, part.id)
    return ast.unparse(renamed)


__all__ = ["Layer", "lines_of_held_layers", "lines_of_layers"]
