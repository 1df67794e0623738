"""Methods of a project's links that Chainer's optimizers call: ``cleargrads`` and ``params``, and whether they do."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.plan.questions.overridden_methods import overridden

CLEARS = frozenset({"cleargrads", "zerograds"})
_STEPPING = ("chainer.training.updaters.", "chainer.training.StandardUpdater", "chainer.training.ParallelUpdater")


def clears_itself(analysis: Analysis, name: str) -> bool:
    """Whether a link of the project has a method of its own by this name: it is more than clearing gradients."""
    return name in CLEARS and name in analysis.once(overridden)


def optimizers_clear(analysis: Analysis) -> bool:
    """Whether optimizers or updaters of Chainer's compute losses: these ask their target to clear its gradients."""
    return any(
        _hands_loss(analysis, call)
        for module in analysis.project.modules.values()
        for call in module.source.of(ast.Call)
    )


def sets_up(analysis: Analysis) -> bool:
    """Whether some optimizer gets a model: it asks that for its parameters."""
    return any(
        call.func.attr == "setup" and _is_optimizer(analysis, call.func.value)
        for module in analysis.project.modules.values()
        for call in module.source.of(ast.Call)
        if isinstance(call.func, ast.Attribute)
    )


def _hands_loss(analysis: Analysis, call: ast.Call) -> bool:
    if any(isinstance(k, Ref) and k.name.startswith(_STEPPING) for k in options(analysis.kind(call.func))):
        return True
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "update" or not (call.args or call.keywords):
        return False
    return _is_optimizer(analysis, call.func.value)


def _is_optimizer(analysis: Analysis, node: ast.expr) -> bool:
    kinds = options(analysis.kind(node))
    return any(isinstance(k, Inst) and analysis.derives(k.cls, "chainer.GradientMethod") for k in kinds)


__all__ = ["CLEARS", "clears_itself", "optimizers_clear", "sets_up"]
