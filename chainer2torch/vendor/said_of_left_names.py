"""What a text says of names of Chainer's that are left: whether a stand-in may be used while a module is imported."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from chainer2torch.analysis.source import Nodes, child_nodes
from chainer2torch.vendor.said_in_training import last

LEFT_AT_IMPORT = "left_at_import"  # said where a stand-in may be used outside of functions
_LEAVES, _TAKES = "leaves.", "takes."
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def of_left_names(nodes: Nodes) -> Iterator[str]:
    """The stand-ins that a text binds, whether it uses one at its top, and what of other modules it uses there."""
    used = _used_at_top(nodes.of(ast.Module))
    made = [n for n in nodes.of(ast.Assign) if isinstance(n.value, ast.Call) and last(n.value.func) == "not_migrated"]
    names = {last(target) for statement in made for target in statement.targets}
    yield from (f"{_LEAVES}{name}" for name in names)
    if names & used:
        yield LEFT_AT_IMPORT
    for statement in nodes.of(ast.ImportFrom):
        for alias in statement.names:
            taken = used if alias.name == "*" else {alias.name} if (alias.asname or alias.name) in used else ()
            yield from (f"{_TAKES}{name}" for name in taken)


def _used_at_top(nodes: Sequence[ast.AST]) -> set[str]:
    """The names that are used outside of functions; their decorators and defaults are."""
    used: set[str] = set()
    waiting = [*nodes]
    for node in waiting:
        if isinstance(node, ast.Name):
            used.update([node.id] if isinstance(node.ctx, ast.Load) else [])
        elif isinstance(node, _FUNCTIONS):
            inside = node.body if isinstance(node.body, list) else [node.body]
            waiting += [child for child in child_nodes(node) if child not in inside]
        else:
            waiting += child_nodes(node)
    return used


def taken_by_others(said: Collection[str]) -> bool:
    """Whether some file of a project takes a stand-in of another one, and uses it while it is imported."""
    return any(word.startswith(_LEAVES) and _TAKES + word[len(_LEAVES) :] in said for word in said)


__all__ = ["LEFT_AT_IMPORT", "of_left_names", "taken_by_others"]
