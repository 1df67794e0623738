"""Which names a definition takes from outside itself, and which of them when its module is imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
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
    for node in nodes:
        if isinstance(node, ast.Name):
            found.add(node.id)
            continue
        inside = free_names(ast.iter_child_nodes(node))
        if isinstance(node, ast.arg):
            inside |= _quoted(node.annotation)
        elif isinstance(node, ast.AnnAssign):
            inside |= _quoted(node.annotation)
        elif isinstance(node, _SCOPES):
            if isinstance(node, _FUNCTIONS):
                inside |= _quoted(node.returns)
            outer = free_names(eager_parts(node)) if isinstance(node, _FUNCTIONS) else set()
            inside = (inside - _locals(node)) | outer | _annotations(node)
        found |= inside
    return found


def outer_names(node: ast.AST, name: str) -> Iterator[ast.Name]:
    """Where ``name`` means what stands outside, and no parameter, variable or attribute of a class of that name."""
    if isinstance(node, ast.Name) and node.id == name:
        yield node
    parts: Iterable[ast.AST] = ast.iter_child_nodes(node)
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
    stack = list(ast.iter_child_nodes(scope))
    shared: set[str] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, ast.arg):
            found.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            found.add(node.name)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            shared.update(node.names)
        elif isinstance(node, _FUNCTIONS | ast.ClassDef):
            found.add(node.name)
        if not isinstance(node, ast.ClassDef | _SCOPES):
            stack.extend(ast.iter_child_nodes(node))
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
    for child in ast.walk(annotation) if annotation is not None else ():
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            try:
                found |= free_names([ast.parse(child.value, mode="eval")])
            except SyntaxError:
                pass  # a literal such as Literal["mean error"], not a name
    return found
