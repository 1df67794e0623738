"""The functions that stand around a place."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.paths import FUNCTIONS, is_path, root_name

_Path = tuple["ast.Name | ast.Attribute", str, frozenset[ast.AST]]


def functions_around(context: Context, node: ast.AST) -> frozenset[ast.AST]:
    """The functions around a node."""
    return _around(context.source, node)


def paths_read(source: Source) -> list[_Path]:
    """The paths in a file that are read, in their order, with the names they begin with and the functions around."""
    known: dict[ast.AST | None, frozenset[ast.AST]] = {}
    found: list[_Path] = []
    for node in source.of(ast.Name, ast.Attribute):
        if node.ctx.__class__ is ast.Load and is_path(node):
            function = source.enclosing(node, *FUNCTIONS)
            if function not in known:
                known[function] = _around(source, node)
            found.append((node, root_name(node), known[function]))
    return found


def _around(source: Source, node: ast.AST) -> frozenset[ast.AST]:
    return frozenset(above for above in source.ancestors(node) if isinstance(above, FUNCTIONS))
