"""Which attributes a project assigns."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis


def stored(analysis: Analysis) -> frozenset[str]:
    """The attributes that the project's files assign."""
    return frozenset(
        n.attr
        for module in analysis.project.modules.values()
        for n in module.source.of(ast.Attribute)
        if isinstance(n.ctx, ast.Store)
    )
