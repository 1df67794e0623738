"""Hard cases of devices in the native style: the calls that torch.cuda has for a number, a tensor, a whole block."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Inst, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove, ReplaceStatement
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.questions.device_specs import device_of_number, is_number, names_gpu
from chainer2torch.plan.questions.xp_devices import is_device
from chainer2torch.plan.questions.xp_origins import may_lack_parameters
from chainer2torch.plan.questions.xp_uses import current_device
from chainer2torch.rules.table import Row

_BY_NUMBER = frozenset({"get_device_from_id", "get_device", "Device"})
_FOUND = frozenset({"get_device_from_array", "get_device"})
_CUDA = "chainer.backends.cuda."


def device(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``get_device_from_id(g)``, ``get_device(x)``, ``Device(g)``: what stands there depends on what asks for it."""
    call = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    if not isinstance(call, ast.Call) or call.func is not node:
        emit_value(context, decisions, node, row)
        return
    link = _of_link(context, call.args[0]) if _single(call) else None
    if link is not None and _is_block(context, call):
        lacking = may_lack_parameters(context, link)
        found = "native.using_device(native.device_of(x))" if lacking else "torch.cuda.device_of(next(x.parameters()))"
        decisions.replace(call, found, {"x": context.operand(link)})
        decisions.use(node)
        decisions.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")
        return
    template = _form(context, call, row)
    if template is None and not _used_by_number(context, call):
        emit_call(context, decisions, call, row, node)
        return
    if template is not None:
        decisions.replace(call, template, {"x": context.operand(call.args[0])})
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")


def use(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``get_device_from_id(g).use()``: ``torch.cuda.set_device(g)``; another device may be the CPU."""
    call = context.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        decisions.mark(node, row, row.name, "manual", "a method that is passed as a value")
        return
    inner, statement = node.value, context.source.parents.get(call)
    if isinstance(inner, ast.Call) and _of_array_module(context, inner.func):
        return  # written with the device that the array module has become
    if isinstance(inner, ast.Call) and _used_by_number(context, inner):
        decisions.replace(call, "torch.cuda.set_device(x)", {"x": context.operand(inner.args[0])})
    elif isinstance(inner, ast.Name) and isinstance(statement, ast.Expr) and alone(context, statement):
        text = "if x.type == 'cuda':\n    torch.cuda.set_device(x)\n"
        operands = {"x": context.operand(inner)}
        decisions.edit(statement, ReplaceStatement(context.source.start(statement), text, operands))
    else:
        emit_call(context, decisions, call, row, node, receiver=inner)
        return
    decisions.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")


def _of_array_module(context: Context, made: ast.expr) -> bool:
    """``xp.cuda.Device`` of a variable that is a device in the output."""
    cuda = made.value if isinstance(made, ast.Attribute) else None
    root = cuda.value if isinstance(cuda, ast.Attribute) else None
    return isinstance(root, ast.Name) and is_device(context, root) and current_device(context, root) is not None


def idle(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """A statement that asks for something that PyTorch does by itself: it goes."""
    call = context.source.parents.get(node)
    statement = context.source.parents.get(call) if call is not None else None
    whole = isinstance(statement, ast.Expr) and alone(context, statement)
    if not isinstance(call, ast.Call) or call.func is not node or not isinstance(statement, ast.Expr) or not whole:
        decisions.mark(node, row, row.name, "manual", row.note)
        return
    start = context.source.start(statement)
    edit = Remove(start) if has_others(context, statement) else ReplaceStatement(start, "pass\n", {})
    decisions.edit(statement, edit)
    decisions.use(node)
    decisions.remove(*call.args, *(keyword.value for keyword in call.keywords))
    decisions.mark(node, row, row.name, row.state, row.note)


def has_others(context: Context, statement: ast.stmt) -> bool:
    """Whether a block has other statements than this one."""
    return len(context.source.block(statement)) > 1


def _form(context: Context, call: ast.Call, row: Row) -> str | None:
    """The form for a single argument of known kind; None: the row says it, or what uses the device."""
    if not _single(call):
        return None
    name = row.name.rpartition(".")[2]
    block = _is_block(context, call)
    if name in _FOUND and all(isinstance(k, Tensor) for k in options(context.kind(call.args[0]))):
        return "torch.cuda.device_of(x)" if block else "x.device"
    if name == "get_device_from_array":
        return "native.using_device(native.device_of(x))" if block else "native.device_of(x)"
    if name in _BY_NUMBER and block:
        if is_number(context, call.args[0]) or name == "get_device_from_id" and names_gpu(context, call.args[0]):
            return "torch.cuda.device(x)"
        return "native.using_device(native.get_device(x))" if name == "get_device_from_id" else None
    asked = isinstance(context.source.parents.get(call), ast.Attribute)
    if name == "get_device_from_id" and not asked and is_number(context, call.args[0]):
        return device_of_number(context, call.args[0], "x")
    return None


def _is_block(context: Context, call: ast.Call) -> bool:
    parent = context.source.parents.get(call)
    return isinstance(parent, ast.withitem) and parent.optional_vars is None


def _single(call: ast.Call) -> bool:
    return len(call.args) == 1 and not call.keywords and not isinstance(call.args[0], ast.Starred)


def _used_by_number(context: Context, call: ast.Call) -> bool:
    """Whether a call makes a device of one number, and the next word is ``.use()``; what is no number raises."""
    symbol = context.reference(call.func) or ""
    attribute = context.source.parents.get(call)
    return (
        symbol.startswith(_CUDA)
        and symbol.removeprefix(_CUDA) in _BY_NUMBER
        and _single(call)
        and isinstance(attribute, ast.Attribute)
        and attribute.attr == "use"
        and context.is_called(attribute)
        and names_gpu(context, call.args[0])
    )


def _of_link(context: Context, node: ast.expr) -> ast.expr | None:
    """The link in ``link._device_id``, the number of its device: None on the CPU."""
    if not isinstance(node, ast.Attribute) or node.attr != "_device_id":
        return None
    kinds = options(context.kind(node.value))
    links = all(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.Link") for k in kinds)
    return node.value if links else None


def alone(context: Context, statement: ast.stmt) -> bool:
    """Whether a statement has its lines for itself: another may stand there in its place."""
    start, end = context.source.span(statement)
    text = context.source.text
    before = text[text.rfind("\n", 0, start) + 1 : start]
    after = text[end:].partition("\n")[0].strip()
    return not before.strip() and (not after or after.startswith("#"))
