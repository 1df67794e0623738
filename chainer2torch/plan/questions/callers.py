"""The places at which a program calls one of its functions, told by the function's name alone."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Func, options
from chainer2torch.analysis.module_index import ModuleInfo

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_CALLED_BY_LIBRARY = frozenset({"forward", "update_core", "evaluate", "initialize", "finalize", "serialize"})

Answer = Callable[[ModuleInfo, ast.Call], bool | None]


def follow(
    analysis: Analysis, module: ModuleInfo, node: ast.AST, program: Sequence[ModuleInfo], answer: Answer
) -> bool:
    """Whether something holds wherever the function around a node is called; None: ask that function's callers.

    False where a call may not be seen: the function is handed on, called by the library, or stands in no function.
    """
    return _holds(analysis, module, node, program, answer, frozenset())


def _holds(
    analysis: Analysis,
    module: ModuleInfo,
    node: ast.AST,
    program: Sequence[ModuleInfo],
    answer: Answer,
    seen: frozenset[str],
) -> bool:
    function = module.source.enclosing(node, *_FUNCTIONS)
    if not isinstance(function, ast.FunctionDef) or function.decorator_list or function.name in seen:
        return False
    is_method = isinstance(module.source.parents.get(function), ast.ClassDef)
    calls = _calls(analysis, function.name, program, is_method)
    if not calls:
        return False
    for place, call in calls:
        if any(len(loop.body) > 1 for loop in _loops(place, call)):
            return False
        found = answer(place, call)
        if found is None:
            found = _holds(analysis, place, call, program, answer, seen | {function.name})
        if not found:
            return False
    return True


def _calls(
    analysis: Analysis, name: str, program: Sequence[ModuleInfo], is_method: bool
) -> list[tuple[ModuleInfo, ast.Call]]:
    """All calls of what has this name; none where it is used in another way, or the library may call it, too."""
    known = name in _CALLED_BY_LIBRARY or any(row.rpartition(".")[2] == name for row in analysis.rules.rows)
    if is_method and (known or name.startswith("__")):
        return []
    found = []
    for module in program:
        if any(alias.name == name and alias.asname for alias in module.source.of(ast.alias)):
            return []
        if any(constant.value == name for constant in module.source.of(ast.Constant)):
            return []
        named = [node for node in module.source.of(ast.Name) if node.id == name]
        members = [node for node in module.source.of(ast.Attribute) if node.attr == name]
        for node in (*named, *members):
            call = module.source.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                found.append((module, call))
            elif is_method or node in named or any(isinstance(kind, Func) for kind in options(analysis.kind(node))):
                return []  # ``args.freeze`` is no function of that name
    return found


def _loops(module: ModuleInfo, node: ast.AST) -> Iterator[ast.For | ast.While]:
    for outer in module.source.ancestors(node):
        if isinstance(outer, (ast.For, ast.While)):
            yield outer


__all__ = ["follow"]
