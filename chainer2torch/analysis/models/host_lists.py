"""Lists that collect arrays of results, and that only the host reads: ``losses.append(loss.data)``.

What goes into such a list is brought to the host there, once, so that NumPy, matplotlib and ``print`` get what they
got. A list that goes anywhere else, or that something takes an item out of, holds what the program puts into it.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source, nodes_of

# libraries whose functions get arrays of the host, and functions of Python that read a list of numbers
_LIBRARIES = frozenset({"json", "matplotlib", "numpy", "pandas", "pickle", "pylab", "scipy", "seaborn", "statistics"})
_READING = frozenset({"len", "max", "min", "print", "sum"})
_ARRAYS = frozenset({"array", "data"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_host_list(source: Source, node: ast.expr, once: frozenset[tuple[ast.AST, str]]) -> bool:
    """Whether a name stands for such a list; ``once``: what :func:`host_lists` gives for the file."""
    return isinstance(node, ast.Name) and (_scope(source, node), node.id) in once


def host_lists(source: Source) -> frozenset[tuple[ast.AST, str]]:
    """The lists of a file, by the function (or module) that binds them and their name."""
    found: set[tuple[ast.AST, str]] = set()
    libraries = _imported(source)
    for call in source.of(ast.Call):
        if _appends_array(call):
            owner = call.func.value  # type: ignore[attr-defined]
            scope = _scope(source, owner)
            if (scope, owner.id) not in found and _is_read_on_host(source, scope, owner.id, libraries):
                found.add((scope, owner.id))
    return frozenset(found)


def _appends_array(call: ast.Call) -> bool:
    return (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "append"
        and isinstance(call.func.value, ast.Name)
        and len(call.args) == 1
        and isinstance(call.args[0], ast.Attribute)
        and call.args[0].attr in _ARRAYS
    )


def _scope(source: Source, node: ast.AST) -> ast.AST:
    return source.enclosing(node, *_FUNCTIONS) or source.tree


def _imported(source: Source) -> frozenset[str]:
    """The names of a file that stand for one of the libraries, or come from one; with those of Python's functions."""
    names = {
        alias.asname or alias.name.split(".")[0]
        for statement in source.of(ast.Import)
        for alias in statement.names
        if alias.name.split(".")[0] in _LIBRARIES
    }
    names |= {
        alias.asname or alias.name
        for statement in source.of(ast.ImportFrom)
        for alias in statement.names
        if (statement.module or "").split(".")[0] in _LIBRARIES and not statement.level
    }
    bound = {n.id for n in source.of(ast.Name) if isinstance(n.ctx, ast.Store)} | {
        n.name for n in source.of(ast.FunctionDef, ast.ClassDef)
    }
    return frozenset((names | _READING) - bound)


def _is_read_on_host(source: Source, scope: ast.AST, name: str, libraries: frozenset[str]) -> bool:
    uses = [*source.named.get(name, ())]
    inside = [n for n in uses if _scope(source, n) is scope]
    if any(n not in inside and _is_inner(source, n, scope) for n in uses) or _is_argument(scope, name):
        return False
    if isinstance(scope, ast.Module) and any(
        isinstance(n, ast.Global) and name in n.names for n in source.of(ast.Global)
    ):
        return False
    read = False
    for use in inside:
        parent = source.parents[use]
        parent = source.parents[parent] if isinstance(parent, ast.keyword) else parent
        if not isinstance(use.ctx, ast.Load):
            if not _is_empty_list(parent):
                return False
        elif isinstance(parent, ast.Attribute):
            call = source.parents.get(parent)
            if not isinstance(call, ast.Call) or not (_appends_array(call) or parent.attr == "clear"):
                return False
        elif _reads(parent, use, libraries):
            read = read or ast.unparse(parent.func) != "len"  # type: ignore[attr-defined]
        elif _handed_on(source, parent, use, libraries):
            read = True
        else:
            return False
    return read


def _handed_on(source: Source, call: ast.AST, use: ast.expr, libraries: frozenset[str]) -> bool:
    """Whether a function of the file gets the list which only hands it to such calls itself."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or use not in call.args:
        return False
    named = [f for f in source.of(ast.FunctionDef) if f.name == call.func.id and source.parents.get(f) is source.tree]
    if len(named) != 1 or named[0].decorator_list:
        return False
    (function,) = named
    place = call.args.index(use)
    if place >= len(function.args.args) or any(isinstance(a, ast.Starred) for a in call.args):
        return False
    name = function.args.args[place].arg
    uses = [n for n in source.named.get(name, ()) if _scope(source, n) is function]
    inner = any(n.id == name and function in source.ancestors(n) and n not in uses for n in source.of(ast.Name))
    parents = [source.parents[n] for n in uses]
    parents = [source.parents[p] if isinstance(p, ast.keyword) else p for p in parents]
    return bool(uses) and not inner and all(_reads(p, n, libraries) for p, n in zip(parents, uses))


def _is_inner(source: Source, use: ast.AST, scope: ast.AST) -> bool:
    """Whether a function inside of the scope says the name: it may be the list."""
    return isinstance(scope, ast.Module) or scope in source.ancestors(use)


def _is_argument(scope: ast.AST, name: str) -> bool:
    arguments = getattr(scope, "args", None)
    return arguments is not None and any(a.arg == name for a in nodes_of(arguments) if isinstance(a, ast.arg))


def _is_empty_list(statement: ast.AST) -> bool:
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    value = statement.value
    return isinstance(value, ast.List) and not value.elts or ast.unparse(value) == "list()"


def _reads(parent: ast.AST, use: ast.expr, libraries: frozenset[str]) -> bool:
    """Whether a call of one of the libraries, or of Python's own, gets the list."""
    if not isinstance(parent, ast.Call) or use is parent.func:
        return False
    root = parent.func
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in libraries


__all__ = ["host_lists", "is_host_list"]
