"""Calls with ``*args`` or ``**kwargs``: they become calls of what takes the very same arguments, or nothing."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.match import parsed
from chainer2torch.plan.parts.names import emit_name
from chainer2torch.plan.parts.super_receivers import instance_behind
from chainer2torch.plan.questions.xp_devices import is_device
from chainer2torch.plan.questions.xp_uses import is_drawn, module_in
from chainer2torch.rules.table import Row


def emit_starred(
    context: Context, decisions: Decisions, node: ast.Call, row: Row, site: ast.expr, receiver: ast.expr | None
) -> None:
    """Decides a call of which only the callee is known."""
    if receiver is not None:
        if is_drawn(row) and is_device(context, module_in(receiver)):
            operands = {"self": context.operand(module_in(receiver))}
            call = _call(context, node, f"numpy.random.{row.name.rpartition('.')[2]}", operands, [])
            shape = row.name in ("xp.Random.rand", "xp.Random.randn") and not node.keywords  # never a plain number
            template = f"torch.as_tensor({call}, device=self)" if shape else f"native.as_tensor({call}, self)"
            decisions.replace(node, template, operands)
            decisions.mark(site, row, row.name, row.state, row.note)
            return
        callee = _same_arguments(row)
        if callee is None and any(not case.native for case in row.cases):
            decisions.mark(site, row, row.name, "manual", "called with * or **: the arguments are not known here")
            return
        if callee is not None and callee != f"self.{ast.unparse(node.func).rpartition('.')[2]}":
            _replace(context, decisions, node, callee, receiver)
        decisions.mark(site, row, row.name, row.state, row.note)
    elif row.value is None:
        decisions.mark(site, row, row.name, "manual", "called with * or **: the arguments are not known here")
    elif node.keywords and not row.value.startswith(("compat.", "native.")):  # helpers have Chainer's keywords
        decisions.mark(site, row, row.name, "manual", "called with * or **; keywords have other names in PyTorch")
    else:
        emit_name(context, decisions, node.func, site, row)


def _same_arguments(row: Row) -> str | None:
    """What a method's rule calls, when it hands on every argument at its place: ``compat.f(self, a, *b, c=c)``.

    Of the cases, which ask for the arguments, that is the one for all others.
    """
    cases = [case for case in row.cases if not case.native] or row.cases
    if len(cases) != 1 or cases[0].when is not None or row.signature is None:
        return None
    tree = parsed(cases[0].torch)
    if not isinstance(tree, ast.Call):
        return None
    own = isinstance(tree.func, ast.Attribute) and ast.unparse(tree.func.value) == "self"
    given = [ast.unparse(a) for a in tree.args]
    given += [k.arg if ast.unparse(k.value) == k.arg else "" for k in tree.keywords if k.arg]
    given += [f"**{ast.unparse(k.value)}" for k in tree.keywords if k.arg is None]
    stars = {"args": "*", "kwargs": "**"}
    taken = [stars.get(p.kind, "") + p.name for p in row.signature.parameters]
    return ast.unparse(tree.func) if taken == ["self"] * own + given else None


def _replace(context: Context, decisions: Decisions, node: ast.Call, callee: str, receiver: ast.expr) -> None:
    """Calls something else with the arguments as they stand; the receiver is the first of them."""
    operands: dict[str, Operand] = {"self": instance_behind(context, receiver, callee) or context.operand(receiver)}
    first = [] if callee.startswith("self.") else [ast.Name("self")]
    decisions.replace(node, _call(context, node, callee, operands, first), operands)


def _call(
    context: Context, node: ast.Call, callee: str, operands: dict[str, Operand], first: Sequence[ast.expr]
) -> str:
    """The text of a call with the arguments of another one, which become operands."""

    def name(value: ast.expr) -> ast.expr:
        label = f"argument_{len(operands)}"
        operands[label] = context.operand(value)
        return ast.Name(label)

    args = [ast.Starred(name(a.value)) if isinstance(a, ast.Starred) else name(a) for a in node.args]
    keywords = [ast.keyword(k.arg, name(k.value)) for k in node.keywords]
    return ast.unparse(ast.Call(ast.Name(callee), [*first, *args], keywords))
