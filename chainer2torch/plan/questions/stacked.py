"""Whether a walk over the parts of a link may meet a recurrent layer, whose parameters torch holds stacked."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.components import components
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Const, Inst, Kind, Scalar, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_STACKED = "NStep"
_CONTAINERS = frozenset({"chainer.Chain", "chainer.ChainList", "chainer.Sequential"})


def may_hold_stacked(context: Context, receiver: ast.expr) -> bool:
    """Whether some NStep layer of Chainer's may be a part of a link, or be the link.

    None is if no file that can meet this one names such a layer, or if all that the link's own classes make is in
    sight and none of it is one.
    """
    analysis = context.analysis
    if context.module not in analysis.once(_files_with_stacked):
        return False
    return not all(_is_plain(analysis, kind) for kind in options(context.kind(receiver)))


def _files_with_stacked(analysis: Analysis) -> frozenset[ModuleInfo]:
    """The files that can meet one that names an NStep layer."""
    named = {module for module in analysis.project.modules.values() if _STACKED in module.source.text}
    return frozenset(module for module, together in analysis.once(components).items() if not named.isdisjoint(together))


def _is_plain(analysis: Analysis, kind: Kind) -> bool:
    """Whether a link is of an own class all of whose parts are known, with no NStep layer among them."""
    seen: set[ClassInfo] = set()
    pending = [kind]
    while pending:
        one = pending.pop()
        if isinstance(one, (Tensor, Scalar, Const)):
            continue
        if not isinstance(one, Inst) or _is_container(one) or isinstance(one.cls, str) and _STACKED in one.cls:
            return False
        if isinstance(one.cls, str) or one.cls in seen:
            continue
        family = [one.cls, *(c for c in analysis.classes.values() if one.cls in analysis.mro(c))]
        for cls in {c for each in family for c in analysis.mro(each) if isinstance(c, ClassInfo)} - seen:
            seen.add(cls)
            if any(_STACKED in name for name in _names(cls.node)):
                return False
            for value in _registered(cls.node):
                made = [
                    k for k in options(analysis.kind(value)) if not (isinstance(value, ast.Call) and _is_container(k))
                ]
                pending += made  # what a container holds that is made here has its names here
            pending += [Inst(c) for c in _classes_named(analysis, cls)]
    return True


def _is_container(kind: Kind) -> bool:
    return isinstance(kind, Inst) and kind.cls in _CONTAINERS


def _registered(cls: ast.ClassDef) -> Iterator[ast.expr]:
    """What ``with self.init_scope()``, ``add_link``, ``append`` and ``super().__init__`` are given."""
    for node in nodes_of(cls):
        if isinstance(node, ast.With) and "init_scope" in ast.unparse(node.items[0].context_expr):
            yield from (inner.value for inner in nodes_of(node) if isinstance(inner, ast.Assign))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            own = isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
            if node.func.attr in ("add_link", "append") and own:
                yield from node.args[-1:]
            elif node.func.attr == "__init__" and "super" in ast.unparse(node.func):
                yield from (*node.args, *(keyword.value for keyword in node.keywords))


def _names(cls: ast.ClassDef) -> Iterator[str]:
    for node in nodes_of(cls):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _classes_named(analysis: Analysis, cls: ClassInfo) -> Iterator[ClassInfo]:
    """The own classes that a class names, of which its parts may be."""
    for node in nodes_of(cls.node):
        if isinstance(node, (ast.Name, ast.Attribute)):
            for kind in options(analysis.kind(node)):
                if isinstance(kind, Class):
                    yield kind.info
