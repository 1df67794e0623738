"""``isinstance(x, chainer.Variable)``: where the answer makes no difference for an array, which is a tensor, too.

Chainer tells a Variable from the array in it; in PyTorch both are tensors, and the test is true for both. Two uses of
it mean the same all the same: an assertion that it is a Variable, which arrays pass now, and code that only takes the
array out of a Variable, since an array that is taken out of an array is the same array. Code that makes a Variable of
what is none yet asks whether a tensor takes gradients instead: one that does is a Variable.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from chainer2torch.analysis.source import Source, nodes_of

_INSIDE = frozenset({"array", "data"})


def harmless(source: Source, test: ast.Call) -> bool:
    """Whether ``test``, an ``isinstance(x, chainer.Variable)``, may answer True for an array as well."""
    whole: ast.expr = test
    parent = source.parents[whole]
    if isinstance(parent, ast.BoolOp) and isinstance(parent.op, ast.And):  # `assert isinstance(x, ...) and x.ndim == 2`
        whole, parent = parent, source.parents[parent]
        return isinstance(parent, ast.Assert) and parent.test is whole
    if isinstance(parent, ast.Assert):
        return parent.test is whole
    if isinstance(test.args[1], ast.Tuple):
        return False
    of_variable, of_array = _branches_of(source, test)
    return bool(of_variable or of_array) and _without_taking_out(of_variable, test.args[0]) == _without_taking_out(
        of_array, test.args[0]
    )


def wraps(
    source: Source, test: ast.Call, makes_variable: Callable[[ast.expr], bool], asks_for_array: bool = False
) -> bool:
    """Whether ``test`` decides on nothing but that a Variable is made of an array.

    ``makes_variable`` tells whether what is called is chainer.Variable; ``asks_for_array`` is a test for an array.
    """
    if isinstance(test.args[1], ast.Tuple):
        return False
    of_variable, of_array = _branches_of(source, test)
    if asks_for_array:
        of_variable, of_array = of_array, of_variable
    name = ast.unparse(test.args[0])
    of_array = [statement for statement in of_array if not _moves(statement, name)]
    made = [
        node
        for branch in of_array
        for node in nodes_of(branch)
        if isinstance(node, ast.Call)
        and len(node.args) == 1
        and not node.keywords
        and ast.unparse(node.args[0]) == name
        and makes_variable(node.func)
    ]
    return len(made) == 1 and _without(of_variable, test.args[0], made) == _without(of_array, test.args[0], made)


def _moves(statement: Any, name: str) -> bool:
    """Whether a statement does nothing but move a value, ``if self.gpu: x.to_gpu()``: what lies there stays there."""
    if isinstance(statement, ast.If):
        asked = not any(isinstance(node, (ast.Call, ast.NamedExpr)) for node in nodes_of(statement.test))
        return asked and not statement.orelse and all(_moves(inner, name) for inner in statement.body)
    return isinstance(statement, ast.Expr) and ast.unparse(statement.value) == f"{name}.to_gpu()"


def only_moves(source: Source, test: ast.Call, moves: Callable[[ast.expr], bool]) -> bool:
    """Whether ``test``, a test for an array, decides on nothing but that the value is moved: ``x = to_gpu(x)``.

    ``moves`` tells whether what is called does that.
    """
    if isinstance(test.args[1], ast.Tuple):
        return False
    of_array, of_others = _branches_of(source, test)
    name = ast.unparse(test.args[0])
    moved = [
        node
        for branch in of_array
        for node in nodes_of(branch)
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.args[0]) == name and moves(node.func)
    ]
    return len(moved) == 1 and _without(of_array, test.args[0], moved) == _without(of_others, test.args[0], moved)


def refuses(source: Source, test: ast.Call) -> bool:
    """Whether ``test`` lets arrays through and stops at a Variable: ``assert not isinstance(x, chainer.Variable)``."""
    if isinstance(test.args[1], ast.Tuple):
        return False
    outer = source.parents[test]
    negated = isinstance(outer, ast.UnaryOp) and isinstance(outer.op, ast.Not)
    stopped = source.parents[outer] if negated else None
    if isinstance(stopped, ast.Assert) and stopped.test is outer:
        return True
    of_variable, _ = _branches_of(source, test)
    return len(of_variable) == 1 and isinstance(of_variable[0], ast.Raise)


def _branches_of(source: Source, test: ast.Call) -> tuple[list[Any], list[Any]]:
    """What runs for a Variable and what runs for an array, if ``test`` alone decides on it."""
    whole: ast.expr = test
    parent = source.parents[whole]
    negated = isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not)
    if not negated and isinstance(parent, ast.Compare):  # `isinstance(x, ...) == False`
        negated = _compared_with(parent, whole) is False
        if _compared_with(parent, whole) is None:
            return [], []
    if isinstance(parent, (ast.UnaryOp, ast.Compare)):
        whole, parent = parent, source.parents[parent]
    if not (isinstance(parent, (ast.If, ast.IfExp)) and parent.test is whole):
        return [], []
    branches = _branches(source, parent)
    return branches[::-1] if negated else branches


def _compared_with(test: ast.Compare, value: ast.expr) -> bool | None:
    """True or False, if a value is compared with that and nothing else."""
    with_what = test.comparators[0]
    if len(test.ops) > 1 or not isinstance(test.ops[0], (ast.Eq, ast.Is)) or test.left is not value:
        return None
    known = isinstance(with_what, ast.Constant) and isinstance(with_what.value, bool)
    return with_what.value if known else None  # type: ignore[attr-defined]


def _branches(source: Source, node: ast.If | ast.IfExp) -> tuple[list[Any], list[Any]]:
    """What runs if the test is true and if it is not: after an ``if`` that returns, the statement behind it."""
    if isinstance(node, ast.IfExp):
        return [node.body], [node.orelse]
    if not node.orelse and isinstance(node.body[-1], ast.Return):
        block = next(b for _, b in ast.iter_fields(source.parents[node]) if isinstance(b, list) and node in b)
        behind = block.index(node) + 1
        return node.body, block[behind : behind + 1]
    return node.body, node.orelse


def _without_taking_out(code: list[Any], value: ast.expr) -> list[Any]:
    """The code as nested tuples: ``x.array`` and ``x.data`` are ``x``; what then does nothing (``x = x``) is gone."""
    text = ast.unparse(value)
    inside = [
        node
        for part in code
        for node in nodes_of(part)
        if isinstance(node, ast.Attribute) and node.attr in _INSIDE and ast.unparse(node.value) == text
    ]
    return _without(code, value, inside)


def _without(code: list[Any], value: ast.expr, same: list[Any]) -> list[Any]:
    """The code as nested tuples, in which the nodes in ``same`` are ``value``, without what then does nothing."""
    plain = _plain(value, value, ())
    return [
        _plain(node, value, same)
        for node in code
        if not (
            isinstance(node, ast.Pass)
            or isinstance(node, ast.Assign)
            and len(node.targets) == 1
            and _plain(node.targets[0], value, ()) == plain == _plain(node.value, value, same)
        )
    ]


def _plain(node: Any, value: ast.expr, same: Collection[Any]) -> Any:
    if isinstance(node, list):
        return tuple(_plain(item, value, same) for item in node)
    if not isinstance(node, ast.AST):
        return node
    if node in same:
        return _plain(value, value, ())
    return (type(node), *(_plain(item, value, same) for name, item in ast.iter_fields(node) if name != "ctx"))
