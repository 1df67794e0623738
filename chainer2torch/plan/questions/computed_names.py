"""Functions that are taken out of objects by name, or handed on: which object they belong to."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Inst, Kind, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo


def asked_by_name(callee: ast.expr) -> ast.expr | None:
    """The object of ``getattr(self, name)(x)``."""
    if (
        isinstance(callee, ast.Call)
        and isinstance(callee.func, ast.Name)
        and callee.func.id == "getattr"
        and callee.args
    ):
        return callee.args[0]
    return None


def object_of(text: str, info: FuncInfo) -> str | None:
    """The object whose method a name stands for: `self` of `f(x)`, where the caller passed `self.method` as `f`."""
    method = f".{getattr(info.node, 'name', '')}"
    return text[: -len(method)] if text.endswith(method) else None


def is_kept_attribute(analysis: Facts, kind: Kind, name: str) -> bool:
    """Whether an object of a class of the project is asked for what this class, or a base of it, keeps in itself."""
    owners = [owner for k in options(kind) if isinstance(k, Inst) for owner in analysis.mro(k.cls)]
    return any(isinstance(owner, ClassInfo) and name in owner.attrs for owner in owners)


__all__ = ["asked_by_name", "is_kept_attribute", "object_of"]
