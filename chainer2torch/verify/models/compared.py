"""What a class says of its arguments where it asks for them: constants that they are compared with, and keys of
``**kwargs``.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

_READS = ("get", "pop", "setdefault")


def with_constants(scope: ast.AST, name: str) -> list[str]:
    """The constants that a class, or its module, compares a parameter with (``if n_layers == 50``) or looks it up
    among.
    """
    found = _compared(scope, lambda other: other == name)
    return list(dict.fromkeys(repr(value) for value in found if isinstance(value, (int, float, str))))


def with_texts(scope: ast.AST, name: str) -> list[str]:
    """The texts that are compared with what has a part of its name: ``model == 'resnet18'`` for ``model_name``."""
    words = _words(name)
    found = _compared(scope, lambda other: bool(words & _words(other)))
    return list(dict.fromkeys(repr(value) for value in found if isinstance(value, str)))


def _words(name: str) -> set[str]:
    return {word for word in name.lower().split("_") if len(word) > 2}


def _compared(scope: ast.AST, is_it: Callable[[str], bool]) -> Iterator[object]:
    for node in ast.walk(scope):
        others: list[ast.expr] = []
        if isinstance(node, ast.Compare) and is_it(_name(node.left)):
            for other in node.comparators:
                others += other.elts if isinstance(other, (ast.List, ast.Tuple, ast.Set)) else [other]
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Dict) and is_it(_name(node.slice)):
            others += [key for key in node.value.keys if key is not None]
        yield from (other.value for other in others if isinstance(other, ast.Constant))


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def read_by_name(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[str]:
    """The keys that a function asks its ``**kwargs`` for."""
    rest = function.args.kwarg.arg if function.args.kwarg else None
    found: list[str] = []
    for node in ast.walk(function) if rest else ():
        key = None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _READS:
            key = node.args[0] if _name(node.func.value) == rest and node.args else None
        elif isinstance(node, ast.Subscript) and _name(node.value) == rest:
            key = node.slice
        if isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value not in found:
            found.append(key.value)
    return found
