"""Decorators of Chainer's: the function below stays itself, and Chainer calls it with objects of its own."""
from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import Kind, Ref, parse_spec
from chainer2torch.analysis.names import FuncInfo

if TYPE_CHECKING:
    from chainer2torch.analysis.flow import Analysis

# what is passed to a function by the decorator's object: {position: kind}
_PASSED: dict[str, dict[int, str]] = {
    "chainer.dataset.converter": {1: "instance chainer.backend.Device"},
    "chainer.training.make_extension": {0: "instance chainer.training.Trainer"},
}


def decorator_name(analysis: Analysis, node: ast.expr) -> str | None:
    """The Chainer name of a decorator (called or not) that keeps the meaning of its function; else None."""
    kind = analysis.facts.get(node.func if isinstance(node, ast.Call) else node)
    return kind.name if isinstance(kind, Ref) and kind.name in _PASSED else None


def passed(analysis: Analysis, func: FuncInfo) -> dict[str, Kind]:
    """The kinds of parameters that Chainer fills when it calls a decorated function."""
    if isinstance(func.node, ast.Lambda):
        return {}
    found: dict[str, Kind] = {}
    parameters = [p.arg for p in (*func.node.args.posonlyargs, *func.node.args.args)]
    for decorator in func.node.decorator_list:
        for position, spec in _PASSED.get(decorator_name(analysis, decorator) or "", {}).items():
            if position < len(parameters):
                found[parameters[position]] = parse_spec(spec)
    return found
