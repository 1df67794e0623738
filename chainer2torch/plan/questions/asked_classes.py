"""Chainer's classes that a program asks for: ``isinstance(w, chainer.Initializer)``, ``type(it) is SerialIterator``.

What a row makes of a call may be of another class, or a function. So the program's questions are known before it is
decided what becomes of its objects.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.module_index import ModuleInfo

_TESTS = frozenset({"builtins.isinstance", "builtins.issubclass"})
_LISTED = (ast.Tuple, ast.List, ast.Set)


def asked_names(analysis: Analysis, module: ModuleInfo) -> Iterator[str]:
    """The names of Chainer's classes that a file asks for."""
    for node in module.source.of(ast.Call, ast.Compare):
        for cls in _classes(analysis, node):
            yield from _names(analysis, cls)


def is_asked(analysis: Analysis, module: ModuleInfo, node: ast.AST) -> bool:
    """Whether a name of a class stands in a question for it."""
    outer = module.source.parents.get(node)
    if isinstance(outer, _LISTED):
        outer = module.source.parents.get(outer)
    return any(cls is node for cls in _classes(analysis, outer))


def is_value(analysis: Analysis, name: str) -> bool:
    """Whether the project names a class other than to call it or to ask for it: as a base, say, or in a table."""
    return any(
        not (isinstance(parent := module.source.parents.get(node), ast.Call) and parent.func is node)
        and not is_asked(analysis, module, node)
        for module in analysis.project.modules.values()
        if name.rpartition(".")[2] in module.source.text
        for node in module.source.of(ast.Name, ast.Attribute)
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load)
        if name in _names(analysis, node)
    )


def _names(analysis: Analysis, node: ast.expr) -> Iterator[str]:
    for kind in options(analysis.kind(node)):
        if isinstance(kind, Ref) and (row := analysis.rules.find(analysis.rules.canonical(kind.name))) is not None:
            yield row.name


def _classes(analysis: Analysis, node: ast.AST | None) -> Iterator[ast.expr]:
    """The classes that a node asks for, if it asks for any."""
    asked: list[ast.expr] = []
    if isinstance(node, ast.Call) and len(node.args) == 2:
        kind = analysis.kind(node.func)
        asked = [node.args[1]] if isinstance(kind, Ref) and kind.name in _TESTS else []
    elif isinstance(node, ast.Compare):
        asked = [node.left, *node.comparators]
    for cls in asked:
        yield from cls.elts if isinstance(cls, _LISTED) else [cls]


__all__ = ["asked_names", "is_asked", "is_value"]
