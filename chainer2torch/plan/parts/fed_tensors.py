"""Parameters of unknown kind that some call gives a tensor: ``def permuted(x, order): return np.take(x, order)``.

NumPy asks a tensor for its own ``take``, or gives a tensor back, where Chainer's program had an array.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Kind, Lst, Perhaps, Tensor, options, scalar_type
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.questions.perhaps import may_be_tensor

# methods of arrays that give arrays
_GIVE_ARRAYS = frozenset(
    "argmax argmin argsort astype clip copy cumsum dot flatten max mean min prod ravel reshape squeeze std sum".split()
) | {"swapaxes", "take", "transpose", "var"}
_ASSERTING = "testing.assert_"
_OF_ARRAYS = frozenset({"allclose", "array_almost_equal", "array_equal", "array_less"})
_MOST = 3  # names that are followed
# these read a tensor of the host themselves; one of a GPU raises, as CuPy's do
_READ = frozenset({"array", "asarray"})


def fed_to_numpy(context: Context, decisions: Decisions, name: str, node: ast.expr) -> bool:
    """Makes a host array of such an argument of a function of NumPy; anything else stays as it is."""
    return (
        name not in _READ and is_fed_tensor(context, node) and wrap(context, decisions, node, "compat.to_host(value)")
    )


def asserted_as_read(context: Context, call: ast.Call, name: str, node: ast.expr) -> bool:
    """``np.testing.assert_equal(y, expected)`` of what is an array of the host at times: NumPy reads a tensor there.

    It gives nothing back that could be one. A tensor of a GPU raises, as CuPy's arrays do. ``assert_equal`` finds no
    tensor equal to a number, and ``assert_almost_equal`` compares as numbers where neither side is an array.
    """
    if not name.startswith(_ASSERTING) or context.choices.style != "native" or node not in call.args:
        return False
    kinds = _known(context, node)
    tensors = [k for k in kinds if isinstance(k, Tensor)]
    sure = len(tensors) == len(kinds) and not isinstance(context.analysis.kind(node), Perhaps)
    if sure or not tensors or not all(k.array or k.either for k in tensors):
        return False
    if name.removeprefix(_ASSERTING) in _OF_ARRAYS:
        return True
    others = [k for other in call.args[:2] if other is not node for k in _known(context, other)]
    if name.removeprefix(_ASSERTING) not in ("almost_equal", "equal") or not others:
        return False
    numbers = ("bool", "float", "int")
    return all(isinstance(k, HostArray) and bool(k.rank) for k in others) or (
        name.endswith("almost_equal")
        and all(
            k.rank == 0 if isinstance(k, (HostArray, Tensor)) else scalar_type(k) in numbers
            for k in (*tensors, *others)
        )
    )


def _known(context: Context, node: ast.expr) -> tuple[Kind, ...]:
    """What may come for a value, as far as it is known."""
    kind = context.analysis.kind(node)
    return options(kind.known if isinstance(kind, Perhaps) else kind)


def is_fed_tensor(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind is such a parameter, a part of one, or computed with one.

    So is what something unknown gives that is handed tensors: ``p = target.forward(*in_vars)``.
    """
    return _is_fed(context, node, _MOST)


def means_the_same(call: ast.Call, name: str) -> bool:
    """Whether a method is called so that it does the same to arrays and to tensors: ``max()``, ``cumsum(0)``."""
    given = bool(call.args or call.keywords)
    return not given if name in ("max", "min", "round") else given and name in ("cumprod", "cumsum")


def _is_fed(context: Context, node: ast.expr, depth: int) -> bool:
    if context.analysis.kind(node) != UNKNOWN or depth == 0:
        return False
    if may_be_tensor(context, node):
        return True
    if isinstance(node, ast.Call):
        of_array = isinstance(node.func, ast.Attribute) and node.func.attr in _GIVE_ARRAYS
        return _is_handed_tensors(context, node) or (
            of_array and isinstance(node.func, ast.Attribute) and _is_fed(context, node.func.value, depth)
        )
    if isinstance(node, (ast.Subscript, ast.UnaryOp)):
        return _is_fed(context, node.value if isinstance(node, ast.Subscript) else node.operand, depth)
    if isinstance(node, ast.BinOp):
        return _is_fed(context, node.left, depth) or _is_fed(context, node.right, depth)
    if not isinstance(node, ast.Name):
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    info = context.analysis.functions.get(function) if function is not None else None
    if info is not None and node.id in info.tensor_fed:
        return True
    return any(isinstance(value, ast.Call) and _is_fed(context, value, depth - 1) for value in reaching(context, node))


def _is_handed_tensors(context: Context, call: ast.Call) -> bool:
    """Whether a call of what nobody knows passes Variables, or a list of them."""
    if not context.imports_chainer or context.migrated or context.analysis.kind(call.func) != UNKNOWN:
        return False
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    kinds = [context.analysis.kind(one.value if isinstance(one, ast.Starred) else one) for one in given]
    items = [item for kind in kinds for k in options(kind) for item in options(k.element if isinstance(k, Lst) else k)]
    return any(isinstance(item, Tensor) and not item.array for item in items)
