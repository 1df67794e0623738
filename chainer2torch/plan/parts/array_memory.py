"""Hard cases: ``x.data`` of an array, which is its memory; ``self.inputs`` of a function, which knows their shapes."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.rules.table import Row

_KNOWN = frozenset({"dtype", "shape"})


def array_memory(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """Asks a person, unless the memory says the same as the tensor would, or the code asks before what it has."""
    parent = context.source.parents.get(node)
    if isinstance(node, ast.Attribute) and isinstance(parent, ast.Attribute) and parent.attr == "ptr":
        _address(context, decisions, parent, node, row)
        return
    if not isinstance(node, ast.Attribute) or isinstance(parent, ast.Attribute):  # `x.data.shape`
        return
    if isinstance(parent, ast.Call) and node in parent.args and ast.unparse(parent.func) in ("len", "id"):
        return
    if not _is_asked_before(context, node):
        decisions.mark(node, row, row.name, row.state, row.note)


def array_address(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``x.ctypes.data``, the address of an array's memory; what else C code asks for a person has to write."""
    parent = context.source.parents.get(node)
    if isinstance(node, ast.Attribute) and isinstance(parent, ast.Attribute) and parent.attr == "data":
        _address(context, decisions, parent, node, row)
    else:
        decisions.mark(node, row, row.name, row.state, row.note)


def _address(context: Context, decisions: Decisions, whole: ast.Attribute, memory: ast.Attribute, row: Row) -> None:
    decisions.replace(whole, "x.data_ptr()", {"x": context.operand(memory.value)})
    decisions.use(memory)
    decisions.mark(memory, row, row.name, "exact")


def _is_asked_before(context: Context, node: ast.Attribute) -> bool:
    """``x.data if isinstance(x, Variable) else x``: an array does not come here."""
    name = ast.unparse(node.value)
    around = context.source.enclosing(node, ast.If, ast.IfExp, ast.While)
    while around is not None:
        for call in nodes_of(around.test):  # type: ignore[attr-defined]
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


__all__ = ["array_address", "array_memory", "inputs_of_functions"]
