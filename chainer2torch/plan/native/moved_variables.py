"""``x.to_gpu()`` of a Variable moves it; a tensor is moved by ``x = x.cuda()``.

That is the same where no other name stands for the Variable yet: the one statement that binds the name makes it, or a
call that it names does, and what reads the name before it is moved only looks at it or computes with it.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.questions.asked_gradients import asks_gradient

_MOVES = {"to_gpu": "cuda", "to_cpu": "cpu"}
_KEEP = frozenset({"add", "append", "appendleft", "extend", "insert", "put", "setdefault"})
_MAKERS = frozenset({"chainer.Variable", "chainer.variable.Variable"})


def run(context: Context) -> Decisions:
    """Decides on statements that do nothing but move Variables."""
    decisions = Decisions(context)
    for statement in context.source.of(ast.Expr):
        assert isinstance(statement, ast.Expr)
        value = statement.value
        calls = [_moved(context, statement, part) for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
        moved = [found for found in calls if found is not None]
        names = [name.id for _, name in moved]
        if not moved or len(moved) < len(calls) or len(set(names)) < len(names):
            continue
        for call, name in moved:
            assert isinstance(call.func, ast.Attribute)
            number = ", ".join(ast.unparse(part) for part in _device(call))
            decisions.replace(call, f"self.{_MOVES[call.func.attr]}({number})", {"self": context.operand(name)})
        operands = {f"_{i}": context.operand(call) for i, (call, _) in enumerate(moved)}
        template = f"{', '.join(names)} = {', '.join(operands)}"
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), template, operands))
    return decisions


def _moved(context: Context, statement: ast.Expr, node: ast.expr) -> tuple[ast.Call, ast.Name] | None:
    """The call that moves a Variable, and its name."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name = node.func.value
    if node.func.attr not in _MOVES or not isinstance(name, ast.Name):
        return None
    if len(_device(node)) < len(node.args) + len(node.keywords):
        return None
    kinds = options(context.kind(name))
    made = all(isinstance(k, Tensor) and not k.array for k in kinds)
    return (node, name) if made and _is_new(context, statement, name) else None


def _device(call: ast.Call) -> list[ast.expr]:
    """The number of a GPU, where a call states one."""
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    return [n for n in given if len(given) == 1 and isinstance(n, ast.Constant) and type(n.value) is int]


def _is_new(context: Context, statement: ast.Expr, name: ast.Name) -> bool:
    """Whether the last statement before this one that binds a Variable makes it, and comes before it in any case."""
    source, scope = context.source, context.scopes.get(name)
    places = [
        n
        for n in nodes_of(scope if scope is not None else source.tree)
        if isinstance(n, ast.Name) and n.id == name.id and context.scopes.get(n) is scope
    ]
    start = source.start(statement)
    stores = [n for n in places if not isinstance(n.ctx, ast.Load) and source.start(n) < start]
    last = max(stores, key=source.start, default=None)
    bound = source.statement(last) if last is not None else None
    if last is None or not isinstance(bound, ast.Assign) or len(bound.targets) > 1:
        return False
    before = [n for n in places if source.span(bound)[1] <= source.start(n) < start]
    anchor = _around(context, bound, statement)
    return (
        all(_is_looked_at(context, n) for n in before)
        and source.parents.get(anchor) in list(source.ancestors(statement))
        and _same_branch(context, anchor, statement)
        and _is_made(context, bound.targets[0], bound.value, last)
    )


def _around(context: Context, bound: ast.stmt, statement: ast.stmt) -> ast.stmt:
    """The loop in which a name is bound for the last time, where it is moved behind that loop; else what binds it."""
    around = list(context.source.ancestors(statement))
    while isinstance(loop := context.source.parents.get(bound), (ast.For, ast.While)) and loop not in around:
        bound = loop
    return bound


def _is_looked_at(context: Context, node: ast.Name) -> bool:
    """Whether a use of a Variable keeps no other name for it: ``x.backward()``, ``f(x)``, ``x + y``."""
    parent = context.source.parents[node]
    if isinstance(parent, ast.Call):
        return node in parent.args and not (isinstance(parent.func, ast.Attribute) and parent.func.attr in _KEEP)
    kept = isinstance(parent, ast.Attribute) and (not isinstance(parent.ctx, ast.Load) or parent.attr in _MOVES)
    return isinstance(parent, (ast.BinOp, ast.Attribute)) and not kept


def _same_branch(context: Context, bound: ast.stmt, statement: ast.stmt) -> bool:
    """Whether a statement stands in the very block that leads to another one: not in the other branch of an ``if``."""
    inner: ast.AST = statement
    parent = context.source.parents.get(bound)
    for ancestor in context.source.ancestors(statement):
        if ancestor is parent:
            break
        inner = ancestor
    blocks = [getattr(parent, field, None) for field in ("body", "orelse", "finalbody")]
    return any(isinstance(block, list) and bound in block and inner in block for block in blocks)


def _is_made(context: Context, target: ast.expr, value: ast.expr, name: ast.Name) -> bool:
    """Whether an assignment gives a name a Variable that it makes: ``x = Variable(a)``, ``x, y = Variable(a), ...``."""
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        return any(_is_made(context, t, v, name) for t, v in zip(target.elts, value.elts))
    if target is not name or not isinstance(value, ast.Call):
        return False
    made = context.reference(value.func) in _MAKERS
    if not made and not all(isinstance(k, Tensor) and not k.array for k in options(context.kind(value))):
        return False
    return not asks_gradient(context, value)  # what is moved is no leaf of the graph


__all__ = ["run"]
