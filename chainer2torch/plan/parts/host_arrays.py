"""How a host array becomes a tensor, where the two meet."""

from __future__ import annotations

import ast
import sys

from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Partial,
    Ref,
    Tensor,
    Tup,
    Union,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import element_of
from chainer2torch.analysis.models.array_kinds import entering
from chainer2torch.analysis.models.xp_modules import EITHER
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.tensor_arguments import for_nothing, tensor_arguments
from chainer2torch.plan.parts.assigned_values import assigned, reaching, returned, surely_since, unpacked
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.nested_arrays import tensors_within
from chainer2torch.plan.questions.none_attributes import may_hold_none
from chainer2torch.plan.questions.perhaps import may_be_host_array as is_host_perhaps
from chainer2torch.plan.questions.sent_arrays import is_sent_by_choice
from chainer2torch.plan.questions.xp_devices import is_device
from chainer2torch.rules.signature import BindError

_REVERSING = frozenset(
    {
        "chainercv.transforms.flip",
        "chainercv.transforms.random_flip",
        "numpy.flip",
        "numpy.fliplr",
        "numpy.flipud",
        "numpy.rot90",
    }
)
# methods, and functions of NumPy, that give another view of the same values
_VIEWING = frozenset({"expand_dims", "moveaxis", "reshape", "rollaxis", "squeeze", "swapaxes", "transpose", "view"})
_GIVING_BACK = frozenset({"numpy.asarray", "numpy.asanyarray", "chainer.backends.cuda.to_cpu"})  # what is an array
# parameters that take one array, in every function of Chainer's; layers that do
_ONE_ARRAY = frozenset({"condition", "x", "x0", "x1", "x2", "t", "y"})
_OF_ONE_INPUT: tuple[str, ...] = (
    "Linear",
    "Convolution1D",
    "Convolution2D",
    "Convolution3D",
    "ConvolutionND",
    "EmbedID",
)
_OF_ONE_INPUT += ("BatchNormalization", "LayerNormalization", "PReLU")
_MAKING = frozenset({"zeros", "ones", "empty", "full", "zeros_like", "ones_like", "arange"})
# functions that make an array of the device of one of the host
_SENDING = frozenset({"array", "asarray", "ascontiguousarray", "to_gpu"})
_COMPUTED = (ast.BinOp, ast.Call, ast.Compare, ast.Name, ast.UnaryOp)
_DEPTH = 3  # how many names and calls are followed


def arguments_as_tensors(context: Context, decisions: Decisions, call: ast.Call, callee: Kind) -> None:
    """Arrays on the host that a function or link gets, as tensors; a call that an earlier run has left stays."""
    if context.migrated:
        return
    called = [k.function if isinstance(k, Partial) else k for k in options(callee)]
    layer = all(isinstance(k, Ref) or isinstance(k, Inst) and isinstance(k.cls, str) for k in called)
    for argument in (k.value for k in call.keywords if k.arg is None):
        named = [k.element for k in options(context.analysis.kind(argument)) if isinstance(k, Dct)]
        if any(own != entering(own, layer) for element in named for own in options(element)):
            wrap(context, decisions, argument, "{name: compat.from_host(item) for name, item in value.items()}")
    without = for_nothing(context, call, callee)
    for argument in tensor_arguments(context, call, callee):
        kind = context.analysis.kind(argument)
        items = argument.elts if isinstance(argument, (ast.List, ast.Tuple)) else []
        kinds = [context.analysis.kind(item) for item in items]
        if isinstance(argument, ast.Starred):
            parts = kind.items if isinstance(kind, Tup) else (element_of(kind),)
            if any(own != entering(own, layer) for own in parts) or (
                all(own == UNKNOWN for own in parts) and comes_from_host(context, argument.value)
            ):
                wrap(context, decisions, argument.value, "map(compat.from_host, value)")
        elif isinstance(argument, ast.Tuple) or any(isinstance(k, Tensor) for k in kinds):
            for item, own in zip(items, kinds):  # some may be tensors as they are
                if layer and own != entering(own, layer):
                    wrap(context, decisions, item, tensor_of(context, item))
                elif layer and own == UNKNOWN and (template := as_tensor(context, item, layer)) is not None:
                    wrap(context, decisions, item, template)
        elif (template := as_tensor(context, argument, layer)) is not None:
            if template == "compat.from_host(value)" and context.choices.style == "native":
                alone = _of_arrays_alone(context, call, callee, argument)
                if alone is not None:
                    wrap(context, decisions, argument, alone)
                    continue
            # what takes nothing, too, is handed that on as it is
            takes_none = not all(isinstance(k, Ref) for k in options(callee)) or argument in without
            is_given = not takes_none or not may_hold_none(context, argument)
            wrap(context, decisions, argument, template if is_given else "compat.from_host(value)")


def mapped_as_tensors(context: Context, decisions: Decisions, call: ast.Call, callee: Kind) -> None:
    """``map(F.exp, rows)``: arrays on the host that a function or link of Chainer's gets one by one."""
    if callee != Ref("builtins.map") or len(call.args) < 2 or not takes_variables(context, context.kind(call.args[0])):
        return
    for values in call.args[1:]:
        elements = options(element_of(context.analysis.kind(values)))
        if not context.migrated and any(own != entering(own) for own in elements):
            alone = all(isinstance(own, HostArray) for own in elements) and not isinstance(values, ast.Starred)
            wrap(context, decisions, values, f"map({'torch.as_tensor' if alone else 'compat.from_host'}, value)")


def _of_arrays_alone(context: Context, call: ast.Call, callee: Kind, argument: ast.expr) -> str | None:
    """What makes a tensor of what can be nothing but an array, or a list of some: anything else would raise."""
    name = _parameter_of(context, call, callee, argument)
    if name == "xs" and not runs_backwards(context, argument):
        return "[torch.as_tensor(item) for item in value]"
    return tensor_of(context, argument) if name in _ONE_ARRAY else None


def _parameter_of(context: Context, call: ast.Call, callee: Kind, argument: ast.expr) -> str:
    """The name of the parameter of Chainer's that an argument is for; of its layers the input is ``x``."""
    kinds = options(callee)
    if all(isinstance(k, Inst) and isinstance(k.cls, str) and k.cls.endswith(_OF_ONE_INPUT) for k in kinds):
        return "x" if call.args == [argument] else ""
    row = context.rules.rows.get(callee.name) if isinstance(callee, Ref) else None
    if row is None or row.signature is None or not row.name.startswith("chainer.functions."):
        return ""
    try:
        given = row.signature.bind(call.args, call.keywords).given
    except BindError:
        return ""
    return next((name for name, node in given.items() if node is argument), "")


def as_tensor(context: Context, argument: ast.expr, layer: bool = True) -> str | None:
    """The template that makes a tensor of an argument of a function or link; None: it is one, or nothing is known."""
    kind = context.analysis.kind(argument)
    if kind == UNKNOWN:
        if is_sent_by_choice(context, argument):
            return "torch.as_tensor(value)"
        host = comes_from_host(context, argument) or is_host_perhaps(context, argument)
        return "compat.from_host(value)" if host else None
    if isinstance(kind, Lst) and kind.element == UNKNOWN and comes_from_host(context, argument):
        return "compat.from_host(value)"
    if layer and (nested := tensors_within(kind)) is not None:
        return nested
    if kind == entering(kind, layer):
        return None
    several = kind.ordered if isinstance(kind, Union) else options(kind.element) if isinstance(kind, Lst) else ()
    if not all(isinstance(k, (HostArray, Tensor)) for k in several):
        return "compat.from_host(value)"
    return tensors_of(context, argument) if isinstance(kind, Lst) else tensor_of(context, argument)


def may_be_host_array(kind: Kind) -> bool:
    """Whether a value is an array of NumPy, or starts as one: ``self.mean = 0.9 * self.mean + 0.1 * x.array``."""
    kinds = options(kind)
    return any(isinstance(k, HostArray) for k in kinds) and all(isinstance(k, (HostArray, Tensor)) for k in kinds)


def may_be_number_or_host_array(kind: Kind) -> bool:
    """Whether a value is an array of NumPy for one caller or class, and a number for another: ``x * self.scale``."""
    others = [k for k in options(kind) if not isinstance(k, (HostArray, Tensor))]
    numbers = bool(others) and all(scalar_type(k) in ("int", "float", "bool") for k in others)
    return numbers and any(isinstance(k, HostArray) for k in options(kind))


def is_moved_to_device(kind: Kind) -> bool:
    """Whether a value is an array of NumPy or, on some ways, one on the device: ``if gpu >= 0: x = cuda.to_gpu(x)``.

    What gets it takes CuPy's as well as NumPy's, so it is code that computes, and a tensor in both cases.
    """
    kinds = options(kind)
    return may_be_host_array(kind) and any(isinstance(k, Tensor) and k.array for k in kinds)


def takes_variables(context: Context, callee: Kind) -> bool:
    """Whether what is called is a function of Chainer's, a link, or the update of an optimizer."""
    if any(isinstance(k, Method) for k in options(callee)):  # `optimizer.update(lossfun, x, t)` of one of several
        return all(
            isinstance(k, Method)
            and k.name == "update"
            and isinstance(k.receiver, Inst)
            and context.analysis.derives(k.receiver.cls, "chainer.Optimizer")
            for k in options(callee)
        )
    kinds = [k.function if isinstance(k, Partial) else k for k in options(callee)]
    chainers = [
        isinstance(k, Ref)
        and k.name.startswith("chainer.functions.")
        or isinstance(k, Inst)
        and context.analysis.is_link(k)
        for k in kinds
    ]
    # one of several functions, which are handed the same
    return any(chainers) and all(of or isinstance(k, Func) or _is_own_object(k) for of, k in zip(chainers, kinds))


def _is_own_object(kind: Kind) -> bool:
    """Whether it is an object of a class of the project, which is called where a model is, too."""
    return isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo)


def is_initializer(context: Context, callee: Kind) -> bool:
    """Whether an initializer is called, which fills an array where that is: ``HeNormal()(weights)``."""
    return all(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.Initializer") for k in options(callee))


def filled_in_place(context: Context, decisions: Decisions, array: ast.expr) -> None:
    """An array of NumPy becomes a tensor on the same memory; one that runs backwards has none."""
    kind = context.analysis.kind(array)
    if all(isinstance(k, HostArray) for k in options(kind)) and not runs_backwards(context, array):
        wrap(context, decisions, array, "torch.as_tensor(value)")


def tensor_of(context: Context, node: ast.expr, dtype: str = "") -> str:
    """The template that makes a tensor of a host array; PyTorch takes none that runs backwards, so that is copied."""
    value = "value"
    if runs_backwards(context, node):  # of a tensor nothing does
        several = not all(isinstance(k, HostArray) for k in options(context.analysis.kind(node)))
        value = "compat.from_host(value)" if several else "value.copy()"
        if several and not dtype:
            return value
    return f"torch.as_tensor({value}, dtype=torch.{dtype})" if dtype else f"torch.as_tensor({value})"


def tensors_of(context: Context, node: ast.expr) -> str:
    """The same for a list of arrays."""
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        items: list[ast.expr] = [node.elt]
    elif isinstance(node, (ast.List, ast.Tuple)):
        items = node.elts
    else:
        items = [
            item
            for value in assigned(context, node, None)
            for item in ([value.elt] if isinstance(value, ast.ListComp) else getattr(value, "elts", []))
        ]
    copied = any(runs_backwards(context, item) for item in items)
    return f"[torch.as_tensor(item{'.copy()' if copied else ''}) for item in value]"


def comes_from_host(context: Context, node: ast.expr, depth: int = 0) -> bool:
    """Whether a value of unknown kind may be an array on the host: it is a parameter that some call gives one, an
    attribute that is assigned such a parameter, or is computed from one."""
    if any(isinstance(k, HostArray) for k in options(context.analysis.kind(node))):
        return depth > 0  # of the value itself its kind tells more
    if isinstance(node, (ast.BinOp, ast.Compare)):
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.left, *node.comparators)
        return not any(_is_variable(context, side) for side in sides) and any(
            comes_from_host(context, side, depth + 1) for side in sides
        )
    if isinstance(node, ast.UnaryOp):
        return comes_from_host(context, node.operand, depth + 1)
    if isinstance(node, ast.Call):
        called = node.func
        if context.analysis.kind(called) == Ref("numpy.load"):
            return True
        if isinstance(called, ast.Attribute) and context.analysis.kind(called.value) == EITHER:
            return not is_device(context, called.value)  # an array of NumPy's, where that is the module
        if isinstance(called, ast.Attribute) and called.attr in _MAKING and _is_unknown_module(context, called.value):
            return True
        if isinstance(called, ast.Attribute) and called.attr in _VIEWING and _is_unknown(context, called.value):
            return comes_from_host(context, called.value, depth + 1)
        # a Variable has no such method
        astype = isinstance(called, ast.Attribute) and called.attr == "astype" and _is_unknown(context, called.value)
        return (
            astype or _is_made_of_host(context, node) or depth < _DEPTH and _is_returned_from_host(context, node, depth)
        )
    if isinstance(node, ast.Subscript) and depth < _DEPTH and _is_unknown(context, node):
        return comes_from_host(context, node.value, depth + 1)
    if isinstance(node, ast.Attribute) and depth < _DEPTH:
        return any(comes_from_host(context, value, depth + 1) for value in _assigned_to_self(context, node))
    if not isinstance(node, ast.Name):
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is not None and node.id in info.host_fed:
        return True
    if depth >= _DEPTH or not _is_unknown(context, node):
        return False
    parts = [value for value, _ in unpacked(context, node, None) if value in context.source.parents]
    return any(
        isinstance(value, _COMPUTED) and comes_from_host(context, value, depth + 1)
        for value in (*reaching(context, node), *parts)
    )


def _is_unknown_module(context: Context, node: ast.expr) -> bool:
    """Whether a parameter is an array module, by its name, of which nobody knows which: some call hands another."""
    if not isinstance(node, ast.Name) or node.id != "xp" or not _is_unknown(context, node):
        return False
    function = context.source.enclosing(node, ast.FunctionDef)
    return isinstance(function, ast.FunctionDef) and any(a.arg == node.id for a in function.args.args)


def _is_returned_from_host(context: Context, call: ast.Call, depth: int) -> bool:
    """Whether a function of the file gives something unknown that may be an array on the host: ``self.start(xp)``."""
    callee = context.analysis.kind(call.func)
    made = returned(callee.info.node) if isinstance(callee, Func) and _is_unknown(context, call) else []
    return any(
        value in context.source.parents
        and isinstance(value, (ast.Call, ast.Name))
        and comes_from_host(context, value, depth + 1)
        for value in made
    )


def _is_made_of_host(context: Context, call: ast.Call) -> bool:
    """Whether a function of the project makes something unknown of an array on the host: ``padded(x, 8)``."""
    given = [context.analysis.kind(a) for a in (*call.args, *(k.value for k in call.keywords))]
    return (
        isinstance(context.analysis.kind(call.func), Func)
        and _is_unknown(context, call)
        and any(isinstance(k, HostArray) for kind in given for k in options(kind))
    )


def is_sent(context: Context, node: ast.expr, depth: int = 0) -> bool:
    """Whether an array of the device was made of one of the host whose dtype nobody knows, so it may be float64.

    ``xp.asarray(weights)``, ``cuda.to_gpu(weights)``, what has such a name, and what is computed from it.
    """
    if isinstance(node, ast.BinOp):
        return is_sent(context, node.left, depth) or is_sent(context, node.right, depth)
    if isinstance(node, (ast.Subscript, ast.UnaryOp)):
        return is_sent(context, node.value if isinstance(node, ast.Subscript) else node.operand, depth)
    if isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        told = len(node.args) > 1 or any(k.arg == "dtype" for k in node.keywords)
        kinds = options(context.analysis.kind(node.args[0])) if node.args else ()
        return (
            name in _SENDING
            and (not told or name == "to_gpu")
            and any(k == UNKNOWN or getattr(k, "dtype", "") in (None, "float64") for k in kinds)
        )
    made = _assigned_to_self(context, node) if isinstance(node, ast.Attribute) else assigned(context, node, None)
    return depth < _DEPTH and any(is_sent(context, value, depth + 1) for value in made)


def _is_unknown(context: Context, node: ast.expr) -> bool:
    return context.imports_chainer and not context.migrated and context.analysis.kind(node) == UNKNOWN


def _is_variable(context: Context, node: ast.expr) -> bool:
    """Whether a value is a tensor in any case: what is computed with it is one, too."""
    return all(isinstance(k, Tensor) for k in options(context.analysis.kind(node)))


def _assigned_to_self(context: Context, node: ast.Attribute) -> list[ast.expr]:
    """What the methods of a class assign to an attribute of their object, where a method of the class asks for it."""
    cls = context.enclosing_class(node)
    if cls is None or not isinstance(node.value, ast.Name) or node.value.id != "self":
        return []
    return [
        statement.value
        for statement in within(cls.node).of(ast.Assign)
        if any(
            isinstance(t, ast.Attribute)
            and t.attr == node.attr
            and isinstance(t.value, ast.Name)
            and t.value.id == node.value.id
            for t in statement.targets
        )
    ]


def runs_backwards(context: Context, node: ast.expr, depth: int = 0, function: ast.AST | None = None) -> bool:
    """Whether an array may be a view with a negative stride, as far as its function and those it calls show."""
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return any(isinstance(p, ast.Slice) and isinstance(p.step, ast.UnaryOp) for p in parts) or runs_backwards(
            context, node.value, depth, function
        )
    if depth >= _DEPTH:
        return False
    if isinstance(node, ast.Call):
        callee = context.analysis.kind(node.func)
        if isinstance(callee, Inst) and isinstance(callee.cls, ClassInfo):
            callee = context.analysis.class_attribute(callee.cls, "__call__", callee)
        if isinstance(callee, Func):
            inner = callee.info.node
            return any(runs_backwards(context, value, depth + 1, inner) for value in returned(inner))
        same = isinstance(callee, Ref) and callee.name in _GIVING_BACK
        if same or isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWING:
            held = getattr(node.func, "value", node.func)
            seen = node.args[0] if isinstance(callee, Ref) and node.args else held
            return runs_backwards(context, seen, depth, function)
        whole = not any(keyword.arg == "return_param" for keyword in node.keywords)
        return isinstance(callee, Ref) and callee.name in _REVERSING and whole
    if isinstance(node, ast.Attribute) and node.attr == "T":
        return runs_backwards(context, node.value, depth, function)
    lines = (0, sys.maxsize)
    if isinstance(node, ast.Name) and node in context.source.parents:
        lines = surely_since(context, node)
    made = [value for value in assigned(context, node, function) if lines[0] <= value.lineno < lines[1]]
    return any(runs_backwards(context, value, depth + 1, function) for value in made) or any(
        runs_backwards(context, value, depth + 1, where) for value, where in unpacked(context, node, function, lines)
    )
