"""Values that are None for the callers that are seen: a form without the argument would ignore another caller's.

``def pick(x, axis=None): return F.squeeze(x, axis)``, which the project calls as ``pick(x)``: ``torch.squeeze(x)`` is
right for every call that stands there, and silently wrong for ``pick(x, axis=1)`` in a notebook.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.local_nones import local_may_be_none
from chainer2torch.plan.questions.nones import parameters_of_none

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def is_open_none(context: Context, node: ast.expr) -> bool:
    """Whether a caller that nobody sees may give something where all that are seen give None.

    A parameter of a function that others may call (not of a private or an inner one), or an attribute that a public
    constructor sets from one; unless the code asks before whether it is None.
    """
    if isinstance(node, ast.Attribute):
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self"
        return is_own and node.attr in context.analysis.once(_attributes) and not _is_asked(context, node)
    if not isinstance(node, ast.Name):
        return False
    function = context.source.enclosing(node, *_FUNCTIONS, ast.Lambda)
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not _is_parameter(function, node.id):
        return False
    is_public = _is_public(context.source.parents.get(function), function)
    if not is_public or (function, node.id) not in context.analysis.once(parameters_of_none):
        return False
    given = local_may_be_none(context, node, lambda value: True)
    return given is None and not _is_asked(context, node)


def _attributes(analysis: Analysis) -> frozenset[str]:
    """The names under which public methods keep a parameter that may be None: ``self.axis = axis``."""
    nones = analysis.once(parameters_of_none)
    return frozenset(
        target.attr
        for cls in analysis.classes.values()
        for method in cls.methods.values()
        if isinstance(method.node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _is_public(cls.node, method.node)
        for node in within(method.node).of(ast.Assign)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and (method.node, node.value.id) in nones
        for target in node.targets
        if isinstance(target, ast.Attribute)
    )


def _is_public(outer: ast.AST | None, function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    is_special = function.name.startswith("__") and function.name.endswith("__")
    return not isinstance(outer, _FUNCTIONS) and (is_special or not function.name.startswith("_"))


def _is_parameter(function: ast.FunctionDef | ast.AsyncFunctionDef, name: str) -> bool:
    arguments = function.args
    return any(a.arg == name for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))


def _is_asked(context: Context, node: ast.expr) -> bool:
    """Whether a condition around a value, or one that leaves before it, asks for it."""
    text = ast.unparse(node)
    inner: ast.AST = node
    for outer in context.source.ancestors(node):
        if isinstance(outer, (ast.If, ast.IfExp)) and inner is not outer.test and _mentions(outer.test, text):
            return True
        block = context.source.block(inner) if isinstance(inner, ast.stmt) else []
        if any(
            isinstance(before, ast.If) and _mentions(before.test, text) and isinstance(before.body[-1], _LEAVES)
            for before in (block[: block.index(inner)] if block else ())
        ):
            return True
        if isinstance(outer, _FUNCTIONS):
            return False
        inner = outer
    return False


def _mentions(test: ast.expr, text: str) -> bool:
    return any(isinstance(part, (ast.Name, ast.Attribute)) and ast.unparse(part) == text for part in ast.walk(test))


__all__ = ["is_open_none"]
