"""``trainer.updater`` as a value, of which only counters are asked: the manager itself has them.

updater = trainer.updater                        updater = trainer
writer.add(updater.iteration)                    writer.add(updater.iteration)
self.rate = self.function(trainer.updater)       self.rate = self.function(trainer)
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.flows import is_in_class
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.programs import TRAINER, function_of

_UPDATER = "chainer.training.updaters.Updater"
_COUNTS = frozenset({"iteration", "epoch", "epoch_detail"})


def borrowed(objects: Objects, modules: Sequence[ModuleInfo]) -> frozenset[ast.Attribute]:
    """The places of some files where the manager stands in for the updater; none, if more is asked at one of them."""
    uses = [use for module in modules for use in _values(objects, objects.context(module))]
    if not uses or not all(_goes_on(objects, use) for use in uses):
        return frozenset()
    makers = {function_of(objects.context_of(call), call) for call in _makers(objects, modules)}
    if any(function_of(use.context, use.node) in makers for use in uses):
        return frozenset()
    for use in _elsewhere(objects, modules, makers):
        counted = use.member in _COUNTS and isinstance(getattr(use.parent, "ctx", None), ast.Load)
        if not counted if use.member else not _goes_on(objects, use):
            return frozenset()
    return frozenset(use.node for use in uses if isinstance(use.node, ast.Attribute))


def _values(objects: Objects, context: Context) -> Iterator[Use]:
    """The expressions ``trainer.updater`` that are no question for one of its members."""
    for node in context.source.of(ast.Attribute):
        if node.attr == "updater" and isinstance(node.ctx, ast.Load):
            trainers = options(context.kind(node.value))
            known = all(isinstance(k, Inst) and context.analysis.derives(k.cls, TRAINER) for k in trainers)
            if known and not isinstance(context.source.parents[node], ast.Attribute):
                yield from (Use(node, inst, context) for inst in objects.of(context.kind(node))[:1])


def _makers(objects: Objects, modules: Sequence[ModuleInfo]) -> Iterator[ast.Call]:
    for uses in objects.uses.values():
        maker = objects.analysis.makers.get(uses[0].inst.site)
        if maker is not None and _is_updater(objects, uses[0]) and uses[0].context.module in modules:
            yield maker


def _elsewhere(objects: Objects, modules: Sequence[ModuleInfo], makers: set[ast.AST | None]) -> Iterator[Use]:
    """The uses of updaters outside of the functions that make one, and of the classes of updaters."""
    for uses in objects.uses.values():
        for use in uses:
            if _is_updater(objects, use) and use.context.module in modules:
                inside = function_of(use.context, use.node) in makers
                if not inside and not is_in_class(use.context, use.node, _UPDATER):
                    yield use


def _is_updater(objects: Objects, use: Use) -> bool:
    return objects.analysis.derives(use.inst.cls, _UPDATER)


def _goes_on(objects: Objects, use: Use) -> bool:
    """Whether it is known where a value goes, and nothing keeps it as a part."""
    stored = isinstance(use.parent, ast.Assign) and not all(isinstance(t, ast.Name) for t in use.parent.targets)
    return not use.context.skipped.node(use.node) and not stored and not objects.flow(use, lambda *taken: "taken")


def is_counted(use: Use, maker: ast.Call) -> bool:
    """Whether a use of an updater is one of the manager in its place: no name of the function that has made it."""
    node = use.node
    if not isinstance(node, ast.Name):
        return False
    context = use.context
    return maker not in context.source.parents or context.scope(node, node.id) is not function_of(context, maker)


def emit(context: Context, decisions: Decisions, places: frozenset[ast.Attribute]) -> None:
    """The manager in the place of its updater."""
    for node in context.source.of(ast.Attribute):
        if node in places:
            decisions.replace(node, "MANAGER", {"MANAGER": context.operand(node.value)})
            symbol = f"{TRAINER}.updater"
            decisions.mark(node, context.rules.rows.get(symbol), symbol, "exact")


__all__ = ["borrowed", "emit", "is_counted"]
