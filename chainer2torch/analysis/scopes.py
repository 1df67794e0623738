"""In which scope each name of a file is bound, as Python decides it."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator

from chainer2torch.analysis.source import Source, child_nodes

Scope = ast.AST | None
"""A function, lambda, comprehension, class or module; None for names that nothing in the file binds."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)
_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_SCOPE_TYPES = frozenset(_SCOPES)
_LEAVES = frozenset({ast.Name, ast.Constant, ast.alias})
_BINDING = frozenset(
    {ast.arg, ast.alias, *_DEFINITIONS, ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.Global, ast.Nonlocal}
)
_TELLING = _BINDING | _SCOPE_TYPES | {ast.Name}


def bindings(tree: ast.Module) -> dict[ast.AST, Scope]:
    """The scope of every Name, and of every ``alias`` of an import: where the name lives."""
    found: dict[ast.AST, Scope] = {}
    _enter(tree, [], found)
    return found


def _enter(
    scope: ast.AST, outer: list[tuple[ast.AST, frozenset[str], frozenset[str]]], found: dict[ast.AST, Scope]
) -> None:
    nodes = [node for node in _own(scope) if node.__class__ in _TELLING]
    own, free = _bound(scope, nodes)
    chain = [*outer, (scope, own, free)]
    known: dict[str, Scope] = {}
    for node in nodes:
        if isinstance(node, (ast.Name, ast.alias)):
            name = node.id if isinstance(node, ast.Name) else node.asname or node.name.split(".")[0]
            if name not in known:
                known[name] = _scope_of(name, chain)
            found[node] = known[name]
        elif node.__class__ in _SCOPE_TYPES and node is not scope:
            _enter(node, chain, found)


def _scope_of(name: str, chain: list[tuple[ast.AST, frozenset[str], frozenset[str]]]) -> Scope:
    """The innermost scope that binds a name; names of a class body are not seen from its methods."""
    for i, (scope, own, free) in enumerate(reversed(chain)):
        if isinstance(scope, ast.ClassDef) and i:
            continue
        if name in free:  # `global name`
            return chain[0][0]
        if name in own:
            return scope
    return None


def _bound(scope: ast.AST, nodes: list[ast.AST]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that a scope binds itself, and those that it declares ``global``."""
    names: set[str] = set()
    free: set[str] = set()
    outer: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Name):
            if node.ctx.__class__ is not ast.Load:
                names.add(node.id)
        elif node.__class__ not in _BINDING:
            continue
        elif isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.alias):
            names.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, _DEFINITIONS):
            if node is not scope:
                names.add(node.name)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            if node.name:
                names.add(node.name)
        elif isinstance(node, ast.Global):
            free.update(node.names)
        elif isinstance(node, ast.Nonlocal):
            outer.update(node.names)
    return frozenset(names - outer - free), frozenset(free)


def _own(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, with the heads but without the bodies of what is defined inside."""
    stack = list(_parts(scope, inside=True))
    while stack:
        node = stack.pop()
        yield node
        if node.__class__ not in _LEAVES:
            stack.extend(_parts(node, inside=False) if node.__class__ in _SCOPE_TYPES else child_nodes(node))


def _parts(node: ast.AST, inside: bool) -> Iterator[ast.AST]:
    """The children of a definition that belong to its own scope (``inside``) or to the one around it."""
    if isinstance(node, _FUNCTIONS):
        arguments = node.args
        outer: list[ast.AST] = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        inner: list[ast.AST] = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        inner += filter(None, (arguments.vararg, arguments.kwarg))
        outer += [a.annotation for a in inner if isinstance(a, ast.arg) and a.annotation is not None]
        inner = [ast.copy_location(ast.arg(a.arg), a) for a in inner if isinstance(a, ast.arg)]
        if isinstance(node, ast.Lambda):
            inner.append(node.body)
        else:
            outer += [*node.decorator_list, *filter(None, [node.returns])]
            inner += node.body
        yield from inner if inside else outer
    elif isinstance(node, ast.ClassDef):
        yield from node.body if inside else [*node.decorator_list, *node.bases, *node.keywords]
    elif isinstance(node, _COMPREHENSIONS):
        first = node.generators[0].iter
        if inside:
            yield from (child for g in node.generators for child in (g.target, *g.ifs))
            yield from (g.iter for g in node.generators[1:])
            yield from [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        else:
            yield first
    else:
        yield from child_nodes(node)


def is_own_of_expression(source: Source, node: ast.Name | ast.Attribute) -> bool:
    """Whether a name is bound by a comprehension or lambda around it: it is none of the function's names."""
    base: ast.expr = node
    while isinstance(base, ast.Attribute):
        base = base.value
    if not isinstance(base, ast.Name):
        return False
    inner = itertools.takewhile(lambda outer: not isinstance(outer, ast.stmt), source.ancestors(base))
    return any(isinstance(outer, (ast.Lambda, *_COMPREHENSIONS)) and _binds(outer, base.id) for outer in inner)


def _binds(scope: ast.AST, name: str) -> bool:
    return name in _bound(scope, list(_own(scope)))[0]


__all__ = ["Scope", "bindings", "is_own_of_expression"]
