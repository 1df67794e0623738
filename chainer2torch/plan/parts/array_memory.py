"""Hard cases: ``x.data`` of an array, which is its memory; ``self.inputs`` of a function, which knows their shapes."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.rules.table import Row

_KNOWN = frozenset({"dtype", "shape"})


def array_memory(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """Asks a person, unless the memory says the same as the tensor would, or the code asks before what it has."""
    parent = context.source.parents.get(node)
    if not isinstance(node, ast.Attribute) or isinstance(parent, ast.Attribute):  # `x.data.shape`, `x.data.ptr`
        return
    if isinstance(parent, ast.Call) and node in parent.args and ast.unparse(parent.func) in ("len", "id"):
        return
    if not _is_asked_before(context, node):
        decisions.mark(node, row, row.name, row.state, row.note)


def _is_asked_before(context: Context, node: ast.Attribute) -> bool:
    """``x.data if isinstance(x, Variable) else x``: an array does not come here."""
    name = ast.unparse(node.value)
    around = context.source.enclosing(node, ast.If, ast.IfExp, ast.While)
    while around is not None:
        for call in ast.walk(around.test):  # type: ignore[attr-defined]
            if isinstance(call, ast.Call) and ast.unparse(call.func) in ("isinstance", "hasattr", "type"):
                if call.args and ast.unparse(call.args[0]) == name:
                    return True
        around = context.source.enclosing(around, ast.If, ast.IfExp, ast.While)
    return False


def inputs_of_functions(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``self.inputs[0].shape`` stays; for their values, and for the graph behind them, a person has to look."""
    item = context.source.parents.get(node)
    asked = context.source.parents.get(item) if isinstance(item, ast.Subscript) and item.value is node else None
    known = isinstance(asked, ast.Attribute) and asked.attr in _KNOWN
    decisions.mark(node, row, row.name, *(("exact",) if known else ("manual", row.note)))


__all__ = ["array_memory", "inputs_of_functions"]
