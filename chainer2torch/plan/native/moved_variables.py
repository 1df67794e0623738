"""``x.to_gpu()`` of a Variable moves it; a tensor is moved by ``x = x.cuda()``.

That is the same where no other name stands for the Variable yet: the one statement that binds the name makes it, or a
call that it names does, and what reads the name before it is moved only looks at it or computes with it. So is
``self.h = self.h.cuda()`` of a state that a class keeps (it is None at times): whatever else stands for it meets what
was moved with an error of PyTorch, and nobody asks for a gradient by it.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, Tensor, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.questions.asked_gradients import asks_gradient, is_asked

_MOVES = {"to_gpu": "cuda", "to_cpu": "cpu"}
_KEEP = frozenset({"add", "append", "appendleft", "extend", "insert", "put", "setdefault"})
_PARAMETERS = frozenset({"Parameter", "add_param", "add_persistent"})
_MAKERS = frozenset({"chainer.Variable", "chainer.variable.Variable"})


def run(context: Context) -> Decisions:
    """Decides on statements that do nothing but move Variables."""
    decisions = Decisions(context)
    for statement in context.source.of(ast.Expr):
        assert isinstance(statement, ast.Expr)
        value = statement.value
        calls = [_moved(context, statement, part) for part in (value.elts if isinstance(value, ast.Tuple) else [value])]
        moved = [found for found in calls if found is not None]
        names = [ast.unparse(name) for _, name in moved]
        if not moved or len(moved) < len(calls) or len(set(names)) < len(names):
            continue
        for call, name in moved:
            assert isinstance(call.func, ast.Attribute)
            number = _device(call)
            moved_there = f"self.{_MOVES[call.func.attr]}({'' if number is None else 'DEVICE'})"
            device = {} if number is None else {"DEVICE": context.operand(number)}
            decisions.replace(call, moved_there, {"self": context.operand(name), **device})
        operands = {f"_{i}": context.operand(call) for i, (call, _) in enumerate(moved)}
        template = f"{', '.join(names)} = {', '.join(operands)}"
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), template, operands))
    return decisions


def _moved(context: Context, statement: ast.Expr, node: ast.expr) -> tuple[ast.Call, ast.Name | ast.Attribute] | None:
    """The call that moves a Variable, and its name."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    name = node.func.value
    if node.func.attr not in _MOVES or len(node.args) + len(node.keywords) > (node.func.attr == "to_gpu"):
        return None
    number = _device(node)
    if number is not None and not _is_number(context, number):
        return None
    if isinstance(name, ast.Attribute):
        return (node, name) if _is_state(context, name) else None
    if not isinstance(name, ast.Name) or not _is_variable(context, name):
        return None
    new = _is_new(context, statement, name) or _is_made_everywhere(context, statement, name)
    return (node, name) if new else None


def _device(call: ast.Call) -> ast.expr | None:
    """The number of a GPU, where a call states one."""
    return next(iter([*call.args, *(keyword.value for keyword in call.keywords)]), None)


def _is_number(context: Context, node: ast.expr) -> bool:
    """Whether it is a number of a GPU or None, which ``cuda()`` takes as Chainer does, or what it refuses."""
    return isinstance(node, ast.Constant) and type(node.value) is int or isinstance(node, ast.Name)


def _is_variable(context: Context, node: ast.expr) -> bool:
    return all(isinstance(k, Tensor) and not k.array for k in options(context.kind(node)))


def _is_state(context: Context, node: ast.Attribute) -> bool:
    """Whether ``self.h`` is a state: the class lets it be None, and nobody asks for a gradient by it."""
    cls = context.enclosing_class(node)
    if not isinstance(node.value, ast.Name) or node.value.id != "self" or cls is None:
        return False
    if not all(k == NONE or isinstance(k, Tensor) and not k.array for k in options(context.kind(node))):
        return False
    values = [
        statement.value
        for statement in nodes_of(cls.node)
        if isinstance(statement, ast.Assign)
        for target in statement.targets
        for part in (target.elts if isinstance(target, ast.Tuple) else [target])
        if isinstance(part, ast.Attribute) and ast.unparse(part) == ast.unparse(node)
    ]
    is_none = [isinstance(value, ast.Constant) and value.value is None for value in values]
    made = any(isinstance(v, ast.Call) and _ends(context.reference(v.func)) in _PARAMETERS for v in values)
    return any(is_none) and not made and not is_asked(context, node.attr)


def _ends(symbol: str | None) -> str:
    return (symbol or "").rpartition(".")[2]


def _is_made_everywhere(context: Context, statement: ast.Expr, name: ast.Name) -> bool:
    """Whether all statements that bind a name of a function make Variables, and nothing keeps one before it moves."""
    source, scope = context.source, context.scopes.get(name)
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    places = [n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == name.id]
    stores = [n for n in places if not isinstance(n.ctx, ast.Load)]
    bound = [source.statement(store) for store in stores]
    start = source.start(statement)
    return (
        bool(stores)
        and name.id not in {a.arg for a in ast.walk(scope.args) if isinstance(a, ast.arg)}
        and all(context.scopes.get(n) is scope for n in places)
        and all(isinstance(b, ast.Assign) and len(b.targets) == 1 for b in bound)
        and all(
            _is_made(context, b.targets[0], b.value, n) or _is_handed(context, scope, b.value, start)
            for b, n in zip(bound, stores)
            if isinstance(b, ast.Assign)
        )
        and min(map(source.start, bound)) < start
        and all(
            _is_looked_at(context, n) or _is_moved(context, n)
            for n in places
            if n not in stores and source.start(n) < start
        )
        and source.enclosing(statement, ast.For, ast.While) is None
    )


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


def _is_moved(context: Context, name: ast.Name) -> bool:
    """Whether a statement does nothing but move what has a name: ``x.to_cpu()``."""
    parents = context.source.parents
    member = parents[name]
    call = parents[member]
    moves = isinstance(member, ast.Attribute) and member.attr in _MOVES
    return moves and isinstance(call, ast.Call) and call.func is member and isinstance(parents[call], ast.Expr)


def _is_handed(context: Context, scope: ast.FunctionDef | ast.AsyncFunctionDef, value: ast.expr, start: int) -> bool:
    """``c_ = c`` of a parameter that is a Variable, and not named again behind the place at ``start``."""
    names = {a.arg for a in [*scope.args.posonlyargs, *scope.args.args, *scope.args.kwonlyargs]}
    if not isinstance(value, ast.Name) or value.id not in names or not _is_variable(context, value):
        return False
    again = (n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == value.id and n is not value)
    return not any(context.source.start(n) > start for n in again) and not is_asked(context, value.id)


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
