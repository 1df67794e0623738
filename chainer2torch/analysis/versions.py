"""What a program computes from Chainer's version: it is known, and so are the tests of it."""

from __future__ import annotations

import ast
import dataclasses
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

from chainer2torch.analysis.kinds import Kind, Ref
from chainer2torch.analysis.source import Source, within

VERSION = "chainer.__version__"
_TODAY = "7.8.1"  # the version whose meaning the rules have
_PARSERS = frozenset({"LooseVersion", "StrictVersion", "Version", "parse", "parse_version"})
_METHODS = frozenset({"split", "startswith", "endswith", "strip"})
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    f"builtins.{f.__name__}": f for f in (int, float, tuple, list, str, len, bool)
}
# what comparisons of values that are known give, by their nodes
COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], Any]] = {
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


@dataclasses.dataclass(frozen=True)
class File:
    """A file, and what its expressions are."""

    source: Source
    kind: Callable[[ast.AST], Kind]


class _NotKnown(Exception):
    """The expression holds something else than Chainer's version and literals."""


_FAILS = (_NotKnown, ValueError, TypeError, IndexError)


class _Parsed(tuple[Any, ...]):
    """A version as packaging and distutils compare it: its numbers, and whether it is a release."""


def known_names(file: File) -> dict[str, Any]:
    """What names at the top of a file hold that are computed from Chainer's version: ``MAJOR = int(major)``.

    Only names that are bound once, and there.
    """
    known: dict[str, Any] = {}
    for statement in file.source.tree.body:
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            continue
        if not _reads_version(file, statement.value, known):
            continue
        try:
            value = _value(file, statement.value, known)
        except _FAILS:
            continue
        once = _bound_once(file.source)
        known.update((target, item) for target, item in _bound(statement.targets[0], value) if target in once)
    return known


def _bound_once(source: Source) -> set[str]:
    """The names that one assignment, loop or the like binds, and nothing else."""
    stored = Counter(name.id for name in source.of(ast.Name) if not isinstance(name.ctx, ast.Load))
    others = {name for name in source.assigned if name not in stored}
    others |= {n.arg for n in source.of(ast.arg)} | {n for g in source.of(ast.Global) for n in g.names}
    others |= {n.name for n in source.of(ast.FunctionDef, ast.ClassDef)}
    return {name for name, count in stored.items() if count == 1} - others


def is_read(source: Source) -> bool:
    """Whether a file may read a version at all."""
    return VERSION.rpartition(".")[2] in source.text


def truth(file: File, test: ast.expr) -> bool | None:
    """The value of a condition on Chainer's version; None: it is none, or is decided when the program runs."""
    if not is_read(file.source):
        return None
    known = known_names(file)
    if not _reads_version(file, test, known):
        return None
    try:
        value = _value(file, test, known)
    except _FAILS:
        return None
    return value if isinstance(value, bool) else None


def _reads_version(file: File, value: ast.expr, known: dict[str, Any]) -> bool:
    return any(
        isinstance(part, ast.Name) and part.id in known or _is_version(file.kind(part))
        for part in within(value).of(ast.Name, ast.Attribute)
    )


def _is_version(kind: Kind) -> bool:
    return isinstance(kind, Ref) and kind.name == VERSION


def _bound(target: ast.expr, value: Any) -> Iterator[tuple[str, Any]]:
    """The names that an assignment binds, each with its value."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, (tuple, list)):
        if len(target.elts) == len(value) and not any(isinstance(t, ast.Starred) for t in target.elts):
            for part, item in zip(target.elts, value, strict=True):
                yield from _bound(part, item)


def computed(file: File, node: ast.expr, known: dict[str, Any]) -> tuple[ast.expr, Any] | None:
    """The largest expression around ``chainer.__version__`` whose value is known, and that value.

    ``known`` are the names that hold such values. None where nothing is computed from the version: it is printed, or
    handed to somebody.
    """
    found: tuple[ast.expr, Any] | None = None
    outer: ast.AST = node
    while True:
        above = file.source.parents.get(outer)
        if isinstance(above, (ast.Attribute, ast.keyword, ast.comprehension)):
            outer = above
            continue
        if not isinstance(above, ast.expr):
            return found
        outer = above
        try:
            value = _value(file, above, known)
        except _FAILS:
            if not isinstance(above, (ast.GeneratorExp, ast.Call, ast.Subscript)):
                return found
            continue
        if isinstance(value, (bool, int, float, str, list)) or type(value) is tuple:
            found = above, value


def _value(file: File, node: ast.expr, local: dict[str, Any]) -> Any:
    if isinstance(node, ast.Constant):
        return node.value
    if isinstance(node, (ast.Name, ast.Attribute)):
        if isinstance(node, ast.Name) and node.id in local:
            return local[node.id]
        if _is_version(file.kind(node)):
            return _TODAY
        raise _NotKnown
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [_value(file, item, local) for item in node.elts]
        return tuple(items) if isinstance(node, ast.Tuple) else items
    if isinstance(node, ast.Subscript):
        return _value(file, node.value, local)[_index(file, node.slice, local)]
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in COMPARISONS:
        sides = (_value(file, side, local) for side in (node.left, node.comparators[0]))
        return COMPARISONS[type(node.ops[0])](*sides)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _comprehension(file, node, local)
    if isinstance(node, ast.Call) and not node.keywords:
        return _call(file, node, local)
    raise _NotKnown


def _index(file: File, node: ast.expr, local: dict[str, Any]) -> Any:
    if isinstance(node, ast.Slice):
        return slice(*(p and _value(file, p, local) for p in (node.lower, node.upper, node.step)))
    return _value(file, node, local)


def _comprehension(file: File, node: ast.ListComp | ast.GeneratorExp, local: dict[str, Any]) -> list[Any]:
    loop = node.generators[0]
    if len(node.generators) > 1 or loop.ifs or not isinstance(loop.target, ast.Name):
        raise _NotKnown
    name = loop.target.id
    return [_value(file, node.elt, {**local, name: item}) for item in _value(file, loop.iter, local)]


def _call(file: File, node: ast.Call, local: dict[str, Any]) -> Any:
    function = node.func
    kind = file.kind(function)
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if kind == Ref("builtins.map") and len(node.args) == 2:
        mapped = file.kind(node.args[0])
        if isinstance(mapped, Ref) and mapped.name in _FUNCTIONS:
            return [_FUNCTIONS[mapped.name](item) for item in _value(file, node.args[1], local)]
    arguments = [_value(file, argument, local) for argument in node.args]
    if isinstance(kind, Ref) and kind.name in _FUNCTIONS:
        return _FUNCTIONS[kind.name](*arguments)
    if isinstance(function, ast.Attribute) and name in _METHODS:
        text = _value(file, function.value, local)
        if isinstance(text, str):
            return getattr(text, name)(*arguments)
    if name in _PARSERS and isinstance(kind, Ref) and len(arguments) == 1 and isinstance(arguments[0], str):
        numbers = _PARTS.match(arguments[0])
        if numbers is not None:
            release = tuple(map(int, numbers[1].split(".")))
            return _Parsed((*release, *[0] * (6 - len(release)), not numbers[2]))
    raise _NotKnown
