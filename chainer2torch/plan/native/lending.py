"""Who does with an optimizer of torch.optim though it keeps Chainer's form itself: the helpers of the native style.

An updater or an extension of which something is not understood becomes a helper that has Chainer's interface. Such a
helper asks an optimizer for ``target``, ``step`` and ``param_groups`` only, so it keeps no optimizer from becoming one
of PyTorch's.
"""

from __future__ import annotations

import ast
import builtins

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.calls import bound_call
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.questions import callers
from chainer2torch.plan.project_rules import has_short_communicators

_UPDATERS = "chainer.training.updaters."
_LIGHT = frozenset(_UPDATERS + name for name in ("StandardUpdater", "ParallelUpdater", "MultiprocessParallelUpdater"))
_WITHOUT_OPTIMIZERS = ("ChainerPruningExtension",)  # of Optuna: it looks at what is reported
_TRAINER = "chainer.training.Trainer"
_EXTENSIONS = "chainer.training.extensions."
_SHIFTS = frozenset(
    _EXTENSIONS + name
    for name in (
        "ExponentialShift",
        "InverseShift",
        "LinearShift",
        "MultistepShift",
        "PolynomialShift",
        "StepShift",
        "WarmupShift",
        "snapshot_object",
    )
)


def is_lent(objects: Objects, use: Use, call: ast.Call, taker: Inst) -> bool:
    """Whether a taker does with an optimizer of torch.optim in whichever form it gets."""
    context, analysis = use.context, objects.analysis
    if objects.any_file_seen_from(context, lambda module: _hides_optimizers(objects, context, module)):
        return False
    for owner in analysis.mro(taker.cls):
        if isinstance(owner, str):
            return owner in _LIGHT and (taker.cls != owner or _is_light(objects, use, call, owner))
    return False


def _is_light(objects: Objects, use: Use, call: ast.Call, owner: str) -> bool:
    bound = bound_call(use.context, call, owner)
    return bound is not None and not bound.given.keys() & {"loss_scale"} and not bound.extra_keywords


def _hides_optimizers(objects: Objects, context: Context, module: ModuleInfo) -> bool:
    """Whether a file takes optimizers out of an updater in a way in which they are not known, or lets others do so.

    What stands in a function counts where a file that runs together with this one names it.
    """
    source = module.source
    if any(_is_unseen(objects, module, source.parents[node]) for node in source.attributes.get("extend", ())):
        return True
    return any(
        (name == "get_all_optimizers" or objects.analysis.kind(source.parents[node]) == UNKNOWN)
        and not callers.is_idle(objects.analysis, module, node, objects.files_seen_from(context))
        for name in ("_optimizers", "get_all_optimizers", "get_optimizer")
        for node in source.attributes.get(name, ())
    )


def _is_unseen(objects: Objects, module: ModuleInfo, call: ast.AST) -> bool:
    """``trainer.extend(other_library.schedule(...))``: it may set the optimizer's attributes by Chainer's names."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.func.attr != "extend":
        return False
    kind = objects.analysis.kind
    extended = any(
        isinstance(k, Inst) and objects.analysis.derives(k.cls, _TRAINER) for k in options(kind(call.func.value))
    )
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "extension")]
    calls = [node for node in given if isinstance(node, ast.Call) and kind(node) == UNKNOWN]
    return extended and any(
        not _has_rule(objects, kind(made.func))
        and not _is_missing(module, made.func)
        and not ast.unparse(made.func).endswith(_WITHOUT_OPTIMIZERS)
        for made in calls
    )


def _is_missing(module: ModuleInfo, node: ast.expr) -> bool:
    """Whether a name is bound nowhere in a file: the program fails there."""
    if not isinstance(node, ast.Name) or hasattr(builtins, node.id):
        return False
    bound = {n.id for n in module.source.of(ast.Name) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    bound |= {n.name for n in module.source.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}
    bound |= {n.arg for n in module.source.of(ast.arg)}
    bound |= {(n.asname or n.name).split(".")[0] for n in module.source.of(ast.alias)}
    return not bound & {node.id, "*"} and "globals" not in module.source.text


def _has_rule(objects: Objects, kind: Kind) -> bool:
    return isinstance(kind, Ref) and (kind.name.startswith("chainer.") or kind.name in objects.analysis.rules.rows)


def shifts(use: Use) -> bool:
    """Whether an optimizer is an argument of an extension that changes its settings, or saves it."""
    parents = use.context.source.parents
    parent = parents.get(use.node)
    call = parents.get(parent) if isinstance(parent, ast.keyword) else parent
    if not isinstance(call, ast.Call) or call.func is use.node:
        return False
    kinds = options(use.context.kind(call.func))
    return len(kinds) == 1 and all(isinstance(kind, Ref) and kind.name in _SHIFTS for kind in kinds)


def wrapped_by(use: Use, symbol: str) -> bool:
    """Whether an object is the first argument of ChainerMN's function, which gives back the object itself.

    So its short helper does, whichever form the object has; the long one takes objects in Chainer's form only.
    """
    call, context = use.parent, use.context
    if not isinstance(call, ast.Call) or not call.args or call.args[0] is not use.node:
        return False
    named = context.reference(call.func)
    known = named is not None and context.rules.canonical(named) == symbol
    return known and has_short_communicators(context.analysis, context.module)


__all__ = ["is_lent", "shifts", "wrapped_by"]
