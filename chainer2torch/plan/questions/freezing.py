"""Which places of a file freeze parameters: ``link.disable_update()``, ``param.update_rule.enabled = False``."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Func, options
from chainer2torch.analysis.module_index import FuncInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.questions import callers
from chainer2torch.plan.questions.own_settings import own_settings

CLIPS = ("GradientClipping", "clip_grads")  # what counts the gradients of frozen parameters, too
SWITCH = "disable_update"
RELEASE = "enable_update"
RULE = "update_rule"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


def is_understood(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``x.disable_update`` or ``x.update_rule`` freezes parameters, or asks for that, and does nothing else.

    Or it gives them settings of their own.
    """
    return (
        own_settings(analysis, module, node) is not None
        or is_own(analysis, module, node)
        or (is_call(analysis, module, node) if node.attr == SWITCH else is_flag(module, node))
    )


def is_own(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a name is a method of the project's own."""
    known = any(isinstance(kind, Func) for kind in options(analysis.kind(node)))
    return known or _takes_arguments(analysis, module, node)


def _takes_arguments(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``x.disable_update(True)`` is called: Chainer's takes none, so it is a method of the project's own."""
    call = module.source.parents.get(node)
    given = isinstance(call, ast.Call) and call.func is node and bool(call.args or call.keywords)
    return node.attr in (SWITCH, RELEASE) and given and _is_defined(analysis, node.attr)


def _is_defined(analysis: Analysis, name: str) -> bool:
    return any(name in cls.methods for cls in analysis.classes.values())


def is_call(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``x.disable_update()`` is a statement, and a link's method as far as one can see."""
    return node.attr == SWITCH and _is_statement(analysis, module, node)


def _is_statement(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    call = module.source.parents.get(node)
    if not isinstance(call, ast.Call) or call.func is not node or call.args or call.keywords:
        return False
    unknown = analysis.kind(node) == UNKNOWN and _is_defined(analysis, node.attr)
    return isinstance(module.source.parents.get(call), ast.Expr) and not unknown


def is_flag(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``param.update_rule.enabled`` is read, or set to False or True."""
    flag = module.source.parents.get(node)
    if not isinstance(flag, ast.Attribute) or flag.attr != "enabled":
        return False
    statement = module.source.parents.get(flag)
    if isinstance(flag.ctx, ast.Load):
        return True
    alone = isinstance(statement, ast.Assign) and len(statement.targets) == 1
    return alone and isinstance(statement, ast.Assign) and _is_bool(statement.value)


def reads(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``param.update_rule.enabled`` is only read."""
    return isinstance(getattr(module.source.parents.get(node), "ctx", None), ast.Load)


def is_hook(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``param.update_rule.add_hook(hook)`` is a statement."""
    method = module.source.parents.get(node)
    call = (
        module.source.parents.get(method) if isinstance(method, ast.Attribute) and method.attr == "add_hook" else None
    )
    if node.attr != RULE or not isinstance(call, ast.Call) or call.func is not method or call.keywords:
        return False
    whole = isinstance(module.source.parents.get(call), ast.Expr)
    return whole and len(call.args) == 1 and not isinstance(call.args[0], ast.Starred)


def is_release(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``x.enable_update()`` is a statement, and a link's method as far as one can see."""
    return node.attr == RELEASE and not is_own(analysis, module, node) and _is_statement(analysis, module, node)


def releases(module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether ``param.update_rule.enabled = True`` is what a place says."""
    flag = module.source.parents.get(node)
    statement = module.source.parents.get(flag) if isinstance(flag, ast.Attribute) and flag.attr == "enabled" else None
    value = statement.value if isinstance(statement, ast.Assign) and flag in statement.targets else None
    return node.attr == RULE and isinstance(value, ast.Constant) and value.value is True


def _is_bool(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def freezes_for_good(analysis: Analysis, module: ModuleInfo, program: Sequence[ModuleInfo]) -> bool:
    """Whether every optimizer is set up before its parameters are frozen: ``setup`` gives them new rules.

    Nor may they be frozen in a loop that trains, where there may be gradients already, or in a program that looks at
    gradients: Chainer computes those of frozen parameters, too.
    """
    source = module.source
    looks = any(other.attr == "grad" for place in program for other in place.source.of(ast.Attribute))
    for node in source.of(ast.Attribute):
        sets = node.attr == RULE and not reads(module, node)
        if node.attr != SWITCH and not sets or own_settings(analysis, module, node) is not None:
            continue
        setups = list(_setups(analysis, module, source.enclosing(node, *_FUNCTIONS)))
        if any(source.start(call) > source.start(node) for call in setups):
            return False
        if looks:
            return False
        if node.attr == SWITCH and not setups:
            if not callers.follow(analysis, module, node, program, functools.partial(_is_set_up, analysis)):
                return False
        if any(_trains(loop) for loop in source.ancestors(node) if isinstance(loop, (ast.For, ast.While))):
            return False
    return True


def is_behind_setup(analysis: Analysis, module: ModuleInfo, program: Sequence[ModuleInfo]) -> bool:
    """Whether all that a file says of single parameters is said once their optimizers are set up, for the last time.

    Chainer's ``setup`` gives parameters new rules: these are not frozen and have no hooks.
    """
    source = module.source
    for node in source.of(ast.Attribute):
        says = node.attr == SWITCH or node.attr == RULE and (is_hook(module, node) or not reads(module, node))
        if own_settings(analysis, module, node) is not None:
            continue
        if not says or is_own(analysis, module, node) or callers.is_idle(analysis, module, node, program):
            continue
        setups = list(_setups(analysis, module, source.enclosing(node, *_FUNCTIONS)))
        if not setups and not callers.follow(analysis, module, node, program, functools.partial(_is_set_up, analysis)):
            return False
        loops = {outer for outer in source.ancestors(node) if isinstance(outer, (ast.For, ast.While))}
        for call in setups:
            if source.start(call) > source.start(node) or loops & set(source.ancestors(call)):
                return False
    return True


def _is_set_up(analysis: Analysis, module: ModuleInfo, call: ast.Call) -> bool | None:
    """Whether all that a function sets up is set up before a call; None: it sets up nothing."""
    source = module.source
    setups = [c for c in _setups(analysis, module, source.enclosing(call, *_FUNCTIONS)) if c is not call]
    return all(source.start(other) < source.start(call) for other in setups) if setups else None


def _trains(loop: ast.AST) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr in ("backward", "update") for node in nodes_of(loop))


def _setups(analysis: Analysis, module: ModuleInfo, scope: ast.AST | None) -> Iterator[ast.Call]:
    """The calls of ``setup`` in a function, or outside of all functions; also of a function that calls it."""
    for call in module.source.of(ast.Call):
        if module.source.enclosing(call, *_FUNCTIONS) is scope:
            if _is_setup(call) or any(_sets_up(analysis, function) for function in _called(analysis, call)):
                yield call


def _is_setup(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "setup"


def _called(analysis: Analysis, call: ast.Call) -> list[FuncInfo]:
    """The functions of the project that a call runs."""
    kinds = options(analysis.kind(call.func))
    return [kind.info for kind in kinds if isinstance(kind, Func)]


def _sets_up(analysis: Analysis, function: FuncInfo, seen: frozenset[FuncInfo] = frozenset()) -> bool:
    """Whether a function sets an optimizer up, or calls one that does."""
    calls = [node for node in nodes_of(function.node) if isinstance(node, ast.Call)] if function not in seen else []
    return any(map(_is_setup, calls)) or any(
        _sets_up(analysis, other, seen | {function}) for call in calls for other in _called(analysis, call)
    )


__all__ = [
    "CLIPS",
    "RELEASE",
    "RULE",
    "SWITCH",
    "freezes_for_good",
    "is_behind_setup",
    "is_call",
    "is_flag",
    "is_hook",
    "is_own",
    "is_release",
    "is_understood",
    "reads",
    "releases",
]
