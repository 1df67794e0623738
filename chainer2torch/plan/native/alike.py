"""Training objects of one class that meet in a variable: ``Adam`` in two branches, with one ``setup`` behind them."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Kind, options


def each(inst: Inst, members: Mapping[int, set[ast.AST]]) -> list[Inst]:
    """The objects that one may be. Where something is done with one of them alone, they have no site."""
    used_alike = len({frozenset(members.get(site, ())) for site in inst.among}) == 1
    return [Inst(inst.cls, site) for site in inst.among] if used_alike else [Inst(inst.cls)]


def members(analysis: Analysis, is_meant: Callable[[Kind], bool]) -> dict[int, set[ast.AST]]:
    """The places where something is asked of an object, by its site."""
    found: dict[int, set[ast.AST]] = {}
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Attribute):
            for kind in options(analysis.kind(node.value)):
                for site in kind.sites if isinstance(kind, Inst) and is_meant(kind) else ():
                    found.setdefault(site, set()).add(node)
    return found
