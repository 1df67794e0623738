"""What a program computes from Chainer's version: it is known, and so are the tests of it."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from typing import Any

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.context import Context

VERSION = "chainer.__version__"
_TODAY = "7.8.1"  # the version whose meaning the rules have
_PARSERS = frozenset({"LooseVersion", "StrictVersion", "Version", "parse", "parse_version"})
_METHODS = frozenset({"split", "startswith", "endswith", "strip"})
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"builtins.{f.__name__}": f for f in (int, float, tuple, list, str, len, bool)
}
_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
}
_PARTS = re.compile(r"(\d+(?:\.\d+)*)(.*)")


class _NotKnown(Exception):
    """The expression holds something else than Chainer's version and literals."""


class _Parsed(tuple[Any, ...]):
    """A version as packaging and distutils compare it: its numbers, and whether it is a release."""


def computed(context: Context, node: ast.expr) -> tuple[ast.expr, Any] | None:
    """The largest expression around ``chainer.__version__`` whose value is known, and that value.

    None where nothing is computed from the version: it is printed, or handed to somebody.
    """
    found: tuple[ast.expr, Any] | None = None
    outer: ast.AST = node
    while True:
        above = context.source.parents.get(outer)
        if isinstance(above, (ast.Attribute, ast.keyword, ast.comprehension)):
            outer = above
            continue
        if not isinstance(above, ast.expr):
            return found
        outer = above
        try:
            value = _value(context, above, {})
        except (_NotKnown, ValueError, TypeError, IndexError):
            if not isinstance(above, (ast.GeneratorExp, ast.Call, ast.Subscript)):
                return found
            continue
        if isinstance(value, (bool, int, float, str, list)) or type(value) is tuple:
            found = above, value


def _value(context: Context, node: ast.expr, local: dict[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        if isinstance(node, ast.Name) and node.id in local:
            return local[node.id]
        if context.kind(node) == Ref(VERSION):
            return _TODAY
        raise _NotKnown
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [_value(context, item, local) for item in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else items
    if isinstance(node, ast.Subscript):
        return _value(context, node.value, local)[_index(context, node.slice, local)]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _COMPARISONS:
        sides = (_value(context, side, local) for side in (node.left, node.comparators[0]))
        return _COMPARISONS[type(node.ops[0])](*sides)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _comprehension(context, node, local)
    if isinstance(node, ast.Call) and not node.keywords:
        return _call(context, node, local)
    raise _NotKnown


def _index(context: Context, node: ast.expr, local: dict[str, Any]) -> Any:
    if isinstance(node, ast.Slice):
        return slice(*(p and _value(context, p, local) for p in (node.lower, node.upper, node.step)))
    return _value(context, node, local)


def _comprehension(context: Context, node: ast.ListComp | ast.GeneratorExp, local: dict[str, Any]) -> list[Any]:
    loop = node.generators[0]
    if len(node.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name):
        raise _NotKnown
    name = loop.target.id
    return [_value(context, node.elt, {**local, name: item}) for item in _value(context, loop.iter, local)]


def _call(context: Context, node: ast.Call, local: dict[str, Any]) -> Any:
    function = node.func
    kind = context.kind(function)
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if kind == Ref("builtins.map") and len(node.args) == 2:
        mapped = context.kind(node.args[0])
        if isinstance(mapped, Ref) and mapped.name in _FUNCTIONS:
            return [_FUNCTIONS[mapped.name](item) for item in _value(context, node.args[1], local)]
    arguments = [_value(context, argument, local) for argument in node.args]
    if isinstance(kind, Ref) and kind.name in _FUNCTIONS:
        return _FUNCTIONS[kind.name](*arguments)
    if isinstance(function, ast.Attribute) and name in _METHODS:
        text = _value(context, function.value, local)
        if isinstance(text, str):
            return getattr(text, name)(*arguments)
    if name in _PARSERS and isinstance(kind, Ref) and len(arguments) == 1 and isinstance(arguments[0], str):
        numbers = _PARTS.match(arguments[0])
        if numbers is not None:
            release = tuple(map(int, numbers[1].split(".")))
            return _Parsed((*release, *[0] * (6 - len(release)), not numbers[2]))
    raise _NotKnown
