"""Whether a statement can move: what lies between two places of one function, and what it changes."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# methods that move or clear parameters, which stay the objects that they are
_IN_PLACE = frozenset("to_gpu to_cpu to_device to_chx from_chx to_intel64 cleargrads zerograds".split())


def function_of(context: Context, node: ast.AST) -> ast.AST | None:
    """The function in whose body a node stands; None: the body of the module, or of a class."""
    return context.source.enclosing(node, *_FUNCTIONS)


def suite_of(context: Context, statement: ast.stmt) -> list[ast.stmt]:
    """The statements among which a statement stands."""
    parent = context.source.parents[statement]
    for name in ("body", "orelse", "finalbody"):
        siblings = getattr(parent, name, None)
        if isinstance(siblings, list) and statement in siblings:
            return siblings
    return [statement]


def is_alone(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement has its lines for itself."""
    before, after = context.source.line_at(context.source.start(statement))[0], context.source.span(statement)
    prefix = before[: after[0] - context.source.line_at(after[0])[1]]
    line, start = context.source.line_at(after[1])
    rest = line[after[1] - start :].strip()
    return not prefix.strip() and (not rest or rest.startswith("#"))


def always_follows(context: Context, first: ast.stmt, second: ast.stmt) -> bool:
    """Whether ``second`` is reached from ``first`` on every way: it stands behind it, in a block around it."""
    if function_of(context, first) is not function_of(context, second):
        return False
    around = [first, *context.source.ancestors(first)]
    behind = context.source.start(first) < context.source.start(second)
    while isinstance(outer := context.source.parents[second], ast.With):  # its body runs once, whatever it is with
        if any(statement in around for statement in suite_of(context, second)):
            break
        second = outer
    return behind and any(statement in around for statement in suite_of(context, second))


def is_reached_through(context: Context, node: ast.AST, statement: ast.stmt) -> bool:
    """Whether every way to a node leads through a statement: it stands in front, in a block around the node."""
    around = [node, *context.source.ancestors(node)]
    suite = suite_of(context, statement)
    inside = [other for other in suite if other in around]
    return bool(inside) and suite.index(statement) < suite.index(inside[0])


def are_branches(context: Context, one: ast.AST, other: ast.AST) -> bool:
    """Whether two nodes of a file stand in the two branches of one ``if``, so that a run comes to one of them."""
    around = list(context.source.ancestors(other))
    inner = one
    for outer in context.source.ancestors(one):
        if outer in around:
            below = around[around.index(outer) - 1]
            return isinstance(outer, ast.If) and (inner in outer.body) != (below in outer.body)
        inner = outer
    return False


def between(context: Context, first: ast.stmt, second: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of the function that stand behind one statement and before another."""
    start, end = context.source.span(first)[1], context.source.start(second)
    scope = function_of(context, first) or context.source.tree
    for node in nodes_of(scope):
        if hasattr(node, "lineno") and start <= context.source.start(node) < end:
            yield node


def is_steady(context: Context, expression: ast.expr, nodes: Iterator[ast.AST]) -> bool:
    """Whether a name or attribute, or a literal, is the same behind these nodes as before them."""
    if isinstance(expression, ast.Constant):
        return True
    if isinstance(expression, ast.UnaryOp):
        return is_steady(context, expression.operand, nodes)
    names = {n.id for n in nodes_of(expression) if isinstance(n, ast.Name)}
    if not all(isinstance(n, (ast.Name, ast.Attribute, ast.expr_context)) for n in nodes_of(expression)):
        return False
    return not any(_changes(context, node, names) for node in nodes)


def is_rebound(expression: ast.expr, nodes: Iterable[ast.AST]) -> bool:
    """Whether a name or attribute, or one of those that it is reached through, stands for something else behind."""
    prefixes = {ast.unparse(n) for n in nodes_of(expression) if isinstance(n, (ast.Name, ast.Attribute))}
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and not isinstance(node.ctx, ast.Load)
        and ast.unparse(node) in prefixes
        or isinstance(node, ast.arg)
        and node.arg in prefixes
        for node in nodes
    )


def bound_by_loops(context: Context, expression: ast.expr) -> list[str]:
    """The names of an expression that a loop or comprehension around it binds anew each time it comes round.

    A lambda that takes the expression's place reads them when it is called: then they are those of the last time.
    """
    names = {n.id: None for n in nodes_of(expression) if isinstance(n, ast.Name)}
    bound: set[str] = set()
    for around in context.source.ancestors(expression):
        if isinstance(around, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            break
        if isinstance(around, (ast.For, ast.AsyncFor, ast.While, *_COMPREHENSIONS)):
            bound |= {n.id for n in nodes_of(around) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return [name for name in names if name in bound]


def binding_of(context: Context, load: ast.Name) -> ast.stmt | None:
    """The assignment that a load always sees: the last one in front of it, in its own suite or in one around it."""
    for statement in [context.source.statement(load), *context.source.ancestors(load)]:
        if not isinstance(statement, ast.stmt):
            continue
        suite = suite_of(context, statement)
        for before in reversed(suite[: suite.index(statement)]):
            targets = before.targets if isinstance(before, ast.Assign) else []
            if any(isinstance(target, ast.Name) and target.id == load.id for target in targets):
                return before
    return None


def is_simple(expression: ast.expr) -> bool:
    """Whether an expression is a name, an attribute of one, or a literal."""
    if isinstance(expression, (ast.Constant, ast.Name)):
        return True
    inner = expression.operand if isinstance(expression, ast.UnaryOp) else getattr(expression, "value", None)
    return isinstance(expression, (ast.UnaryOp, ast.Attribute)) and inner is not None and is_simple(inner)


def _changes(context: Context, node: ast.AST, names: set[str]) -> bool:
    """Whether a node binds one of the names, sets an attribute of it, or may change what it stands for."""
    if isinstance(node, (ast.Name, ast.Attribute)) and not isinstance(node.ctx, ast.Load):
        return _root(node) in names
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.arg) and node.arg in names
    if isinstance(node.func, ast.Attribute) and _root(node.func) in names:
        called = context.kind(node.func)
        return node.func.attr not in _IN_PLACE and not isinstance(called, Ref)
    given = {_root(a) for a in (*node.args, *(k.value for k in node.keywords))} & names
    return bool(given) and not all(_only_looks(context, k) for k in options(context.kind(node.func)))


def _only_looks(context: Context, kind: object) -> bool:
    """Whether a callee of Chainer's or Python's leaves the modules that it gets as they are."""
    return isinstance(kind, Ref) or getattr(kind, "name", "") in ("setup", "add_hook", "extend")


def _root(node: ast.AST) -> str:
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


__all__ = [
    "always_follows",
    "are_branches",
    "between",
    "binding_of",
    "function_of",
    "is_alone",
    "is_reached_through",
    "is_rebound",
    "is_simple",
    "is_steady",
    "suite_of",
]
