"""Updaters that are handed a batch: the loop over the loader gives it to ``update_core``, which no longer draws it.

def update_core(self):                                   def update_core(self, batch):
    batch = self.get_iterator('main').next()                 x = self.converter(batch, self.device)
    x = self.converter(batch, self.device)

Then nobody has to count batches beside the manager, and loaders need no ``next()``. That is one answer for all files
that see each other: each of their updaters draws one batch, at the beginning of what it does with it, and nobody asks
an updater for what it draws from. Batches of further iterators are drawn where they were (``self.next_batch``), and so
are those of an updater that takes several for an update: the loop calls its ``update_core()``.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping, Sequence
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddKeyword, AddParameter, Operand, Remove, Replace
from chainer2torch.plan.native import further_loaders, imports
from chainer2torch.plan.native.batch_drawings import (
    HOLDERS,
    NEXT_BATCH,
    Drawing,
    drawings_of,
    further_draws,
    is_self,
    own_draws,
)
from chainer2torch.plan.native.batches_drawn import draws_of, draws_one
from chainer2torch.plan.native.own_inits import first_counts
from chainer2torch.plan.native.updater_choices import choices
from chainer2torch.plan.questions.device_specs import device_or_none

_UPDATER = "chainer.training.updaters.Updater"
_STANDARD = "chainer.training.updaters.StandardUpdater"
_EVALUATOR = "chainer.training.extensions.Evaluator"
_ITERATOR = "chainer.dataset.Iterator"
_ITERATORS = frozenset(f"chainer.iterators.{name}Iterator" for name in ("Serial", "Multiprocess", "Multithread"))
_OPTIMIZER = "chainer.Optimizer"
_CORE = "update_core"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_UNSEEN = frozenset({_CORE, "order_sampler", "new_epoch"})
_COUNTERS = frozenset({"epoch", "epoch_detail", "is_new_epoch", "iteration", "previous_epoch_detail"})
_BETWEEN = frozenset({"epoch", "epoch_detail", "iteration"})  # what a manager says as well between two updates
_WITHIN = frozenset({"iteration"})  # and what it says within one, as it counts an epoch when the update is done
_MEMBERS = _UNSEEN | HOLDERS | _COUNTERS | {"update"}
# what an updater may not say otherwise than Chainer's
_CLOCKWORK = _COUNTERS | frozenset("update finalize connect_trainer serialize get_iterator get_all_optimizers".split())
_OPTIONS = frozenset({"loss_scale", "auto_new_epoch", "order_sampler"})
_SHARED = "chainer.training.updaters.MultiprocessParallelUpdater"
_HANDED: Mapping[str, str] = MappingProxyType(
    {
        _STANDARD: "native.StandardBatchUpdater",
        "chainer.training.updaters.ParallelUpdater": "native.ParallelBatchUpdater",
    }
)
_DEVICES = frozenset({"device", "input_device"})
_POSITION = 3  # of the device among the arguments


def are_handed(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether the text of all files that see a file would let its updaters be handed their batches."""
    return module in analysis.once(_files)


def _groups(analysis: Analysis) -> dict[ModuleInfo, int]:
    return imports.groups(analysis.project)


def _files(analysis: Analysis) -> frozenset[ModuleInfo]:
    groups = analysis.once(_groups)
    refused = {groups[module] for module in groups if not _allows(analysis, module)}
    refused |= {groups[cls.module] for cls in analysis.classes.values() if not _is_simple(analysis, cls)}
    further = {groups[cls.module] for cls in _drawing_further(analysis)} - refused
    asked = [module for module, group in groups.items() if group in further]
    refused |= {groups[module] for module in asked if not further_loaders.allows(analysis, module)}
    # how far a loader has come that an updater draws from is saved by nobody: it matters where the order is kept
    drawing = {groups[cls.module] for cls in analysis.once(draw_themselves)}
    resumed = {groups[module] for module in groups if further_loaders.resumes(analysis, module)}
    refused |= drawing & resumed & {groups[m] for m in groups if further_loaders.keeps_order(analysis, m)}
    return frozenset(module for module, group in groups.items() if group not in refused)


def _drawing_further(analysis: Analysis) -> Iterator[ClassInfo]:
    """The updaters that draw of another iterator than the main one, too."""
    return (cls for cls in analysis.classes.values() if analysis.derives(cls, _UPDATER) and further_draws(cls))


def draw_themselves(analysis: Analysis) -> frozenset[ClassInfo]:
    """The updaters that no parameter could hand all their batches: those of one family, or one Trainer, do it alike."""
    updaters = [cls for cls in analysis.classes.values() if analysis.derives(cls, _UPDATER)]
    found = {cls for cls in updaters if not _is_handed(analysis, cls)}
    size = -1
    while size != len(found):
        size = len(found)
        families: list[set[ClassInfo]] = [
            {owner for owner in analysis.mro(cls) if owner in updaters} for cls in updaters
        ]
        families += [set(updaters).intersection(group) for group in analysis.once(choices) if group <= set(updaters)]
        found |= {cls for family in families if not found.isdisjoint(family) for cls in family}
    return frozenset(found)


def _is_handed(analysis: Analysis, cls: ClassInfo) -> bool:
    return draws_one(analysis, cls) and (_CORE not in cls.methods or drawings_of(cls) is not None)


# -- classes -------------------------------------------------------------------------------------------------------


def _is_simple(analysis: Analysis, cls: ClassInfo) -> bool:
    derives = analysis.derives
    if derives(cls, _ITERATOR):
        return False
    if not derives(cls, _UPDATER):
        return True
    bases = [owner for owner in analysis.mro(cls) if isinstance(owner, str)]
    own = _CLOCKWORK.intersection((*cls.methods, *cls.attrs)) - ({"iteration"} if first_counts(cls) else set())
    if bases[:1] != [_STANDARD] or own or draws_of(analysis, cls) is None:
        return False
    if any(_asks_itself(node) for node in nodes_of(cls.node)):
        return False
    return cls not in analysis.once(draw_themselves) or own_draws(cls) is not None


def _asks_itself(node: ast.AST, counters: Collection[str] = _COUNTERS - _WITHIN) -> bool:
    if not isinstance(node, ast.Attribute) or node.attr not in counters or not is_self(node.value):
        return False
    return counters is not _WITHIN or isinstance(node.ctx, ast.Load)  # what begins to count asks nothing


def counting(analysis: Analysis) -> frozenset[ModuleInfo]:
    """The files around which updaters are asked for what only the manager counts."""
    groups = analysis.once(_groups)
    found = {
        groups[cls.module]
        for cls in analysis.classes.values()
        if analysis.derives(cls, _UPDATER) and any(_asks_itself(node, _WITHIN) for node in nodes_of(cls.node))
    }
    found |= {groups[module] for module in groups if any(map(_Asked(analysis).is_one, module.source.of(ast.Attribute)))}
    return frozenset(module for module, group in groups.items() if group in found)


class _Asked:
    """Whether an expression asks what is known to be an updater for a counter."""

    def __init__(self, analysis: Analysis):
        self.analysis = analysis

    def is_one(self, node: ast.AST) -> bool:
        if not isinstance(node, ast.Attribute) or node.attr not in _BETWEEN or _is_of_trainer(self.analysis, node):
            return False
        if not isinstance(node.ctx, ast.Load):
            return False
        owners = [k.cls for k in options(self.analysis.kind(node.value)) if isinstance(k, Inst)]
        return any(self.analysis.derives(cls, _UPDATER) for cls in owners)


# -- everything else in the files ----------------------------------------------------------------------------------


def _allows(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether nothing in a file looks into an updater, steps it, or draws batches otherwise."""
    if any(node.arg in _OPTIONS and not _is_of_backward(module, node) for node in module.source.of(ast.keyword)):
        return False
    members = module.source.attributes
    return all(_is_harmless_name(name) for _, name in analysis.names_in(module.source)) and all(
        _is_harmless(analysis, module, node) for name in _MEMBERS & members.keys() for node in members[name]
    )


def _is_of_backward(module: ModuleInfo, keyword: ast.AST) -> bool:
    """``loss.backward(loss_scale=scale)``: no option of an updater."""
    call = module.source.parents[keyword]
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward"


def _is_harmless_name(name: str) -> bool:
    if name.startswith("chainer.iterators.") and name not in _ITERATORS or name.startswith("chainermn.iterators."):
        return False
    return name != _SHARED and not (name.startswith("chainermn.") and name.endswith("Updater"))


def _is_harmless(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    if node.attr in _UNSEEN or node.attr in HOLDERS and not _is_inside(analysis, module, node):
        return False
    owners = [k.cls for k in options(analysis.kind(node.value)) if isinstance(k, Inst)]
    if node.attr == "epoch" and any(analysis.derives(cls, _OPTIMIZER) for cls in owners):
        return False  # an updater counts the epochs of its optimizers
    between = node.attr in _WITHIN or node.attr in _BETWEEN and _is_between_updates(analysis, module, node)
    between = between and not _is_in_updater(analysis, module, node)
    if node.attr in _COUNTERS | {"update"} and not between and not _is_of_trainer(analysis, node):
        return not any(analysis.derives(cls, _UPDATER) for cls in owners)
    return True


def _is_between_updates(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether no update asks for a counter: an extension or a trigger does, or the function that makes the updater.

    Within an update, the epoch of a manager is one behind when its last batch has been drawn.
    """
    function = module.source.enclosing(node, *_FUNCTIONS)
    if not isinstance(function, _FUNCTIONS):
        return True
    names = [a.arg for a in nodes_of(function.args) if isinstance(a, ast.arg)]
    if any("trainer" in name for name in names):
        return True
    return any(
        isinstance(kind, Inst) and analysis.derives(kind.cls, _UPDATER)
        for call in nodes_of(function)
        if isinstance(call, ast.Call)
        for kind in options(analysis.kind(call))
    )


def _is_of_trainer(analysis: Analysis, node: ast.Attribute) -> bool:
    """``trainer.updater.epoch``: the manager has it."""
    return node.attr in ("epoch", "epoch_detail", "iteration") and getattr(node.value, "attr", "") == "updater"


def _is_in_updater(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a method of an updater asks another object; what it asks itself is looked at there."""
    return not is_self(node.value) and _is_inside(analysis, module, node, (_UPDATER,))


def _is_inside(
    analysis: Analysis, module: ModuleInfo, node: ast.AST, bases: Collection[str] = (_UPDATER, _EVALUATOR)
) -> bool:
    """Whether an attribute belongs to an updater's class, which is looked at by itself, or to an evaluator's."""
    cls = module.source.enclosing(node, ast.ClassDef)
    info = analysis.classes.get(cls) if isinstance(cls, ast.ClassDef) else None
    return info is not None and any(analysis.derives(info, base) for base in bases)


# -- what is written -----------------------------------------------------------------------------------------------


def emit(context: Context, decisions: Decisions, gone: Collection[ast.Call]) -> None:
    """The parameter of ``update_core`` in the classes of this file, in the place of what draws the batch.

    ``gone``: the calls that make updaters of which nothing stays.
    """
    for call in context.source.of(ast.Call):
        symbol = context.reference(call.func) or ""
        if symbol in _HANDED and context.kind(call.func) == Ref(symbol) and call not in gone:
            decisions.edit(call, Replace(context.source.span(call), _HANDED[symbol], {}, callee_only=True))
            places = call.args[_POSITION:][:1] if symbol == _STANDARD else []
            for value in (*places, *(k.value for k in call.keywords if k.arg in _DEVICES)):
                template = device_or_none(context, value, "value")
                if template != "value":
                    decisions.wrap(value, template)
            decisions.use(call.func)
            decisions.mark(call.func, context.rules.rows[symbol], symbol, "exact")
    for node, _ in context.analysis.names_in(context.source):
        symbol, parent = context.reference(node) or "", context.source.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node or isinstance(parent, ast.ClassDef)
        if symbol in _HANDED and context.kind(node) == Ref(symbol) and not called:
            decisions.replace(node, _HANDED[symbol], {})
            decisions.use(node)
            decisions.mark(node, context.rules.rows[symbol], symbol, "exact")
    for info in _classes(context):
        if info in context.analysis.once(draw_themselves):
            for drawing in own_draws(info) or ():
                _emit_draws(context, decisions, drawing)
        else:
            for drawing in (drawings_of(info) if _CORE in info.methods else None) or ():
                _emit_method(context, decisions, drawing)
        _remove(context, decisions, first_counts(info))
        for call, name in further_draws(info):
            decisions.replace(call, f"self.{NEXT_BATCH}(NAME)", {"NAME": context.operand(name)})


def _emit_method(context: Context, decisions: Decisions, drawing: Drawing) -> None:
    decisions.edit(drawing.method, AddParameter(context.source.start(drawing.method), drawing.batch, ""))
    for call, parameter in drawing.passes:
        decisions.edit(call, AddKeyword(context.source.span(call), parameter, drawing.batch))
    bound = [context.source.statement(draw) for draw in drawing.draws if drawing.binds]
    _remove(context, decisions, [*drawing.names, *bound])
    for draw in drawing.draws if not drawing.binds else ():
        decisions.replace(draw, "BATCH", {"BATCH": Operand(code=drawing.batch)})


def _emit_draws(context: Context, decisions: Decisions, drawing: Drawing) -> None:
    _remove(context, decisions, drawing.names)
    for draw in drawing.draws:
        decisions.replace(draw, f"self.{NEXT_BATCH}()", {})


def _remove(context: Context, decisions: Decisions, statements: Sequence[ast.stmt]) -> None:
    for statement in dict.fromkeys(statements):
        decisions.edit(statement, Remove(context.source.start(statement)))
        decisions.remove(statement)


def _classes(context: Context) -> Iterator[ClassInfo]:
    for node in context.source.of(ast.ClassDef):
        info = context.analysis.classes.get(node)
        if info is not None and context.analysis.derives(info, _STANDARD):
            yield info


__all__ = ["are_handed", "counting", "draw_themselves", "emit"]
