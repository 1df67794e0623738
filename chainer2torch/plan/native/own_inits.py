"""Updaters whose ``__init__`` calls that of no base: it fills what Chainer's fills, and begins to count.

def __init__(self, iterator, optimizer, device):
    self._iterators = {'main': iterator}
    self._optimizers = {'main': optimizer}
    self.iteration = 0

The short base counts no iterations, so the statement that begins to count goes; what is only read later on is what the
manager counts.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of

_INIT, _COUNTER = "__init__", "iteration"


def init_of(cls: ClassInfo) -> ast.FunctionDef | None:
    """The ``__init__`` of a class that calls no other one."""
    method = cls.methods.get(_INIT)
    node = method.node if method is not None else None
    if not isinstance(node, ast.FunctionDef):
        return None
    inits = (n for n in nodes_of(node) if isinstance(n, ast.Attribute) and n.attr == _INIT)
    return None if any(inits) else node


def first_counts(cls: ClassInfo) -> list[ast.stmt]:
    """The statements ``self.iteration = 0`` with which a class begins to count; [] where it does more with the number.

    What the class only reads later on is what its base has counted.
    """
    init = init_of(cls)
    inside = list(nodes_of(init)) if init is not None else []
    named = [n for n in nodes_of(cls.node) if isinstance(n, ast.Attribute) and n.attr == _COUNTER]
    stores = [n for n in named if not isinstance(n.ctx, ast.Load)]
    begins = [n for n in inside if isinstance(n, ast.Assign) and _begins(n)]
    targets = [n.targets[0] for n in begins]
    early = any(n in inside and isinstance(n.ctx, ast.Load) for n in named)
    return [*begins] if len(stores) == len(targets) and not early else []


def _begins(statement: ast.Assign) -> bool:
    target, value = statement.targets[0], statement.value
    counter = isinstance(target, ast.Attribute) and target.attr == _COUNTER and len(statement.targets) == 1
    own = counter and isinstance(target.value, ast.Name) and target.value.id == "self"  # type: ignore[attr-defined]
    return own and isinstance(value, ast.Constant) and value.value == 0 and not isinstance(value.value, bool)


__all__ = ["first_counts", "init_of"]
