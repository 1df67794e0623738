"""The walk over a file: every reference to Chainer gets one state, and an edit where it changes."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from chainer2torch.analysis.kinds import Ref, Tensor, Union
from chainer2torch.plan.collector import NO_RULE, Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.hard_cases import HARD_CASES
from chainer2torch.plan.parts import older_versions, operators, own_config, values
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.host_arrays import as_tensor
from chainer2torch.plan.parts.keeping import later
from chainer2torch.plan.parts.members import member, store
from chainer2torch.plan.parts.mapped_moves import emit_mapped
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.plan.parts.partial_functions import emit_partial
from chainer2torch.plan.parts.put_into_chainer import put_there
from chainer2torch.plan.questions.asked_names import is_name_of_chainer
from chainer2torch.plan.questions.flatten import flattened_axes, is_flat
from chainer2torch.plan.residue import imported_by_call
from chainer2torch.rules.table import Row

_BY_NAME = (
    "which of its names is wanted is known at run time only; write a dict of those that may be, "
    "`{'relu': F.relu, ...}[name]`: each of them is migrated then"
)
_OPERATIONS: dict[type[ast.AST], Callable[[Context, Decisions, Any], None]] = {
    ast.BinOp: operators.operator,
    ast.AugAssign: operators.in_place,
    ast.Assign: operators.store,
}


def run(context: Context) -> Decisions:
    """Visits every expression of the file."""
    decisions = Decisions(context)
    aliases = frozenset(context.module_aliases.values())  # a second import
    for node in context.source.nodes:
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            visit = _OPERATIONS.get(type(node))
            if visit is not None and context.with_models:
                visit(context, decisions, node)
            continue
        kind = context.kind(node)
        reference = context.reference(node, kind) if isinstance(kind, Ref) else None
        if reference is not None:
            if decisions.state(node) is None and context.source.parents.get(node) not in aliases:
                with decisions.provided(free=((Part.SITE, node),)):
                    _reference(context, decisions, node, reference)
            continue
        if isinstance(kind, Union) and isinstance(node, (ast.Name, ast.Attribute)):
            _ambiguous(context, decisions, node, kind)
        if isinstance(node, ast.Attribute):
            if decisions.state(node) is None and not context.left_before(node):
                with decisions.provided(free=((Part.SITE, node),)):
                    member(context, decisions, node)
        elif isinstance(node, ast.Call) and context.with_models:
            _object_call(context, decisions, node)
    return decisions


def _ambiguous(context: Context, decisions: Decisions, node: ast.Name | ast.Attribute, kind: Union) -> None:
    """A name that is bound more than once, to something of Chainer's among others."""
    names = context.chainer_names(kind)
    parent = context.source.parents.get(node)
    inner = isinstance(parent, ast.Attribute) and context.chainer_names(context.kind(parent))
    if names and not inner and isinstance(node.ctx, ast.Load) and context.names_library(node):
        decisions.mark(
            node,
            context.rules.rows.get(names[0]),
            names[0],
            "manual",
            f"the name stands for different things: {' or '.join(names)}, or something else",
        )


def _reference(context: Context, decisions: Decisions, node: ast.expr, name: str) -> None:
    row = context.rules.rows.get(name)
    if later(context, decisions, node, row, name):
        return
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.pattern):  # a pattern is no expression: nothing can be put in its place
        message = "in a pattern of `match`; write this case as an `if`"
        decisions.mark(node, row, name, "manual", message, "C2T011")
    elif (own := own_config.entry_of(context, node, name)) is not None:
        own_config.entry(context, decisions, *own)
    elif own_config.asked_by_name(context, decisions, node, name):
        pass
    elif isinstance(parent, ast.Call) and node in parent.args and is_name_of_chainer(context, parent):
        pass  # `hasattr(F, 'average')` is True
    elif row is None:
        if not put_there(context, decisions, node, name):
            _without_row(context, decisions, node, name)
    elif (
        row.state == "review"
        and isinstance(parent, ast.Call)
        and node in parent.args
        and context.kind(parent.func) == Ref("builtins.hasattr")
    ):
        decisions.mark(node, None, name, "manual", "which names it has depends on the version", row.code)
    elif isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Del):
        message = "deleted here; nothing of PyTorch's is deleted instead"
        decisions.mark(node, None, name, "manual", message, row.code)
    elif emit_partial(context, decisions, node, row) or emit_mapped(context, decisions, node, row):
        pass
    elif row.function is not None:
        HARD_CASES[row.function](context, decisions, node, row)
    elif isinstance(parent, ast.Call) and parent.func is node and row.signature is not None:
        emit_call(context, decisions, parent, row, node)
    elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
        store(context, decisions, node, row)
    elif row.signature is None and row.cases:
        decisions.replace(node, row.cases[0].torch, {})
        decisions.use(node)
        decisions.mark(node, row, row.name, row.state, row.note)
    else:
        emit_value(context, decisions, node, row)


def _without_row(context: Context, decisions: Decisions, node: ast.expr, name: str) -> None:
    """A name of Chainer's, or of a library on it, that no rule knows."""
    library = context.rules.library(name)
    if library is not None:
        decisions.mark(node, None, name, "manual", library.advice, "C2T091")
        return
    parent = context.source.parents.get(node)
    asked = (
        isinstance(parent, ast.Call)
        and len(parent.args) > 1
        and parent.args[0] is node
        and context.kind(parent.func) == Ref("builtins.getattr")
    )
    whole = _whole(context, name)
    if whole is not None and not asked:
        decisions.mark(node, whole, name, "manual", whole.note)
    else:
        decisions.mark(node, None, name, "manual", _BY_NAME if asked else NO_RULE)


def _whole(context: Context, name: str) -> Row | None:
    """The row of a module of which nothing is migrated, ``cuda.cublas``: what it says holds for each name in it."""
    while "." in name:
        name = name.rpartition(".")[0]
        row = context.rules.rows.get(name)
        if row is not None:
            return row if row.state == "manual" and row.once and row.signature is None else None
    return None


def _object_call(context: Context, decisions: Decisions, node: ast.Call) -> None:
    """Calls of objects (a layer, a model) and conversions of a tensor to a number."""
    callee = context.kind(node.func)
    if isinstance(callee, Ref) and callee.name in ("builtins.float", "builtins.int"):
        values.to_number(context, decisions, node, callee.name[9:])
    elif context.era == 1 and callee == Ref("builtins.len"):
        older_versions.number_of_elements(context, decisions, node)
    elif imported := imported_by_call(node, context.analysis.libraries):
        message = "imported by name at run time; its uses are not known here"
        decisions.mark(node, None, imported, "manual", message)
    else:
        if (axes := flattened_axes(context, node)) is not None:
            _flatten(context, decisions, node, axes)
        with decisions.provided(free=((Part.EDIT, node),)):
            older_versions.call_of_link(context, decisions, node)


def _flatten(context: Context, decisions: Decisions, node: ast.Call, axes: int) -> None:
    """``fc(x)``, ``fc(x, n_batch_axes=2)`` of a layer that leaves it to its calls to flatten, as it did in Chainer."""
    template = as_tensor(context, node.args[0]) or "value"  # the conversion of an array stands inside
    flat = is_flat(context, node.args[0], axes)
    if not flat or template != "value" and not isinstance(context.kind(node.args[0]), Tensor):
        decisions.wrap(node.args[0], template if flat else f"torch.flatten({template}, {axes})")
    if node.keywords:
        operands = {"layer": context.operand(node.func), "x": context.operand(node.args[0])}
        decisions.replace(node, "layer(x)", operands)
