"""Hooks of optimizers that are called for each parameter, ``__call__(self, rule, param)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source


def rule_of_hook(source: Source, param: ast.expr) -> str | None:
    """In a hook that is called for each parameter, ``__call__(self, rule, param)``: what it calls the rule."""
    method = source.enclosing(param, ast.FunctionDef)
    if not isinstance(method, ast.FunctionDef) or not isinstance(param, ast.Name) or method.name != "__call__":
        return None
    cls = source.parents.get(method)
    names = [argument.arg for argument in method.args.args]
    if not isinstance(cls, ast.ClassDef) or len(names) != 3 or param.id != names[2]:
        return None
    for_each = any(
        isinstance(s, ast.Assign)
        and isinstance(t := s.targets[0], ast.Name)
        and t.id == "call_for_each_param"
        and isinstance(s.value, ast.Constant)
        and s.value.value is True
        for s in cls.body
    )
    return names[1] if for_each else None
