"""Hooks of single parameters, ``param.update_rule.add_hook(hook)``: which of them ask for a parameter and no more."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Func, Inst, Kind, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.questions import freezing

_KNOWN = frozenset(
    f"chainer.optimizer_hooks.{name}" for name in ("WeightDecay", "Lasso", "GradientHardClipping", "GradientLARS")
) | {"chainercv.links.model.ssd.GradientScaling"}


def is_simple(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``param.update_rule`` in ``param.update_rule.add_hook(hook)`` gets a hook that asks it for nothing."""
    if not freezing.is_hook(module, node):
        return False
    call = module.source.enclosing(node, ast.Call)
    assert isinstance(call, ast.Call)
    return all(_asks_nothing(analysis, kind) for kind in options(analysis.kind(call.args[0])))


def _asks_nothing(analysis: Analysis, kind: Kind) -> bool:
    if isinstance(kind, Func):
        return _leaves_rule(kind.info, 0)
    if not isinstance(kind, Inst):
        return False
    owners = [owner for owner in analysis.mro(kind.cls) if owner != "builtins.object"]
    if isinstance(owners[0], str):
        return owners[0] in _KNOWN
    classes = [owner for owner in owners if isinstance(owner, ClassInfo)]
    methods = [owner.methods["__call__"] for owner in classes if "__call__" in owner.methods]
    return len(classes) == len(owners) and bool(methods) and _leaves_rule(methods[0], 1)


def _leaves_rule(function: FuncInfo, place: int) -> bool:
    """Whether a function does not name the rule that it gets."""
    arguments = function.node.args
    names = [a.arg for a in (*arguments.posonlyargs, *arguments.args)]
    body = function.node.body
    inside = [n for part in (body if isinstance(body, list) else [body]) for n in nodes_of(part)]
    return len(names) == place + 2 and not any(isinstance(n, ast.Name) and n.id == names[place] for n in inside)


__all__ = ["is_simple"]
