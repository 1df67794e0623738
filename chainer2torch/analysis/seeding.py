"""In which order functions are visited that no call has been seen of: those first that none of the others names.

What such a function calls is then known by that call. Visited at the same time, it would get parameters of which
nothing is known, and what it keeps in attributes would stay unknown.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from chainer2torch.analysis.module_index import FuncInfo


_SPECIAL = re.compile(r"__\w+__")
Named = dict[FuncInfo, frozenset[str]]  # the names that stand in each function


def first(waiting: list[FuncInfo], known: Named) -> list[FuncInfo]:
    """Those that no other one names; all, where each is named by another. ``known`` is kept for the next call."""
    named: dict[str, set[FuncInfo]] = {}
    for func in waiting:
        if func not in known:
            known[func] = frozenset(_names(func))
        for name in known[func]:
            named.setdefault(name, set()).add(func)
    return [func for func in waiting if not named.get(_name(func), set()) - {func}] or waiting


def _names(func: FuncInfo) -> Iterator[str]:
    for node in func.inside.of(ast.Name, ast.Attribute):
        if isinstance(node.ctx, ast.Load):
            yield node.attr if isinstance(node, ast.Attribute) else node.id


def _name(func: FuncInfo) -> str:
    """The name by which a function is called: a constructor, or ``__call__`` and the like, by that of its class."""
    return func.cls.name if func.cls is not None and _SPECIAL.fullmatch(func.name) else func.name
