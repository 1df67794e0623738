"""Modules that ``model.eval()`` does not reach, since no module registers them."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Dct, Inst, Kind, Lst, Tup, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import Source, nodes_of


def keeping_unregistered(analysis: Facts) -> frozenset[ModuleInfo]:
    """The files with a link that keeps another one without registering it. Ask it with ``analysis.once``.

    That is a link in a list or dictionary, or one that is assigned outside of ``init_scope``.
    """
    return frozenset(
        info.module
        for info in analysis.classes.values()
        if analysis.derives(info, "chainer.Link") and _in_class(analysis, info)
    )


def _in_class(analysis: Facts, info: ClassInfo) -> bool:
    source = info.module.source
    for node in nodes_of(info.node):
        if not isinstance(node, ast.Assign) or not any(isinstance(t, ast.Attribute) for t in node.targets):
            continue
        kind = analysis.kind(node.value)
        if _holds_links(analysis, kind) or analysis.is_link(kind) and not _in_init_scope(source, node):
            return True
    return False


def _holds_links(analysis: Facts, kind: Kind, depth: int = 3) -> bool:
    """Whether a container holds a link."""
    if depth == 0:
        return False
    for one in options(kind):
        items: tuple[Kind, ...] = ()
        if isinstance(one, Tup):
            items = one.items
        elif isinstance(one, Lst):
            items = (one.element,)
        elif isinstance(one, Dct):
            items = (one.element, *(item for _, item in one.items))
        if any(_is_link(analysis, item) or _holds_links(analysis, item, depth - 1) for item in items):
            return True
    return False


def _is_link(analysis: Facts, kind: Kind) -> bool:
    return any(isinstance(k, Inst) and analysis.derives(k.cls, "chainer.Link") for k in options(kind))


def _in_init_scope(source: Source, node: ast.AST) -> bool:
    """Whether a statement stands in ``with self.init_scope():``."""
    for ancestor in source.ancestors(node):
        if isinstance(ancestor, (ast.With, ast.AsyncWith)) and any(
            isinstance(item.context_expr, ast.Call)
            and isinstance(item.context_expr.func, ast.Attribute)
            and item.context_expr.func.attr == "init_scope"
            for item in ancestor.items
        ):
            return True
    return False


__all__ = ["keeping_unregistered"]
