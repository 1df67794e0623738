"""What a call gives whose arguments say which ``return`` is meant: ``predict(x, argmax=True)``.

    def predict(self, x, argmax=False):
        y = self.model(x)
        if argmax:
            return y.array.argmax(axis=1)
        return y

Such a function gives an array or a Variable. Each call of it that tells its flags gives one of them.
"""

from __future__ import annotations

import ast
import enum
from collections.abc import Mapping, Sequence

from chainer2torch.analysis.kinds import Const
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import nodes_of


_SIMPLE = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr)  # what holds no other statement


class _Way(enum.Enum):
    """What a block ends in, beside a return statement: it goes on behind it, or nobody knows."""

    ON = enum.auto()
    OPEN = enum.auto()


def chosen_return(func: FuncInfo, names: Sequence[str], call: ast.Call) -> ast.Return | None:
    """The return statement at which a call ends; ``names`` are its positional parameters. None: one of several.

    Only what is written out in the call, or as a default, tells: the kind of a name does not say that it may be None.
    """
    if isinstance(func.node, ast.Lambda) or func.is_generator or func.ends < 2:
        return None
    a = func.node.args
    told: dict[str, ast.expr | None] = dict(zip((p.arg for p in [*a.posonlyargs, *a.args][::-1]), a.defaults[::-1]))
    told |= dict(zip((p.arg for p in a.kwonlyargs), a.kw_defaults))
    told |= dict(zip(names, call.args)) | {k.arg: k.value for k in call.keywords if k.arg is not None}
    flags = {n: Const(v.value) for n, v in told.items() if isinstance(v, ast.Constant) and n not in func.stored}
    found = _end(func.node.body, flags)
    return found if isinstance(found, ast.Return) else None


def _end(body: Sequence[ast.stmt], flags: Mapping[str, Const]) -> ast.Return | _Way:
    for statement in body:
        if isinstance(statement, ast.Return):
            return statement
        if isinstance(statement, _SIMPLE) or not any(isinstance(node, ast.Return) for node in nodes_of(statement)):
            continue
        if isinstance(statement, (ast.With, ast.AsyncWith)):
            way = _end(statement.body, flags)
        elif isinstance(statement, ast.If) and (holds := _holds(statement.test, flags)) is not None:
            way = _end(statement.body if holds else statement.orelse, flags)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        else:
            return _Way.OPEN
        if way is not _Way.ON:
            return way
    return _Way.ON


def _holds(test: ast.expr, flags: Mapping[str, Const]) -> bool | None:
    """Whether a condition holds, if the arguments of a call say so."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        held = _holds(test.operand, flags)
        return None if held is None else not held
    if isinstance(test, ast.BoolOp):
        parts = [_holds(value, flags) for value in test.values]
        ends = isinstance(test.op, ast.Or)
        return ends if ends in parts else None if None in parts else not ends
    if isinstance(test, ast.Name):
        flag = flags.get(test.id)
        return None if flag is None else bool(flag.value)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        return _compared(test, flags.get(test.left.id))
    return None


def _compared(test: ast.Compare, flag: Const | None) -> bool | None:
    """``flag is None``, ``mode == 'train'``."""
    asked, op = test.comparators[0], test.ops[0]
    if flag is None or not isinstance(asked, ast.Constant):
        return None
    if isinstance(op, (ast.Is, ast.IsNot)) and asked.value is None:
        return (flag.value is None) == isinstance(op, ast.Is)
    if isinstance(op, (ast.Eq, ast.NotEq)):
        return bool(flag.value == asked.value) == isinstance(op, ast.Eq)
    return None


__all__ = ["chosen_return"]
