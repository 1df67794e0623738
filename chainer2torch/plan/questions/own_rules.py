"""Optimizers of a project's own: those that only change how Adam updates parameters, and those of version 1."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo

ADAM = "chainer.optimizers.Adam"
RULE = "chainer.optimizers.adam.AdamRule"
_OVERRIDDEN: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        ADAM: frozenset({"__init__", "create_update_rule", "lr", "alpha_t"}),
        RULE: frozenset(
            {"__init__", "init_state", "update_core", "update_core_cpu", "update_core_gpu", "lr", "alpha_t"}
        ),
    }
)
METHOD = "chainer.GradientMethod"
# by which an optimizer of version 1 updates one parameter, from a Variable and a dictionary
OLD_METHODS = frozenset(
    f"{method}{device}" for method in ("init_state", "update_one") for device in ("", "_cpu", "_gpu")
)
SETTINGS = frozenset({"eta", "weight_decay_rate", "amsgrad"})  # what the short form of such an Adam has, too


def changes_adam(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class is Chainer's Adam, or the rule of one, with other methods that its short form asks, too."""
    chain = analysis.mro(cls)
    bases = [base for base in chain if isinstance(base, str)]
    overridden = _OVERRIDDEN.get(bases[0]) if len(bases) == 1 else None
    return overridden is not None and all(set(c.methods) <= overridden for c in chain if isinstance(c, ClassInfo))


def updates_itself(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class on Chainer's base updates parameters as in version 1: ``update_one_cpu(param, state)``.

    So do all classes of a project that share one on that base. Those before version 1.5 got arrays,
    ``(param, grad, state)``: they are others.
    """
    chain = analysis.mro(cls)
    if [base for base in chain if isinstance(base, str) and base != "object"] != [METHOD]:
        return False
    first = [c for c in chain if isinstance(c, ClassInfo)][-1]
    family = (first, *analysis.heirs(first))
    methods = [method for c in family for name, method in c.methods.items() if name in OLD_METHODS]
    new = any("create_update_rule" in c.methods for c in family)
    return not new and any(m.name.startswith("update_one") for m in methods) and all(map(_gets_a_state, methods))


def _gets_a_state(method: FuncInfo) -> bool:
    a = method.node.args
    return len([*a.posonlyargs, *a.args]) == 3 and a.vararg is None and not a.kwonlyargs


def has_old_rate(cls: ClassInfo) -> bool:
    """Whether the rule of an Adam says what ``lr`` is, for which updates ask up to version 5; now for ``alpha_t``."""
    return "lr" in cls.methods and "alpha_t" not in cls.methods


def is_own_adam(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether a class is such an optimizer, and not a rule."""
    return changes_adam(analysis, cls) and analysis.derives(cls, ADAM)


def has_only_own(analysis: Analysis, modules: Collection[ModuleInfo]) -> bool:
    """Whether all optimizers of some files are of such classes: each of them has Adam's settings then."""
    own = any(is_own_adam(analysis, cls) for cls in analysis.classes.values() if cls.module in modules)
    return own and not any(_names_others(analysis, m) for m in modules)


def _names_others(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file names an optimizer of Chainer's otherwise than as a base, or all of them as a value."""
    for node in (*module.source.of(ast.Name), *module.source.of(ast.Attribute)):
        parent = module.source.parents.get(node)
        for kind in options(analysis.kind(node)):
            if not isinstance(kind, Ref) or not kind.name.startswith("chainer.optimizer"):
                continue
            if kind.name == "chainer.optimizers" and not isinstance(parent, ast.Attribute):
                return True
            derives = analysis.derives(analysis.rules.canonical(kind.name), "chainer.GradientMethod")
            if derives and not isinstance(parent, ast.ClassDef):
                return True
    return False


__all__ = [
    "ADAM",
    "METHOD",
    "OLD_METHODS",
    "RULE",
    "SETTINGS",
    "changes_adam",
    "has_old_rate",
    "has_only_own",
    "is_own_adam",
    "updates_itself",
]
