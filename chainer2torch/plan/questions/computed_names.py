"""Functions that are taken out of objects by name, or handed on: which object they belong to."""

from __future__ import annotations

import ast

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


def is_kept_attribute(kind: Kind, name: str) -> bool:
    """Whether an object of a class of the project is asked for what the class keeps in itself."""
    return any(isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and name in k.cls.attrs for k in options(kind))


__all__ = ["asked_by_name", "is_kept_attribute", "object_of"]
