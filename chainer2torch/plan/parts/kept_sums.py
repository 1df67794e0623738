"""``total += loss.data`` before ``history.append(total)``: NumPy gives a new number, PyTorch changes the tensor."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Kind, Tensor, options, scalar_type
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.kept_elements import is_kept

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_HELD = frozenset({"array", "data", "grad"})
_NUMBERS = ("int", "float", "bool")


def keeps_sum(context: Context, node: ast.AugAssign) -> bool:
    """Whether a number that is an array without axes changes while something else has it.

    What Variables hold (`x = loss.data`) is an array, which NumPy changes in place as well; arithmetic gives numbers.
    """
    target = node.target
    if context.migrated or not context.imports_chainer or not isinstance(target, (ast.Name, ast.Attribute)):
        return False
    kinds = [context.analysis.kind(part) for part in (node, target, node.value)]
    known = all(_is_number(kind) for kind in kinds)
    if not any(_may_be_tensor(kind) for kind in kinds) or not known and not all(map(_may_be_number, kinds)):
        return False
    scope = _scope(context, target)
    begun = _given(context, target, scope)
    if any(isinstance(value, ast.Attribute) and value.attr in _HELD for value in begun):
        return False
    if not known and not (begun and all(scalar_type(context.analysis.kind(value)) in _NUMBERS for value in begun)):
        return False
    return _is_shared(context, target, scope)


def _is_number(kind: Kind) -> bool:
    return all(
        isinstance(one, Tensor) and one.array and one.rank == 0 or scalar_type(one) in _NUMBERS for one in options(kind)
    )


def _may_be_number(kind: Kind) -> bool:
    return all(one == UNKNOWN or _is_number(one) for one in options(kind))


def _may_be_tensor(kind: Kind) -> bool:
    return any(one == UNKNOWN or isinstance(one, Tensor) for one in options(kind))


def _scope(context: Context, target: ast.expr) -> ast.AST:
    """Where a name, or an attribute of an object, is given a value and read."""
    around = ast.ClassDef if isinstance(target, ast.Attribute) else _FUNCTIONS
    found = context.source.enclosing(target, *(around if isinstance(around, tuple) else (around,)))
    return found or context.source.tree


def _given(context: Context, target: ast.expr, scope: ast.AST) -> list[ast.expr]:
    text = ast.unparse(target)
    return [
        statement.value
        for statement in within(scope).of(ast.Assign)
        if any(ast.unparse(one) == text for one in statement.targets)
    ]


def _is_shared(context: Context, target: ast.expr, scope: ast.AST) -> bool:
    """Whether a name, a container or a caller gets the number while it goes on being added to."""
    text, attribute = ast.unparse(target), isinstance(target, ast.Attribute)
    for statement in within(scope).of(ast.Assign):
        if len(statement.targets) > 1 and any(ast.unparse(one) == text for one in statement.targets):
            return True
    for read in within(scope).of(type(target)):
        if not isinstance(getattr(read, "ctx", None), ast.Load) or ast.unparse(read) != text:
            continue
        parent = context.source.parents.get(read)
        if isinstance(parent, ast.Return):
            if attribute:
                return True
        elif isinstance(parent, ast.Yield) or is_kept(context, read):  # type: ignore[arg-type]
            return True
    return False


__all__ = ["keeps_sum"]
