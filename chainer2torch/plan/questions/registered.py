"""The names under which classes of a project register links and parameters."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_BY_NAME = frozenset({"add_link", "add_param", "register_persistent", "add_persistent", "setattr", "add_module"})
_BY_KEYWORD = frozenset({"__init__", "Chain", "Link"})


def may_be_registered(context: Context, target: ast.Attribute) -> bool:
    """Whether the class of an object, or one of its family, registers something under the name that is assigned."""
    names = context.analysis.once(_registered)
    owners = [k.cls for k in options(context.kind(target.value)) if isinstance(k, Inst)]
    if not owners or not all(isinstance(cls, ClassInfo) for cls in owners):
        return any(target.attr in found for found in names.values())
    return target.attr in names.get(None, ()) or any(
        target.attr in found and _are_family(context.analysis, cls, other)
        for cls in owners
        for other, found in names.items()
        if other is not None and isinstance(cls, ClassInfo)
    )


def _are_family(analysis: Analysis, one: ClassInfo, other: ClassInfo) -> bool:
    return one in analysis.mro(other) or other in analysis.mro(one)


def _registered(analysis: Analysis) -> dict[ClassInfo | None, set[str]]:
    """The names by class; None: outside of classes."""
    found: dict[ClassInfo | None, set[str]] = {}
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.With, ast.Call):
            outer = module.source.enclosing(node, ast.ClassDef)
            cls = analysis.classes.get(outer) if isinstance(outer, ast.ClassDef) else None
            found.setdefault(cls, set()).update(_names(node))
    return found


def _names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.With):
        if any(isinstance(n, ast.Attribute) and n.attr == "init_scope" for i in node.items for n in nodes_of(i)):
            inside = [n for statement in node.body for n in nodes_of(statement)]
            yield from (n.attr for n in inside if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store))
    elif isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", ""))
        if name in _BY_NAME:
            yield from (a.value for a in node.args if isinstance(a, ast.Constant) and isinstance(a.value, str))
        if name in _BY_KEYWORD:
            yield from (k.arg for k in node.keywords if k.arg)
