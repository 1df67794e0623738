"""``if device < 0:`` in a converter: updaters and evaluators give it a torch.device, where Chainer gave the number.

Up to version 5 of Chainer the device was the number of a GPU, -1 for none; a program that ran compares it with 0.
"""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.flows import references

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# comparisons of a number of that time, by what they ask: whether it is none
_NO_GPU = frozenset({("Lt", 0), ("LtE", -1), ("Eq", -1)})
_A_GPU = frozenset({("GtE", 0), ("Gt", -1), ("NotEq", -1)})
_TURNED = {"Lt": "Gt", "Gt": "Lt", "LtE": "GtE", "GtE": "LtE"}


def run(context: Context) -> Decisions:
    """Replaces such comparisons."""
    decisions = Decisions(context)
    for test in context.source.of(ast.Compare):
        assert isinstance(test, ast.Compare)
        found = _asked(test)
        if found is None:
            continue
        name, is_gpu = found
        called = _of_converter(context, name)
        if called is None:
            continue
        device = "native.get_device(device).type" if called else "device.type"  # a caller may give the number
        template = f"{device} {'!=' if is_gpu else '=='} 'cpu'"
        decisions.replace(test, template, {"device": context.operand(name)})
    return decisions


def _asked(test: ast.Compare) -> tuple[ast.Name, bool] | None:
    """What is compared with a number, and whether that asks for a GPU."""
    if len(test.ops) != 1:
        return None
    left, right, op = test.left, test.comparators[0], type(test.ops[0]).__name__
    if isinstance(right, ast.Name):
        left, right, op = right, left, _TURNED.get(op, op)
    number = _number(right)
    if not isinstance(left, ast.Name) or number is None:
        return None
    return (left, (op, number) in _A_GPU) if (op, number) in _A_GPU | _NO_GPU else None


def _number(node: ast.expr) -> int | None:
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    plain = isinstance(value, ast.Constant) and type(value.value) is int
    return sign * value.value if plain else None  # type: ignore[attr-defined]


def _of_converter(context: Context, name: ast.Name) -> bool | None:
    """Whether a name is the device that a converter gets: True where the program calls the converter itself, too."""
    function = context.source.enclosing(name, *_FUNCTIONS)
    while isinstance(function, _FUNCTIONS):
        arguments = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        if name.id in arguments:
            info = context.analysis.functions.get(function)
            if info is None or isinstance(function, ast.Lambda) or arguments.index(name.id) != 1:
                return None
            used = list(references(context, info))
            if not any(isinstance(parent, ast.keyword) and parent.arg == "converter" for parent, _ in used):
                return None
            return any(isinstance(parent, ast.Call) and parent.func is node for parent, node in used)
        function = context.source.enclosing(function, *_FUNCTIONS)
    return None
