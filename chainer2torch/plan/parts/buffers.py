"""Persistent arrays of links: buffers, which hold tensors alone."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, UNKNOWN, HostArray, Inst, Kind, Tensor, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove, ReplaceStatement
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.host_arrays import tensor_of
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.asked_names import OF_LINKS, STATISTICS
from chainer2torch.plan.questions.kept_on_device import is_brought_back, is_kept, own_class
from chainer2torch.plan.questions.none_attributes import may_hold_none
from chainer2torch.plan.questions.own_names import own_name
from chainer2torch.rules.table import Row

_NUMBERS = frozenset({"bool", "int", "float"})


_WRITTEN = ("compat.", "torch.")  # what calls begin with that an earlier run has put there
_OF_TORCH = ("bias", "weight")  # what OF_LINKS are called after a migration


def register_persistent(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``self.u = array`` and ``self.register_persistent('u')``: ``self.register_buffer('u', tensor)``."""
    call = context.source.parents.get(node)
    statement = context.source.parents.get(call) if isinstance(call, ast.Call) and call.func is node else None
    assigned = _assigned(context, statement)
    if assigned is None:
        _as_the_row_says(context, decisions, node, row)
        return
    target = assigned.targets[0]
    assert isinstance(target, ast.Attribute) and isinstance(statement, ast.Expr)
    operands = {"self": context.operand(target.value), "value": context.operand(assigned.value)}
    code = f"self.register_buffer('{target.attr}', {_tensor(context, assigned.value)})"
    decisions.edit(assigned, ReplaceStatement(context.source.start(assigned), code, operands))
    decisions.edit(statement, Remove(context.source.start(statement)))
    decisions.mark(node, row, row.name, row.state)


def add_persistent(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``self.add_persistent('u', array)``: ``self.register_buffer('u', tensor)``."""
    call = context.source.parents.get(node)
    if (
        isinstance(call, ast.Call)
        and isinstance(node, ast.Attribute)
        and isinstance(context.source.parents.get(call), ast.Expr)
        and len(call.args) == 2
        and not call.keywords
        and context.choices.style == "native"
        and _are_arrays(context.kind(call.args[1]))
        and not may_hold_none(context, call.args[1])
    ):
        name, value = call.args
        operands = {key: context.operand(one) for key, one in (("self", node.value), ("name", name), ("value", value))}
        decisions.replace(call, f"self.register_buffer(name, {_tensor(context, value)})", operands)
        decisions.mark(node, row, row.name, row.state)
    else:
        _as_the_row_says(context, decisions, node, row)


def _as_the_row_says(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    call = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    if isinstance(call, ast.Call) and call.func is node:
        emit_call(context, decisions, call, row, node, receiver=getattr(node, "value", None))
    else:
        emit_value(context, decisions, node, row)


def into_buffer(context: Context, decisions: Decisions, node: ast.Assign) -> None:
    """``self.u = array`` of a buffer, which takes no host array, or of what its class moves itself."""
    kinds = options(context.kind(node.value))
    for target in node.targets:
        if _is_statistic(context, target):
            if _is_statistic(context, node.value) or all(isinstance(kind, Tensor) for kind in kinds):
                continue
            _set(context, decisions, node.value)
        elif (
            isinstance(target, ast.Attribute)
            and any(isinstance(kind, HostArray) for kind in kinds)
            and all(isinstance(kind, (HostArray, Tensor)) or scalar_type(kind) in _NUMBERS for kind in kinds)
            and (
                ((cls := own_class(context, target)) is not None and _is_tensor(context, cls, node, target))
                or cls is None
                and _is_buffer(context, target)
            )
        ):
            _set(context, decisions, node.value)


def _set(context: Context, decisions: Decisions, value: ast.expr) -> None:
    """Makes a tensor of what a buffer is set to, and leaves None as it is."""
    if context.kind(value) != NONE:
        numbers = any(scalar_type(kind) is not None for kind in options(context.kind(value)))
        without = may_hold_none(context, value) or numbers
        decisions.wrap(value, "compat.from_host(value)" if without else tensor_of(context, value))


def into_part_of_layer(context: Context, decisions: Decisions, target: ast.expr, value: ast.expr) -> None:
    """``bn.avg_mean[:] = array`` and ``layer.W.data[:] = array`` of a layer that only its names tell: tensors."""
    kinds = options(context.kind(value))
    if not _is_part_of_layer(context, target) or _is_part_of_layer(context, value):
        return
    if is_written(value):
        return
    if any(isinstance(kind, HostArray) or kind == UNKNOWN for kind in kinds):
        decisions.wrap(value, tensor_of(context, value))


def is_written(value: ast.expr) -> bool:
    """Whether an earlier run has made a tensor of it: ``torch.as_tensor(w)``, ``layer.weight.data[:]``, or what a
    helper gives, ``compat.link_attribute(layer, 'W').data[:]``.
    """
    while isinstance(value, (ast.Attribute, ast.Subscript)):
        if isinstance(value, ast.Attribute) and value.attr in _OF_TORCH:
            return True
        value = value.value
    return isinstance(value, ast.Call) and ast.unparse(value.func).startswith(_WRITTEN)


def _is_part_of_layer(context: Context, node: ast.expr) -> bool:
    held = node.value if isinstance(node, ast.Subscript) else node
    if not isinstance(held, ast.Attribute) or context.kind(held) != UNKNOWN:
        return False
    owner = held.value
    if held.attr not in ("data", "array") or not isinstance(owner, ast.Attribute) or owner.attr not in OF_LINKS:
        return _is_statistic(context, held)
    if context.choices.style != "native":
        return False
    # `b` may be anything, and what it holds, too
    return own_name(context, owner) is not None or owner.attr != "b" and context.imports_chainer


def _is_statistic(context: Context, target: ast.expr) -> bool:
    """``bn.avg_mean``, which becomes a buffer of a layer of torch's: ``bn.running_mean``."""
    if not isinstance(target, ast.Attribute) or target.attr not in STATISTICS:
        return False
    kind = context.kind(target.value)
    if kind == UNKNOWN:
        return context.choices.style == "native" and own_name(context, target) is not None
    return all(isinstance(k, Inst) and isinstance(k.cls, str) and context.analysis.is_link(k) for k in options(kind))


def _is_buffer(context: Context, target: ast.Attribute) -> bool:
    """Whether an array under this name is a buffer of a link of the project's, which is not in its own class here."""
    kinds = options(context.kind(target.value))
    return all(
        isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo) and context.analysis.is_buffer(kind.cls, target.attr)
        for kind in kinds
    )


def _is_tensor(context: Context, cls: ClassInfo, node: ast.Assign, target: ast.Attribute) -> bool:
    if context.analysis.is_buffer(cls, target.attr):
        return not _is_registered_next(context, node)
    return is_kept(context, cls, target) and not is_brought_back(context, node.value)


def _assigned(context: Context, statement: ast.AST | None) -> ast.Assign | None:
    """The assignment in the same block that sets what a statement registers, with no use of it in between."""
    name = _registered(statement)
    if name is None or context.choices.style != "native":
        return None
    block = context.source.block(statement)  # type: ignore[arg-type]
    for other in reversed(block[: block.index(statement)]):  # type: ignore[arg-type]
        if isinstance(other, ast.Assign) and _sets(other, name):
            sure = _are_arrays(context.kind(other.value)) and not may_hold_none(context, other.value)
            return other if sure and _once(context, other, name) else None
        if any(isinstance(one, ast.Attribute) and one.attr == name for one in nodes_of(other)):
            return None
    return None


def _is_registered_next(context: Context, node: ast.Assign) -> bool:
    return any(_assigned(context, other) is node for other in context.source.block(node) if _registered(other))


def _registered(statement: ast.AST | None) -> str | None:
    """The name in ``self.register_persistent('name')``."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or len(call.args) != 1:
        return None
    name = call.args[0]
    if call.func.attr != "register_persistent" or call.keywords or not isinstance(call.func.value, ast.Name):
        return None
    return name.value if isinstance(name, ast.Constant) and isinstance(name.value, str) else None


def _sets(statement: ast.Assign, name: str) -> bool:
    target = statement.targets[0]
    return (
        len(statement.targets) == 1
        and isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Name)
    )


def _once(context: Context, statement: ast.Assign, name: str) -> bool:
    """Whether the method that registers an attribute sets it in no other place: a buffer is registered once."""
    method = context.source.enclosing(statement, ast.FunctionDef)
    if not isinstance(method, ast.FunctionDef) or method.name != "__init__":
        return False
    stores = [n for n in nodes_of(method) if isinstance(n, ast.Attribute) and n.attr == name]
    return sum(isinstance(n.ctx, ast.Store) for n in stores) == 1


def _are_arrays(kind: Kind) -> bool:
    return all(isinstance(one, HostArray) or isinstance(one, Tensor) and one.array for one in options(kind))


def _tensor(context: Context, value: ast.expr) -> str:
    return "value" if all(isinstance(k, Tensor) for k in options(context.kind(value))) else tensor_of(context, value)
