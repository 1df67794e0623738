"""Iterators whose batches meet in one update of a program's own updater: ``{'main': source, 'target': other}``.

Chainer fills every batch, so the two are always of one size. The short last batch of a DataLoader would meet a whole
one of another, so loaders that meet leave it out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of

_UPDATER = "chainer.training.updaters.StandardUpdater"
_ITERATOR = "chainer.dataset.Iterator"
_LOADER = "torch.utils.data.DataLoader(dataset, batch_size"
_HOLDERS = frozenset({"get_iterator", "_iterators"})


def meets_another(analysis: Analysis, site: int) -> bool:
    """Whether an updater of the program's own draws from an iterator, and in the same update from another one."""
    return site in analysis.once(_meeting)


def leaving_out_short_batches(analysis: Analysis, site: int, template: str) -> str:
    """The template of an iterator; loaders that meet get one more argument."""
    if _LOADER not in template or not meets_another(analysis, site):
        return template
    return template.replace(", collate_fn=list", ", drop_last=True, collate_fn=list")


def _meeting(analysis: Analysis) -> frozenset[int]:
    """The sites of all such iterators."""
    found: set[int] = set()
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Dict, ast.Call):
            held = [(name, sites) for name, value in _pairs(node) if (sites := _sites(analysis, value))]
            if len(held) < 2:
                continue
            for cls in _updaters(analysis, module, node):
                drawn = [sites for name, sites in held if name in _drawn(analysis, cls)]
                found.update(site for sites in drawn if len(drawn) > 1 for site in sites)
    return frozenset(found)


def _pairs(node: ast.AST) -> list[tuple[object, ast.expr]]:
    """What stands in ``{'main': a}`` or ``dict(main=a)``, by name."""
    if isinstance(node, ast.Dict):
        return [(k.value, v) for k, v in zip(node.keys, node.values) if isinstance(k, ast.Constant)]
    plain = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "dict"
    return [(k.arg, k.value) for k in node.keywords] if plain and isinstance(node, ast.Call) else []


def _sites(analysis: Analysis, value: ast.expr) -> tuple[int, ...]:
    """The calls that make the iterator that a value is; none if it is something else."""
    kinds = options(analysis.kind(value))
    iterators = [k for k in kinds if isinstance(k, Inst) and analysis.derives(k.cls, _ITERATOR)]
    return tuple(site for k in iterators for site in k.sites) if len(iterators) == len(kinds) else ()


def _updaters(analysis: Analysis, module: ModuleInfo, display: ast.AST) -> Iterator[ClassInfo]:
    """The updaters that get a dictionary, where it stands or by its name."""
    parent = module.source.parents[display]
    calls = [a for a in module.source.ancestors(display) if isinstance(a, ast.Call)][:1]
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        for node in module.source.of(ast.Name):
            if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load):
                user = module.source.parents[node]
                user = module.source.parents[user] if isinstance(user, ast.keyword) else user
                calls += [user] if isinstance(user, ast.Call) else []
    outer = module.source.enclosing(display, ast.ClassDef)
    around = analysis.classes.get(outer) if isinstance(outer, ast.ClassDef) else None
    for call in calls:
        base = isinstance(call.func, ast.Attribute) and call.func.attr == "__init__"  # `super().__init__(iterators)`
        if base and around is not None and analysis.derives(around, _UPDATER):
            yield around
        for kind in options(analysis.kind(call.func)):
            if isinstance(kind, Class) and analysis.derives(kind.info, _UPDATER):
                yield kind.info


def _drawn(analysis: Analysis, cls: ClassInfo) -> frozenset[object]:
    """The names of the iterators of which a class says that it draws from them."""
    names: set[object] = set()
    for owner in analysis.mro(cls):
        for node in nodes_of(owner.node) if isinstance(owner, ClassInfo) else ():
            if isinstance(node, ast.Call):
                holder, named = node.func, node.args[:1]
            elif isinstance(node, ast.Subscript):
                holder, named = node.value, [node.slice]
            else:
                continue
            if isinstance(holder, ast.Attribute) and holder.attr in _HOLDERS:
                names.update(name.value for name in named if isinstance(name, ast.Constant))
    return frozenset(names)


__all__ = ["leaving_out_short_batches", "meets_another"]
