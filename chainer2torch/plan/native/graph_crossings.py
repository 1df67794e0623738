"""Graphs that outlive a step: PyTorch frees a graph in ``backward`` and refuses one whose weights have changed since.

Chainer does neither, so that the loss of a generator may go through a discriminator that was updated a line before. A
method of an updater in which a value with a graph is made before one update and used after it steps under such graphs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Func, Inst, Unknown, options
from chainer2torch.analysis.module_index import FuncInfo

_STEPS = frozenset({"update", "step"})


def crosses(analysis: Analysis, function: FuncInfo) -> str:
    """The name of a value with a graph that is used after an update which came later than it; "" if there is none."""
    if isinstance(function.node, ast.Lambda):
        return ""
    graphs: dict[str, int] = {}  # names that hold graphs, with the number of updates before
    steps = 0
    for statement in _statements(function.node.body):
        shown = {inner for node in ast.walk(statement) if _only_shows(node) for inner in ast.walk(node)}
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and graphs.get(node.id, steps) < steps:
                if node not in shown:
                    return node.id
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            made = _makes_graph(analysis, statement.value, graphs)
            for name in _bound(statement):
                if made:
                    graphs[name] = steps
                elif isinstance(statement, ast.Assign):
                    graphs.pop(name, None)
        steps += sum(_is_step(analysis, node) for node in ast.walk(statement))
    return ""


def _only_shows(node: ast.AST) -> bool:
    """Whether of the names in an expression only the numbers are read: ``chainer.report({'loss': loss})``."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("array", "data", "dtype", "shape")
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("float", "len", "print", "report")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements in the order in which they stand, bodies of loops twice: what is left meets the first."""
    for statement in body:
        inner = [part for name in ("body", "orelse", "finalbody") for part in getattr(statement, name, [])]
        if isinstance(statement, (ast.For, ast.While)):
            inner = [*inner, *inner]
        if not inner:
            yield statement
        elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from _statements(inner)


def _bound(statement: ast.Assign | ast.AugAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _makes_graph(analysis: Analysis, value: ast.expr, graphs: dict[str, int]) -> bool:
    """Whether a value comes from what may be a model, from a function, or from another value with a graph."""
    return any(
        isinstance(node, ast.Name)
        and node.id in graphs
        or isinstance(node, ast.Call)
        and any(analysis.is_link(k) or isinstance(k, (Func, Unknown)) for k in options(analysis.kind(node.func)))
        for node in ast.walk(value)
    )


def _is_step(analysis: Analysis, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr not in _STEPS:
        return False
    kinds = options(analysis.kind(node.func.value))
    return any(isinstance(k, Inst) and analysis.derives(k.cls, "chainer.Optimizer") for k in kinds)


__all__ = ["crosses"]
