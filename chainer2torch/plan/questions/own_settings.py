"""Parameters with settings of their own: ``param.update_rule = MomentumSGDRule(lr=0.2, momentum=0)``."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from chainer2torch.analysis.components import meeting
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# Chainer's rules with the optimizer that has the same formula, and the defaults of all settings in it
_RULES: Mapping[str, tuple[str, Mapping[str, str]]] = MappingProxyType(
    {
        "chainer.optimizers.sgd.SGDRule": ("chainer.optimizers.SGD", {"lr": "0.01"}),
        "chainer.optimizers.momentum_sgd.MomentumSGDRule": (
            "chainer.optimizers.MomentumSGD",
            {"lr": "0.01", "momentum": "0.9"},
        ),
    }
)
_RULE, _SWITCH, _SHIFTS = "update_rule", "disable_update", "Shift"


@dataclasses.dataclass(frozen=True, eq=False)
class OwnSettings:
    """One place: its statement, the optimizer that has the parameter, and its settings."""

    statement: ast.Assign
    optimizer: ast.Name
    rule: ast.expr  # the name of Chainer's class
    given: Mapping[str, ast.expr]
    defaults: Mapping[str, str]


def own_settings(analysis: Analysis, module: ModuleInfo, node: ast.AST) -> OwnSettings | None:
    """What ``param.update_rule`` is set to, where one optimizer of the same formula is set up in front of it.

    A schedule of PyTorch changes the rates of all parameters, Chainer's that of the optimizer only.
    """
    source, statement = module.source, module.source.parents.get(node)
    if not isinstance(node, ast.Attribute) or node.attr != _RULE or not isinstance(statement, ast.Assign):
        return None
    made, scope = statement.value, source.enclosing(node, *_FUNCTIONS)
    names = [kind.name for kind in options(analysis.kind(made.func)) if isinstance(kind, Ref)] if (
        isinstance(made, ast.Call)
    ) else []  # fmt: skip
    if statement.targets != [node] or not isinstance(made, ast.Call) or len(names) != 1 or names[0] not in _RULES:
        return None
    optimizer, defaults = _RULES[names[0]]
    given = {keyword.arg: keyword.value for keyword in made.keywords if keyword.arg in defaults}
    if made.args or len(given) != len(made.keywords):
        return None
    start = source.start(node)
    inside = [n for n in source.of(ast.Attribute) if source.enclosing(n, *_FUNCTIONS) is scope]
    if any(n.attr in (_RULE, _SWITCH) and n.lineno < node.lineno and _is_other(module, n) for n in inside):
        return None
    setups = [n for n in inside if n.attr == "setup"]
    name = setups[0].value if len(setups) == 1 else None
    kinds = options(analysis.kind(name)) if name is not None else ()
    loops = {outer for outer in source.ancestors(node) if isinstance(outer, (ast.For, ast.While))}
    if not isinstance(name, ast.Name) or source.start(name) > start or loops & set(source.ancestors(name)):
        return None
    if not all(isinstance(kind, Inst) and kind.cls == optimizer for kind in kinds):
        return None
    stores = [n for n in source.named.get(name.id, ()) if not isinstance(n.ctx, ast.Load)]
    if any(source.start(n) > source.start(name) and source.enclosing(n, *_FUNCTIONS) is scope for n in stores):
        return None
    run = analysis.once(meeting)[module]
    if any(_SHIFTS in other.source.text for other in run):
        return None
    return OwnSettings(statement, name, made.func, {str(k): v for k, v in given.items()}, defaults)


def _is_other(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a place says something else of a parameter than what its rule is."""
    return node.attr == _SWITCH or not isinstance(module.source.parents.get(node), ast.Assign)


def has_own_settings(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a run gives parameters settings of their own: an optimizer has several groups then."""
    return bool(analysis.once(_files) & analysis.once(meeting)[module])


def _files(analysis: Analysis) -> frozenset[ModuleInfo]:
    return frozenset(
        module
        for module in analysis.project.modules.values()
        if any(own_settings(analysis, module, node) is not None for node in module.source.of(ast.Attribute))
    )


__all__ = ["OwnSettings", "has_own_settings", "own_settings"]
