"""Parameters whose shapes a loop has compared: one that waits for its shape raises there.

for a, b in zip(child.namedparams(), dst_child.namedparams()):
    if a[1].data.shape != b[1].data.shape:
        match = False
        break
if not match:
    continue
for a, b in zip(child.namedparams(), dst_child.namedparams()):
    b[1].data = a[1].data                                       # b[1] has a shape
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source, nodes_of

_LEAVING = (ast.Break, ast.Continue, ast.Raise, ast.Return)
_ARRAYS = frozenset({"array", "data"})


def was_compared(source: Source, owner: ast.expr) -> bool:
    """Whether the loop around ``owner.data = value`` runs only where another one has compared all of the shapes."""
    statement = source.statement(owner)
    loop = source.parents.get(statement)
    around = source.parents.get(loop) if isinstance(loop, ast.For) else None
    if not isinstance(loop, ast.For) or statement not in loop.body or loop.orelse:
        return False
    for block in (getattr(around, "body", []), getattr(around, "orelse", [])):
        if isinstance(block, list) and loop in block:
            return _compared(block[: block.index(loop)], loop, ast.unparse(owner))
    return False


def _compared(above: list[ast.stmt], loop: ast.For, owner: str) -> bool:
    """Whether one of these statements is the comparing loop, and a later one leaves where shapes differ."""
    text = ast.unparse(loop.target), ast.unparse(loop.iter)
    for i, other in enumerate(above):
        if isinstance(other, ast.For) and (ast.unparse(other.target), ast.unparse(other.iter)) == text:
            flags = [_flag(statement) for statement in other.body]
            asked = any(_asks(statement, owner) for statement in other.body)
            if asked and None not in flags and len(set(flags)) == 1 and not other.orelse:
                return any(_leaves(statement, flags[0]) for statement in above[i + 1 :])
    return False


def _flag(statement: ast.stmt) -> str | None:
    """The name in ``if ...: match = False; break``."""
    if not isinstance(statement, ast.If) or statement.orelse or not isinstance(statement.body[-1], ast.Break):
        return None
    first = statement.body[0]
    target = first.targets[0] if isinstance(first, ast.Assign) else None
    value = first.value if isinstance(first, ast.Assign) else None
    known = isinstance(value, ast.Constant) and value.value is False
    plain = known and all(isinstance(between, ast.Expr) for between in statement.body[1:-1])  # it may print
    return target.id if plain and isinstance(target, ast.Name) else None


def _asks(statement: ast.stmt, owner: str) -> bool:
    """Whether the condition is one comparison with the shape: nothing before it can be false and skip it."""
    test = statement.test if isinstance(statement, ast.If) else None
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and any(
            isinstance(side, ast.Attribute)
            and side.attr == "shape"
            and ast.unparse(side.value) in {owner, *(f"{owner}.{name}" for name in _ARRAYS)}
            for side in (test.left, *test.comparators)
        )
    )


def _leaves(statement: ast.stmt, flag: str | None) -> bool:
    """``if not match: continue``, which nothing stands in the way of."""
    if not isinstance(statement, ast.If) or not isinstance(statement.body[-1], _LEAVING):
        return False
    test = statement.test
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and ast.unparse(test.operand) == flag


def asks_own_shape(owner: ast.expr, value: ast.expr) -> bool:
    """``p.data = values.reshape(p.shape)``: the shape that is asked for is there."""
    text = ast.unparse(owner)
    names = {text, *(f"{text}.{name}" for name in _ARRAYS)}
    return any(
        isinstance(n, ast.Attribute) and n.attr == "shape" and ast.unparse(n.value) in names for n in nodes_of(value)
    )


__all__ = ["asks_own_shape", "was_compared"]
