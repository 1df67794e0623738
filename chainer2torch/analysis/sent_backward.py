"""Which names hold a Variable because ``name.backward()`` is called: nothing else of a Chainer program has that call.

What a model of another file returns may not be known, but the loss that it gives goes backward in the next line.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import Source

_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def names_sent_backward(source: Source) -> dict[ast.AST, frozenset[str]]:
    """For every function, and for the file itself: the local names that go backward there."""
    found: dict[ast.AST, set[str]] = {}
    if ".backward(" in source.text:
        for call in source.of(ast.Call):
            function = call.func
            if (
                isinstance(function, ast.Attribute)
                and function.attr == "backward"
                and isinstance(function.value, ast.Name)
                and not call.args
            ):
                scope = source.enclosing(call, *_SCOPES) or source.tree
                found.setdefault(scope, set()).add(function.value.id)
    return {scope: frozenset(names) for scope, names in found.items()}


def has_own_backward(source: Source) -> bool:
    """Whether a class of the file has a ``backward`` that needs no argument, as a Variable's does."""
    return "def backward" in source.text and any(
        node.name == "backward" and len(node.args.args) - len(node.args.defaults) <= 1
        for node in source.of(ast.FunctionDef)
    )
