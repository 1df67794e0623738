"""States that the methods of a project keep by themselves: ``self.h = F.tanh(self.w(self.h) + self.v(x))``.

What a method reads of ``self`` before it sets that anew comes from the call before.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Kind, Tensor, Union, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.recorded_calls import called_name

_Place = tuple[int, int]
_LEAVES = frozenset({"Variable", "Parameter"})


def own_states(analysis: Analysis, info: FuncInfo) -> frozenset[str]:
    """The attributes of which a method takes the graph of the call before into its own."""
    if info.cls is None or info.name == "__init__" or isinstance(info.node, ast.Lambda):
        return frozenset()
    source = info.module.source
    read: dict[str, _Place] = {}
    written: dict[str, _Place] = {}
    computed: set[str] = set()
    for node in info.inside.of(ast.Attribute):
        if not isinstance(node.value, ast.Name) or node.value.id != "self":
            continue
        statement = source.statement(node)
        around = source.parents[node]
        is_item = isinstance(around, ast.Subscript) and around.value is node and not isinstance(around.ctx, ast.Load)
        if isinstance(node.ctx, ast.Load) and not is_item:
            place = (node.lineno, node.col_offset)
            read[node.attr] = min(place, read.get(node.attr, place))
            continue
        end = (statement.end_lineno or 0, statement.end_col_offset or 0)
        written[node.attr] = min(end, written.get(node.attr, end))
        if isinstance(statement, ast.AugAssign):
            read[node.attr] = min((statement.lineno, 0), read.get(node.attr, (statement.lineno, 0)))
        if _is_computed(analysis, around if is_item else node, statement):
            computed.add(node.attr)
    return frozenset(name for name in computed if name in read and read[name] < written[name])


def empties(analysis: Analysis, node: ast.AST, states: Collection[str]) -> bool:
    """Whether a statement gives a state a value without a graph, in any case: ``self.h = None``."""
    if not isinstance(node, ast.Assign):
        return False
    targets = [part for target in node.targets for part in ast.walk(target) if isinstance(part, ast.Attribute)]
    return any(
        target.attr in states and isinstance(target.ctx, ast.Store) and not _is_computed(analysis, target, node)
        for target in targets
    )


def is_asked(test: ast.expr, states: Collection[str]) -> bool:
    """Whether a condition asks for a state: ``if self.h is None:`` gives it a first value only."""
    return any(isinstance(part, ast.Attribute) and part.attr in states for part in ast.walk(test))


def _is_computed(analysis: Analysis, target: ast.AST, statement: ast.stmt) -> bool:
    """Whether a statement gives a target what a gradient can pass."""
    if isinstance(statement, ast.AugAssign):
        return _may_be_graph(analysis.kind(statement.target)) or _may_be_graph(analysis.kind(statement.value))
    if not isinstance(statement, ast.Assign):
        return False
    for one in statement.targets:
        if isinstance(one, (ast.Tuple, ast.List)) and isinstance(statement.value, (ast.Tuple, ast.List)):
            if target in one.elts and len(one.elts) == len(statement.value.elts):
                return _may_be_graph(analysis.kind(statement.value.elts[one.elts.index(target)]))
    value = statement.value
    if isinstance(value, ast.Call) and called_name(value) in _LEAVES:
        return False
    return any(map(_may_be_graph, options(analysis.kind(value))))


def _may_be_graph(kind: Kind) -> bool:
    """Whether a value is known to be what was computed, or has such parts."""
    if isinstance(kind, Union):
        return any(map(_may_be_graph, kind.ordered))
    parts = (*getattr(kind, "items", ()), getattr(kind, "element", None))
    parts = tuple(part[1] if isinstance(part, tuple) else part for part in parts)
    if any(isinstance(part, Kind) and _may_be_graph(part) for part in parts):
        return True
    return isinstance(kind, Tensor) and not kind.array


__all__ = ["empties", "is_asked", "own_states"]
