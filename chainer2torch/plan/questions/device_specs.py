"""How the torch.device of a number of Chainer's is written: negative numbers are the CPU."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import options, scalar_type
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.paths import is_path

_ORDERED = (ast.Gt, ast.GtE, ast.Lt, ast.LtE)
_HELPER = "native.get_device({})"


def device_of_number(context: Context, spec: ast.expr, name: str) -> str:
    """The template of the device of a spec, which the template calls ``name``; a helper where it may be no number."""
    if not is_path(spec) or not is_number(context, spec):
        return _HELPER.format(name)
    if is_gpu(context, spec):
        return f"torch.device('cuda', {name})"
    return f"torch.device('cuda', {name}) if {name} >= 0 else torch.device('cpu')"


def is_number(context: Context, node: ast.expr) -> bool:
    """Whether a value is a whole number: by its kind, or since the code stands where it was compared with one."""
    if all(scalar_type(k) == "int" for k in options(context.kind(node))):
        return True
    return any(
        isinstance(test, ast.Compare)
        and isinstance(test.ops[0], _ORDERED)
        and ast.dump(test.left) == ast.dump(node)
        and scalar_type(context.kind(test.comparators[0])) == "int"
        for outer in _conditions(context, node)
        for test in ast.walk(outer.test)
    )


def is_gpu(context: Context, node: ast.expr) -> bool:
    """Whether a number is that of a GPU: the code stands in a block that begins with ``if gpu >= 0:``."""
    return any(
        _is_inside(context, node, outer) and _says_gpu(test, ast.dump(node))
        for outer in _conditions(context, node)
        for test in _parts(outer.test)
    )


def _parts(test: ast.expr) -> list[ast.expr]:
    """What a condition says: all parts of an ``and``."""
    return test.values if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And) else [test]


def _says_gpu(test: ast.expr, dumped: str) -> bool:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or ast.dump(test.left) != dumped:
        return False
    bound = ast.unparse(test.comparators[0])
    return (type(test.ops[0]), bound) in ((ast.GtE, "0"), (ast.Gt, "-1"), (ast.Gt, "0"))


def _conditions(context: Context, node: ast.expr) -> list[ast.If | ast.IfExp]:
    """The conditions around a place in its function."""
    found: list[ast.If | ast.IfExp] = []
    for outer in context.source.ancestors(node):
        if isinstance(outer, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            break
        if isinstance(outer, (ast.If, ast.IfExp)):
            found.append(outer)
    return found


def _is_inside(context: Context, node: ast.expr, outer: ast.If | ast.IfExp) -> bool:
    """Whether a place is in what runs if a condition holds."""
    body = outer.body if isinstance(outer.body, list) else [outer.body]
    return any(part is node or part in context.source.ancestors(node) for part in body)


__all__ = ["device_of_number", "is_gpu", "is_number"]
