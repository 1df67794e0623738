"""Layers that the project holds by a name and never calls: it reads their weights, or has forgotten them.

What such a layer does with its input is nobody's concern, so it is the plain layer of torch.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Func, Inst, Tensor, options
from chainer2torch.analysis.source import Source
from chainer2torch.plan.context import Context

_WALKS = frozenset({"children", "links", "namedlinks"})


def is_never_called(context: Context, call: ast.Call) -> bool:
    """Whether the layer that a call makes has one name, and no place of the project may call what has that name."""
    analysis = context.analysis
    name = _name(context, call)
    if name is None or context.choices.style != "native" or analysis.reaching(analysis.site(call)) is not None:
        return False
    taken = analysis.once(_taken_as_values)
    return not {name, analysis.site(call)} & taken and not analysis.once(_finds_links_otherwise)


def _name(context: Context, call: ast.Call) -> str | None:
    """``self.fc = L.Linear(...)``, ``Chain(fc=L.Linear(...))``, ``add_link('fc', L.Linear(...))``."""
    parent = context.source.parents.get(call)
    if isinstance(parent, ast.keyword):
        return parent.arg
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Attribute):
        return parent.targets[0].attr
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "add_link":
        first = parent.args[0] if len(parent.args) == 2 and parent.args[1] is call else None
        return first.value if isinstance(first, ast.Constant) and isinstance(first.value, str) else None
    return None


def _taken_as_values(analysis: Analysis) -> frozenset[str | int]:
    """The attributes that the project calls, or hands on: all but those it only reads a member of. Texts, too.

    Of those whose value is known, the sites that made it.
    """
    return frozenset(name for module in analysis.project.modules.values() for name in _of(analysis, module.source))


def _of(analysis: Analysis, source: Source) -> Iterator[str | int]:
    for node in source.of(ast.Attribute):
        if isinstance(node.ctx, ast.Load) and not isinstance(source.parents.get(node), ast.Attribute):
            kinds = options(analysis.kind(node))
            yield from (site for kind in kinds if isinstance(kind, Inst) for site in kind.sites)
            if any(not isinstance(kind, (Func, Inst, Tensor)) for kind in kinds):
                yield node.attr
    for text in source.of(ast.Constant):
        parent = source.parents.get(text)
        adds = (
            isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr == "add_link"
        )
        if isinstance(text.value, str) and not adds:
            yield text.value


def _finds_links_otherwise(analysis: Analysis) -> bool:
    """Whether the project takes links out of others by names that are computed, or one after the other."""
    for module in analysis.project.modules.values():
        source = module.source
        for node in source.of(ast.Call):
            function = node.func
            if (
                isinstance(function, ast.Name)
                and function.id in ("getattr", "vars")
                and _may_be_link(analysis, node.args[:1])
            ):
                if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
                    return True
            if isinstance(function, ast.Attribute) and function.attr in _WALKS:
                return True
        for item in source.of(ast.Subscript):
            if isinstance(item.value, ast.Name) and analysis.is_link(analysis.kind(item.value)):
                if not isinstance(item.slice, ast.Constant):
                    return True
        if any(node.attr == "__dict__" for node in source.of(ast.Attribute)):
            return True
    return False


def _may_be_link(analysis: Analysis, holder: list[ast.expr]) -> bool:
    return any(kind == UNKNOWN or analysis.is_link(kind) for node in holder for kind in options(analysis.kind(node)))


__all__ = ["is_never_called"]
