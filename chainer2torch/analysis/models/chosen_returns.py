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

from chainer2torch.analysis.kinds import BOTTOM, NONE, UNKNOWN, Const, Kind, options
from chainer2torch.analysis.module_index import FuncInfo


class _Way(enum.Enum):
    """What a block ends in, beside a return statement: it goes on behind it, or nobody knows."""

    ON = enum.auto()
    OPEN = enum.auto()


def chosen_return(func: FuncInfo, fed: Mapping[str, Kind]) -> ast.Return | None:
    """The return statement at which a call ends; ``fed`` are its arguments by name. None: it may be one of several."""
    if isinstance(func.node, ast.Lambda) or func.is_generator or len(func.inside.of(ast.Return)) < 2:
        return None
    a = func.node.args
    defaults = (*zip([*a.posonlyargs, *a.args][::-1], a.defaults[::-1]), *zip(a.kwonlyargs, a.kw_defaults))
    known = {p.arg: Const(default.value) for p, default in defaults if isinstance(default, ast.Constant)}
    stored = {n.id for n in func.inside.of(ast.Name) if not isinstance(n.ctx, ast.Load)}
    flags = {name: kind for name, kind in {**known, **fed}.items() if name not in stored}
    found = _end(func.node.body, flags)
    return found if isinstance(found, ast.Return) else None


def _end(body: Sequence[ast.stmt], flags: Mapping[str, Kind]) -> ast.Return | _Way:
    for statement in body:
        if isinstance(statement, ast.Return):
            return statement
        if not any(isinstance(node, ast.Return) for node in ast.walk(statement)):
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


def _holds(test: ast.expr, flags: Mapping[str, Kind]) -> bool | None:
    """Whether a condition holds, if the arguments of a call say so."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        held = _holds(test.operand, flags)
        return None if held is None else not held
    if isinstance(test, ast.BoolOp):
        parts = [_holds(value, flags) for value in test.values]
        ends = isinstance(test.op, ast.Or)
        return ends if ends in parts else None if None in parts else not ends
    if isinstance(test, ast.Name):
        kind = flags.get(test.id)
        return bool(kind.value) if isinstance(kind, Const) else None
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.left, ast.Name):
        return _compared(test, flags.get(test.left.id))
    return None


def _compared(test: ast.Compare, kind: Kind | None) -> bool | None:
    """``flag is None``, ``mode == 'train'``."""
    asked = test.comparators[0]
    if kind is None or kind is BOTTOM or not isinstance(asked, ast.Constant):
        return None
    negated = isinstance(test.ops[0], (ast.IsNot, ast.NotEq))
    if isinstance(test.ops[0], (ast.Is, ast.IsNot)) and asked.value is None:
        kinds = options(kind)
        if kind == NONE or not any(k in (NONE, UNKNOWN) for k in kinds):
            return (kind == NONE) != negated
        return None
    if isinstance(test.ops[0], (ast.Eq, ast.NotEq)) and isinstance(kind, Const):
        return bool(kind.value == asked.value) != negated
    return None


__all__ = ["chosen_return"]
