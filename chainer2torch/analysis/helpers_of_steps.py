"""Functions that send a parameter backward, or step an optimizer that they are given: ``def update(opt, loss): ...``.

What happens to a graph in them is decided where they are called.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source

Function = ast.FunctionDef | ast.AsyncFunctionDef


def helper(source: Source, call: ast.Call) -> Function | None:
    """The function of the file that a call runs, by its name alone, where no other has this name."""
    name = _called(call)
    found = [node for node in source.of(ast.FunctionDef) if node.name == name] if name else []
    return found[0] if len(found) == 1 else None


def handed(function: Function, call: ast.Call, parameter: str) -> ast.expr | None:
    """What a call of a helper hands to one of its parameters."""
    names = [arg.arg for arg in (*function.args.posonlyargs, *function.args.args)]
    if isinstance(call.func, ast.Attribute):
        names = names[1:]
    if any(isinstance(arg, ast.Starred) for arg in call.args):
        return None
    given = {**dict(zip(names, call.args)), **{k.arg: k.value for k in call.keywords if k.arg is not None}}
    return given.get(parameter)


def asked(function: Function, members: frozenset[str]) -> frozenset[str]:
    """The parameters of a function of which it calls one of these methods, with no other name for them."""
    names = {arg.arg for arg in (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)}
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return frozenset(
        node.func.value.id
        for node in ast.walk(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in members
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in names - stored
    )


def calls_of(source: Source, function: Function) -> list[ast.Call]:
    """The calls of a helper in its file."""
    return [call for call in source.of(ast.Call) if _called(call) == function.name and helper(source, call) is function]


def _called(call: ast.Call) -> str:
    function = call.func
    if isinstance(function, ast.Name):
        return function.id
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
        return function.attr
    return ""
