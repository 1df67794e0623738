"""Functions and methods that a program calls inside ``with net.init_scope():`` and hands ``net``: these register in it.

``def add_head(net): net.head = L.Linear(3, 2)``
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Func, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import Source, nodes_of

Handed = tuple[FuncInfo, str]  # a function, and its parameter that is the link
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_scope(node: ast.AST) -> bool:
    """Whether a statement is ``with net.init_scope():``."""
    return isinstance(node, ast.With) and any(_owner(item) is not None for item in node.items)


def run_inside(analysis: Analysis, source: Source, owner: ast.expr) -> tuple[bool, bool]:
    """Whether the function around is handed the link of that name inside its ``init_scope``, and whether outside."""
    function = source.enclosing(owner, *_FUNCTIONS)
    info = analysis.functions.get(function) if function is not None else None
    if info is None or not isinstance(owner, ast.Name):
        return False, False
    inside, outside = analysis.once(_handed)
    return (info, owner.id) in inside, (info, owner.id) in outside


def _handed(analysis: Analysis) -> tuple[frozenset[Handed], frozenset[Handed]]:
    inside: set[Handed] = set()
    within: set[ast.Call] = set()
    waiting: list[tuple[ast.AST, str]] = []
    for module in analysis.project.modules.values():
        for block in module.source.of(ast.With):
            assert isinstance(block, ast.With)
            waiting += [(block, owner) for item in block.items if (owner := _owner(item)) is not None]
    while waiting:
        place, owner = waiting.pop()
        for call, found in _calls(analysis, place, owner):
            within.add(call)
            if found not in inside:
                inside.add(found)
                waiting.append((found[0].node, found[1]))
    outside: set[Handed] = set()
    infos = {info for info, _ in inside}
    for module in analysis.project.modules.values() if inside else ():
        for call in module.source.of(ast.Call):
            assert isinstance(call, ast.Call)
            called = {k.info for k in options(analysis.kind(call.func)) if isinstance(k, Func)}
            if call not in within and called & infos:
                outside |= {found for found in inside if found[0] in called}
    return frozenset(inside), frozenset(outside)


def _calls(analysis: Analysis, place: ast.AST, owner: str) -> Iterator[tuple[ast.Call, Handed]]:
    """The calls below a node that hand a link on, with the parameter that it becomes."""
    for call in nodes_of(place):
        if not isinstance(call, ast.Call):
            continue
        for kind in options(analysis.kind(call.func)):
            if not isinstance(kind, Func) or isinstance(kind.info.node, ast.Lambda):
                continue
            names, info = kind.info.signature.positional, kind.info
            if info.cls is not None and not info.is_static and isinstance(call.func, ast.Attribute) and names:
                if ast.unparse(call.func.value) == owner:
                    yield call, (info, names[0])
                names = names[1:]
            given = [*zip(names, call.args), *((k.arg, k.value) for k in call.keywords if k.arg)]
            for name, value in given:
                if isinstance(value, (ast.Name, ast.Attribute)) and ast.unparse(value) == owner:
                    yield call, (info, name)


def _owner(item: ast.withitem) -> str | None:
    call = item.context_expr
    function = call.func if isinstance(call, ast.Call) else None
    named = isinstance(function, ast.Attribute) and function.attr == "init_scope"
    return ast.unparse(function.value) if named and isinstance(function, ast.Attribute) else None


__all__ = ["is_scope", "run_inside"]
