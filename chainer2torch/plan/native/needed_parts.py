"""How many parts a batch needs: those that a function or a module cannot be called without.

Of ``*args`` the statements at the top of the function tell, which run in any case: ``assert len(args) >= 2``,
``x, t = args``, ``args[1]``.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import nodes_of

_LATER = (ast.Lambda, ast.IfExp, ast.BoolOp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_AT_LEAST: dict[type[ast.cmpop], int] = {ast.GtE: 0, ast.Eq: 0, ast.Gt: 1}


def needed_parts(function: FuncInfo, bound: bool) -> int:
    """How many positional arguments a call needs, ``self`` apart where the function is ``bound`` to an object."""
    a = function.node.args
    named = len([*a.posonlyargs, *a.args][bound:])
    if a.vararg is None:
        return named - len(a.defaults)
    rest = max(_needed(function.node, a.vararg.arg), default=0)
    return named + rest if rest else named - len(a.defaults)


def _needed(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, name: str) -> Iterator[int]:
    """What the statements need of the tuple ``name``, which none of them may bind to something else."""
    body = [ast.Expr(function.body)] if isinstance(function, ast.Lambda) else function.body
    if any(isinstance(n, ast.Name) and n.id == name and not isinstance(n.ctx, ast.Load) for n in nodes_of(function)):
        return
    for statement in body:
        if isinstance(statement, ast.Assert):
            yield _asserted(statement.test, name)
        elif isinstance(statement, ast.Assign) and _is(statement.value, name):
            yield from (_unpacked(target) for target in statement.targets)
        elif isinstance(statement, (ast.Assign, ast.Expr, ast.AugAssign, ast.Return)):
            yield from _indexed(statement, name)
        if isinstance(statement, (ast.If, ast.For, ast.While, ast.Try, ast.Return, ast.Raise)):
            return  # what stands behind it may not be reached


def _asserted(test: ast.expr, name: str) -> int:
    """``len(args) >= 2``."""
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or type(test.ops[0]) not in _AT_LEAST:
        return 0
    counted, least = test.left, test.comparators[0]
    counts = isinstance(counted, ast.Call) and ast.unparse(counted) == f"len({name})"
    number = least.value if isinstance(least, ast.Constant) and type(least.value) is int else None
    return number + _AT_LEAST[type(test.ops[0])] if counts and number is not None else 0


def _unpacked(target: ast.expr) -> int:
    """``x, t = args``, ``*x, t = args``."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
    return sum(not isinstance(part, ast.Starred) for part in parts)


def _indexed(statement: ast.stmt, name: str) -> Iterator[int]:
    """``args[1]``, ``args[-1]``, where that is computed in any case."""
    waiting: list[ast.AST] = [statement]
    for node in waiting:
        if isinstance(node, ast.Subscript) and _is(node.value, name):
            index = node.slice.operand if isinstance(node.slice, ast.UnaryOp) else node.slice
            if isinstance(index, ast.Constant) and type(index.value) is int:
                yield index.value + (index is node.slice)
        if not isinstance(node, _LATER):
            waiting += ast.iter_child_nodes(node)


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


__all__ = ["needed_parts"]
