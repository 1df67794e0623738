"""``super().__init__(n, m, ...)`` in a class on a layer of Chainer's: its arguments are read as those of a call."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Replace
from chainer2torch.plan.questions.reading import Reading, is_idle, read
from chainer2torch.rules.signature import BindError
from chainer2torch.rules.table import Row

_GIVEN_LINKS = frozenset({"chainer.links.Chain", "chainer.links.ChainList"})


def constructor_of_layer(context: Context, decisions: Decisions, node: ast.Call, base: str, *, explicit: bool) -> None:
    """Decides on the call ``node`` of the constructor of the layer ``base``.

    The helper that takes the layer's place as a base class has today's parameters: arguments of version 1 without a
    meaning go, and a call that does not fit is marked. ``explicit``: ``L.Linear.__init__(self, ...)``.
    """
    row = context.rules.rows.get(base)
    if row is None or row.signature is None or not base.startswith("chainer.links.") or base in _GIVEN_LINKS:
        return
    arguments = node.args[1:] if explicit else node.args
    if any(isinstance(a, ast.Starred) for a in arguments) or any(k.arg is None for k in node.keywords):
        return
    symbol = f"{base}.__init__"
    # the parts are the same nodes; `read` asks of the call itself what stands around a call that makes a layer
    call = ast.copy_location(ast.Call(node.func, arguments, node.keywords), node)
    try:
        reading = read(context, call, row, None)
    except BindError as error:
        decisions.mark(node, row, symbol, "manual", f"the call does not fit Chainer's signature: {error}", "C2T010")
        return
    if reading.doubt:
        decisions.mark(node, row, symbol, "manual", reading.doubt, "C2T010")
    elif not reading.as_written:
        _in_todays_words(context, decisions, node, row, reading, explicit=explicit)


def _in_todays_words(
    context: Context, decisions: Decisions, node: ast.Call, row: Row, reading: Reading, *, explicit: bool
) -> None:
    """Writes arguments of version 1 as today's parameters; what none of them takes is a question."""
    assert row.signature is not None
    old, symbol = reading.row, f"{row.name}.__init__"
    given = {
        old.renames.get(k, k): v for k, v in reading.bound.given.items() if old is row or not _idle(old, row, k, v)
    }
    lost = next((name for name in given if name not in row.signature.names), None)
    if lost is not None:
        message = f"the call does not fit Chainer's signature: has no argument `{lost}`, which is version 1's"
        decisions.mark(node, row, symbol, "manual", message, "C2T010")
        return
    if reading.row is not row and _means_the_same(node, row, given, explicit=explicit):
        return  # what else changed since is said where the class names its base
    positional = [p.name for p in row.signature.parameters if p.kind == "positional"]
    in_place = next((i for i, (a, b) in enumerate(zip(given, positional, strict=False)) if a != b), len(given))
    in_place = min(in_place, len(positional), len(node.args) - explicit)
    spans = {name: Operand(context.source.span(value)) for name, value in given.items()}
    first = (Operand(context.source.span(node.args[0])),) if explicit else ()
    decisions.edit(
        node,
        Replace(
            context.source.span(node),
            "function(*args, **kwargs)",
            {"function": context.operand(node.func)},
            extra=first + tuple(spans[name] for name in list(given)[:in_place]),
            extra_keywords=tuple((name, spans[name]) for name in list(given)[in_place:]),
        ),
    )
    decisions.mark(node, row, symbol, "exact", "", "C2T204")


def _idle(old: Row, row: Row, name: str, value: ast.expr) -> bool:
    """Whether an argument of version 1 has no meaning any more, or is passed as what it was by default."""
    return name in old.ignores or is_idle(row, old, name, value)


def _means_the_same(node: ast.Call, row: Row, given: Mapping[str, ast.expr], *, explicit: bool) -> bool:
    """Whether today's parameters take the arguments where they stand."""
    assert row.signature is not None
    try:
        now = row.signature.bind(node.args[explicit:], node.keywords, None)
    except BindError:
        return False
    return now.given == given
