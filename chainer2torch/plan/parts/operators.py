"""Operators whose meaning differs between Variables and arrays of Chainer's and tensors of torch."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import (
    UNKNOWN,
    HostArray,
    Inst,
    Kind,
    Lst,
    Ref,
    Tensor,
    Tup,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.edits import ReplaceStatement
from chainer2torch.plan.match import parsed
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.buffers import into_buffer, into_part_of_layer, is_written
from chainer2torch.plan.parts.chosen_elements import into_chosen, is_tensor
from chainer2torch.plan.parts.host_arrays import is_sent, tensor_of
from chainer2torch.plan.parts.host_objects import into_object
from chainer2torch.plan.parts.kept_sums import sum_of_its_own
from chainer2torch.plan.parts.mixed_updates import into_either, into_host_array, may_meet
from chainer2torch.plan.questions.augmented_assignments import (
    HELPERS,
    is_used_as_variable,
    may_be_array,
    may_be_in_a_graph,
    may_stay_in_place,
)
from chainer2torch.plan.parts.passed_arrays import may_be_of_caller, was_variable
from chainer2torch.rules.table import Row

_PASSED = "Chainer changes an array that a caller passes, and no Variable; no call says which it is. Here "
_NEITHER, _ARRAYS = "neither changes", "NumPy's arrays change"
_SCALARS = frozenset("float16 float32 float64 int8 int16 int32 int64 uint8 bool_".split())  # NumPy's own numbers
_MEET = "one side may be an array of the host and the other a tensor, and NumPy changes no array by a tensor"
_OUTSIDE = "NumPy's arrays change, and tensors that take no part in a graph"
_OPERATORS: dict[type, str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.Mod: "mod",
}
_SIGNS: dict[type, str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Mod: "%",
}


def operator(context: Context, decisions: Decisions, node: ast.BinOp) -> None:
    """``a // b`` of tensors: only rules that change the spelling are applied."""
    left, right = context.analysis.kind(node.left), context.analysis.kind(node.right)
    _keep_dtype(context, decisions, node.left, left, node.right, right)
    _keep_dtype(context, decisions, node.right, right, node.left, left)
    _subtracts_flags(context, decisions, node, node.left, left, right)
    _subtracts_flags(context, decisions, node, node.right, right, left)
    if _truncates(node.op, left, right) or _truncates(node.op, right, left):
        name = f"chainer.Variable.__{_OPERATORS[type(node.op)]}__"
        decisions.mark(
            node,
            context.rules.rows.get(name),
            name,
            "review",
            "beside a Variable of integers Chainer makes the number an integer (0.5 becomes 0); PyTorch does not",
        )
    found = _template(context, node.op, left, right)
    if found is None:
        return
    row, template = found
    own, other = (node.left, node.right) if _is_variable(left) else (node.right, node.left)
    decisions.replace(node, template, {"self": context.operand(own), "rhs": context.operand(other)})
    decisions.mark(node, row, row.name, row.state, row.note if row.state != "exact" else "")


def _template(context: Context, op: ast.operator, left: Kind, right: Kind) -> tuple[Row, str] | None:
    """The rule for an operation with a Variable and its template, when it is not the same operator of torch."""
    name = _OPERATORS.get(type(op))
    if name is None or not (_is_variable(left) or _is_variable(right)):
        return None
    row = context.rules.member("chainer.Variable", f"__{name}__" if _is_variable(left) else f"__r{name}__")
    if row is None or not row.cases or row.cases[-1].when is not None or row.state == "manual":
        return None
    template = row.cases[-1].torch
    tree = parsed(template)
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, type(op)):
        return None
    return row, template


def _truncates(op: ast.operator, variable: Kind, number: Kind) -> bool:
    """Whether Chainer casts a number to the integer dtype of the Variable beside it, and that may change it."""
    dtypes = [k.dtype or "" for k in options(variable) if isinstance(k, Tensor) and not k.array]
    if len(dtypes) < len(options(variable)) or not all(d.startswith(("int", "uint", "bool")) for d in dtypes):
        return False
    # a division multiplies by the inverse, which is cast
    exact = "bool" not in dtypes and not isinstance(op, (ast.Div, ast.FloorDiv))
    types = ("float",) if exact else ("int", "float")
    return isinstance(op, (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv)) and scalar_type(number) in types


def _subtracts_flags(
    context: Context, decisions: Decisions, node: ast.BinOp, own: ast.expr, array: Kind, other: Kind
) -> None:
    """``1 - mask``: NumPy counts truth values as 0 and 1, PyTorch refuses to subtract them."""
    if not isinstance(node.op, ast.Sub) or not all(
        isinstance(k, Tensor) and k.array and k.dtype == "bool" for k in options(array)
    ):
        return
    beside_floats = all(isinstance(k, Tensor) and (k.dtype or "").startswith("float") for k in options(other))
    number = {"int": "long", "float": "double"}.get(scalar_type(other) or "", "byte" if beside_floats else "")
    if number:
        with decisions.provided(free=((Part.WRAP, own), (Part.EDIT, own))):
            decisions.wrap(own, f"value.{number}()")


def _keep_dtype(
    context: Context, decisions: Decisions, own: ast.expr, variable: Kind, other: ast.expr, array: Kind
) -> None:
    """A Variable keeps its dtype beside an array of float64, where torch would take the wider one."""
    if not _is_variable(variable):
        return
    kinds = options(array)
    if not all(isinstance(k, Tensor) and k.array and k.dtype in (None, "floating", "float64") for k in kinds):
        return
    if any(isinstance(k, Tensor) and k.dtype is None for k in kinds) and not is_sent(context, other):
        return
    if isinstance(own, (ast.Name, ast.Attribute)):
        decisions.wrap(other, "value.to(variable)", {"variable": context.operand(own)})
    else:
        decisions.wrap(other, "value.to(torch.get_default_dtype())")


def in_place(context: Context, decisions: Decisions, node: ast.AugAssign) -> None:
    """``h += x``: a Variable is bound anew, a tensor would change for everybody who holds it."""
    into_part_of_layer(context, decisions, node.target, node.value)
    target = context.analysis.kind(node.target)
    value = context.analysis.kind(node.value)
    sign = _SIGNS.get(type(node.op))
    if into_host_array(context, decisions, node.value, target):
        return
    if sign is not None and (anew := sum_of_its_own(context, node, sign)) is not None:
        _rebound(context, decisions, node, anew)
        return
    passed = sign is not None and not context.migrated and may_be_of_caller(context, node)
    if may_meet(context, node):
        if type(node.op) in HELPERS and _is_simple(node.target):
            call = f"compat.{HELPERS[type(node.op)]}(target, value, may_be_array=True)"
            _rebound(context, decisions, node, call)
            return
        decisions.mark(node, None, "numpy.ndarray", "review", _MEET, "C2T320")
    elif sign is not None and context.analysis.kind(node) == UNKNOWN and not _may_be_rebound(target, value):
        if is_used_as_variable(context, node) or was_variable(context, node):
            _rebound(context, decisions, node, f"target {sign} value", _PASSED + _NEITHER if passed else "")
            return
        if may_be_in_a_graph(context, node):
            outside = may_be_array(context, node)
            call = f"compat.{HELPERS[type(node.op)]}(target, value{', may_be_array=True' if outside else ''})"
            _rebound(context, decisions, node, call, _PASSED + (_OUTSIDE if outside else _ARRAYS) if passed else "")
            return
    if sign is None or not _may_be_rebound(target, value):
        _into_tensor(context, decisions, node.value, target)
        return
    if context.migrated:  # an earlier run has decided: what it left in place stays so
        return
    is_mixed = not _is_variable(value) and _is_array_at_times(context.analysis.kind(node))
    if is_mixed and type(node.op) in HELPERS and _is_simple(node.target):
        _rebound(context, decisions, node, f"compat.{HELPERS[type(node.op)]}(target, value)")
        return
    name = f"chainer.Variable.__{_OPERATORS[type(node.op)]}__"
    if context.choices.style == "native" and _is_variable(value) and may_stay_in_place(context, node):
        row = context.rules.rows.get(name) or context.rules.python[f"?.__i{_OPERATORS[type(node.op)]}__"]
        decisions.mark(node, row, name, "exact", "", "C2T300")
        return
    if _is_of_a_layer(context, node.target):
        decisions.mark(
            node,
            None,
            name,
            "manual",
            "puts a Variable in the place of a layer's parameter, which PyTorch "
            "refuses; change the parameter in place under torch.no_grad() if that is meant",
            "C2T300",
        )
        return
    if not _is_simple(node.target):
        decisions.mark(
            node,
            None,
            name,
            "manual",
            "`x += y` makes a new Variable but changes a tensor in place; write it as `x = x + y`",
            "C2T300",
        )
        return
    _keep_dtype(context, decisions, node.target, target, node.value, value)
    if isinstance(value, HostArray) and _is_variable(context.analysis.kind(node)):
        decisions.wrap(
            node.value, tensor_of(context, node.value) + ".to(variable)", {"variable": context.operand(node.target)}
        )
    found = _template(context, node.op, target, value)
    own, other = (
        (node.target, node.value) if _is_variable(target) or not _is_variable(value) else (node.value, node.target)
    )
    if _is_variable(value) and any(isinstance(k, HostArray) for k in options(context.analysis.kind(node))):
        first = (
            "torch.as_tensor(target).to(value)"
            if isinstance(node.value, (ast.Name, ast.Attribute))
            else "torch.as_tensor(target, dtype=torch.get_default_dtype())"
        )
        expression = f"{first} {sign} value"
    else:
        expression = found[1] if found is not None else f"target {sign} value"
    decisions.edit(
        node,
        ReplaceStatement(
            context.source.start(node),
            f"target = {expression}",
            {
                "target": context.operand(node.target),
                "value": context.operand(node.value),
                "self": context.operand(own),
                "rhs": context.operand(other),
            },
            context.training(node),
        ),
    )
    row = context.rules.rows.get(name) or context.rules.python[f"?.__i{_OPERATORS[type(node.op)]}__"]
    decisions.mark(node, row, name, "review" if passed else "exact", _PASSED + _NEITHER if passed else "", "C2T300")


def _rebound(context: Context, decisions: Decisions, node: ast.AugAssign, expression: str, note: str = "") -> None:
    """``target = expression`` in the place of an operator whose target is of no known kind."""
    operands = {"target": context.operand(node.target), "value": context.operand(node.value)}
    decisions.edit(
        node,
        ReplaceStatement(context.source.start(node), f"target = {expression}", operands, context.training(node)),
    )
    row = context.rules.python[f"?.__i{_OPERATORS[type(node.op)]}__"]
    decisions.mark(node, row, row.name, "review" if note else "exact", note, "C2T390")


def _may_be_rebound(target: Kind, value: Kind) -> bool:
    """Whether the target may be a Variable, or an array that meets one: both give a new Variable."""
    kinds = options(target)
    if any(isinstance(k, Tensor) and not k.array for k in kinds):
        return True
    return _is_variable(value) and any(isinstance(k, (Tensor, HostArray)) or k == UNKNOWN for k in kinds)


def _is_array_at_times(target: Kind) -> bool:
    """Whether it is an array of NumPy for one caller, which changes in place, and a Variable for another."""
    kinds = options(target)
    variables = [k for k in kinds if isinstance(k, Tensor) and not k.array]
    return bool(variables) and any(isinstance(k, HostArray) for k in kinds) and not _is_variable(target)


def _is_of_a_layer(context: Context, target: ast.expr) -> bool:
    """Whether it is an attribute of a link of Chainer's own."""
    return isinstance(target, ast.Attribute) and any(
        isinstance(k, Inst) and isinstance(k.cls, str) and context.analysis.is_link(k)
        for k in options(context.analysis.kind(target.value))
    )


def _is_simple(target: ast.expr) -> bool:
    """Whether an expression can be evaluated twice."""
    if isinstance(target, ast.Subscript):
        return _is_simple(target.value) and all(
            isinstance(
                n,
                (
                    ast.Name,
                    ast.Constant,
                    ast.Attribute,
                    ast.Tuple,
                    ast.UnaryOp,
                    ast.BinOp,
                    ast.operator,
                    ast.unaryop,
                    ast.expr_context,
                    ast.Slice,
                ),
            )
            for n in nodes_of(target.slice)
        )
    return isinstance(target, ast.Name) or isinstance(target, ast.Attribute) and _is_simple(target.value)


def store(context: Context, decisions: Decisions, node: ast.Assign) -> None:
    """``x.data[...] = array``: a tensor takes no NumPy array, and an array no tensor that lies on a GPU."""
    into_buffer(context, decisions, node)
    for target in node.targets:
        if isinstance(target, ast.Subscript):
            kind = context.analysis.kind(target.value)
            _into_tensor(context, decisions, node.value, kind, target)
            into_either(context, decisions, node.value, kind)
            into_object(context, decisions, target, node.value)
            if len(node.targets) == 1:
                into_host_array(context, decisions, node.value, kind)
            into_part_of_layer(context, decisions, target, node.value)
            if (
                kind == UNKNOWN
                and context.imports_chainer
                and isinstance(target.value, ast.Attribute)
                and target.value.attr in ("data", "array")
                and isinstance(context.analysis.kind(node.value), HostArray)
            ):
                # of a parameter most likely; a NumPy array takes a tensor, too
                decisions.wrap(node.value, tensor_of(context, node.value))


def _into_tensor(
    context: Context, decisions: Decisions, value: ast.expr, target: Kind, place: ast.Subscript | None = None
) -> None:
    """Converts what may be a host array, where it is written into a tensor."""
    if not is_tensor(target) or is_written(value):
        return
    if place is not None and is_tensor(context.analysis.kind(value)):
        into_chosen(context, decisions, place, value, known=True)
    # an earlier run converted what it did not know
    known = (HostArray, Lst, Tup) if context.migrated else (HostArray, Lst, Tup, Unknown)
    if any(isinstance(k, known) for k in options(context.analysis.kind(value))):
        if place is None or not into_chosen(context, decisions, place, value, known=False):
            decisions.wrap(value, tensor_of(context, value))
    elif any(_is_number_of_numpy(context, one) for one in _given(context, value)):
        decisions.wrap(value, "value.item()")  # PyTorch takes numbers of Python's own alone


def _given(context: Context, value: ast.expr) -> list[ast.expr]:
    return reaching(context, value) if isinstance(value, ast.Name) else [value]


def _is_number_of_numpy(context: Context, value: ast.expr) -> bool:
    """Whether it is ``np.float32(2)``."""
    callee = context.analysis.kind(value.func) if isinstance(value, ast.Call) else None
    return isinstance(callee, Ref) and callee.name.removeprefix("numpy.") in _SCALARS


def _is_variable(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and not k.array for k in options(kind))
