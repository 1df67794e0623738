"""Names that hold texts, as the program uses them: no Variable, array or link has ``split()`` or ``strip()``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.source import nodes_of

# methods of Python's texts that neither arrays nor Variables nor links have, and those that give texts
_OF_TEXTS = frozenset("split rsplit splitlines strip lstrip rstrip startswith endswith isdigit".split())
_GIVING_TEXTS = frozenset("split rsplit splitlines strip lstrip rstrip".split())
_WALKING = frozenset({"zip", "enumerate", "sorted", "reversed", "list"})


def holds_texts(scope: ast.AST, name: str) -> bool:
    """Whether a name of a function holds a text, or texts: ``lines[i].split()``, ``for line in lines: line.split()``.

    It gets what such a method gives, or a part of that; or it gets one value that nobody knows and that is asked so.
    """
    open_values = [value for value in _values(scope, name) if value is None or not _gives_texts(scope, value)]
    if not open_values:
        return any(True for _ in _values(scope, name))
    parts = [part for walked, part in _walks(scope) if walked == name]
    return len(open_values) == 1 and any(_is_asked(scope, asked) for asked in (name, *parts))


def _is_asked(scope: ast.AST, name: str) -> bool:
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in _OF_TEXTS
        and _root(node.func.value) == name
        for node in nodes_of(scope)
    )


def _gives_texts(scope: ast.AST, value: ast.expr) -> bool:
    """``line.split()``, and a part of that or of a name that holds texts."""
    inner = value
    while isinstance(inner, ast.Subscript):
        inner = inner.value
    if isinstance(inner, ast.Call):
        return isinstance(inner.func, ast.Attribute) and inner.func.attr in _GIVING_TEXTS
    return isinstance(inner, ast.Name) and inner is not value and _is_asked(scope, inner.id)


def _root(node: ast.expr) -> str:
    """The name of ``lines``, ``lines[i]`` and ``lines[i][j]``."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


def _values(scope: ast.AST, name: str) -> Iterator[ast.expr | None]:
    """What a name gets in a function, once for each place; None: no expression says it."""
    plain = {
        node.targets[0]: node.value
        for node in nodes_of(scope)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
    }
    for node in nodes_of(scope):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store):
            yield plain.get(node)
        elif isinstance(node, ast.arg) and node.arg == name:
            yield None


def _walks(scope: ast.AST) -> Iterator[tuple[str, str]]:
    """The names that loops walk over, and those of the parts: of ``for a, b in zip(x, y)`` (x, a) and (y, b)."""
    for node in nodes_of(scope):
        if not isinstance(node, ast.For):
            continue
        walked, target = node.iter, node.target
        while isinstance(walked, ast.Call) and isinstance(walked.func, ast.Name) and walked.func.id in _WALKING:
            if walked.func.id == "zip" and isinstance(target, ast.Tuple) and len(target.elts) == len(walked.args):
                yield from ((_root(a), t.id) for a, t in zip(walked.args, target.elts) if isinstance(t, ast.Name))
                break
            if walked.func.id == "enumerate" and isinstance(target, ast.Tuple) and len(target.elts) == 2:
                target = target.elts[1]
            if not walked.args:
                break
            walked = walked.args[0]
        else:
            if isinstance(target, ast.Name):
                yield _root(walked), target.id


__all__ = ["holds_texts"]
