"""The properties of a project's own classes that give array modules: ``return cuda.cupy if self.gpu else numpy``.

Only a plain ``property`` without a setter, which nothing else in its class mentions.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Kind, Ref
from chainer2torch.analysis.models.xp_modules import CUPY, XP
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of

_INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, ast.Yield, ast.YieldFrom)


def properties(analysis: Analysis) -> Iterator[tuple[ClassInfo, FuncInfo]]:
    """Those that give array modules, NumPy alone, or nothing: ``raise NotImplementedError`` of a base."""
    for cls in analysis.classes.values():
        for info in cls.methods.values():
            if info.is_property and _is_plain(cls, info) and _gives_modules(analysis, info):
                yield cls, info


def is_module(kind: Kind | None) -> bool:
    """Whether a value is an array module that is not just NumPy."""
    return kind == XP or isinstance(kind, Ref) and kind.name in CUPY


def defined_names(cls: ClassInfo) -> Iterator[str]:
    """Names that the body of a class defines: methods, properties, values."""
    yield from cls.methods
    for statement in cls.node.body:
        for node in nodes_of(statement) if isinstance(statement, (ast.Assign, ast.AnnAssign)) else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def begins_with_none(cls: ClassInfo, name: str) -> ast.Name | None:
    """The name in ``lib = None`` of a class body, where that is all that the body says of it."""
    found = [
        node
        for statement in cls.node.body
        if isinstance(statement, (ast.Assign, ast.AnnAssign))
        for node in nodes_of(statement)
        if isinstance(node, ast.Name) and node.id == name
    ]
    nothing = [
        statement.targets[0]
        for statement in cls.node.body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.Constant)
        and statement.value.value is None
    ]
    only = found[0] if len(found) == 1 and found[0] in nothing and name not in cls.methods else None
    return only if only is not None and not any(n.id == name for n in _names_outside(cls) if n is not only) else None


def _names_outside(cls: ClassInfo) -> list[ast.Name]:
    return [node for node in _outside_functions(cls) if isinstance(node, ast.Name)]


def _is_plain(cls: ClassInfo, info: FuncInfo) -> bool:
    """Whether ``property`` is all that is made of a function, which nothing else in the class mentions."""
    node = info.node
    if not isinstance(node, ast.FunctionDef) or node.returns is not None:
        return False
    decorators = [d.id for d in node.decorator_list if isinstance(d, ast.Name)]
    named = [
        n
        for n in nodes_of(cls.node)
        if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        and n.name == info.name
        or isinstance(n, ast.Name)
        and n.id == info.name
        and n in _outside_functions(cls)
    ]
    return decorators == ["property"] and len(node.decorator_list) == 1 and named == [node]


def _outside_functions(cls: ClassInfo) -> set[ast.AST]:
    """The nodes of a class body that see its names: not what stands in the bodies of its methods."""
    methods = [s for s in cls.node.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))]
    inside = {node for method in methods for statement in method.body for node in nodes_of(statement)}
    return set(nodes_of(cls.node)) - inside


def _gives_modules(analysis: Analysis, info: FuncInfo) -> bool:
    body = [node for statement in info.node.body for node in nodes_of(statement)]  # type: ignore[union-attr]
    if any(isinstance(node, _INNER) for node in body):
        return False
    values = [node.value for node in body if isinstance(node, ast.Return)]
    kinds = [None if value is None else analysis.kind(value) for value in values]
    return all(is_module(kind) or kind == Ref("numpy") for kind in kinds)
