"""Names of parameters that nobody sees: they are compared with those of another link, or look up a parameter of it.

``for a, b in zip(child.namedparams(), other.namedparams()): if a[0] != b[0]: ...`` does with PyTorch's names what it
does with Chainer's, and so does ``params = dict(a.namedparams())`` with ``params[name]`` for the names of ``b``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.free_walks import has_own_ways, keeps_order

_WALK = "namedparams"
_Pair = tuple[ast.expr, ast.expr]  # the targets of a loop over two walks


def names_paired(context: Context, call: ast.Call) -> bool:
    """Whether a walk is one of two that a ``zip`` pairs, whose names are compared with each other and used no more.

    A loop that does not look at the names is one of them where another loop over the same two has compared all.
    """
    scope = _scope(context, call)
    loops = list(_pairs(context, scope))
    own = next((pair for pair in loops if call in pair[0].args), None)
    if own is None or context.analysis.once(has_own_ways):
        return False
    same = [(pair, loop) for pair, loop in loops if ast.unparse(pair) == ast.unparse(own[0])]
    counts = [_comparisons(context, loop) for _, loop in same]
    return None not in counts and any(counts) and not _go_on(scope, [loop for _, loop in same])


def names_keyed(context: Context, call: ast.Call) -> bool:
    """Whether the names that the walks of a function give only look parameters up, are compared, or are not read.

    They look up in dictionaries of such walks: ``params = dict(a.namedparams())`` and ``params[name]``; those of one
    walk are compared with those of another. Where there are no two walks of which one looks up in the other's
    dictionary, any order has to do.
    """
    scope = _scope(context, call)
    dicts: list[str] = []
    loops: list[ast.For] = []
    for walk in _walks(scope):
        outer = context.source.parents[walk]
        if walk.args or walk.keywords:
            return False
        if isinstance(outer, ast.For) and outer.iter is walk and isinstance(outer.target, ast.Tuple):
            loops.append(outer)
        elif (name := _dictionary(context, outer)) is not None:
            dicts.append(name)
        else:
            return False
    of_dicts = list(_over(scope, dicts))
    names = [_name_of(loop.target) for loop in (*loops, *of_dicts)]
    free = not any(keeps_order(context, loop, _met_once(loop)) for loop in (*loops, *of_dicts))
    if None in names or not free and not (dicts and loops) or context.analysis.once(has_own_ways):
        return False
    uses = [n for n in nodes_of(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    looked_up = {n for n in uses if n.id in names and (_looks_up(context, n, dicts) or _meets(context, n, names))}
    return all(n in looked_up for n in uses if n.id in names) and all(
        _is_looked_up(context, n, looked_up) or _is_walked(context, n, of_dicts) for n in uses if n.id in dicts
    )


def _over(scope: ast.AST, dicts: list[str]) -> Iterator[ast.For]:
    """The loops over dictionaries: ``for name in params``, ``for name, param in params.items()``."""
    for node in nodes_of(scope):
        if isinstance(node, ast.For):
            walked = node.iter.func if isinstance(node.iter, ast.Call) and not node.iter.args else node.iter
            if isinstance(walked, ast.Attribute) and walked.attr in ("items", "keys"):
                walked = walked.value
            if isinstance(walked, ast.Name) and walked.id in dicts:
                yield node


def _met_once(loop: ast.For) -> frozenset[str]:
    """The names of a loop inside of a loop that does nothing but compare their names: each meets its own."""
    inner = loop.body[0]
    test = inner.body[0] if isinstance(inner, ast.For) and len(loop.body) == len(inner.body) == 1 else None
    if not isinstance(inner, ast.For) or not isinstance(test, ast.If) or test.orelse or inner.orelse or loop.orelse:
        return frozenset()
    compared = isinstance(test.test, ast.Compare) and len(test.test.ops) == 1 and isinstance(test.test.ops[0], ast.Eq)
    both = {n.id for n in nodes_of(test.test) if isinstance(n, ast.Name)}
    targets = [{n.id for n in nodes_of(one.target) if isinstance(n, ast.Name)} for one in (loop, inner)]
    meet = compared and both == {_name_of(loop.target), _name_of(inner.target)}
    return frozenset(targets[1]) if meet else frozenset()


def _meets(context: Context, node: ast.Name, names: list[str | None]) -> bool:
    """``name == other``, with the name of another walk."""
    compared = context.source.parents[node]
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return False
    both = (compared.left, compared.comparators[0])
    ids = {part.id for part in both if isinstance(part, ast.Name)}
    return isinstance(compared.ops[0], (ast.Eq, ast.NotEq)) and len(ids) == 2 and ids <= set(names)


def _is_walked(context: Context, node: ast.Name, loops: list[ast.For]) -> bool:
    statement = context.source.statement(node)
    return isinstance(statement, ast.For) and statement in loops and node in set(nodes_of(statement.iter))


def _scope(context: Context, call: ast.Call) -> ast.AST:
    return context.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree


def _walks(scope: ast.AST) -> Iterator[ast.Call]:
    for node in nodes_of(scope):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == _WALK:
            yield node


def _pairs(context: Context, scope: ast.AST) -> Iterator[tuple[ast.Call, ast.For]]:
    """The loops over two walks, each with its ``zip``."""
    for node in nodes_of(scope):
        zipped = node.iter if isinstance(node, ast.For) else None
        if not isinstance(node, ast.For) or not isinstance(zipped, ast.Call) or ast.unparse(zipped.func) != "zip":
            continue
        plain = all(isinstance(a, ast.Call) and not a.args and not a.keywords for a in zipped.args)
        if plain and len(zipped.args) == 2 and not zipped.keywords and set(zipped.args) <= set(_walks(zipped)):
            yield zipped, node


def _comparisons(context: Context, loop: ast.For) -> int | None:
    """How often a loop compares the two names; None where it does something else with one, or with a pair."""
    target = loop.target
    if not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    found = 0
    for node in (n for statement in (*loop.body, *loop.orelse) for n in nodes_of(statement)):
        if not isinstance(node, ast.Name) or not any(_holds(part, node.id) for part in target.elts):
            continue
        named = _name_part(context, target, node)
        if named is None:
            return None
        if named is node or isinstance(named, ast.Subscript) and _index(named) == 0:
            if not _is_compared(context, target, named):
                return None
            found += 1
    return found


def _go_on(scope: ast.AST, loops: list[ast.For]) -> bool:
    """Whether what loops give to names is used outside of them."""
    inside = {node for loop in loops for node in nodes_of(loop)}
    bound = {n.id for loop in loops for n in nodes_of(loop.target) if isinstance(n, ast.Name)}
    return any(isinstance(n, ast.Name) and n.id in bound and n not in inside for n in nodes_of(scope))


def _holds(part: ast.expr, name: str) -> bool:
    if isinstance(part, ast.Tuple):
        return len(part.elts) == 2 and isinstance(part.elts[0], ast.Name) and part.elts[0].id == name
    return isinstance(part, ast.Name) and part.id == name


def _name_part(context: Context, target: ast.Tuple, node: ast.Name) -> ast.expr | None:
    """``a[0]`` or ``a[1]`` around a pair, the name itself where the target takes pairs apart; None: anything else."""
    if any(isinstance(part, ast.Tuple) and _holds(part, node.id) for part in target.elts):
        return node
    outer = context.source.parents[node]
    whole = isinstance(outer, ast.Subscript) and outer.value is node and isinstance(outer.ctx, ast.Load)
    return outer if isinstance(outer, ast.Subscript) and whole and _index(outer) in (0, 1) else None


def _index(node: ast.Subscript) -> object:
    return node.slice.value if isinstance(node.slice, ast.Constant) else None


def _is_compared(context: Context, target: ast.Tuple, named: ast.expr) -> bool:
    """Whether a name is compared with the name of the other parameter."""
    compared = context.source.parents[named]
    if not isinstance(compared, ast.Compare) or len(compared.ops) != 1:
        return False
    if not isinstance(compared.ops[0], (ast.Eq, ast.NotEq)):
        return False
    other = compared.comparators[0] if compared.left is named else compared.left
    own = next(part for part in target.elts if _holds(part, _root(named)))
    rest = next(part for part in target.elts if part is not own)
    index = other if isinstance(rest, ast.Tuple) else other.value if isinstance(other, ast.Subscript) else None
    first = isinstance(rest, ast.Tuple) or isinstance(other, ast.Subscript) and _index(other) == 0
    return first and isinstance(index, ast.Name) and _holds(rest, index.id)


def _root(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.id if isinstance(node, ast.Name) else ""


def _dictionary(context: Context, outer: ast.AST) -> str | None:
    """``d`` in ``d = dict(link.namedparams())``."""
    statement = context.source.parents.get(outer)
    if not isinstance(outer, ast.Call) or ast.unparse(outer.func) != "dict" or len(outer.args) != 1 or outer.keywords:
        return None
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return None
    target = statement.targets[0]
    return target.id if isinstance(target, ast.Name) else None


def _name_of(target: ast.expr) -> str | None:
    """``name`` in ``for name, param in link.namedparams():``, ``for name in params:``."""
    if isinstance(target, ast.Name):
        return target.id
    pair = isinstance(target, ast.Tuple) and len(target.elts) == 2
    first = target.elts[0] if isinstance(target, ast.Tuple) and pair else None
    return first.id if isinstance(first, ast.Name) else None


def _looks_up(context: Context, node: ast.Name, dicts: list[str]) -> bool:
    """``d[name]``, ``name in d``."""
    outer = context.source.parents[node]
    if isinstance(outer, ast.Subscript):
        return outer.slice is node and isinstance(outer.ctx, ast.Load) and _root(outer) in dicts
    tested = isinstance(outer, ast.Compare) and outer.left is node and isinstance(outer.ops[0], (ast.In, ast.NotIn))
    return isinstance(outer, ast.Compare) and tested and _root(outer.comparators[0]) in dicts


def _is_looked_up(context: Context, node: ast.Name, names: set[ast.Name]) -> bool:
    outer = context.source.parents[node]
    if isinstance(outer, ast.Subscript):
        return outer.value is node and outer.slice in names
    return isinstance(outer, ast.Compare) and outer.left in names


__all__ = ["names_keyed", "names_paired"]
