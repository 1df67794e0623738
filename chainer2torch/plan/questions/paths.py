"""Paths (`self.nets["a"].fc`: a name with attributes and literal keys) and what a tree binds their names to."""

from __future__ import annotations

import ast
from collections import Counter

from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.context import Context

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_parameter(context: Context, node: ast.AST | None) -> bool:
    """Whether a name is a parameter of the function around it: callers that nobody sees may give another value."""
    scope = context.scopes.get(node) if isinstance(node, ast.Name) else None
    if not isinstance(node, ast.Name) or not isinstance(scope, FUNCTIONS):
        return False
    a = scope.args
    return node.id in {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)}


def stored_names(tree: ast.AST) -> set[str]:
    """The names that a tree binds by assignments."""
    return {n.id for n in within(tree).of(ast.Name) if isinstance(n.ctx, ast.Store)}


def parameters_in(tree: ast.AST) -> set[str]:
    """The parameters of the functions in a tree, those of lambdas, too: names that mean nothing around it."""
    return {n.arg for n in within(tree).of(ast.arg)}


def loops_in(tree: ast.AST) -> dict[str, ast.expr]:
    """What the loop variables of a tree run over."""
    return {
        node.target.id: node.iter
        for node in within(tree).of(ast.For, ast.comprehension)
        if isinstance(node.target, ast.Name)
    }


def taken_from(tree: ast.AST, owners: set[str]) -> set[str]:
    """The names that a tree only binds to what it takes from some names, or from such names: loops and assignments."""
    if not owners:
        return set()
    bound: list[tuple[ast.expr, ast.expr]] = []
    for node in within(tree).of(ast.Assign, ast.For, ast.comprehension):
        if isinstance(node, ast.Assign):
            bound += [(target, node.value) for target in node.targets]
        else:
            bound.append((node.target, node.iter))
    places = [({n.id for n in nodes_of(t) if isinstance(n, ast.Name)}, value) for t, value in bound]
    found: set[str] = set()
    while True:
        known = owners | found
        takes = [(names, any(isinstance(n, ast.Name) and n.id in known for n in nodes_of(v))) for names, v in places]
        new = {name for names, own in takes if own for name in names}
        new -= {name for names, own in takes if not own for name in names}
        if new <= found:
            return found
        found |= new


def gives_value(node: ast.expr) -> bool:
    """Whether something is computed of what is not constant: `model(x)` is a value, `make(3)` is what is made."""
    return isinstance(node, ast.Call) and is_path(node.func) and not all(isinstance(a, ast.Constant) for a in node.args)


def values_in(tree: ast.AST) -> set[str]:
    """Names that a tree binds to what is computed, and to nothing else: ``distribution, value = self.model(x)``."""
    found: set[str] = set()
    others: set[str] = set()
    for node in within(tree).of(ast.Assign):
        names = {n.id for target in node.targets for n in nodes_of(target) if isinstance(n, ast.Name)}
        (found if gives_value(node.value) else others).update(names)
    return found - others


def aliases_in(tree: ast.AST) -> dict[str, ast.expr]:
    """Names that a tree binds once, to what has another name: ``target = self._targets['main']``."""
    stores = Counter(n.id for n in within(tree).of(ast.Name) if isinstance(n.ctx, ast.Store))
    arguments = tree.args if isinstance(tree, FUNCTIONS) else None
    bound = {a.arg for a in nodes_of(arguments) if isinstance(a, ast.arg)} if arguments is not None else set()
    return {
        node.targets[0].id: node.value
        for node in within(tree).of(ast.Assign)
        if len(node.targets) == 1
        and isinstance(node.targets[0], ast.Name)
        and stores[node.targets[0].id] == 1
        and node.targets[0].id not in bound
        and isinstance(node.value, (ast.Attribute, ast.Subscript))
        and is_path(node.value)
    }


def follow(node: ast.expr, aliases: dict[str, ast.expr]) -> ast.expr:
    """A path, with the name that it starts with replaced by what this is another name of."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node)
    if isinstance(node, (ast.Attribute, ast.Subscript)):
        value = follow(node.value, aliases)
        if value is not node.value:
            ctx = ast.Load()
            return (
                ast.Attribute(value, node.attr, ctx)
                if isinstance(node, ast.Attribute)
                else ast.Subscript(value, node.slice, ctx)
            )
    return node


def candidates(node: ast.expr) -> list[ast.expr]:
    """The expressions in a callee or argument that may be modules, outer ones first: `self`, `self.net`."""
    result: list[ast.expr] = []
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if is_path(node):
            result.append(node)
        node = node.value
    if isinstance(node, ast.Name):
        result.append(node)
    return result[::-1]


def is_path(node: ast.expr) -> bool:
    """Whether an expression is a name with attributes and literal keys."""
    while isinstance(node, ast.Attribute) or isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        node = node.value
    return isinstance(node, ast.Name)


def root_name(node: ast.expr) -> str:
    """The name that a path starts with; empty for what is no path."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""
