"""Layers to which the mode means nothing: recurrent ones that are made without dropout."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Const, Inst, Kind, options
from chainer2torch.plan.context import Context

_RECURRENT = "chainer.links.NStep"
_DROPOUT, _AT = "dropout", 3


def never_drop(context: Context, kinds: Iterable[Kind]) -> bool:
    """Whether all that a value may be are such layers: every call that makes one says ``dropout=0``."""
    return not context.analysis.once(_set_later) and all(_is_without(context.analysis, kind) for kind in kinds)


def _is_without(analysis: Analysis, kind: Kind) -> bool:
    if not isinstance(kind, Inst) or not isinstance(kind.cls, str) or not kind.cls.startswith(_RECURRENT):
        return False
    calls = [analysis.makers.get(site) for site in kind.sites]
    return bool(calls) and all(call is not None and _says_zero(analysis, call) for call in calls)


def _says_zero(analysis: Analysis, call: ast.Call) -> bool:
    given = [*call.args[_AT : _AT + 1], *(k.value for k in call.keywords if k.arg == _DROPOUT)]
    plain = not any(isinstance(a, ast.Starred) for a in call.args) and all(k.arg is not None for k in call.keywords)
    return plain and len(given) == 1 and analysis.kind(given[0]) in (Const(0), Const(0.0))


def _set_later(analysis: Analysis) -> bool:
    """Whether something may set the ratio of such a layer, or of an object that nobody knows."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == _DROPOUT
        and not isinstance(node.ctx, ast.Load)
        and any(
            kind == UNKNOWN or isinstance(kind, Inst) and isinstance(kind.cls, str)
            for kind in options(analysis.kind(node.value))
        )
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )
