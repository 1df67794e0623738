"""Whether what moves between the host and a GPU may be taken for one array: nothing uses it as a list.

``torch.as_tensor`` stacks a list of arrays. Whoever counts, indexes or walks over the result finds the same as in the
list, other shapes raise; what only a list has is looked for here.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Lst, Tensor, Tup, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.paths import is_path

_OF_LISTS = frozenset({"append", "extend", "insert", "pop", "remove", "sort", "reverse", "index", "count"})
_DISPLAYS = (ast.List, ast.ListComp, ast.Tuple)
_JOINING = frozenset({"concatenate", "hstack", "stack", "vstack"})
_ASKING = frozenset({"isinstance", "type"})


def is_single(context: Context, call: ast.Call, node: ast.expr) -> bool:
    """Whether an argument of a call is an array, or is not known and nothing treats it, or the result, as a list."""
    kinds = options(context.kind(node))
    if not all(isinstance(k, (HostArray, Tensor)) or k == UNKNOWN for k in kinds) or isinstance(node, _DISPLAYS):
        return False
    return not any(_is_list(context, path) for path in [node, *_targets(context, call)] if is_path(path))


def is_item(context: Context, node: ast.expr) -> bool:
    """``x`` of ``[to_device(device, x) for x in batch]``: one of a list; ``x = xp.concatenate(batch)``."""
    if not isinstance(node, ast.Name):
        return False
    if _is_joined(context, node):
        return True
    loops = [
        target
        for outer in context.source.ancestors(node)
        if isinstance(outer, (ast.ListComp, ast.GeneratorExp))
        for target in (generator.target for generator in outer.generators)
    ]
    return any(isinstance(target, ast.Name) and target.id == node.id for target in loops)


def _is_joined(context: Context, name: ast.Name) -> bool:
    """Whether a variable is given nothing but what a function makes of a list, which is one array."""
    scope = context.scopes.get(name)
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    bound = [n for n in nodes_of(scope) if isinstance(n, ast.Name) and n.id == name.id]
    stores: list[ast.AST] = [n for n in bound if not isinstance(n.ctx, ast.Load)]
    stores += [n for n in nodes_of(scope.args) if isinstance(n, ast.arg) and n.arg == name.id]
    made = [context.source.parents.get(n) for n in stores]
    return bool(made) and all(
        isinstance(s, ast.Assign)
        and isinstance(s.value, ast.Call)
        and isinstance(s.value.func, ast.Attribute)
        and s.value.func.attr in _JOINING
        for s in made
    )


def _targets(context: Context, call: ast.Call) -> list[ast.expr]:
    """What the result of a call is bound to."""
    parent = context.source.parents.get(call)
    return list(parent.targets) if isinstance(parent, ast.Assign) else []


def _is_list(context: Context, path: ast.expr) -> bool:
    """Whether something in its function, or of an attribute in its file, uses a path as a list."""
    text = ast.unparse(path)
    scope = context.scopes.get(path) if isinstance(path, ast.Name) else None
    for node in nodes_of(scope or context.source.tree):
        if isinstance(node, ast.Attribute):
            if node.attr in _OF_LISTS and ast.unparse(node.value) == text:
                return True
        elif isinstance(node, ast.BinOp):
            sides = (node.left, node.right)
            if any(_is_sequence(context, s) for s in sides) and any(ast.unparse(s) == text for s in sides):
                return True
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _ASKING:
            if node.args and ast.unparse(node.args[0]) == text:
                return True
    return False


def _is_sequence(context: Context, node: ast.expr) -> bool:
    kinds = options(context.kind(node))
    return isinstance(node, _DISPLAYS) or any(isinstance(k, (Lst, Tup)) for k in kinds)


__all__ = ["is_item", "is_single"]
