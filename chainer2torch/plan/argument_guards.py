"""What guards ask about an argument as it is written: ``is_filled(x)``, ``calls_nothing(x)``, ``is_path(x)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Const, Kind, options


def is_filled(node: ast.expr) -> bool:
    """Whether an argument is zeros or ones of some shape as it stands, or a Variable of those."""
    while isinstance(node, ast.Call) and node.args:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in ("zeros", "ones"):
            return True
        if name not in ("Variable", "asarray", "array") and ast.unparse(node.func) != "Variable":
            return False
        node = node.args[0]
    return False


def is_path(node: ast.expr) -> bool:
    """A name, an attribute or an element, which may be said twice: ``self.score``, ``out[idx]``."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Subscript) and not is_path(node.slice) and not isinstance(node.slice, ast.Constant):
            return False
        node = node.value
    return isinstance(node, ast.Name)


def calls_nothing(node: ast.expr) -> bool:
    """Whether an argument can be left out: nothing happens when it is worked out."""
    return not any(
        isinstance(n, (ast.Call, ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr)) for n in ast.walk(node)
    )


def is_negative(node: ast.expr, kind: Kind) -> bool:
    """Whether an argument is a number below zero, as it stands or by its name: a rate that PyTorch refuses."""
    written = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    values = [option.value for option in options(kind) if isinstance(option, Const)]
    return written or any(type(value) in (int, float) and value < 0 for value in values)


__all__ = ["calls_nothing", "is_filled", "is_negative", "is_path"]
