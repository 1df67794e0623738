"""Which updaters of the program's own a Trainer may get, where only the run tells.

updater = updaters[args.algorithm](**options)    # one of several classes
updater = load_class(config.updater)(**options)  # any class of the project
trainer = Trainer(updater, ...)

A loop that hands its batches over, or lets the updater draw them, has to do so for each of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context

_TRAINER = "chainer.training.Trainer"
_UPDATER = "chainer.training.updaters.Updater"
_UPDATE = "update"


def own_updaters(analysis: Analysis) -> frozenset[ClassInfo]:
    """The classes of updaters that the project defines."""
    return frozenset(cls for cls in analysis.classes.values() if analysis.derives(cls, _UPDATER))


def choices_of(analysis: Analysis, kind: Kind) -> frozenset[str | ClassInfo]:
    """The classes that an updater may have; one that is not known may be of any class of the project."""
    kinds = options(kind)
    known = {k.cls for k in kinds if isinstance(k, Inst) and analysis.derives(k.cls, _UPDATER)}
    return frozenset(known) | (frozenset() if _is_known(analysis, kind) else analysis.once(own_updaters))


def _is_known(analysis: Analysis, kind: Kind) -> bool:
    kinds = options(kind)
    return bool(kinds) and all(isinstance(k, Inst) and analysis.derives(k.cls, _UPDATER) for k in kinds)


def are_known(analysis: Analysis) -> bool:
    """Whether it is known of each Trainer of which classes its updater may be."""
    return all(_is_known(analysis, analysis.kind(updater)) for updater in _given(analysis))


def choices(analysis: Analysis) -> frozenset[frozenset[str | ClassInfo]]:
    """The classes of the updaters of each Trainer that is made somewhere."""
    return frozenset(choices_of(analysis, analysis.kind(updater)) for updater in _given(analysis))


def _given(analysis: Analysis) -> Iterator[ast.expr]:
    """What Trainers get as their updaters."""
    calls = (call for module in analysis.project.modules.values() for call in module.source.of(ast.Call))
    given = (_updater_of(call) for call in calls if analysis.kind(call.func) == Ref(_TRAINER))
    return (updater for updater in given if updater is not None)


def _updater_of(trainer: ast.Call) -> ast.expr | None:
    named = (keyword.value for keyword in trainer.keywords if keyword.arg == "updater")
    return next(iter((*trainer.args[:1], *named)), None)


def goes_to_unknown_updater(context: Context, node: ast.expr) -> bool:
    """Whether an object stands in a dictionary that makes an updater whose class is not known, and nothing else.

    ``options.update({'iterator': iterator})``; ``updater = updater_class(**options)``; ``Trainer(updater, ...)``
    """
    holder = _holder(context, node)
    if holder is None:
        return False
    scope = context.scope(holder, holder.id)
    loads = [
        n
        for n in context.source.named.get(holder.id, ())
        if isinstance(n.ctx, ast.Load) and context.scope(n, n.id) is scope
    ]
    made = [call for load in loads for call in _made_with(context, load)]
    rest = [
        load for load in loads if not any(True for _ in _made_with(context, load)) and not _is_filled(context, load)
    ]
    return bool(made) and not rest and all(_is_trained(context, call) for call in made)


def _holder(context: Context, node: ast.expr) -> ast.Name | None:
    """The name of the dictionary into which an object is put as it is."""
    parents = context.source.parents
    outer = parents.get(node)
    if isinstance(outer, ast.Assign) and len(outer.targets) == 1 and isinstance(outer.targets[0], ast.Subscript):
        held = outer.targets[0].value
        return held if isinstance(held, ast.Name) else None
    call = parents.get(outer) if isinstance(outer, ast.Dict) else None
    if isinstance(call, ast.Assign) and len(call.targets) == 1 and isinstance(call.targets[0], ast.Name):
        return call.targets[0]
    function = call.func if isinstance(call, ast.Call) else None
    if isinstance(function, ast.Attribute) and function.attr == _UPDATE and isinstance(function.value, ast.Name):
        return function.value
    return None


def _made_with(context: Context, load: ast.Name) -> Iterator[ast.Call]:
    """``updater_class(**options)`` around the name of a dictionary."""
    keyword = context.source.parents[load]
    call = context.source.parents[keyword] if isinstance(keyword, ast.keyword) and keyword.arg is None else None
    if isinstance(call, ast.Call):
        yield call


def _is_filled(context: Context, load: ast.Name) -> bool:
    """``options['iterator'] = iterator``, ``options.update(...)``: what says nothing of what else it holds."""
    outer = context.source.parents[load]
    if isinstance(outer, ast.Subscript):
        return isinstance(outer.ctx, ast.Store) and outer.value is load
    statement = context.source.parents[context.source.parents[outer]] if isinstance(outer, ast.Attribute) else None
    return isinstance(outer, ast.Attribute) and outer.attr == _UPDATE and isinstance(statement, ast.Expr)


def _is_trained(context: Context, call: ast.Call) -> bool:
    """Whether an object of a class that is not known goes to a Trainer by its name."""
    statement = context.source.parents[call]
    if context.kind(call.func) != UNKNOWN or not isinstance(statement, ast.Assign):
        return False
    names = {target.id for target in statement.targets if isinstance(target, ast.Name)}
    trainers = (c for c in context.source.of(ast.Call) if context.kind(c.func) == Ref(_TRAINER))
    return any(isinstance(updater := _updater_of(trainer), ast.Name) and updater.id in names for trainer in trainers)


__all__ = ["are_known", "choices", "choices_of", "goes_to_unknown_updater", "own_updaters"]
