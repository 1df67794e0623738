"""Hard cases of arrays: copies, dtypes, and the places where host arrays and tensors meet."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Inst, Kind, Method, Ref
from chainer2torch.analysis.kinds import Tensor, options, scalar_type
from chainer2torch.analysis.models.callbacks import STATISTICS
from chainer2torch.analysis.models.host_lists import host_lists, is_host_list
from chainer2torch.analysis.models.numpy_functions import GENERATORS
from chainer2torch.analysis.models.xp_modules import XP
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts import identity, statistics_of_parameters
from chainer2torch.plan.parts.beside_arrays import beside_expression, beside_others, is_read_again, meets_variable
from chainer2torch.plan.parts.fed_tensors import asserted_as_read, fed_to_numpy
from chainer2torch.plan.parts.floor_divisions import floor_division
from chainer2torch.plan.parts.host_arrays import (
    runs_backwards,
    arguments_as_tensors,
    comes_from_host,
    filled_in_place,
    is_initializer,
    is_moved_to_device,
    mapped_as_tensors,
    may_be_host_array,
    may_be_number_or_host_array,
    takes_variables,
    tensor_of,
)
from chainer2torch.plan.parts.common_dtypes import becomes_double, made_double, promoted, same_dtype
from chainer2torch.plan.parts.compared_arrays import compared_as_tensors
from chainer2torch.plan.parts.compared_dtypes import compare_dtypes, is_no_dtype
from chainer2torch.plan.parts.host_branches import handed_on_host
from chainer2torch.plan.parts.divided_counts import divided
from chainer2torch.plan.parts.host_objects import is_method_of_library
from chainer2torch.plan.parts.host_values import (
    host_array_of,
    is_held_by_anything,
    is_host_method,
    is_torch_dtype,
    may_be_torch_dtype,
    takes_host_arrays,
    to_host,
    to_host_if_array,
    wrap,
)
from chainer2torch.plan.parts.indices import subscript
from chainer2torch.plan.parts.receivers import is_held_array
from chainer2torch.plan.parts.sequences_of_numbers import as_one_tensor, as_sequences, is_repeated
from chainer2torch.plan.parts.tested_arrays import asked_by_dtype, tested_class, tested_number, tested_type
from chainer2torch.plan.parts.types_of_arrays import asserts_class
from chainer2torch.plan.parts.unknown_arguments import unknown_as_tensors
from chainer2torch.plan.parts.taken_for_tensors import handed_arrays
from chainer2torch.plan.parts.named_dtypes import OF_DTYPES, compared_by_name, handed_by_name, member_by_name
from chainer2torch.plan.parts.unknown_models import arrays_to_unknown_model
from chainer2torch.plan.parts.walked_elements import walked_elements
from chainer2torch.plan.parts.written_values import call_as_text, formatted, items_as_text
from chainer2torch.plan.parts.written_values import part_as_text, row_of_text, writes_text
from chainer2torch.plan.parts.kept_elements import kept_element
from chainer2torch.plan.parts.overlaps import overlapping
from chainer2torch.plan.questions.choice import chosen
from chainer2torch.plan.questions.kept_on_device import is_held_by_class
from chainer2torch.plan.questions.made_tensors import made_tensor
from chainer2torch.plan.questions.own_names import own_name
from chainer2torch.plan.questions.perhaps import may_be_host_array as is_host_perhaps
from chainer2torch.plan.questions.receivers import among_tensors
from chainer2torch.plan.questions.sent_arrays import is_sent_by_choice
from chainer2torch.plan.questions.xp_devices import is_device

_CROSSED = (ast.Call, ast.BinOp, ast.Compare, ast.Attribute, ast.Subscript, ast.Dict, ast.Tuple)
_WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})
_IN_PLACE = frozenset({"copyto", "put", "place", "putmask", "fill_diagonal", "random.shuffle"})
# unittest's comparisons
_ASSERTIONS = frozenset(
    {"assertEqual", "assertEquals", "assertNotEqual", "assertIn", "assertNotIn", "assertIs", "assertIsNot"}
)
# what tells one dtype from another by its words or its class
_OF_OBJECTS = frozenset({"builtins.isinstance", "builtins.repr", "builtins.str"})
# what NumPy asks the array itself for: a tensor answers, and something else
_OF_TENSORS_TOO = frozenset({"argwhere", "nonzero", "size"})
# these read a tensor themselves
_MAKING_ARRAYS, _WRITE = frozenset({"array", "asarray"}), frozenset({"builtins.repr", "builtins.str"})
_CODE = "C2T320"
_OF_PYTHON = frozenset({"bool", "complex", "float", "int", "long"})  # np.float was Python's own, which takes tensors


def run(context: Context) -> Decisions:
    """Puts conversions where values cross between NumPy on the host and tensors; unknown kinds are never touched."""
    decisions = Decisions(context)
    walked_elements(context, decisions)
    for node in context.source.of(*_CROSSED, ast.Assert, ast.FormattedValue):
        if isinstance(node, ast.Call):
            _call(context, decisions, node)
            handed_arrays(context, decisions, node, context.analysis.kind(node.func))
            unknown_as_tensors(context, decisions, node)
            handed_on_host(context, decisions, node, context.analysis.kind(node.func))
            as_sequences(context, decisions, node)
            asked_by_dtype(context, decisions, node)
            identity.asserted(context, decisions, node)
        elif isinstance(node, ast.BinOp) and not is_repeated(context, node):
            if not divided(context, decisions, node):
                _arithmetic(context, decisions, node)
        elif isinstance(node, ast.Compare):
            tested_type(context, decisions, node)
            _comparison(context, decisions, node)
        elif isinstance(node, ast.Attribute):
            if node.attr in OF_DTYPES and is_torch_dtype(context.analysis.kind(node.value)):
                wrap(context, decisions, node.value, "compat.numpy_dtype(value)")
            member_by_name(context, decisions, node)
        elif isinstance(node, ast.Subscript):
            subscript(context, decisions, node)
            overlapping(context, decisions, node)
            kept_element(context, decisions, node)
        elif isinstance(node, ast.Dict):
            for key in node.keys:
                if key is not None and is_torch_dtype(context.analysis.kind(key)):
                    # such a table is asked by dtypes of NumPy
                    wrap(context, decisions, key, "compat.numpy_dtype(value)")
        elif isinstance(node, ast.Tuple):
            row_of_text(context, decisions, node)
        else:
            part_as_text(context, decisions, node)
    return decisions


def _call(context: Context, decisions: Decisions, call: ast.Call) -> None:
    callee = context.analysis.kind(call.func)
    arguments = [*call.args, *(k.value for k in call.keywords)]
    if (
        isinstance(callee, Ref)
        and callee.name in _OF_OBJECTS
        and len(arguments) > 0
        and is_torch_dtype(context.analysis.kind(arguments[0]))
    ):
        wrap(context, decisions, arguments[0], "compat.numpy_dtype(value)")
    elif made_tensor(context, call) is not None:
        return  # it makes a tensor, and takes tensors' dtypes and shapes as they are
    elif callee == Ref(STATISTICS):
        statistics_of_parameters.of_numpy(context, decisions, call)
    elif isinstance(callee, Ref) and callee.name.startswith("numpy."):
        _numpy_call(context, decisions, call, callee.name[6:], arguments)
    elif _is_put_on_host(context, call):
        to_host(context, decisions, call.args[0])
    elif isinstance(callee, Method) and isinstance(callee.receiver, Inst) and callee.receiver.cls in GENERATORS:
        _numpy_call(context, decisions, call, f"random.{callee.name}", arguments)
    elif isinstance(callee, Ref) and callee.name == "builtins.isinstance":
        tested_class(context, decisions, call)
    elif (
        isinstance(callee, Ref)
        and takes_host_arrays(callee.name)
        or (is_host_method(context, call, callee) or is_method_of_library(context, call, callee))
    ):
        for argument in arguments:
            to_host_if_array(context, decisions, argument)
    elif (
        isinstance(callee, Ref)
        and callee.name == "builtins.map"
        and call.args
        and isinstance(mapped := context.analysis.kind(call.args[0]), Ref)
        and (mapped.name.startswith("numpy.") or mapped.name in _WRITE or takes_host_arrays(mapped.name))
    ):
        for argument in call.args[1:]:  # `map(np.max, x.data)`
            (items_as_text if mapped.name in _WRITE else to_host_if_array)(context, decisions, argument)
    elif writes_text(context, call, callee):
        call_as_text(context, decisions, call, callee)
    elif asserts_class(context, call):
        tested_class(context, decisions, call)
    elif isinstance(call.func, ast.Attribute) and call.func.attr in _ASSERTIONS and len(call.args) >= 2:
        compare_dtypes(context, decisions, call.args[:2])
    elif (
        isinstance(callee, Method)
        and callee.name == "dot"
        and isinstance(call.func, ast.Attribute)
        and len(arguments) == 1
    ):
        choice = chosen(context, call)
        if choice is None or "array_dot" not in choice.helpers:
            same_dtype(
                context, decisions, call.func.value, callee.receiver, arguments[0], context.analysis.kind(arguments[0])
            )
    elif all(isinstance(k, Method) and isinstance(k.receiver, HostArray) for k in options(callee)):
        _method_on_host(context, decisions, call, arguments)
    elif takes_variables(context, callee):
        arguments_as_tensors(context, decisions, call, callee)
    else:
        _other_call(context, decisions, call, callee)


def _other_call(context: Context, decisions: Decisions, call: ast.Call, callee: Kind) -> None:
    """A call of an initializer, or of something that nobody knows."""
    mapped_as_tensors(context, decisions, call, callee)
    if is_initializer(context, callee):
        for argument in (*call.args, *(k.value for k in call.keywords)):
            filled_in_place(context, decisions, argument)
        return
    arrays_to_unknown_model(context, decisions, call)
    if callee == UNKNOWN and context.imports_chainer:
        for argument in call.args:
            kind = context.analysis.kind(argument)
            if is_moved_to_device(kind) or kind == UNKNOWN and is_sent_by_choice(context, argument):
                wrap(context, decisions, argument, tensor_of(context, argument))


def _method_on_host(context: Context, decisions: Decisions, call: ast.Call, arguments: list[ast.expr]) -> None:
    """``array.astype(x.dtype)``: NumPy takes no dtype of torch."""
    dtypes = [a for a in arguments if may_be_torch_dtype(context, a)]
    if dtypes and isinstance(call.func, ast.Attribute):
        for argument in dtypes:
            wrap(context, decisions, argument, "compat.numpy_dtype(value)")
        decisions.mark(call.func, None, f"numpy.ndarray.{call.func.attr}", "exact", "", _CODE)


def _is_put_on_host(context: Context, call: ast.Call) -> bool:
    """``losses.append(loss.data)`` of a list that only the host reads."""
    if context.choices.style != "native" or len(call.args) != 1 or getattr(call.func, "attr", "") != "append":
        return False
    lists = context.analysis.once_a_file(host_lists, context.source)
    return isinstance(call.func, ast.Attribute) and is_host_list(context.source, call.func.value, lists)


def _numpy_call(context: Context, decisions: Decisions, call: ast.Call, name: str, arguments: list[ast.expr]) -> None:
    if name == "copyto" and len(call.args) == 2 and not call.keywords and _may_be_parameter(context, call.args[0]):
        decisions.replace(
            call,
            _copied(context, *call.args) if context.choices.style == "native" else "compat.copyto(dst, src)",
            {"dst": context.operand(call.args[0]), "src": context.operand(call.args[1])},
        )
        decisions.mark(call.func, None, "numpy.copyto", "exact", "", _CODE)
        return
    if name in _OF_PYTHON:
        return
    if name == "isscalar" and len(arguments) == 1:
        tested_number(context, decisions, arguments[0])
        return
    converted = False
    for argument in arguments:
        parts = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else [argument]
        for part in parts:
            if asserted_as_read(context, call, name, part):
                continue
            if (
                _is_of_module(context, part)
                and wrap(context, decisions, part, "compat.to_host(value)")
                or to_host(context, decisions, part)
                or handed_by_name(context, decisions, part)
                or not _is_read(context, call, name, part)
                and (_held(context, decisions, part) or fed_to_numpy(context, decisions, name, part))
            ):
                converted = True
    if (
        not converted
        and name in _OF_TENSORS_TOO
        and len(call.args) == 1
        and context.imports_chainer
        and context.analysis.kind(call.args[0]) == UNKNOWN
        and among_tensors(context, call)
    ):
        converted = wrap(context, decisions, call.args[0], "compat.to_host(value)")
    if not converted:
        return
    out = next((keyword.value for keyword in call.keywords if keyword.arg == "out"), None)
    written = (
        context.analysis.kind(out if out is not None else call.args[0]) if out is not None or call.args else UNKNOWN
    )
    in_place = name in _IN_PLACE or name.endswith(".at") or out is not None
    if in_place and not all(isinstance(k, HostArray) for k in options(written)):
        message = "writes into a converted tensor: on a GPU that is a copy, use the array module instead"
        decisions.mark(call.func, None, f"numpy.{name}", "review", message, _CODE)
    else:
        decisions.mark(call.func, None, f"numpy.{name}", "exact", "", _CODE)


def _is_of_module(context: Context, node: ast.expr) -> bool:
    """``xp.asarray([0, 1])`` of a module that is handed in: NumPy's array where it is NumPy."""
    module = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    return module is not None and context.kind(module) == XP and not is_device(context, module)


def _is_read(context: Context, call: ast.Call, name: str, node: ast.expr) -> bool:
    """``np.array(x.data)``: NumPy reads a tensor of the host as an array; one of a GPU raises, as CuPy's do."""
    return (
        context.choices.style == "native"
        and name in _MAKING_ARRAYS
        and call.args[:1] == [node]
        and isinstance(node, ast.Attribute)
        and node.attr == "data"
    )


def _held(context: Context, decisions: Decisions, node: ast.expr) -> bool:
    """``np.argmax(x.array)`` of an x that nobody knows: NumPy would ask a tensor for its own ``argmax``."""
    return (
        context.imports_chainer
        and not context.migrated
        and context.analysis.kind(node) == UNKNOWN
        and (is_held_array(context, node) or is_held_by_anything(context, node))
        and wrap(context, decisions, node, host_array_of(context, node))
    )


def _may_be_parameter(context: Context, node: ast.expr) -> bool:
    """Whether an expression is a tensor, or the array in something that nobody knows."""
    kinds = options(context.analysis.kind(node))
    if all(isinstance(k, Tensor) for k in kinds):
        return True
    return (
        kinds == (UNKNOWN,)
        and context.imports_chainer
        and isinstance(node, ast.Attribute)
        and node.attr in ("data", "array", "grad")
    )


def _copied(context: Context, dst: ast.expr, src: ast.expr) -> str:
    """``np.copyto(dst, src)`` where ``dst`` is a tensor, by its kind or as the array of a layer's parameter."""
    owner = dst.value if isinstance(dst, ast.Attribute) else None
    of_layer = isinstance(owner, ast.Attribute) and owner.attr in ("W", "b", "gamma", "beta")
    if not all(isinstance(k, Tensor) for k in options(context.kind(dst))):
        if not of_layer or own_name(context, owner) is None:  # type: ignore[arg-type]
            return "compat.copyto(dst, src)"
    if all(isinstance(k, Tensor) for k in options(context.kind(src))):
        return "dst.copy_(src)"
    return f"dst.copy_(torch.as_tensor(src{'.copy()' if runs_backwards(context, src) else ''}))"


def _arithmetic(context: Context, decisions: Decisions, node: ast.BinOp) -> None:
    left, right = context.analysis.kind(node.left), context.analysis.kind(node.right)
    if isinstance(node.op, ast.Mod) and scalar_type(left) == "str":
        formatted(context, decisions, left, node.right)
        return
    for side, kind, other, at in ((node.left, left, right, node.right), (node.right, right, left, node.left)):
        if not all(isinstance(k, Tensor) for k in options(other)):
            if beside_others(context, decisions, side, kind, other, at):
                return
            continue
        if kind == UNKNOWN and is_held_by_class(context, at):  # its callers may hand arrays of NumPy
            wrap(context, decisions, side, tensor_of(context, side))
        elif kind == UNKNOWN and comes_from_host(context, side):
            if not is_read_again(at) and not _is_array(other):
                if beside_expression(context, decisions, node, side, other):
                    return
                continue
            moved = "" if _is_array(other) else ".to(variable)"
            wrap(context, decisions, side, tensor_of(context, side) + moved, variable=at)
        elif may_be_host_array(kind):
            if _is_array(other):
                wrap(context, decisions, side, tensor_of(context, side) + made_double(context, kind, at))
            elif is_read_again(at):
                # a Variable keeps its dtype beside an array
                wrap(context, decisions, side, tensor_of(context, side) + ".to(variable)", variable=at)
            elif beside_expression(context, decisions, node, side, other):
                return
        elif template := _of_numbers(kind, other):
            wrap(context, decisions, side, template)
        elif is_host_perhaps(context, side):
            if _is_array(other):
                wrap(context, decisions, side, "compat.from_host(value)")
            elif meets_variable(context, decisions, side, at):
                return
    if not isinstance(node.op, ast.FloorDiv) or not floor_division(context, decisions, node):
        _in_one_dtype(context, decisions, node, left, right)


def _in_one_dtype(context: Context, decisions: Decisions, node: ast.BinOp, left: Kind, right: Kind) -> None:
    """Whole numbers beside floating ones, and conditions that are subtracted, in what NumPy makes of them."""
    if promoted(context, decisions, node, left, right):
        return
    if isinstance(node.op, ast.MatMult):
        same_dtype(context, decisions, node.left, left, node.right, right)
    elif becomes_double(context, node.op, left, node.right):
        wrap(context, decisions, node.left, "value.double()")
    elif becomes_double(context, node.op, right, node.left):
        wrap(context, decisions, node.right, "value.double()")
    elif isinstance(node.op, ast.Sub):
        for side, kind in ((node.left, left), (node.right, right)):
            if isinstance(kind, Tensor) and kind.array and kind.dtype == "bool":
                # NumPy counts with them, PyTorch refuses to subtract
                other = right if side is node.left else left
                dtype = other.dtype if isinstance(other, Tensor) and other.dtype in _WHOLE - {"bool"} else None
                wrap(context, decisions, side, f"value.to(torch.{dtype})" if dtype else "value.long()")


def _of_numbers(kind: Kind, other: Kind) -> str:
    """What makes a tensor of numbers in a list beside an array, or of what is an array here and a number there."""
    if _is_array(other) and (template := as_one_tensor(kind)):
        return template
    return "compat.from_host(value)" if may_be_number_or_host_array(kind) else ""


def _is_array(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and k.array for k in options(kind))


# -- dtypes --------------------------------------------------------------------------------------------------------


def _comparison(context: Context, decisions: Decisions, node: ast.Compare) -> None:
    """``x.dtype in names`` looks among dtypes of NumPy; other comparisons are made between dtypes of torch."""
    identity.compared(context, decisions, node)
    compared_by_name(context, decisions, node)
    sides = [node.left, *node.comparators]
    if isinstance(node.ops[-1], (ast.In, ast.NotIn)) and not isinstance(sides[-1], (ast.Tuple, ast.List)):
        if is_torch_dtype(context.analysis.kind(node.left)):
            wrap(context, decisions, node.left, "compat.numpy_dtype(value)")
    elif not is_no_dtype(context, node):
        compare_dtypes(context, decisions, sides)
        if not isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
            compared_as_tensors(context, decisions, node)
