"""The parameters of a project's own functions, and what a call gives them."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.rules.signature import BindError, Bound, Signature


def bound(signature: Signature, call: ast.Call) -> Bound:
    """The arguments of a call by parameter; nothing where they do not fit."""
    try:
        return signature.bind(call.args, call.keywords)
    except BindError:
        return Bound({})


def bind(func: FuncInfo, call: ast.Call) -> Bound:
    """A call of a method of the project, without its receiver."""
    names = ", ".join(
        name if default is None else f"{name}={ast.unparse(default)}" for name, default in parameters(func, every=True)
    )
    return bound(Signature.parse(f"({names})"), call)


def parameter_at(call: Bound, node: ast.AST) -> str | None:
    """The parameter that an argument is for."""
    return next((name for name, value in call.given.items() if value is node), None)


def parameters(func: FuncInfo, every: bool = False) -> Sequence[tuple[str, ast.expr | None]]:
    """Names and defaults of a method's parameters, without its receiver; those by keyword only if they have to be
    given (or ``every``).
    """
    a = func.node.args
    positional = [p.arg for p in [*a.posonlyargs, *a.args]]
    defaults: list[ast.expr | None] = [None] * (len(positional) - len(a.defaults)) + list(a.defaults)
    found = list(zip(positional, defaults, strict=True))[0 if func.is_static else 1 :]
    by_keyword = [(p.arg, d) for p, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    if every:
        return [*found, *([("*_rest", None)] if a.kwonlyargs else []), *by_keyword]
    return [*found, *((name, default) for name, default in by_keyword if default is None)]


def of_constructor(analysis: Analysis, cls: ClassInfo) -> list[str]:
    """The names of the parameters of a class's constructor, in order; where it has that of one of Chainer's links
    (``L.Classifier``), as the rules know it.
    """
    for base in analysis.mro(cls):
        if isinstance(base, ClassInfo):
            if "__init__" in base.methods:
                return [name for name, _ in parameters(base.methods["__init__"], every=True)]
        elif (row := analysis.rules.find(base)) is not None and row.signature is not None:
            return [p.name for p in row.signature.parameters if p.kind == "positional"]
    return []


def defaults(init: FuncInfo | None) -> dict[str, int | None]:
    """The defaults that are integers or None."""
    values: dict[str, Any] = {}
    for name, default in parameters(init) if init is not None else ():
        if isinstance(default, ast.Constant) and (default.value is None or type(default.value) is int):
            values[name] = default.value
    return values
