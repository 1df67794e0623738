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
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterable, Sequence

from chainer2torch.analysis.kinds import NONE, Const, Ref, Tensor
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places
from chainer2torch.plan.native.objects import Use
from chainer2torch.rules.signature import BindError

_CONCAT = "chainer.dataset.concat_examples"
_COUNTING = "builtins.enumerate"
_WALKERS = frozenset({_COUNTING, "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "copy.copy", "copy.deepcopy"})
_RESET = frozenset({"epoch", "current_position", "is_new_epoch", "_pushed_position", "_epoch", "_is_new_epoch"})


@dataclasses.dataclass(frozen=True, eq=False)
class Batch:
    """How a loop gets its batches: the statements that do nothing else, and what they bind."""

    statements: tuple[ast.stmt, ...]  # those that the head of the new loop makes needless
    target: ast.expr  # what the examples are bound to, one after the other
    converter: ast.Call | None = None  # concat_examples(...), when the loader does its work
    device: ast.expr | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Loop:
    """One loop over an iterator, with the uses of the iterator that it accounts for."""

    statement: ast.While | ast.For | ast.comprehension
    batch: Batch
    uses: tuple[Use, ...]
    stop: ast.expr | None = None  # n in `while it.epoch < n`
    last: ast.If | None = None  # `if it.is_new_epoch:` at its end
    dropped: tuple[ast.stmt, ...] = ()  # statements of `last` that put the iterator back to its start
    counts: tuple[ast.Attribute, ...] = ()  # `it.epoch` in `last`
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
        elif use.member == "next" and use.call is not None and isinstance(statement, ast.While):
            loop = _while(context, statement, use, [u for u in uses if _is_inside(context, u.node, statement)])
            found += [loop] if loop is not None else []
    return found


def walk_over(context: Context, node: ast.expr) -> ast.For | ast.comprehension | None:
    """The loop over a value, which may be counted, shown or copied on the way: ``for i, x in enumerate(tqdm(it))``."""
    parent = context.source.parents[node]
    while isinstance(parent, ast.Call) and parent.args and parent.args[0] is node:
        kind = context.kind(parent.func)
        if not isinstance(kind, Ref) or kind.name not in _WALKERS:
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


def _while(context: Context, loop: ast.While, use: Use, uses: Sequence[Use]) -> Loop | None:
    """A ``while`` loop whose first statement takes a batch, if it is one of the shapes."""
    assert use.call is not None
    batch = _batch(context, loop, use.call)
    if batch is None or loop.orelse or not places.is_alone(context, loop.body[0]):
        return None
    last = loop.body[-1] if len(loop.body) > len(batch.statements) else None
    last = last if isinstance(last, ast.If) and _is_flag(last.test, uses) and not last.orelse else None
    stop = _stop(context, loop, uses)
    forever = isinstance(loop.test, ast.Constant) and bool(loop.test.value)
    others = [u for u in uses if u is not use and not _is_test_of(context, u, loop, last)]
    inside = [u for u in others if last is not None and last in context.source.ancestors(u.node)]
    rest = [u for u in others if u not in inside]
    if rest or (stop is None) == (not forever):
        return None
    if stop is not None:
        counts = tuple(u.parent for u in inside if isinstance(u.parent, ast.Attribute) and u.member == "epoch")
        loads = len(counts) == len(inside) and all(isinstance(c.ctx, ast.Load) for c in counts)
        jumps = _jumps(loop.body)
        return Loop(loop, batch, tuple(uses), stop, last, (), counts) if loads and not jumps else None
    if last is None or not isinstance(last.body[-1], ast.Break) or _jumps([*loop.body[:-1], *last.body[:-1]]):
        return None
    dropped = [s for s in last.body if _puts_back(s, inside)]
    accounted = [u for u in inside if any(s in context.source.ancestors(u.node) for s in dropped)]
    if len(accounted) < len(inside) or not all(places.is_alone(context, s) for s in (*dropped, last.body[-1])):
        return None
    return Loop(loop, batch, tuple(uses), None, last, (*dropped, last.body[-1]))


def _stop(context: Context, loop: ast.While, uses: Iterable[Use]) -> ast.expr | None:
    """n in ``while it.epoch < n``, where the loop does not change it."""
    test = loop.test
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Lt)):
        return None
    epoch = any(u.parent is test.left and u.member == "epoch" for u in uses)
    bound = test.comparators[0]
    return bound if epoch and places.is_simple(bound) and not places.is_rebound(bound, ast.walk(loop)) else None


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


def _jumps(body: Iterable[ast.stmt]) -> bool:
    """Whether a ``break`` or ``continue`` of this loop is in these statements, and not of a loop inside."""
    for statement in body:
        if isinstance(statement, (ast.Break, ast.Continue)):
            return True
        if isinstance(statement, (ast.For, ast.While, ast.AsyncFor, ast.FunctionDef, ast.ClassDef)):
            if _jumps(getattr(statement, "orelse", ())):
                return True
            continue
        parts = [getattr(statement, name, ()) for name in ("body", "orelse", "finalbody")]
        parts += [handler.body for handler in getattr(statement, "handlers", ())]
        if any(_jumps(part) for part in parts):
            return True
    return False


# -- batches -------------------------------------------------------------------------------------------------------


def _batch(context: Context, loop: ast.While, call: ast.Call) -> Batch | None:
    """What the first statements of a loop do with a batch; None: something else."""
    first = loop.body[0]
    if not isinstance(first, ast.Assign) or len(first.targets) != 1:
        return None
    if first.value is call:
        return _converted(context, loop.body[1:], first.targets[0], loop) or Batch((first,), first.targets[0])
    value = first.value
    if isinstance(value, ast.Call) and value.args and value.args[0] is call:
        device = _device(context, value)
        if isinstance(device, tuple) and _has_place(context, first.targets[0], value, device[0]):
            return Batch((first,), first.targets[0], value, device[0])
    return None


def _converted(context: Context, body: Sequence[ast.stmt], target: ast.expr, loop: ast.While | ast.For) -> Batch | None:
    """``x, t = concat_examples(batch)`` right behind, when nothing else asks for the list ``batch``."""
    second = body[0] if body else None
    if not isinstance(target, ast.Name) or not isinstance(second, ast.Assign) or len(second.targets) != 1:
        return None
    value = second.value
    if not isinstance(value, ast.Call) or not value.args or not isinstance(value.args[0], ast.Name):
        return None
    scope = places.function_of(context, loop) or context.source.tree
    names = [n for n in ast.walk(scope) if isinstance(n, ast.Name) and n.id == target.id]
    owner = context.scope(target, target.id)
    own = [n for n in names if isinstance(n.ctx, ast.Load) and context.scope(n, n.id) is owner]
    loads = [n for n in own if _reaches(context, loop, n, target.id)]
    device = _device(context, value)
    if loads != [value.args[0]] or not isinstance(device, tuple) or not places.is_alone(context, second):
        return None
    if not _has_place(context, second.targets[0], value, device[0]):
        return None
    first = () if isinstance(loop, ast.For) else (loop.body[0],)
    return Batch((*first, second), second.targets[0], value, device[0])


def _reaches(context: Context, loop: ast.stmt, node: ast.Name, name: str) -> bool:
    """Whether a load may see what this loop binds: no loop further inside, or elsewhere, binds the name before it."""
    binding, at = places.binding_of(context, node), context.source.start(node)
    if binding is not None and loop not in (binding, *context.source.ancestors(binding)):
        if not context.source.start(binding) < context.source.start(loop) < at:
            return False
    for around in context.source.ancestors(node):
        if around is loop:
            return True
        if isinstance(around, (ast.For, ast.While)) and loop not in ast.walk(around):
            if any(_binds(context, n, name, node) for n in ast.walk(around)):
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


__all__ = ["Batch", "Loop", "loops_of", "walk_over"]
