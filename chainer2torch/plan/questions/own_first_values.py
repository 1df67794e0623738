"""``init_weights``: the function of the project's own that gives layers Chainer's first values, one a file.

Chainer draws weights from N(0, 1 / fan_in), and biases are zeros. The function is written into a file where layers have
no shape yet, may have no bias, are made under a condition or in a list, or have first values that only the call knows.
It has the parts that the calls of its file need.
"""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, Inst, options
from chainer2torch.plan.context import Context
from chainer2torch.plan.match import parsed
from chainer2torch.plan.questions.choice import Choice, chosen
from chainer2torch.plan.questions.first_values import OWN, as_argument, has_weight_and_bias

_NAMES = ("init_weights", "init_layer", "set_first_values")
_MAY_BE_LAZY = re.compile(r"(torch\.nn\.Lazy|native\.(LazyLinear|linear|conv|conv_transpose)\()")
_INITIALIZER = "chainer.Initializer"


def definition(context: Context) -> tuple[str, str]:
    """The name of the function in this file, and its text."""
    name = context.analysis.once(_free_name)
    return name, _text(context, name)


def _free_name(analysis: Analysis) -> str:
    """A name that no file of the project has."""
    texts = [module.source.text for module in analysis.project.modules.values()]
    names = itertools.chain(_NAMES, (f"{_NAMES[0]}_{n}" for n in itertools.count(2)))
    return next(name for name in names if not any(name in text for text in texts))


def _text(context: Context, name: str) -> str:
    lazy, given, callables = _asked(context)
    values = [key for key in ("weight", "bias") if key in given]
    scaled = ["scale"] if "scale" in given else []
    header = ", ".join(["layer", *(f"{value}=None" for value in values), *(f"{value}=1" for value in scaled)])
    lines = [f"def {name}({header}):"]
    what = "those given, else " if values else ""
    drawn = "N(0, scale ** 2 / fan_in)" if scaled else "N(0, 1 / fan_in)"
    said = f'    """First values: {what}{drawn}, biases zero.'
    when = [said, "", "    A layer without a shape gets them at its first batch.", '    """']
    lines += when if lazy else [f'{said}"""']
    if lazy:
        again = ", ".join(["layer", *values, *scaled])
        lines += [
            "    if torch.nn.parameter.is_lazy(layer.weight):",
            f"        layer.reset_parameters = functools.partial({name}, {again})",
            "        return layer",
        ]
    weight = ["torch.nn.init.kaiming_normal_(layer.weight, nonlinearity='linear')"]
    if scaled:
        weight = ["torch.nn.init.normal_(layer.weight, std=scale / layer.weight[0].numel() ** 0.5)"]
    bias = ["if layer.bias is not None:", "    torch.nn.init.zeros_(layer.bias)"]
    if len(values) == 2 and not callables:
        body = [
            *weight,
            *bias,
            "for param, value in ((layer.weight, weight), (layer.bias, bias)):",
            "    if callable(value) and param is not None:",
            "        value(param)",
            "    elif value is not None and param is not None:",
            "        param.copy_(torch.as_tensor(value))",
        ]
    else:
        if "weight" in values:
            weight = _either("weight", weight[0], callables)
        if "bias" in values:
            bias = [bias[0], *(f"    {line}" for line in _either("bias", bias[1].strip(), callables))]
        body = [*weight, *bias]
    if values:
        lines.insert(0, "@torch.no_grad()")
    return "\n".join([*lines, *(f"    {line}" for line in body), "    return layer", ""])


def _either(name: str, default: str, callables: bool) -> list[str]:
    """The statements that give a parameter its value, or Chainer's."""
    lines = [f"if {name} is None:", f"    {default}"]
    if not callables:
        lines += [f"elif not callable({name}):", f"    layer.{name}.copy_(torch.as_tensor({name}))"]
    return [*lines, "else:", f"    {name}(layer.{name})"]


def _asked(context: Context) -> tuple[bool, frozenset[str], bool]:
    """What the calls of a file ask for: lazy layers, which values, and whether these are functions or None."""
    lazy, given, callables = False, set[str](), True
    for call in context.source.of(ast.Call):
        if not any(context.analysis.is_link(k) for k in options(context.kind(call))):
            continue
        choice = context.ask(chosen, call)
        template = choice.template or "" if choice is not None else ""
        if choice is None or not has_weight_and_bias(template.removeprefix(f"{OWN}(")):
            continue
        lazy = lazy or _MAY_BE_LAZY.match(template.removeprefix(f"{OWN}(")) is not None
        for name, value in _values(choice):
            given.add(name)
            callables = (
                callables and name == "scale" or callables and _is_function(context, value, choice.question.bound.given)
            )
    return lazy, frozenset(given), callables


def _values(choice: Choice) -> list[tuple[str, ast.expr]]:
    """The values that a call hands to the function, by name: of the call, or of its row."""
    if choice.values.by_helper:
        computed = choice.values.computed.items()
        return [*choice.values.given.items(), *(as_argument(name, value) for name, value in computed)]
    tree = parsed(choice.template or "")
    if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != OWN:
        return []
    return [(str(keyword.arg), keyword.value) for keyword in tree.keywords]


def _is_function(context: Context, value: ast.expr, given: Mapping[str, ast.expr]) -> bool:
    """Whether a value is an initializer, or None."""
    if isinstance(value, ast.Call) and ast.unparse(value.func) == "functools.partial":
        return True  # of a row
    if isinstance(value, ast.Name):
        value = given.get(value.id, value)
    return all(
        k == NONE or isinstance(k, Inst) and context.analysis.derives(k.cls, _INITIALIZER)
        for k in options(context.kind(value))
    )


__all__ = ["definition"]
