"""Which names a definition takes from outside itself, and which of them when its module is imported."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.source import child_nodes, nodes_of

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
_OF_SCOPES = frozenset(
    {ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp}
)
_SCOPES = _FUNCTIONS | ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


def eager_parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a definition that run when the module is imported."""
    if isinstance(node, _FUNCTIONS):
        yield from node.decorator_list
        yield from node.args.defaults
        yield from (item for item in node.args.kw_defaults if item is not None)
    elif isinstance(node, ast.ClassDef):
        yield from [*node.decorator_list, *node.bases, *(keyword.value for keyword in node.keywords)]
        for child in node.body:
            yield from eager_parts(child)
    else:
        yield node


def free_names(nodes: Iterable[ast.AST]) -> set[str]:
    """The names that ``nodes`` take from outside themselves: parameters and local variables of functions are not."""
    found: set[str] = set()
    stack = list(nodes)
    while stack:
        node = stack.pop()
        kind = node.__class__
        if kind is ast.Name:
            found.add(node.id)  # type: ignore[attr-defined]
        elif kind in _OF_SCOPES:
            found |= _names_of_scope(node)
        elif kind is not ast.Constant:
            if kind is ast.arg or kind is ast.AnnAssign:
                found |= _quoted(node.annotation)  # type: ignore[attr-defined]
            stack += child_nodes(node)
    return found


@functools.lru_cache(maxsize=4096)  # parts of a class are looked at again and again, each time with fewer methods
def _names_of_scope(node: ast.AST) -> frozenset[str]:
    inside = free_names(child_nodes(node))
    if not isinstance(node, _FUNCTIONS):
        return frozenset(inside - _locals(node))
    inside |= _quoted(node.returns)
    return frozenset((inside - _locals(node)) | free_names(eager_parts(node)) | _annotations(node))


def outer_names(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """Where ``name`` means what stands outside, and no parameter, variable or attribute of a class of that name."""
    if isinstance(node, ast.Name) and node.id == name:
        yield node
    parts: Iterable[ast.AST] = child_nodes(node)
    if isinstance(node, _SCOPES) and name in _locals(node):
        parts = [*eager_parts(node), *_annotation_nodes(node)] if isinstance(node, _FUNCTIONS) else ()
    for part in parts:
        attribute = isinstance(node, ast.ClassDef) and isinstance(part, ast.Assign | ast.AnnAssign)
        for inner in _behind_targets(part) if attribute else (part,):
            yield from outer_names(inner, name)


def _behind_targets(node: ast.AST) -> list[ast.AST]:
    """The value of an assignment, and its annotation."""
    return [part for part in (getattr(node, "annotation", None), getattr(node, "value", None)) if part is not None]


def _locals(scope: ast.AST) -> set[str]:
    """Parameters and variables of a function (its own, not those of functions in it)."""
    found: set[str] = set()
    stack = child_nodes(scope)
    shared: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                found.add(node.id)
            continue
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
        elif isinstance(node, _FUNCTIONS | ast.ClassDef):
            found.add(node.name)
        if node.__class__ is not ast.ClassDef and node.__class__ not in _OF_SCOPES:
            stack += child_nodes(node)
    return found - shared


def _annotations(scope: ast.AST) -> set[str]:
    """A parameter may be called as its type is: what annotations name is not local."""
    return free_names(_annotation_nodes(scope))


def _annotation_nodes(scope: ast.AST) -> list[ast.expr]:
    if not isinstance(scope, _FUNCTIONS):
        return []
    args = scope.args
    every = [*args.posonlyargs, *args.args, *args.kwonlyargs, *filter(None, [args.vararg, args.kwarg])]
    return [item.annotation for item in every if item.annotation] + ([scope.returns] if scope.returns else [])


def _quoted(annotation: ast.expr | None) -> set[str]:
    """Names in annotations that are written as strings."""
    found: set[str] = set()
    for child in nodes_of(annotation) if annotation is not None else ():
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            try:
                found |= free_names([ast.parse(child.value, mode="eval")])
            except SyntaxError:
                pass  # a literal such as Literal["mean error"], not a name
    return found
