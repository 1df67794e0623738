"""Functions that send a parameter backward, or step an optimizer that they are given: ``def update(opt, loss): ...``.

What happens to a graph in them is decided where they are called.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source, nodes_of

_ITEMS = frozenset({"items", "values"})
_NUMBERS = frozenset({"array", "data", "dtype", "ndim", "shape"})
_WALKS = frozenset({"enumerate", "list", "reversed", "sum", "tuple", "zip"})
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
    stored = {n.id for n in nodes_of(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    return frozenset(
        node.func.value.id
        for node in nodes_of(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in members
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id in names - stored
    )


def sent_back(function: Function, *, computed: bool = False) -> dict[str, int]:
    """The parameters on which, or on a part of which, a function calls `backward`; 2: a loop does so with each part.

    ``def step(name, result): loss = result['loss']; loss.backward()`` sends `result` back. ``computed``: those from
    which it computes what it sends back, too.
    """
    passed_on = _names_in if computed else _passed_on
    arguments = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    sources = {arg.arg: {arg.arg} for arg in arguments if arg.arg not in ("self", "cls")}
    looped = _parts_of_loops(function)
    statements = [n for n in nodes_of(function) if isinstance(n, (ast.Assign, ast.AugAssign, ast.AnnAssign))]
    given = [
        (t, n.value)
        for n in statements
        if n.value is not None
        for t in (n.targets if isinstance(n, ast.Assign) else [n.target])
    ]
    given += [(n.target, n.iter) for n in nodes_of(function) if isinstance(n, (ast.For, ast.AsyncFor))]
    for _ in range(3):  # as many names may lie between
        for target, value in given:
            found = {source for name in passed_on(value) for source in sources.get(name, ())}
            for part in nodes_of(target):
                if found and isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load):
                    sources.setdefault(part.id, set()).update(found)
    sent: dict[str, int] = {}
    for node in nodes_of(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward":
            for name in passed_on(node.func.value):
                for source in sources.get(name, ()):
                    sent[source] = max(sent.get(source, 1), 1 + (name in looped))
    return sent


def _parts_of_loops(function: Function) -> set[str]:
    loops = [node for node in nodes_of(function) if isinstance(node, (ast.For, ast.AsyncFor))]
    return {n.id for loop in loops for n in nodes_of(loop.target) if isinstance(n, ast.Name)}


def _names_in(value: ast.AST) -> set[str]:
    """The names in a value, but for those of which only the numbers are read."""
    if isinstance(value, ast.Name):
        return {value.id}
    if isinstance(value, ast.Attribute) and value.attr in _NUMBERS:
        return set()
    return {name for part in ast.iter_child_nodes(value) for name in _names_in(part)}


def _passed_on(value: ast.expr) -> set[str]:
    """The names of which a value is a part, or a sum; what a function makes of them is another value."""
    if isinstance(value, ast.Call):
        function = value.func
        if isinstance(function, ast.Attribute) and function.attr in _ITEMS:
            return _passed_on(function.value)
        parts = value.args if isinstance(function, ast.Name) and function.id in _WALKS else []
        return {name for part in parts for name in _passed_on(part)}
    if isinstance(value, (ast.Subscript, ast.Attribute, ast.Starred)):
        return _passed_on(value.value)
    if isinstance(value, ast.Name):
        return {value.id}
    return {name for part in ast.iter_child_nodes(value) if isinstance(part, ast.expr) for name in _passed_on(part)}


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
