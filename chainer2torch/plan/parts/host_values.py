"""Values that leave PyTorch: arguments of NumPy and other libraries, and what is written as text."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    HostArray,
    Inst,
    Kind,
    Lst,
    Ref,
    Tensor,
    Tup,
    options,
    scalar_type,
)
from chainer2torch.analysis.models.xp_modules import EITHER
from chainer2torch.analysis.source import nodes_of, within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching, unpacked
from chainer2torch.plan.parts.nested_arrays import holds_arrays_within
from chainer2torch.plan.parts.shapes import is_shape, returned_here
from chainer2torch.plan.questions.host_uses import dtype_of_host
from chainer2torch.plan.questions.none_attributes import may_hold_none
from chainer2torch.plan.questions.receivers import is_of_arrays_alone
from chainer2torch.plan.parts.sure_tensors import has_gradient, holds_tensors, is_summed

# libraries whose functions take arrays of NumPy; of others (a module of the user's own) nobody knows what they take
_OF_HOST_ARRAYS = frozenset(
    {
        "PIL",
        "cPickle",
        "cv2",
        "gym",
        "gymnasium",
        "h5py",
        "imageio",
        "joblib",
        "librosa",
        "matplotlib",
        "moviepy",
        "pandas",
        "pickle",
        "plotly",
        "pylab",
        "scipy",
        "seaborn",
        "skimage",
        "sklearn",
        "soundfile",
        "visdom",
        "wandb",
    }
)
# methods of plots, tables and logs of such libraries: their objects have no kind of their own
_OF_HOST_OBJECTS = frozenset(
    {
        "add_histogram",
        "add_image",
        "add_images",
        "add_scalar",
        "bar",
        "barh",
        "boxplot",
        "contour",
        "contourf",
        "errorbar",
        "fill_between",
        "hist",
        "hist2d",
        "imshow",
        "loglog",
        "matshow",
        "pcolor",
        "pcolormesh",
        "plot",
        "plot_surface",
        "quiver",
        "scatter",
        "semilogx",
        "semilogy",
        "set_data",
        "stem",
        "writerow",
        "writerows",
    }
)
_OF_LAYERS = frozenset({"W", "b", "gamma", "beta", "avg_mean", "avg_var"})
# methods of arrays that give arrays, or their elements
_MAKE_ARRAYS = frozenset(
    {
        "argmax",
        "argmin",
        "argsort",
        "astype",
        "clip",
        "copy",
        "cumsum",
        "diagonal",
        "dot",
        "flatten",
        "max",
        "mean",
        "min",
        "prod",
        "ravel",
        "repeat",
        "reshape",
        "round",
        "squeeze",
        "std",
        "sum",
        "swapaxes",
        "take",
        "trace",
        "transpose",
        "var",
    }
)
_NUMBERS = ("bool", "float", "int")
# `xp.ndim(x)`
_NO_ARRAYS = frozenset({"allclose", "array_equal", "asnumpy", "dtype", "isscalar", "ndim", "shape", "size"})
_STATISTICS = ("avg_mean", "avg_var")  # of layers alone
_OF_NETWORKS = re.compile(r"(\w*_)?(loss|losses|accuracy|acc|prob|probs|logit|logits|y|ys|output|outputs)(_\w*)?")


def to_host_if_array(context: Context, decisions: Decisions, node: ast.expr) -> None:
    """Makes a host array of what was an array in Chainer's program; Variables are left alone.

    A shape becomes a plain tuple, which is how it was written: ``print(x.shape)``.
    """
    if isinstance(node, ast.Starred):
        to_host_if_array(context, decisions, node.value)
    elif isinstance(node, (ast.Tuple, ast.List)):
        for part in node.elts:
            to_host_if_array(context, decisions, part)
    elif isinstance(node, ast.Dict):
        for part in node.values:
            to_host_if_array(context, decisions, part)
    elif is_shape(context, node):
        wrap(context, decisions, node, "tuple(value)")
    elif is_held_by_anything(context, node):
        wrap(context, decisions, node, host_array_of(context, node))
    else:
        kinds = _items(context.analysis.kind(node))
        if all(isinstance(k, Tensor) and k.array for k in kinds):
            asked = isinstance(node, ast.Call) and len(node.args) == 3 and ast.unparse(node.func) == "getattr"
            sure = context.choices.style == "native" and has_gradient(context, node)
            if (
                asked
                or isinstance(node, ast.Attribute)
                and (node.attr == "grad" and not sure or may_hold_none(context, node))
            ):
                wrap(context, decisions, node, "compat.to_host(value)")  # it may be None
            else:
                to_host(context, decisions, node)
        elif all(
            isinstance(k, Tensor) and k.array or isinstance(k, HostArray) or scalar_type(k) for k in kinds
        ) and any(isinstance(k, Tensor) for k in kinds):
            # a sum that starts from 0, or from an array of NumPy
            summed = context.choices.style == "native" and is_summed(context, node)
            wrap(context, decisions, node, "value.cpu().numpy()" if summed else "compat.to_host(value)")
        elif holds_arrays_within(context.analysis.kind(node)):
            wrap(context, decisions, node, "compat.shown(value)")  # rows of a table


def is_held_by_anything(context: Context, node: ast.expr, names: frozenset[str] = frozenset()) -> bool:
    """``x.array`` and ``x.data`` of what nobody knows: arrays, if it is a Variable. So is a part, half of it, what a
    method of arrays makes of it (``x.data.max(axis=1)``), and a name of it. ``names`` are on their way to this place.
    """
    if isinstance(node, ast.Name):
        if node.id in names or context.analysis.kind(node) != UNKNOWN or not context.imports_chainer:
            return False
        held = [*reaching(context, node), *(value for value, _ in unpacked(context, node, None))]
        held = held or _walked(context, node)
        added = [sum_.value for sum_ in _added(context, node)]
        numbers = ("int", "float") if added else ()
        given = [v for v in (*held, *added) if scalar_type(context.analysis.kind(v)) not in numbers]
        return bool(given) and all(is_held_by_anything(context, value, names | {node.id}) for value in given)
    if isinstance(node, ast.Subscript):
        return context.analysis.kind(node) == UNKNOWN and is_held_by_anything(context, node.value, names)
    if isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
        return is_held_by_anything(context, node.operand, names)
    made = node.func if isinstance(node, ast.Call) else node
    if isinstance(made, ast.Attribute) and made is not node and context.analysis.kind(made.value) == EITHER:
        return context.analysis.kind(node) == UNKNOWN and made.attr not in _NO_ARRAYS  # `xp.exp(x)`
    if isinstance(node, ast.Call) and isinstance(made, ast.Name) and context.analysis.kind(node) == UNKNOWN:
        given = returned_here(context, node) if made.id not in names else []
        if given:
            return all(is_held_by_anything(context, value, names | {made.id}) for value in given)
    if isinstance(node, ast.Call) and isinstance(made, ast.Attribute) and is_of_arrays_alone(node, made.attr):
        if context.imports_chainer and context.analysis.kind(made.value) == UNKNOWN:
            return context.analysis.kind(node) == UNKNOWN  # `state['mean'].round(3)`: nothing but an array has this
    if isinstance(made, ast.Attribute) and made.attr in ({"T"} if made is node else _MAKE_ARRAYS):
        return context.analysis.kind(node) == UNKNOWN and is_held_by_anything(context, made.value, names)
    if isinstance(node, ast.Call) and len(node.args) == 1 and context.analysis.kind(node.func) == Ref("builtins.abs"):
        return is_held_by_anything(context, node.args[0], names)
    if isinstance(node, ast.Compare):  # of arrays, if it is one
        whole = len(node.ops) > 1 or isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))
        return not whole and is_held_by_anything(context, node.left, names)
    if isinstance(node, ast.BinOp):
        sides = (node.left, node.right)
        return any(
            is_held_by_anything(context, one, names)
            and (
                scalar_type(context.analysis.kind(other)) in ("int", "float")
                or is_held_by_anything(context, other, names)
            )
            for one, other in (sides, sides[::-1])
        )
    return (
        isinstance(node, ast.Attribute)
        and node.attr in ("array", "data", "grad", *_STATISTICS)
        and context.imports_chainer
        and not context.migrated
        and (
            _may_be_variable(context.analysis.kind(node.value))
            or node.attr in _STATISTICS
            and context.analysis.is_link(context.analysis.kind(node.value))
        )
        and context.analysis.kind(node) == UNKNOWN
    )


def _may_be_variable(kind: Kind) -> bool:
    """Whether nothing is known of a value, or it is a Variable in some cases: `model(x, task)` also gives a dict."""
    return kind == UNKNOWN or any(isinstance(k, Tensor) and not k.array for k in options(kind))


def _added(context: Context, name: ast.Name) -> list[ast.AugAssign]:
    """What the function adds to a name: ``total += loss.data``."""
    scope = context.source.enclosing(name, ast.FunctionDef, ast.AsyncFunctionDef) or context.source.tree
    sums = within(scope).of(ast.AugAssign)
    return [node for node in sums if isinstance(node.target, ast.Name) and node.target.id == name.id]


def _walked(context: Context, name: ast.Name) -> list[ast.expr]:
    """What a loop goes through that has a name for its items: ``for i, row in enumerate(y.data)``."""
    for loop in context.source.ancestors(name):
        for one in getattr(loop, "generators", [loop] if isinstance(loop, ast.For) else []):
            target, items = one.target, one.iter
            counted = isinstance(items, ast.Call) and ast.unparse(items.func) == "enumerate" and items.args
            if counted and isinstance(target, ast.Tuple):
                target, items = target.elts[-1], items.args[0]
            if isinstance(target, ast.Name) and target.id == name.id:
                return [items]
    return []


def host_array_of(context: Context, node: ast.expr) -> str:
    """The template that makes a host array of ``x.data`` where nobody knows ``x``.

    What is called like the parameter of a layer, or like a loss, is a tensor: of anything else PyTorch's method raises.
    """
    held = next((n for n in nodes_of(node) if isinstance(n, ast.Attribute) and n.attr in ("array", "data")), None)
    owner = held.value if held is not None else None
    while isinstance(owner, ast.Subscript):
        owner = owner.value
    name = owner.attr if isinstance(owner, ast.Attribute) else owner.id if isinstance(owner, ast.Name) else ""
    of_layer = isinstance(owner, ast.Attribute) and owner.attr in _OF_LAYERS
    handed_on = any(isinstance(n, ast.Call) and isinstance(n.func, ast.Name) for n in nodes_of(node))
    if context.choices.style == "native" and not handed_on and (of_layer or _OF_NETWORKS.fullmatch(name)):
        return "value.cpu().numpy()"
    return "compat.to_host(value)"


def takes_host_arrays(name: str) -> bool:
    """Whether a function is of a library that knows arrays of NumPy only: ``cv2.imwrite``, ``PIL.Image.fromarray``."""
    return name.partition(".")[0] in _OF_HOST_ARRAYS


def is_host_method(context: Context, call: ast.Call, callee: Kind) -> bool:
    """``ax.imshow(x.data)``, ``writer.writerow([x.data])``: methods of other libraries, where the project has none of
    the name.
    """
    return (
        callee == UNKNOWN
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _OF_HOST_OBJECTS
        and call.func.attr not in context.analysis.once(_defined)
    )


def _defined(analysis: Analysis) -> frozenset[str]:
    """The names of all functions and methods of the project."""
    return frozenset(
        node.name
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.FunctionDef, ast.AsyncFunctionDef)
    )


def _items(kind: Kind) -> tuple[Kind, ...]:
    """The values in a kind, those in tuples and lists one by one."""
    if isinstance(kind, Lst):
        return _items(kind.element)
    if isinstance(kind, Tup) and kind.items:
        return tuple(k for item in kind.items for k in _items(item))
    return options(kind)


def to_host(context: Context, decisions: Decisions, node: ast.expr) -> bool:
    """Makes a host array of a tensor that NumPy gets."""
    kind = context.analysis.kind(node)
    kinds = options(kind)
    if all(isinstance(k, Tensor) for k in kinds):
        is_array = all(isinstance(k, Tensor) and k.array for k in kinds)
        return wrap(context, decisions, node, "value.cpu().numpy()" if is_array else "value.detach().cpu().numpy()")
    known = all(isinstance(k, (Tensor, HostArray)) or scalar_type(k) in _NUMBERS for k in kinds)
    if any(isinstance(k, Tensor) for k in kinds) and known:
        # one caller gives a tensor, another an array or a number
        return wrap(context, decisions, node, "compat.to_host(value)")
    if may_be_torch_dtype(context, node):
        return wrap(context, decisions, node, "compat.numpy_dtype(value)")
    items = (kind.element,) if isinstance(kind, Lst) else kind.items if isinstance(kind, Tup) else ()
    if items and all(isinstance(i, Tensor) for item in items for i in options(item)):
        plain = holds_tensors(context, node) if context.choices.style == "native" else None
        return wrap(context, decisions, node, plain or "compat.to_cpu(value)")
    return False


def may_be_torch_dtype(context: Context, node: ast.expr) -> bool:
    """``np.zeros(n, x.dtype)``: of a value that may be a tensor, or an array, or of which nothing is known.

    NumPy refuses the dtype of a tensor.
    """
    if is_torch_dtype(context.analysis.kind(node)):
        return True
    if not isinstance(node, ast.Attribute) or node.attr != "dtype":
        return False
    kinds = options(context.analysis.kind(node.value))
    unknown = UNKNOWN in kinds and context.imports_chainer
    if unknown and context.choices.style == "native" and dtype_of_host(context, node):
        return False
    return unknown or any(isinstance(k, Tensor) for k in kinds)


def wrap(context: Context, decisions: Decisions, node: ast.expr, template: str, **operands: ast.expr) -> bool:
    """Puts an expression into a template, unless an earlier run has done it."""
    if isinstance(node, ast.Starred) or _is_wrapped(node, template):
        return False
    if template.startswith("value.cpu().numpy()") and context.ask(_keeps_graphs_of_gradients, context.source.tree):
        template = template.replace("value.", "value.detach().", 1)
    return decisions.wrap(node, template, {k: context.operand(v) for k, v in operands.items()})


def _keeps_graphs_of_gradients(context: Context, tree: ast.Module) -> bool:
    """Whether gradients of the file may have a graph of their own: ``y.backward(enable_double_backprop=True)``."""
    return any(
        keyword.arg == "enable_double_backprop"
        for call in context.source.of(ast.Call)
        if isinstance(call.func, ast.Attribute) and call.func.attr == "backward"
        for keyword in call.keywords
    )


def _is_wrapped(node: ast.expr, template: str) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and len(node.args) == 1
        and template == f"compat.{node.func.attr}(value)"
    )


def is_torch_dtype(kind: Kind) -> bool:
    return isinstance(kind, Inst) and kind.cls == "torch.dtype"
