"""Layers whose every call says whether it trains, as in version 1: ``self.bn(x, test=test)``.

Each call may then put the layer into its mode and leave it there: no other call asks which one that is.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context

_MODES = frozenset({"test", "train"})
_LAYER = "chainer.links.BatchNormalization"
_MEMBERS = frozenset({"gamma", "beta", "avg_mean", "avg_var", "eps", "decay", "N", "size"})
_WALKS = frozenset({"children", "links", "namedlinks"})


def has_modes_of_its_own(context: Context, layer: ast.expr) -> bool:
    """Whether a layer that is called is a batch normalization of ``self`` that only gets calls with a mode."""
    cls = context.enclosing_class(layer)
    if cls is None or not isinstance(layer, ast.Attribute) or not isinstance(layer.value, ast.Name):
        return False
    if not all(isinstance(k, Inst) and k.cls == _LAYER for k in options(context.kind(layer))) or _looks_up(cls.node):
        return False
    asked, mro = context.analysis.once(_asked), context.analysis.mro
    related = [k.node for k in context.analysis.classes.values() if cls in mro(k) or k in mro(cls)]
    return not any((owner, layer.attr) in asked for owner in (None, *related))


def _asked(analysis: Analysis) -> frozenset[tuple[ast.ClassDef | None, str]]:
    """The attributes of which something leaves the mode to the layer: those of ``self`` with their class."""
    return frozenset(
        (_owner(module.source, node), node.attr)
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
        if not _says_mode(module.source, node)
    )


def _owner(source: Source, node: ast.Attribute) -> ast.ClassDef | None:
    found = source.enclosing(node, ast.ClassDef)
    is_self = isinstance(node.value, ast.Name) and node.value.id == "self"
    return found if is_self and isinstance(found, ast.ClassDef) else None


def _says_mode(source: Source, node: ast.Attribute) -> bool:
    parent = source.parents.get(node)
    if isinstance(parent, ast.Call) and parent.func is node:
        return any(keyword.arg in _MODES for keyword in parent.keywords)
    if isinstance(parent, ast.Attribute):
        return parent.attr in _MEMBERS
    return isinstance(node.ctx, ast.Store)


def _looks_up(cls: ast.ClassDef) -> bool:
    """Whether a class also finds its links by their names, or one by one: ``self[name](x)``."""
    return any(
        isinstance(n, ast.Subscript)
        and isinstance(n.value, ast.Name)
        and n.value.id == "self"
        or isinstance(n, ast.Name)
        and n.id == "getattr"
        or isinstance(n, ast.Attribute)
        and n.attr in _WALKS
        for n in nodes_of(cls)
    )


__all__ = ["has_modes_of_its_own"]
