"""What ``**kwargs`` of a function holds: the keywords of its visible calls that no other parameter takes.

``Updater(models=(gen, dis), iterator=it)`` with ``self.gen, self.dis = kwargs.pop("models")`` in its constructor.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import BOTTOM, NONE, UNKNOWN, Dct, Kind
from chainer2torch.analysis.lattice import join_all
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import Source, within

_MARK = "**"
ANY_KEYWORD = _MARK
_CALLED = "**()"  # a call without any keyword


def keywords_taken(func: FuncInfo, keywords: dict[str, Kind], rest: Kind | None) -> dict[str, Kind]:
    """What a call feeds into the summary of ``**kwargs``, by the names that stand for it there."""
    a = func.node.args
    own = {p.arg for p in (*a.args, *a.kwonlyargs)}
    found = {_MARK + name: kind for name, kind in keywords.items() if name not in own}
    if rest == UNKNOWN:
        found[ANY_KEYWORD] = UNKNOWN
    return found or {_CALLED: NONE}


def keywords_held(func: FuncInfo) -> Kind:
    """The kind of ``**kwargs`` in the body of a function."""
    found = {name[len(_MARK) :]: kind for name, kind in func.params.items() if name.startswith(_MARK)}
    if not found:
        return UNKNOWN if func.seeded else BOTTOM
    if "" in found:
        return UNKNOWN
    items = tuple((name, kind) for name, kind in found.items() if _MARK + name != _CALLED)
    # what is read under a name that nobody knows is one of these: kinds of parameters come from visible calls, too
    return Dct(join_all([kind for _, kind in items]) if items else UNKNOWN, items)


def spread(source: Source, node: ast.expr, kind: Kind) -> dict[str, Kind] | None:
    """The keywords that ``**node`` gives, if it can be seen that there are no others; None: who knows."""
    if not isinstance(kind, Dct) or not kind.items:
        return None
    held = {key: value for key, value in kind.items if isinstance(key, str)}
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "_asdict":
        return held  # of a named tuple
    keys = (
        _keys(node) if isinstance(node, ast.Dict) else _keys_put(source, node) if isinstance(node, ast.Name) else None
    )
    return held if keys is not None and keys == held.keys() and len(held) == len(kind.items) else None


def keywords_among(kind: Kind) -> dict[str, Kind]:
    """The keywords that ``**table`` gives among others, which nobody sees."""
    return {key: value for key, value in kind.items if isinstance(key, str)} if isinstance(kind, Dct) else {}


def _keys_put(source: Source, name: ast.Name) -> set[str] | None:
    """All keys of a dictionary of a function, which is displayed, gets items, and is spread: nothing else."""
    scope: ast.AST = name
    while scope in source.parents and not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
        scope = source.parents[scope]
    keys: set[str] = set()
    displayed = False
    for use in within(scope).of(ast.Name):
        if use.id != name.id:
            continue
        around = source.parents.get(use)
        more: set[str] | None = None
        if isinstance(around, ast.Assign) and around.targets == [use] and isinstance(around.value, ast.Dict):
            more, displayed = _keys(around.value), True
        elif isinstance(around, ast.Subscript) and around.value is use:
            more = _key(around.slice) if isinstance(around.ctx, ast.Store) else set()
        elif isinstance(around, ast.keyword) and around.arg is None:
            more = set()
        if more is None:
            return None
        keys |= more
    return keys if displayed else None


def _keys(display: ast.Dict) -> set[str] | None:
    found = [None if key is None else _key(key) for key in display.keys]
    return None if None in found else {key for keys in found if keys is not None for key in keys}


def _key(node: ast.expr) -> set[str] | None:
    return {node.value} if isinstance(node, ast.Constant) and isinstance(node.value, str) else None
