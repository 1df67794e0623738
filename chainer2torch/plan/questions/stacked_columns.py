"""Datasets of several columns that nobody slices: torch's StackDataset gives their examples, too.

A slice of Chainer's is a list of examples, and of StackDataset a tuple of slices.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source
from chainer2torch.plan.context import Context
from chainer2torch.plan.project_rules import has_short_iterators

_ITERATORS = frozenset(f"chainer.iterators.{name}Iterator" for name in ("Serial", "Multiprocess", "Multithread"))
_BY_TEXT = ("getattr", "__dict__", "vars(", "locals(", "attrgetter", "__getstate__")


def gives_single_examples(context: Context, call: ast.Call) -> bool:
    """Whether all that is done with a dataset asks it for one example after the other, or for its length."""
    if context.choices.style != "native" or not has_short_iterators(context.analysis, context.module):
        return False
    if context.analysis.once(_asks_for_datasets):
        return False
    statement = context.source.parents.get(call)
    if not isinstance(statement, ast.Assign):
        return _asks_for_examples(context.analysis, context.source, call)
    target = statement.targets[0]
    if len(statement.targets) == 1 and isinstance(target, ast.Attribute):
        return _is_read_singly(context, target)
    if len(statement.targets) != 1 or not isinstance(target, ast.Name):
        return False
    scope = context.scopes.get(target)
    if isinstance(scope, ast.Module) and _is_taken(context, target.id):
        return False
    uses = [n for n in context.source.named.get(target.id, ()) if context.scopes.get(n) is scope]
    return all(not isinstance(n.ctx, ast.Load) or _asks_for_examples(context.analysis, context.source, n) for n in uses)


def _is_read_singly(context: Context, target: ast.Attribute) -> bool:
    """Whether all that reads an attribute of an own class asks it for single examples: ``self.dataset = ...``.

    Also what may be another object's attribute of the name, and no file asks for it by its text.
    """
    owners = [k.cls for k in options(context.kind(target.value)) if isinstance(k, Inst)]
    own = [cls for cls in owners if isinstance(cls, ClassInfo)]
    if not own or len(own) < len(options(context.kind(target.value))):
        return False
    for module in context.analysis.project.modules.values():
        if any(word in module.source.text for word in _BY_TEXT):
            if any(cls.module is module for cls in own):
                return False
            if any(f"{quote}{target.attr}{quote}" in module.source.text for quote in "'\""):
                return False
        for node in module.source.attributes.get(target.attr, ()):
            if not isinstance(node.ctx, ast.Load) or _has_text_key(module.source, node):
                continue
            if _may_be_of(context.analysis, node, own) and not _asks_for_examples(
                context.analysis, module.source, node
            ):
                return False
    return not any(target.attr in other.methods for cls in own for other in _related(context.analysis, cls))


def _may_be_of(analysis: Analysis, node: ast.Attribute, own: list[ClassInfo]) -> bool:
    """Whether an attribute may be read from an object of one of these classes, or of a class that is related to it."""
    kinds = options(analysis.kind(node.value))
    others = [k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)]
    known = all(isinstance(k, (Inst, Ref)) for k in kinds)
    return not known or any(other in _related(analysis, cls) for other in others for cls in own)


def _related(analysis: Analysis, cls: ClassInfo) -> set[ClassInfo]:
    heirs = [cls, *analysis.heirs(cls)]
    return {base for heir in heirs for base in analysis.mro(heir) if isinstance(base, ClassInfo)}


def _asks_for_examples(analysis: Analysis, source: Source, node: ast.expr) -> bool:
    parent = source.parents.get(node)
    if isinstance(parent, ast.keyword):
        parent = source.parents.get(parent)
    if isinstance(parent, ast.Call) and node is not parent.func:
        callee = analysis.kind(parent.func)
        return isinstance(callee, Ref) and (callee.name in _ITERATORS or callee.name == "builtins.len")
    if isinstance(parent, ast.Subscript) and parent.value is node and isinstance(parent.ctx, ast.Load):
        return all(scalar_type(k) == "int" for k in options(analysis.kind(parent.slice)))
    return isinstance(parent, (ast.For, ast.comprehension)) and parent.iter is node


def _asks_for_datasets(analysis: Analysis) -> bool:
    """Whether something asks an iterator for its dataset, for more than single examples and its length."""
    return any(
        isinstance(node.ctx, ast.Load)
        and not isinstance(analysis.kind(node), Ref)
        and _may_be_iterator(analysis, node.value)
        and not _asks_for_examples(analysis, module.source, node)
        and not _has_text_key(module.source, node)
        for module in analysis.project.modules.values()
        for node in module.source.attributes.get("dataset", ())
    )


def _may_be_iterator(analysis: Analysis, owner: ast.expr) -> bool:
    """Not an object of an own class that is no iterator: what it holds as its dataset was read from somewhere.

    Nor is ``args.dataset`` a dataset, a word of the command line.
    """
    return not all(
        isinstance(k, Inst)
        and not any(isinstance(base, str) and base.startswith("chainer") for base in analysis.mro(k.cls))
        for k in options(analysis.kind(owner))
    )


def _has_text_key(source: Source, node: ast.expr) -> bool:
    """``coco.dataset['images']``: of columns it would raise."""
    parent = source.parents.get(node)
    key = parent.slice if isinstance(parent, ast.Subscript) and parent.value is node else None
    return isinstance(key, ast.Constant) and isinstance(key.value, str)


def _is_taken(context: Context, name: str) -> bool:
    """Whether another file may take a module's name."""
    return any(
        node.attr == name if isinstance(node, ast.Attribute) else any(alias.name in (name, "*") for alias in node.names)
        for module in context.analysis.project.modules.values()
        if module is not context.module
        for node in module.source.of(ast.Attribute, ast.ImportFrom)
    )


__all__ = ["gives_single_examples"]
