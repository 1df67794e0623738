"""Which rows stand for a project, where that depends on what it does elsewhere.

The short optimizers of the native style have no update rules of single parameters and no loss scaling.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.rules.table import Rules

_SWITCHES = frozenset({"disable_update", "enable_update"})
_MEMBERS = _SWITCHES | {
    "update_rule",
    "create_update_rule",
    "update_enabled",
    "loss_scaling",
    "set_loss_scale",
    "is_safe_to_update",
    "use_fp32_update",
    "reallocate_cleared_grads",
}
_SETTINGS = frozenset({"eta", "weight_decay_rate", "amsgrad", "adabound", "eps_inside_sqrt"})
_BOUNDS = frozenset({"gamma", "final_lr"})  # other objects have such attributes, too
_BASES = ("chainer.GradientMethod", "chainer.UpdateRule")


def rules_for(analysis: Analysis) -> Rules:
    """The rules for a project: without the rows that do not do for what some part of it asks."""
    rules = analysis.rules
    for question in sorted(rules.under):
        if analysis.once(_QUESTIONS[question]):
            rules = rules.without(question)
    return rules


def has_short_optimizers(analysis: Analysis) -> bool:
    """Whether every optimizer of the project saves all that it has by ``state_dict()``."""
    return not analysis.once(_looks_into_optimizers)


def _looks_into_optimizers(analysis: Analysis) -> bool:
    """Whether some part of the project asks for what only the long optimizers have."""
    if any(analysis.derives(cls, base) for cls in analysis.classes.values() for base in _BASES):
        return True
    return any(_member(analysis, module) or _setting(analysis, module) for module in analysis.project.modules.values())


def _member(analysis: Analysis, module: ModuleInfo) -> bool:
    return any(node.attr in _MEMBERS for node in module.source.of(ast.Attribute))


def _setting(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file reads or changes a setting that the short optimizers do not have, also by ``setattr``."""
    return any(
        node.attr in _SETTINGS | _BOUNDS and _may_be_optimizer(analysis, analysis.kind(node.value), node.attr)
        for node in module.source.of(ast.Attribute)
    ) or any(node.value in _SETTINGS for node in module.source.of(ast.Constant) if isinstance(node.value, str))


def _may_be_optimizer(analysis: Analysis, kind: Kind, setting: str) -> bool:
    return (
        kind == UNKNOWN
        and setting in _SETTINGS
        or any(
            isinstance(k, Inst)
            and analysis.derives(k.cls, "chainer.GradientMethod")
            and (k.cls, setting) != ("chainer.optimizers.AdamW", "weight_decay_rate")
            for k in options(kind)
        )
    )


def changes_rules(module: ModuleInfo) -> bool:
    """Whether a file changes how single parameters are updated: ``disable_update()``, ``p.update_rule.enabled``."""
    return any(
        node.attr in _SWITCHES or isinstance(node.value, ast.Attribute) and node.value.attr == "update_rule"
        for node in module.source.of(ast.Attribute)
    )


_QUESTIONS: Mapping[str, Callable[[Analysis], bool]] = MappingProxyType(
    {"looks_into_optimizers": _looks_into_optimizers}
)

__all__ = ["changes_rules", "has_short_optimizers", "rules_for"]
