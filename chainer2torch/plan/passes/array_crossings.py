"""Hard cases of arrays: copies, dtypes, and the places where host arrays and tensors meet."""

from __future__ import annotations

import ast

from chainer2torch.analysis.models.array_kinds import dtype_of
from chainer2torch.analysis.models.numpy_functions import GENERATORS
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Const,
    HostArray,
    Inst,
    Kind,
    Method,
    Ref,
    Tensor,
    options,
    scalar_type,
)
from chainer2torch.plan.passes import identity
from chainer2torch.plan.edits import Wrap
from chainer2torch.plan.passes.host_arrays import arguments_as_tensors, takes_variables, tensor_of
from chainer2torch.plan.passes.host_values import (
    as_text,
    is_host_method,
    is_torch_dtype,
    takes_host_arrays,
    to_host,
    to_host_if_array,
    wrap,
    writes_text,
)
from chainer2torch.plan.passes.indices import subscript
from chainer2torch.plan.passes.receivers import among_tensors
from chainer2torch.plan.sites import Plan
from chainer2torch.rules.table import Row
from chainer2torch.rules.signature import BindError

_WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})
_ORDERED = {"bool": 0, "int32": 1, "int64": 2, "float32": 3, "float64": 4}
_IN_PLACE = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "random.shuffle"})
# unittest's comparisons
_ASSERTIONS = frozenset({"assertEqual", "assertEquals", "assertNotEqual", "assertIn", "assertNotIn"})
# what tells one dtype from another by its words or its class
_OF_OBJECTS = frozenset({"builtins.isinstance", "builtins.repr", "builtins.str"})
# attributes that a NumPy dtype has and a torch dtype lacks
_OF_DTYPES = frozenset({"kind", "type", "char", "name", "str", "num"})
_VIEWS = frozenset(
    {
        "array",
        "array_split",
        "asarray",
        "ascontiguousarray",
        "broadcast_to",
        "expand_dims",
        "moveaxis",
        "ravel",
        "reshape",
        "rollaxis",
        "split",
        "squeeze",
        "swapaxes",
        "transpose",
    }
)
# what NumPy asks the array itself for: a tensor answers, and something else
_OF_TENSORS_TOO = frozenset({"argwhere", "nonzero", "size"})
_OPTIONS_OF_ASTYPE = frozenset({"order", "casting", "subok"})
_CODE = "C2T320"


# -- methods of arrays ---------------------------------------------------------------------------------------------


def astype(plan: Plan, node: ast.AST, row: Row) -> None:
    """``x.astype(dtype)``: ``x.to(dtype)``, with a copy where one can be told from none."""
    call = plan.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        plan.mark(node, row, row.name, "manual", "a method that is passed as a value")
        return
    assert row.signature is not None
    try:
        names = row.signature.bind(call.args, call.keywords, node.value).given
    except BindError:
        names = {}
    target, defaults = names.get("dtype"), row.signature.defaults
    if target is None or any(ast.unparse(names[name]) != defaults[name] for name in _OPTIONS_OF_ASTYPE & set(names)):
        plan.mark(node, row, row.name, "manual", "options of astype that tensors do not have")
        return
    kind = plan.analysis.kind(target)
    dtype, is_torch = dtype_of(kind), is_torch_dtype(kind)
    if dtype is None and not is_torch:
        plan.call(call, row, node, receiver=node.value)
        return
    operands = {"x": plan.operand(node.value), "dtype": plan.operand(target)}
    new = f"torch.{dtype}" if dtype else "dtype"
    copy = names.get("copy")
    if copy is None:
        template = f"x.to({new})" if _is_fresh(plan, node.value, dtype) else f"x.to({new}, copy=True)"
    elif isinstance(copy, ast.Constant) and copy.value is False:
        template = f"x.to({new})"
    else:
        operands["copy_"] = plan.operand(copy)
        template = f"x.to({new}, copy=copy_)"
    plan.replace(call, template, operands)
    plan.mark(node, row, row.name, row.state)


def _is_fresh(plan: Plan, node: ast.expr, dtype: str | None) -> bool:
    """Whether the value is nobody else's, or its dtype changes for sure: a copy could not be told from none."""
    old = {k.dtype if isinstance(k, Tensor) else None for k in options(plan.analysis.kind(node))}
    if dtype is not None and None not in old and not old & {dtype, "floating"}:
        return True
    if isinstance(node, (ast.BinOp, ast.UnaryOp, ast.Compare)):
        return True
    # what an array module makes is new, unless it is asked not to copy
    callee = node.func if isinstance(node, ast.Call) else None
    return (
        isinstance(callee, ast.Attribute)
        and isinstance(plan.analysis.kind(callee.value), Inst)
        and plan.rules.member("xp.Module", callee.attr) is not None
        and callee.attr not in _VIEWS
    )


# the dtypes that PyTorch refuses in a reduction, and what NumPy computes with instead
_BOOLEANS = (frozenset({"bool"}), "value.long()")
_REFUSED: dict[str, tuple[frozenset[str], str]] = {"argmax": _BOOLEANS, "argmin": _BOOLEANS}
_NOT_FLOATING = (_WHOLE, "value.double()")


def converted_reduction(plan: Plan, node: ast.AST, row: Row) -> None:
    """``mean``, ``std``, ``var`` of whole numbers, ``argmax`` of conditions: NumPy converts, PyTorch refuses."""
    call = plan.source.parents.get(node)
    assert isinstance(node, ast.Attribute)
    if not isinstance(call, ast.Call) or call.func is not node:
        plan.mark(node, row, row.name, "manual", "a method that is passed as a value")
        return
    plan.call(call, row, node, receiver=node.value)
    dtypes, conversion = _REFUSED.get(node.attr, _NOT_FLOATING)
    kinds = options(plan.analysis.kind(node.value))
    if all(isinstance(k, Tensor) and k.dtype in dtypes for k in kinds):
        if "array_module" not in plan.templates.get(call, ""):
            plan.wraps[node.value] = Wrap(plan.source.span(node.value), conversion)


# -- where host and device meet ------------------------------------------------------------------------------------


def crossings(plan: Plan) -> None:
    """Puts conversions where values cross between NumPy on the host and tensors; unknown kinds are never touched."""
    for node in plan.source.of(
        ast.Call, ast.BinOp, ast.Compare, ast.Attribute, ast.Subscript, ast.FormattedValue, ast.Dict
    ):
        if isinstance(node, ast.Call):
            _call(plan, node)
            identity.asserted(plan, node)
        elif isinstance(node, ast.BinOp):
            _arithmetic(plan, node)
        elif isinstance(node, ast.Compare):
            _comparison(plan, node)
        elif isinstance(node, ast.Attribute):
            if node.attr in _OF_DTYPES and is_torch_dtype(plan.analysis.kind(node.value)):
                wrap(plan, node.value, "compat.numpy_dtype(value)")
        elif isinstance(node, ast.Subscript):
            subscript(plan, node)
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                if key is not None and is_torch_dtype(plan.analysis.kind(key)):
                    wrap(plan, key, "compat.numpy_dtype(value)")  # such a table is asked by dtypes of NumPy
        elif isinstance(node, ast.FormattedValue) and node.format_spec is None:
            as_text(plan, node.value)


def _call(plan: Plan, call: ast.Call) -> None:
    callee = plan.analysis.kind(call.func)
    arguments = [*call.args, *(k.value for k in call.keywords)]
    if (
        isinstance(callee, Ref)
        and callee.name in _OF_OBJECTS
        and len(arguments) > 0
        and is_torch_dtype(plan.analysis.kind(arguments[0]))
    ):
        wrap(plan, arguments[0], "compat.numpy_dtype(value)")
    elif isinstance(callee, Ref) and callee.name.startswith("numpy."):
        _numpy_call(plan, call, callee.name[6:], arguments)
    elif isinstance(callee, Method) and isinstance(callee.receiver, Inst) and callee.receiver.cls in GENERATORS:
        _numpy_call(plan, call, f"random.{callee.name}", arguments)
    elif isinstance(callee, Ref) and callee.name == "builtins.isinstance":
        _isinstance(plan, call)
    elif isinstance(callee, Ref) and takes_host_arrays(callee.name) or is_host_method(plan, call, callee):
        for argument in arguments:
            to_host_if_array(plan, argument)
    elif (
        callee == Ref("builtins.map")
        and call.args
        and isinstance(mapped := plan.analysis.kind(call.args[0]), Ref)
        and (mapped.name.startswith("numpy.") or takes_host_arrays(mapped.name))
    ):
        for argument in call.args[1:]:  # `map(np.max, x.data)`
            to_host_if_array(plan, argument)
    elif writes_text(plan, call, callee):
        for argument in (*call.args, *(k.value for k in call.keywords if k.arg not in ("file", "sep", "end"))):
            as_text(plan, argument)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _ASSERTIONS and len(call.args) >= 2:
        _compare_dtypes(plan, call.args[:2])
    elif (
        isinstance(callee, Method)
        and callee.name == "dot"
        and isinstance(call.func, ast.Attribute)
        and len(arguments) == 1
    ):
        if "array_dot" not in plan.templates.get(call, ""):
            _same_dtype(plan, call.func.value, callee.receiver, arguments[0], plan.analysis.kind(arguments[0]))
    elif all(isinstance(k, Method) and isinstance(k.receiver, HostArray) for k in options(callee)):
        _method_on_host(plan, call, arguments)
    elif takes_variables(plan, callee):
        arguments_as_tensors(plan, call, callee)


def _method_on_host(plan: Plan, call: ast.Call, arguments: list[ast.expr]) -> None:
    """``array.astype(x.dtype)``: NumPy takes no dtype of torch."""
    dtypes = [a for a in arguments if is_torch_dtype(plan.analysis.kind(a))]
    if dtypes and isinstance(call.func, ast.Attribute):
        for argument in dtypes:
            wrap(plan, argument, "compat.numpy_dtype(value)")
        plan.mark(call.func, None, f"numpy.ndarray.{call.func.attr}", "exact", "", _CODE)


def _numpy_call(plan: Plan, call: ast.Call, name: str, arguments: list[ast.expr]) -> None:
    if name == "copyto" and len(call.args) == 2 and not call.keywords and _may_be_parameter(plan, call.args[0]):
        plan.replace(
            call, "compat.copyto(dst, src)", {"dst": plan.operand(call.args[0]), "src": plan.operand(call.args[1])}
        )
        plan.mark(call.func, None, "numpy.copyto", "exact", "", _CODE)
        return
    converted = False
    for argument in arguments:
        parts = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
        for part in parts:
            converted = to_host(plan, part) or converted
    if (
        not converted
        and name in _OF_TENSORS_TOO
        and len(call.args) == 1
        and plan.imports_chainer
        and plan.analysis.kind(call.args[0]) == UNKNOWN
        and among_tensors(plan, call)
    ):
        converted = wrap(plan, call.args[0], "compat.to_host(value)")
    if not converted:
        return
    written = plan.analysis.kind(call.args[0]) if call.args else UNKNOWN
    if (name in _IN_PLACE or name.endswith(".at")) and not all(isinstance(k, HostArray) for k in options(written)):
        plan.mark(
            call.func,
            None,
            f"numpy.{name}",
            "review",
            "writes into a converted tensor: on a GPU that is a copy, use the array module instead",
            _CODE,
        )
    else:
        plan.mark(call.func, None, f"numpy.{name}", "exact", "", _CODE)


def _may_be_parameter(plan: Plan, node: ast.expr) -> bool:
    """Whether an expression is a tensor, or the array in something that nobody knows."""
    kinds = options(plan.analysis.kind(node))
    if all(isinstance(k, Tensor) for k in kinds):
        return True
    return (
        kinds == (UNKNOWN,)
        and plan.imports_chainer
        and isinstance(node, ast.Attribute)
        and node.attr in ("data", "array", "grad")
    )


def _isinstance(plan: Plan, call: ast.Call) -> None:
    """``isinstance(x, numpy.ndarray)`` of what is a tensor by now."""
    if len(call.args) != 2:
        return
    kinds = options(plan.analysis.kind(call.args[0]))
    if not all(isinstance(k, Tensor) and k.array for k in kinds):
        return
    wanted = plan.analysis.kind(call.args[1])
    if isinstance(wanted, Ref) and wanted.name == "numpy.ndarray":
        plan.replace(call.args[1], "torch.Tensor", {})
        plan.mark(call.args[1], None, "numpy.ndarray", "exact", "", _CODE)


def _arithmetic(plan: Plan, node: ast.BinOp) -> None:
    left, right = plan.analysis.kind(node.left), plan.analysis.kind(node.right)
    if isinstance(node.op, ast.Mod) and scalar_type(left) == "str":
        if not isinstance(left, Const) or "%s" in left.value or "%r" in left.value:
            as_text(plan, node.right)
        return
    for side, kind, other, at in ((node.left, left, right, node.right), (node.right, right, left, node.left)):
        if _may_be_host_array(kind) and all(isinstance(k, Tensor) for k in options(other)):
            if all(isinstance(k, Tensor) and k.array for k in options(other)):
                wrap(plan, side, tensor_of(plan, side))
            elif isinstance(at, (ast.Name, ast.Attribute)):
                # a Variable keeps its dtype beside an array
                wrap(plan, side, tensor_of(plan, side) + ".to(variable)", variable=at)
            else:
                wrap(plan, side, "torch.as_tensor(value, dtype=torch.get_default_dtype())")
    if isinstance(node.op, ast.FloorDiv) and any(
        isinstance(k, Tensor) and not k.array and k.dtype not in _WHOLE for k in (left, right)
    ):
        plan.replace(node, "torch.floor(a / b)", {"a": plan.operand(node.left), "b": plan.operand(node.right)})
        plan.mark(node, plan.rules.rows.get("chainer.Variable.__floordiv__"), "chainer.Variable.__floordiv__", "exact")
        return
    if isinstance(node.op, ast.MatMult):
        _same_dtype(plan, node.left, left, node.right, right)
    elif _becomes_double(node.op, left, right):
        wrap(plan, node.left, "value.double()")
    elif _becomes_double(node.op, right, left):
        wrap(plan, node.right, "value.double()")
    elif isinstance(node.op, ast.Sub):
        for side, kind in ((node.left, left), (node.right, right)):
            if isinstance(kind, Tensor) and kind.array and kind.dtype == "bool":
                # NumPy counts with them, PyTorch refuses to subtract
                other = right if side is node.left else left
                dtype = other.dtype if isinstance(other, Tensor) and other.dtype in _WHOLE - {"bool"} else None
                wrap(plan, side, f"value.to(torch.{dtype})" if dtype else "value.long()")


def _same_dtype(plan: Plan, left: ast.expr, a: Kind, right: ast.expr, b: Kind) -> None:
    """Converts one factor of a product of matrices, as NumPy does; PyTorch multiplies equal dtypes only."""
    if not all(isinstance(k, Tensor) and k.array for k in (a, b)):
        return
    dtypes = {k.dtype or "" for k in (a, b) if isinstance(k, Tensor)}
    if len(dtypes) < 2 or not dtypes <= _ORDERED.keys():
        return
    # int64 and float32 give float64, as each of int32 and float32 does
    common = "float64" if "float32" in dtypes and dtypes & {"int32", "int64"} else max(dtypes, key=_ORDERED.__getitem__)
    for side, kind in ((left, a), (right, b)):
        if isinstance(kind, Tensor) and kind.dtype != common and side not in plan.wraps:
            wrap(plan, side, f"value.to(torch.{common})")


def _may_be_host_array(kind: Kind) -> bool:
    """Whether a value is an array of NumPy, or starts as one: ``self.mean = 0.9 * self.mean + 0.1 * x.array``."""
    kinds = options(kind)
    return any(isinstance(k, HostArray) for k in kinds) and all(
        isinstance(k, HostArray) or isinstance(k, Tensor) and k.array for k in kinds
    )


def _becomes_double(op: ast.operator, kind: Kind, other: Kind) -> bool:
    """Whether NumPy computes in float64 where PyTorch would take float32: whole numbers and floating ones."""
    if not (isinstance(kind, Tensor) and kind.array and kind.dtype in _WHOLE):
        return False
    if isinstance(op, ast.Div):
        if scalar_type(other) in ("int", "bool", "float"):
            return True
        if isinstance(other, Tensor) and other.dtype in _WHOLE:
            return True
    if scalar_type(other) == "float":
        return True
    return isinstance(other, Tensor) and other.array and other.dtype == "float32" and kind.dtype in ("int32", "int64")


# -- dtypes --------------------------------------------------------------------------------------------------------


def _comparison(plan: Plan, node: ast.Compare) -> None:
    """``x.dtype in names`` looks among dtypes of NumPy; other comparisons are made between dtypes of torch."""
    identity.compared(plan, node)
    sides = [node.left, *node.comparators]
    if isinstance(node.ops[-1], (ast.In, ast.NotIn)) and not isinstance(sides[-1], (ast.Tuple, ast.List)):
        if is_torch_dtype(plan.analysis.kind(node.left)):
            wrap(plan, node.left, "compat.numpy_dtype(value)")
    else:
        _compare_dtypes(plan, sides)


def _compare_dtypes(plan: Plan, sides: list[ast.expr]) -> None:
    """``x.dtype == np.float32``: both sides become dtypes of torch, which never equal those of NumPy."""
    parts = [part for side in sides for part in (side.elts if isinstance(side, (ast.Tuple, ast.List)) else [side])]
    kinds = [plan.analysis.kind(part) for part in parts]
    if any(map(is_torch_dtype, kinds)):
        for part, kind in zip(parts, kinds, strict=True):
            if not is_torch_dtype(kind):
                _as_torch_dtype(plan, part, kind)


def _as_torch_dtype(plan: Plan, node: ast.expr, kind: Kind) -> None:
    dtype = dtype_of(kind)
    if dtype is not None and node not in plan.edits:
        plan.replace(node, f"torch.{dtype}", {})
    elif dtype is None and not is_torch_dtype(kind) and not isinstance(node, ast.Constant):
        wrap(plan, node, "compat.torch_dtype(value)")


__all__ = ["astype", "crossings", "converted_reduction"]
