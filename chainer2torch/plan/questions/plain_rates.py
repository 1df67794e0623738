"""Whether every optimizer of a project trains at the rate that it holds: none is an Adam, whose ``lr`` is computed."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, options

_OPTIMIZERS = "chainer.optimizers"
_PLAIN = frozenset(
    f"{_OPTIMIZERS}.{name}"
    for name in ("SGD", "MomentumSGD", "CorrectedMomentumSGD", "NesterovAG", "AdaGrad", "RMSprop", "RMSpropGraves")
)
_BASES = ("chainer.Optimizer", "chainer.GradientMethod")


def rates_are_plain(analysis: Analysis) -> bool:
    """Whether the project names optimizers with a rate alone, each itself, and derives none of its own."""
    modules = list(analysis.project.modules.values())
    own = (analysis.kind(base) for module in modules for cls in module.source.of(ast.ClassDef) for base in cls.bases)
    if any(isinstance(k, Ref) and (k.name in _BASES or _is_of_optimizers(k.name)) for k in own):
        return False
    named = [
        kind.name
        for module in modules
        for node in module.source.of(ast.Name, ast.Attribute)
        for kind in options(analysis.kind(node))
        if isinstance(kind, Ref) and _is_of_optimizers(kind.name) and not _is_prefix(module.source.parents.get(node))
    ]
    return bool(named) and all(name in _PLAIN for name in named)


def _is_of_optimizers(name: str) -> bool:
    return name == _OPTIMIZERS or name.startswith(f"{_OPTIMIZERS}.")


def _is_prefix(parent: ast.AST | None) -> bool:
    """``optimizers`` of ``optimizers.SGD``: any other use of the module may give what nobody sees."""
    return isinstance(parent, ast.Attribute)


__all__ = ["rates_are_plain"]
