"""Which entry of the configuration a call names: ``using_config('train', ...)``, or a constant of the program."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Const
from chainer2torch.analysis.source import Source


def entry_name(analysis: Facts, source: Source, node: ast.expr | None) -> str | None:
    """The name; None: it is not known here, as that of a parameter, which other callers may set."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if not isinstance(node, ast.Name) or node.id in analysis.once_a_file(_parameters, source):
        return None
    kind = analysis.kind(node)
    return kind.value if isinstance(kind, Const) and isinstance(kind.value, str) else None


def _parameters(source: Source) -> frozenset[str]:
    return frozenset(argument.arg for argument in source.of(ast.arg))
