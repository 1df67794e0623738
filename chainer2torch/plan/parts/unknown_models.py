"""``y = pickle.load(file)(x)`` behind which ``y.data`` is asked for: what gives Variables takes them, too.

Chainer's models make Variables of the arrays of NumPy that they are called with; a migrated one raises for them.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from chainer2torch.analysis.kinds import UNKNOWN, Func, HostArray, Kind, Ref, Tensor, options
from chainer2torch.analysis.source import within
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import tensor_of
from chainer2torch.plan.parts.host_values import wrap

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_OF_VARIABLES = frozenset({"array", "backward", "data", "unchain_backward"})


def arrays_to_unknown_model(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """Makes tensors of the arrays that something unknown gets, where it gives a Variable."""
    if context.migrated or not context.imports_chainer or not _is_unknown(context.analysis.kind(call.func)):
        return
    arrays = [a for a in call.args if all(isinstance(k, HostArray) for k in options(context.analysis.kind(a)))]
    beside = any(_are_variables(context, a) for a in call.args)
    if arrays and (beside or _gives_variable(context, call)):
        for argument in arrays:
            wrap(context, decisions, argument, tensor_of(context, argument))


def _is_unknown(callee: Kind) -> bool:
    """Whether nobody knows what is called, or a decorator has made something else of it."""
    return all(k == UNKNOWN or isinstance(k, Func) and k.info.is_changed for k in options(callee))


def _are_variables(context: Context, value: ast.expr) -> bool:
    """Whether a function gets a Variable: ``loss(y, t)`` computes with the array beside it."""
    return all(isinstance(k, Tensor) and not k.array for k in options(context.analysis.kind(value)))


def _gives_variable(context: Context, call: ast.Call) -> bool:
    """Whether the result is asked for what Variables alone have, or a function of Chainer's takes it."""
    parent, given = context.source.parents.get(call), options(context.analysis.kind(call))
    if given != (UNKNOWN,):  # the analysis has seen what is asked of it
        return all(isinstance(kind, Tensor) and not kind.array for kind in given)
    if _is_asked(context, call, parent):
        return True
    if not isinstance(parent, ast.Assign) or len(parent.targets) != 1:
        return False
    target, scope = parent.targets[0], context.source.enclosing(call, *_FUNCTIONS) or context.source.tree
    names = {name.id for name in (target.elts if isinstance(target, ast.Tuple) else [target]) if _is_name(name)}
    return any(
        use.id in names and isinstance(use.ctx, ast.Load) and _is_asked(context, use, context.source.parents.get(use))
        for use in within(scope).of(ast.Name)
    )


def _is_name(node: ast.expr) -> TypeGuard[ast.Name]:
    return isinstance(node, ast.Name)


def _is_asked(context: Context, value: ast.expr, parent: ast.AST | None) -> bool:
    if isinstance(parent, ast.Attribute):
        return parent.attr in _OF_VARIABLES
    if not isinstance(parent, ast.Call) or value not in parent.args:
        return False
    callee = context.analysis.kind(parent.func)
    if isinstance(parent.func, ast.Attribute) and parent.func.attr == "update" and value is not parent.args[0]:
        callee = context.analysis.kind(parent.args[0])  # optimizer.update(F.mean_squared_error, y, t)
    return isinstance(callee, Ref) and callee.name.startswith("chainer.functions.")


__all__ = ["arrays_to_unknown_model"]
