"""The shapes of hand-written loops over an iterator that become ``for`` loops over a DataLoader.

while it.epoch < n:                          for epoch in range(1, n + 1):
    batch = it.next()                            for x, t in it:
    x, t = concat_examples(batch)                    ...
    ...                                          print(epoch)
    if it.is_new_epoch:
        print(it.epoch)

while True:                                  for x, t in it:
    x, t = concat_examples(it.next())            ...
    ...
    if it.is_new_epoch:
        it.reset()
        break

for batch in it:                             for x, t in it:
    x, t = concat_examples(batch)                ...

A round may begin with statements that set a rate, and ask in between whether it is the last one of its epoch:

while it.epoch < n:                          for epoch in range(1, n + 1):
    optimizer.lr = rate(step)                    for i, (x, t) in enumerate(it):
    x, t = concat_examples(it.next())                optimizer.lr = rate(step)
    if it.is_new_epoch and it.epoch % 5 == 0:        if i + 1 == len(it) and epoch % 5 == 0:
        ...                                              ...
    if not it.is_new_epoch:                      print(epoch)
        continue
    print(it.epoch)
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence

from chainer2torch.analysis.kinds import NONE, Const, Ref, Tensor
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places
from chainer2torch.plan.native.objects import Use
from chainer2torch.plan.native.python_walks import is_on_the_way
from chainer2torch.rules.signature import BindError

_CONCAT = "chainer.dataset.concat_examples"
_COUNTING = "builtins.enumerate"
_JUMPS: tuple[type[ast.stmt], ...] = (ast.Break, ast.Continue)
_SAME = frozenset({"dataset", "batch_size"})  # attributes of a DataLoader, too
_RATES = frozenset({"lr", "alpha", "eta", "momentum", "beta1", "beta2", "rho", "eps"})
_COMPUTING = frozenset("abs float getattr hasattr int isinstance len max min pow print range round str".split())
_RESET = frozenset({"epoch", "current_position", "is_new_epoch", "_pushed_position", "_epoch", "_is_new_epoch"})


@dataclass(frozen=True, eq=False)
class Batch:
    """How a loop gets its batches: the statements that do nothing else, and what they bind."""

    statements: tuple[ast.stmt, ...]  # those that the head of the new loop makes needless
    target: ast.expr  # what the examples are bound to, one after the other
    converter: ast.Call | None = None  # concat_examples(...), when the loader does its work
    device: ast.expr | None = None


@dataclass(frozen=True, eq=False)
class Loop:
    """One loop over an iterator, with the uses of the iterator that it accounts for."""

    statement: ast.While | ast.For | ast.comprehension
    batch: Batch
    uses: tuple[Use, ...]
    stop: ast.expr | None = None  # n in `while it.epoch < n`
    last: ast.If | None = None  # `if it.is_new_epoch:` at its end
    skip: ast.If | None = None  # `if not it.is_new_epoch: continue`, behind which the end of an epoch stands
    flags: tuple[ast.expr, ...] = ()  # `it.is_new_epoch` elsewhere
    dropped: tuple[ast.stmt, ...] = ()  # statements of `last` that put the iterator back to its start
    counts: tuple[ast.Attribute, ...] = ()  # `it.epoch` where an epoch has ended
    bound: ast.expr | None = None  # what a `for` loop binds a batch to: with `enumerate` a part of its target


def loops_of(context: Context, uses: Sequence[Use]) -> list[Loop]:
    """The loops of one file that are understood."""
    found: list[Loop] = []
    for use in uses:
        statement = context.source.enclosing(use.node, ast.While, ast.For)
        walk = walk_over(context, use.node)
        if isinstance(walk, ast.comprehension):
            found.append(Loop(walk, Batch((), walk.target), (use,)))
        elif isinstance(walk, ast.For):
            bound = _bound(context, walk, use.node)
            found.append(Loop(walk, _of_for(context, walk, bound), (use,), bound=bound))
        elif draw_of(context, use) is not None and isinstance(statement, ast.While):
            loop = _while(context, statement, use, [u for u in uses if _is_inside(context, u.node, statement)])
            found += [loop] if loop is not None else []
    return found


def walk_over(context: Context, node: ast.expr) -> ast.For | ast.comprehension | None:
    """The loop over a value, which may be counted, shown or copied on the way: ``for i, x in enumerate(tqdm(it))``."""
    parent = context.source.parents[node]
    while isinstance(parent, ast.Call) and parent.args and parent.args[0] is node:
        if not is_on_the_way(context, parent):
            return None
        node, parent = parent, context.source.parents[parent]
    return parent if isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node else None


def _bound(context: Context, walk: ast.For, node: ast.expr) -> ast.expr:
    """What a loop binds a batch to."""
    counted = [
        a for a in context.source.ancestors(node) if isinstance(a, ast.Call) and walk in context.source.ancestors(a)
    ]
    if not any(context.kind(call.func) == Ref(_COUNTING) for call in counted):
        return walk.target
    pair = walk.target
    return pair.elts[1] if isinstance(pair, ast.Tuple) and len(pair.elts) == 2 and len(counted) == 1 else pair


def _is_inside(context: Context, node: ast.AST, loop: ast.stmt) -> bool:
    return loop in context.source.ancestors(node)


def draw_of(context: Context, use: Use) -> ast.Call | None:
    """``it.next()`` or ``next(it)``: the call that takes a batch."""
    if use.member in ("next", "__next__"):
        return use.call if use.call is not None and not use.call.args else None
    call = use.parent
    drawn = isinstance(call, ast.Call) and call.args == [use.node] and context.kind(call.func) == Ref("builtins.next")
    return call if drawn and isinstance(call, ast.Call) else None


def _while(context: Context, loop: ast.While, use: Use, uses: Sequence[Use]) -> Loop | None:
    """A ``while`` loop that takes a batch, if it is one of the shapes."""
    drawn = context.source.statement(use.node)
    if drawn not in loop.body or loop.orelse or not places.is_alone(context, drawn):
        return None
    before, body = loop.body[: loop.body.index(drawn)], loop.body[loop.body.index(drawn) :]
    call = draw_of(context, use)
    batch = _batch(context, loop, body, call) if call is not None else None
    if batch is None:
        return None
    stop = _stop(context, loop, uses)
    if stop is None:
        return None if before else _forever(context, loop, use, uses, batch)
    last, skip = _end_of_epoch(body[1:], batch, uses)
    end = last.body if last is not None else body[body.index(skip) + 1 :] if skip is not None else []
    others = [u for u in uses if u is not use and u.member not in _SAME]
    others = [u for u in others if not _is_test_of(context, u, loop, last or skip)]
    inside = {u for u in others if any(statement in context.source.ancestors(u.node) for statement in end)}
    flags = [u for u in others if u not in inside and u.member == "is_new_epoch" and u.parent is not u.node]
    counts = [u for u in others if u.member == "epoch" and (u in inside or _is_at_end(context, u, flags, loop))]
    if len(flags) + len(counts) < len(others) or any(u in inside and u.member != "epoch" for u in others):
        return None
    asked = [u.parent for u in (*flags, *counts)]
    if not all(isinstance(a, ast.Attribute) and isinstance(a.ctx, ast.Load) for a in asked):
        return None
    scope = places.function_of(context, loop)
    if any(places.function_of(context, node) is not scope for node in asked):
        return None
    rest = [statement for statement in loop.body if statement is not skip]
    if _jumps(rest, (ast.Break,)) or end and _jumps(rest) or not _is_quiet(context, before, batch):
        return None
    return Loop(
        loop,
        batch,
        tuple(uses),
        stop,
        last,
        skip,
        tuple(u.parent for u in flags if isinstance(u.parent, ast.Attribute)),
        (),
        tuple(u.parent for u in counts if isinstance(u.parent, ast.Attribute)),
    )


def _forever(context: Context, loop: ast.While, use: Use, uses: Sequence[Use], batch: Batch) -> Loop | None:
    """``while True``, which its last statement leaves when an epoch ends."""
    last, _ = _end_of_epoch(loop.body[1:], batch, uses)
    forever = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    others = [u for u in uses if u is not use and not _is_test_of(context, u, loop, last)]
    inside = [u for u in others if last is not None and last in context.source.ancestors(u.node)]
    if len(inside) < len(others) or not forever:
        return None
    if last is None or not isinstance(last.body[-1], ast.Break) or _jumps([*loop.body[:-1], *last.body[:-1]]):
        return None
    dropped = [s for s in last.body if _puts_back(s, inside)]
    accounted = [u for u in inside if any(s in context.source.ancestors(u.node) for s in dropped)]
    if len(accounted) < len(inside) or not all(places.is_alone(context, s) for s in (*dropped, last.body[-1])):
        return None
    return Loop(loop, batch, tuple(uses), None, last, dropped=(*dropped, last.body[-1]))


def _end_of_epoch(body: Sequence[ast.stmt], batch: Batch, uses: Sequence[Use]) -> tuple[ast.If | None, ast.If | None]:
    """The statement at the end of a loop, or the one before its end, that tells whether an epoch has ended."""
    last = body[-1] if len(body) >= len(batch.statements) else None
    if isinstance(last, ast.If) and _is_flag(last.test, uses) and not last.orelse:
        return last, None
    skips = [s for s in body[:-1] if isinstance(s, ast.If) and isinstance(s.body[0], ast.Continue)]
    skip = skips[-1] if skips else None
    if skip is None or skip.orelse or not isinstance(skip.test, ast.UnaryOp) or not isinstance(skip.test.op, ast.Not):
        return None, None
    return None, skip if _is_flag(skip.test.operand, uses) else None


def _is_at_end(context: Context, use: Use, flags: Sequence[Use], loop: ast.While) -> bool:
    """Whether a counter is only read when an epoch has ended: beside a flag in a condition, or behind that."""
    asked = {flag.parent for flag in flags}
    below: ast.AST = use.node
    for outer in context.source.ancestors(use.node):
        if outer is loop:
            return False
        if isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.And) and asked.intersection(outer.values):
            return True
        if isinstance(outer, ast.If) and below in outer.body:
            test = outer.test
            parts = test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]
            if asked.intersection(parts):
                return True
        below = outer
    return False


def _is_quiet(context: Context, statements: Sequence[ast.stmt], batch: Batch) -> bool:
    """Whether statements may as well stand behind the draw of a batch: they compute, print and set rates."""
    bound = {n.id for n in nodes_of(batch.target) if isinstance(n, ast.Name)}
    bound |= {n.id for s in batch.statements for n in nodes_of(s) if isinstance(n, ast.Name) and not _is_load(n)}
    for node in (n for statement in statements for n in nodes_of(statement)):
        if isinstance(node, ast.Name) and node.id in bound:
            return False
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and node.attr not in _RATES:
            return False
        if isinstance(node, ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
        if isinstance(node, ast.Call):
            kind = context.kind(node.func)
            name = kind.name if isinstance(kind, Ref) else ""
            if not name.startswith(("math.", "time.")) and name.removeprefix("builtins.") not in _COMPUTING:
                return False
        if isinstance(node, (*_JUMPS, ast.Await, ast.Yield, ast.YieldFrom, ast.Return)):
            return False
    return True


def _is_load(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _stop(context: Context, loop: ast.While, uses: Iterable[Use]) -> ast.expr | None:
    """n in ``while it.epoch < n``, where the loop does not change it."""
    test = loop.test
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt)):
        return None
    epoch = any(u.parent is test.left and u.member == "epoch" for u in uses)
    bound = test.comparators[0]
    return bound if epoch and places.is_simple(bound) and not places.is_rebound(bound, nodes_of(loop)) else None


def _is_flag(test: ast.expr, uses: Iterable[Use]) -> bool:
    """``it.is_new_epoch``"""
    return any(use.parent is test and use.member == "is_new_epoch" for use in uses)


def _is_test_of(context: Context, use: Use, loop: ast.While, last: ast.If | None) -> bool:
    tests = [loop.test, *([last.test] if last is not None else [])]
    return any(use.parent is test or test in context.source.ancestors(use.node) for test in tests)


def _puts_back(statement: ast.stmt, uses: Iterable[Use]) -> bool:
    """``it.reset()`` or ``it.epoch = 0``: the iterator begins anew."""
    for use in uses:
        if use.member == "reset" and isinstance(statement, ast.Expr) and statement.value is use.call:
            return True
        if isinstance(statement, ast.Assign) and use.parent in statement.targets and use.member in _RESET:
            return True
    return False


def _jumps(body: Iterable[ast.stmt], kinds: tuple[type[ast.stmt], ...] = _JUMPS) -> bool:
    """Whether a ``break`` or ``continue`` of this loop is in these statements, and not of a loop inside."""
    for statement in body:
        if isinstance(statement, kinds):
            return True
        if isinstance(statement, (ast.For, ast.While, ast.AsyncFor, ast.FunctionDef, ast.ClassDef)):
            if _jumps(getattr(statement, "orelse", ()), kinds):
                return True
            continue
        parts = [getattr(statement, name, ()) for name in ("body", "orelse", "finalbody")]
        parts += [handler.body for handler in getattr(statement, "handlers", ())]
        if any(_jumps(part, kinds) for part in parts):
            return True
    return False


# -- batches -------------------------------------------------------------------------------------------------------


def _batch(context: Context, loop: ast.While, body: Sequence[ast.stmt], call: ast.Call) -> Batch | None:
    """What the statements of a loop do with a batch, from that on that takes it; None: something else."""
    first = body[0]
    if not isinstance(first, ast.Assign) or len(first.targets) != 1:
        return None
    if first.value is call:
        return _converted(context, body[1:], first.targets[0], loop, first) or Batch((first,), first.targets[0])
    value = first.value
    if isinstance(value, ast.Call) and value.args and value.args[0] is call:
        device = _device(context, value)
        if isinstance(device, tuple) and _has_place(context, first.targets[0], value, device[0]):
            return Batch((first,), first.targets[0], value, device[0])
    return None


def _converted(
    context: Context,
    body: Sequence[ast.stmt],
    target: ast.expr,
    loop: ast.While | ast.For,
    first: ast.stmt | None = None,
) -> Batch | None:
    """``x, t = concat_examples(batch)`` behind, when nothing else asks for the list ``batch``."""
    if not isinstance(target, ast.Name):
        return None
    at = next((i for i, s in enumerate(body) if any(_names_it(n, {target.id}) for n in nodes_of(s))), len(body))
    second = body[at] if at < len(body) else None
    if not isinstance(second, ast.Assign) or len(second.targets) != 1:
        return None
    parts = {n.id for n in nodes_of(second.targets[0]) if isinstance(n, ast.Name)}
    if any(_names_it(n, parts) for statement in body[:at] for n in nodes_of(statement)):
        return None
    value = second.value
    if not isinstance(value, ast.Call) or not value.args or not isinstance(value.args[0], ast.Name):
        return None
    scope = places.function_of(context, loop) or context.source.tree
    names = [n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == target.id]
    owner = context.scope(target, target.id)
    own = [n for n in names if isinstance(n.ctx, ast.Load) and context.scope(n, n.id) is owner]
    loads = [n for n in own if _reaches(context, loop, n, target.id)]
    device = _device(context, value)
    if loads != [value.args[0]] or not isinstance(device, tuple) or not places.is_alone(context, second):
        return None
    if not _has_place(context, second.targets[0], value, device[0]):
        return None
    return Batch((second,) if first is None else (first, second), second.targets[0], value, device[0])


def _names_it(node: ast.AST, names: Collection[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _reaches(context: Context, loop: ast.stmt, node: ast.Name, name: str) -> bool:
    """Whether a load may see what this loop binds: no loop further inside, or elsewhere, binds the name before it."""
    binding, at = places.binding_of(context, node), context.source.start(node)
    if binding is not None and loop not in (binding, *context.source.ancestors(binding)):
        if not context.source.start(binding) < context.source.start(loop) < at:
            return False
    for around in context.source.ancestors(node):
        if around is loop:
            return True
        if isinstance(around, (ast.For, ast.While)) and loop not in nodes_of(around):
            if any(_binds(context, n, name, node) for n in nodes_of(around)):
                return False
    return True


def _binds(context: Context, store: ast.AST, name: str, load: ast.Name) -> bool:
    """Whether a node binds a name in front of a load of it."""
    if not isinstance(store, ast.Name) or store.id != name or not isinstance(store.ctx, ast.Store):
        return False
    return context.source.start(store) < context.source.start(load)


def _of_for(context: Context, loop: ast.For, bound: ast.expr) -> Batch:
    return _converted(context, loop.body, bound, loop) or Batch((), bound)


def _device(context: Context, call: ast.Call) -> tuple[ast.expr | None] | None:
    """The device of a call of ``concat_examples`` (None: the CPU); no tuple: it is no such call."""
    kind = context.kind(call.func)
    row = context.rules.rows.get(kind.name) if isinstance(kind, Ref) else None
    if row is None or row.name != _CONCAT or row.signature is None or context.reference(call.func) is None:
        return None
    try:
        bound = row.signature.bind(call.args, call.keywords)
    except BindError:
        return None
    if bound.starred or bound.given.keys() - {"batch", "device"}:
        return None
    device = bound.given.get("device")
    if device is None or context.kind(device) in (NONE, Const(-1)):
        return (None,)
    return (device,)


def _has_place(context: Context, target: ast.expr, value: ast.Call, device: ast.expr | None) -> bool:
    """Whether the batch can be moved to its device by name: ``x, t = x.to(device), t.to(device)``."""
    if isinstance(target, ast.Tuple):
        return all(isinstance(e, ast.Name) for e in target.elts)
    # without the name of an array, nobody knows whether it is one or a tuple of them
    return isinstance(target, ast.Name) and (device is None or isinstance(context.kind(value), Tensor))


__all__ = ["Batch", "Loop", "draw_of", "loops_of", "walk_over"]
