"""What a text says of names of Chainer's that are left: whether a stand-in may be used while a module is imported."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from chainer2torch.analysis.source import Nodes
from chainer2torch.vendor.said_in_training import last

LEFT_AT_IMPORT = "left_at_import"  # said where a stand-in may be used outside of functions
_LEAVES, _TAKES = "leaves.", "takes."
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def of_left_names(nodes: Nodes) -> Iterator[str]:
    """The stand-ins that a text binds, whether it uses one at its top, and what of other modules it uses there."""
    used = {name for module in nodes.of(ast.Module) for name in _used_at_top(module)}
    made = [n for n in nodes.of(ast.Assign) if isinstance(n.value, ast.Call) and last(n.value.func) == "not_migrated"]
    names = {last(target) for statement in made for target in statement.targets}
    yield from (f"{_LEAVES}{name}" for name in names)
    if names & used:
        yield LEFT_AT_IMPORT
    for statement in nodes.of(ast.ImportFrom):
        for alias in statement.names:
            taken = used if alias.name == "*" else {alias.name} if (alias.asname or alias.name) in used else ()
            yield from (f"{_TAKES}{name}" for name in taken)


def _used_at_top(node: ast.AST) -> Iterator[str]:
    """The names that are used outside of functions; their decorators and defaults are."""
    body = node.body if isinstance(node, _FUNCTIONS) else []
    inside = body if isinstance(body, list) else [body]
    for child in ast.iter_child_nodes(node):
        if child in inside:
            continue
        if isinstance(child, ast.Name):
            if isinstance(child.ctx, ast.Load):
                yield child.id
        else:
            yield from _used_at_top(child)


def taken_by_others(said: Collection[str]) -> bool:
    """Whether some file of a project takes a stand-in of another one, and uses it while it is imported."""
    return any(word.startswith(_LEAVES) and _TAKES + word[len(_LEAVES) :] in said for word in said)


__all__ = ["LEFT_AT_IMPORT", "of_left_names", "taken_by_others"]
