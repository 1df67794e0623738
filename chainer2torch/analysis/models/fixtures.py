"""Fixtures of pytest: a parameter of a test has the name of the function that makes its value.

Source: https://docs.pytest.org/en/stable/how-to/fixtures.html
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, HostArray, Kind, Ref, Tensor, Tup, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import nodes_of

_FIXTURE = Ref("pytest.fixture")


def fixtures(interpreter: Interpreter, func: FuncInfo) -> dict[str, Kind]:
    """The kinds of the parameters of a test, or of a fixture, that fixtures of its file make."""
    if isinstance(func.node, ast.Lambda) or func.called:
        return {}
    if not func.name.startswith("test") and not _is_fixture(interpreter, func.node):
        return {}
    found: dict[str, Kind] = {}
    given = _parametrized(func.node)
    for parameter in (*func.node.args.args, *func.node.args.kwonlyargs):
        kind = _made(interpreter, func, parameter.arg) if parameter.arg not in given else None
        if kind is not None:
            found[parameter.arg] = kind
            if any(isinstance(k, HostArray) for k in options(kind)):
                func.host_fed.add(parameter.arg)
            if any(isinstance(k, Tensor) for k in options(kind)):
                func.tensor_fed.add(parameter.arg)
    return found


def _parametrized(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The names in the texts of a test's decorators: ``parametrize('x, y', ...)`` takes the place of fixtures."""
    texts = [
        inner.value
        for decorator in node.decorator_list
        for inner in nodes_of(decorator)
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str)
    ]
    return {name.strip() for text in texts for name in text.split(",")}


def _made(interpreter: Interpreter, func: FuncInfo, name: str) -> Kind | None:
    """What a fixture returns; None: there is none of this name, or nothing is known of its value."""
    for node in func.module.source.tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name and _is_fixture(interpreter, node):
            maker = interpreter.functions.get(node)
            if maker is None or maker is func or maker.is_generator:
                return None
            interpreter.reads(maker, "return")
            kind = maker.returns if maker.returns is not None else BOTTOM
            known = any(item != UNKNOWN for item in kind.items) if isinstance(kind, Tup) else kind != UNKNOWN
            return kind if known else None
    return None


def _is_fixture(interpreter: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(interpreter.facts.get(d.func if isinstance(d, ast.Call) else d) == _FIXTURE for d in node.decorator_list)


__all__ = ["fixtures"]
