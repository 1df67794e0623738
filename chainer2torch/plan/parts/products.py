"""``chainer.testing.product`` and ``product_dict`` in the native style: comprehensions list the same."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.row import TEMPLATE_ROOTS
from chainer2torch.rules.table import Row

_PRODUCT = "chainer.testing.product"
_SHORT = 90  # with the names of the operands, which do not stand there in the end
_NAMES = ("first", "second", "third", "fourth")


def product(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``product({'a': [1, 2], 'b': [3, 4]})``: ``[{'a': a, 'b': b} for a in [1, 2] for b in [3, 4]]``.

    The first key in the alphabet changes slowest, as in Chainer. ``product_dict([...], [...])`` merges two.
    """
    call = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
        return
    parts = _entries(context, call) if row.name == _PRODUCT else _dicts(context, call)
    if parts is None or _in_class_body(context, call) or "#" in context.source.segment(call):
        emit_call(context, decisions, call, row, node)
        return
    element, loops, operands = parts
    length = len(" ".join([element, *loops])) + sum(len(context.source.segment(value)) for value in operands.values())
    rows = "\n    ".join([element, *loops])
    template = f"[{' '.join([element, *loops])}]" if length <= _SHORT else f"[\n    {rows}\n]"
    decisions.replace(call, template, {name: context.operand(value) for name, value in operands.items()})
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state)


_Parts = tuple[str, list[str], dict[str, ast.expr]]


def _entries(context: Context, call: ast.Call) -> _Parts | None:
    """The element, the loops and the operands for a dict of lists that is written in the call."""
    table = call.args[0] if len(call.args) == 1 and not call.keywords else None
    if not isinstance(table, ast.Dict) or not table.keys:
        return None
    keys = [key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else "" for key in table.keys]
    if len(set(keys)) < len(keys) or not all(_may_be_variable(key) for key in keys):
        return None
    if not all(_is_settled(value) for value in table.values) or _names(table.values) & set(keys):
        return None
    operands = {f"_key{i}": key for i, key in enumerate(table.keys) if key is not None}
    operands |= {f"_values{i}": value for i, value in enumerate(table.values)}
    element = ", ".join(f"_key{i}: {key}" for i, key in enumerate(keys))
    loops = [f"for {key} in _values{i}" for key, i in sorted((key, i) for i, key in enumerate(keys))]
    return f"{{{element}}}", loops, operands


def _dicts(context: Context, call: ast.Call) -> _Parts | None:
    """The same for lists of dicts that are merged."""
    names = _NAMES[: len(call.args)]
    if call.keywords or not 1 < len(call.args) <= len(_NAMES) or _names(call.args) & set(names):
        return None
    if not all(_is_listed(part) or _is_product(context, part) for part in call.args):
        return None
    element = ", ".join(f"**{name}" for name in names)
    loops = [f"for {name} in _values{i}" for i, name in enumerate(names)]
    return f"{{{element}}}", loops, {f"_values{i}": part for i, part in enumerate(call.args)}


def _may_be_variable(key: str) -> bool:
    return key.isidentifier() and not keyword.iskeyword(key) and key not in (*TEMPLATE_ROOTS, "TRAINING")


def _is_settled(node: ast.expr) -> bool:
    """Whether an expression is the same however often it is computed; Chainer takes lists and tuples only."""
    computes = (ast.Call, ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.GeneratorExp)
    return not any(isinstance(n, computes) for n in nodes_of(node))


def _is_listed(node: ast.expr) -> bool:
    """Whether a list is written here that may be gone through again and again."""
    return isinstance(node, (ast.List, ast.Tuple)) and _is_settled(node)


def _is_product(context: Context, node: ast.expr) -> bool:
    """Whether a part of ``product_dict`` is a ``product`` that becomes a comprehension, too."""
    is_call = isinstance(node, ast.Call) and context.reference(node.func) == _PRODUCT
    return isinstance(node, ast.Call) and is_call and _entries(context, node) is not None


def _names(nodes: Sequence[ast.expr]) -> set[str]:
    return {n.id for node in nodes for n in nodes_of(node) if isinstance(n, ast.Name)}


def _in_class_body(context: Context, node: ast.AST) -> bool:
    """Whether a comprehension would not see the names that stand around it."""
    for inner, outer in _upwards(context, node):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            body = outer.body if isinstance(outer.body, list) else [outer.body]
            if inner in body:
                return False
        if isinstance(outer, ast.ClassDef) and inner in outer.body:
            return True
    return False


def _upwards(context: Context, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
    parent = context.source.parents.get(node)
    while parent is not None:
        yield node, parent
        node, parent = parent, context.source.parents.get(parent)
