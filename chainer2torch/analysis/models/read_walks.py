"""Walks over the links of a Sequential that read them and call none: the Sequential alone calls its layers."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.source import Source

WALKS = frozenset({"children", "links", "namedlinks"})
_COPIES = frozenset({"dict", "list", "sorted", "tuple"})
_OF_PARAMETERS = frozenset({"array", "data", "dtype", "grad", "shape", "size"})
_TESTS = frozenset({"hasattr", "id", "isinstance", "type"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def only_read(source: Source, call: ast.AST | None) -> bool:
    """Whether what ``net.namedlinks()`` gives is tested and asked for its parts only, in the function around it.

    ``for name, link in net.namedlinks(): if isinstance(link, L.BatchNormalization): link.avg_mean[...] = 0`` does so,
    and ``links = dict(net.namedlinks())`` with ``bn = links[name]``, whose parts are read.
    """
    if not isinstance(call, ast.Call) or call.args or call.keywords or not isinstance(call.func, ast.Attribute):
        return False
    paired = call.func.attr == "namedlinks"
    walk: ast.expr = call
    parent = source.parents.get(walk)
    while isinstance(parent, ast.Call) and walk in parent.args and _is_copy(parent):
        walk, parent = parent, source.parents.get(parent)
    if isinstance(parent, (ast.For, ast.comprehension)):
        return parent.iter is walk and _is_read(source, _links(parent.target, paired))
    target = _target(parent, walk)
    looked_up = isinstance(walk, ast.Call) and getattr(walk.func, "id", "") == "dict"
    return target is not None and looked_up and _is_looked_up(source, target)


def _is_copy(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Name) and call.func.id in _COPIES and len(call.args) == 1 and not call.keywords


def _target(statement: ast.AST | None, value: ast.AST) -> ast.expr | None:
    """The name in a function to which a statement assigns a value."""
    if isinstance(statement, ast.Assign) and statement.value is value and len(statement.targets) == 1:
        return statement.targets[0]
    return None


def _links(target: ast.expr, paired: bool) -> ast.expr | None:
    """The part of the target of a loop that is the link: ``link`` of ``name, link``."""
    if not paired:
        return target
    return target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None


def _loads(source: Source, target: ast.expr | None) -> Iterator[ast.Name] | None:
    """The places that read a name of a function, whatever was assigned to it; None: it is no such name."""
    function = source.enclosing(target, *_FUNCTIONS) if isinstance(target, ast.Name) else None
    if not isinstance(target, ast.Name) or function is None:
        return None
    named = [n for n in source.of(ast.Global, ast.Nonlocal) if target.id in n.names]
    return (
        None
        if named
        else (
            n
            for n in source.named.get(target.id, ())
            if isinstance(n.ctx, ast.Load) and function in source.ancestors(n)
        )
    )


def _is_read(source: Source, target: ast.expr | None) -> bool:
    loads = _loads(source, target)
    return loads is not None and all(_reads(source, load) for load in loads)


def _reads(source: Source, use: ast.expr) -> bool:
    """``isinstance(link, ...)``, ``link is other``, and parts of it that are stored to, indexed or computed with."""
    parent = source.parents[use]
    if isinstance(parent, ast.Call):
        return use in parent.args and getattr(parent.func, "id", "") in _TESTS
    if isinstance(parent, ast.Compare):
        return all(isinstance(op, (ast.Is, ast.IsNot)) for op in parent.ops)
    if not isinstance(parent, ast.Attribute):
        return False
    around = source.parents[parent]
    if isinstance(around, ast.Attribute):  # `link.W.array`
        return around.attr in _OF_PARAMETERS
    if isinstance(around, ast.Subscript):
        return around.value is parent and (isinstance(around.ctx, ast.Store) or _is_number(around.slice))
    return not isinstance(parent.ctx, ast.Load) or isinstance(around, (ast.BinOp, ast.AugAssign, ast.UnaryOp))


def _is_number(index: ast.expr) -> bool:
    """Whether an index gives parts of an array: of links there are none in ``link.avg_mean[...]``."""
    return isinstance(index, ast.Constant) and index.value is Ellipsis


def _is_looked_up(source: Source, target: ast.expr) -> bool:
    """Whether a dictionary of links is asked for names, and for links whose parts are read."""
    loads = _loads(source, target)
    if loads is None:
        return False
    for load in loads:
        parent = source.parents[load]
        around = source.parents.get(parent)
        if isinstance(parent, ast.Compare):
            if load in parent.comparators and all(isinstance(op, (ast.In, ast.NotIn)) for op in parent.ops):
                continue
        elif isinstance(parent, ast.Subscript) and parent.value is load and isinstance(parent.ctx, ast.Load):
            if _reads(source, parent) or _is_read(source, _target(around, parent)):
                continue
        elif isinstance(parent, ast.Attribute) and parent.attr == "keys":
            continue
        return False
    return True
