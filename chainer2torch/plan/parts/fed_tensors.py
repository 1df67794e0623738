"""Parameters of unknown kind that some call gives a tensor: ``def permuted(x, order): return np.take(x, order)``.

NumPy asks a tensor for its own ``take``, or gives a tensor back, where Chainer's program had an array.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap

# these read a tensor of the host themselves; one of a GPU raises, as CuPy's do
_READ = frozenset({"array", "asarray"})


def fed_to_numpy(context: Context, decisions: Decisions, name: str, node: ast.expr) -> bool:
    """Makes a host array of such an argument of a function of NumPy; anything else stays as it is."""
    return (
        name not in _READ and is_fed_tensor(context, node) and wrap(context, decisions, node, "compat.to_host(value)")
    )


def is_fed_tensor(context: Context, node: ast.expr) -> bool:
    """Whether a value of unknown kind is such a parameter, a part of one, or computed with one."""
    if context.analysis.kind(node) != UNKNOWN:
        return False
    if isinstance(node, (ast.Subscript, ast.UnaryOp)):
        return is_fed_tensor(context, node.value if isinstance(node, ast.Subscript) else node.operand)
    if isinstance(node, ast.BinOp):
        return is_fed_tensor(context, node.left) or is_fed_tensor(context, node.right)
    if not isinstance(node, ast.Name):
        return False
    function = context.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    info = context.analysis.functions.get(function) if function is not None else None
    return info is not None and node.id in info.tensor_fed
