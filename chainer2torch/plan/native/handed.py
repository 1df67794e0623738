"""Updaters that are handed a batch: the loop over the loader gives it to ``update_core``, which no longer draws it.

def update_core(self):                                   def update_core(self, batch):
    batch = self.get_iterator('main').next()                 x = self.converter(batch, self.device)
    x = self.converter(batch, self.device)

Then nobody has to count batches beside the manager, and loaders need no ``next()``. That is one answer for all files
that see each other: each of their updaters draws one batch, at the beginning of what it does with it, and nobody asks
an updater for what it draws from.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import AddParameter, Operand, Remove, Replace
from chainer2torch.plan.native import imports
from chainer2torch.plan.native.batches_drawn import draws_one
from chainer2torch.plan.questions.device_specs import device_or_none

_UPDATER = "chainer.training.updaters.Updater"
_STANDARD = "chainer.training.updaters.StandardUpdater"
_EVALUATOR = "chainer.training.extensions.Evaluator"
_ITERATOR = "chainer.dataset.Iterator"
_ITERATORS = frozenset(f"chainer.iterators.{name}Iterator" for name in ("Serial", "Multiprocess", "Multithread"))
_OPTIMIZER = "chainer.Optimizer"
_CORE = "update_core"
_UNSEEN = frozenset({_CORE, "order_sampler", "new_epoch"})
_HOLDERS = frozenset({"get_iterator", "_iterators"})
_NEXT = frozenset({"next", "__next__"})
_COUNTERS = frozenset({"epoch", "epoch_detail", "is_new_epoch", "iteration", "previous_epoch_detail"})
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
_BATCH = "batch"
_DEVICES = frozenset({"device", "input_device"})
_POSITION = 3  # of the device among the arguments


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """How a class draws its batch: the method, the calls that draw, the names of the iterator, and of the batch."""

    method: ast.FunctionDef
    draws: tuple[ast.Call, ...]
    names: tuple[ast.Assign, ...]
    batch: str
    binds: bool  # whether each draw is a statement that gives the batch this name


def are_handed(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether the text of all files that see a file would let its updaters be handed their batches."""
    return module in analysis.once(_files)


def _groups(analysis: Analysis) -> dict[ModuleInfo, int]:
    return imports.groups(analysis.project)


def _files(analysis: Analysis) -> frozenset[ModuleInfo]:
    groups = analysis.once(_groups)
    refused = {groups[module] for module in groups if not _allows(analysis, module)}
    refused |= {groups[cls.module] for cls in analysis.classes.values() if not _is_simple(analysis, cls)}
    return frozenset(module for module, group in groups.items() if group not in refused)


# -- classes -------------------------------------------------------------------------------------------------------


def _is_simple(analysis: Analysis, cls: ClassInfo) -> bool:
    derives = analysis.derives
    if derives(cls, _ITERATOR):
        return False
    if not derives(cls, _UPDATER):
        return True
    bases = [owner for owner in analysis.mro(cls) if isinstance(owner, str)]
    own = _CLOCKWORK.intersection((*cls.methods, *cls.attrs))
    if bases[:1] != [_STANDARD] or own or not draws_one(analysis, cls):
        return False
    if any(_asks_itself(node) for node in nodes_of(cls.node)):
        return False
    return _CORE not in cls.methods or drawing_of(cls) is not None


def _asks_itself(node: ast.AST) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _COUNTERS and _is_self(node.value)


def drawing_of(cls: ClassInfo) -> Drawing | None:
    """How ``update_core`` of a class draws its batch; None: not in the way that a parameter could stand for."""
    method = cls.methods[_CORE].node if _CORE in cls.methods else None
    if not isinstance(method, ast.FunctionDef) or method.decorator_list or not _takes_itself_only(method):
        return None
    held = [n for n in ast.walk(cls.node) if isinstance(n, ast.Attribute) and n.attr in _HOLDERS]
    inside = list(ast.walk(method))
    lookups = [n for n in inside if _is_main(n)]
    if len(lookups) != len(held):
        return None
    named = [n for n in inside if isinstance(n, ast.Assign) and n.value in lookups]
    iterators = {n.targets[0].id for n in named if len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)}
    stores = [n for n in inside if isinstance(n, ast.Name) and n.id in iterators and isinstance(n.ctx, ast.Store)]
    loads = [n for n in inside if isinstance(n, ast.Name) and n.id in iterators and isinstance(n.ctx, ast.Load)]
    draws = [n for n in inside if isinstance(n, ast.Call) and _drawn_from(n) in (*lookups, *loads)]
    drawn = [_drawn_from(n) for n in draws]
    if len(stores) != len(named) or not all(node in drawn for node in loads) or not draws:
        return None
    if not all(node in drawn or any(node is n.value for n in named) for node in lookups):
        return None
    name, binds = _batch_name(method, draws)
    return Drawing(method, tuple(draws), tuple(named), name, binds)


def _takes_itself_only(method: ast.FunctionDef) -> bool:
    a = method.args
    return len(a.args) == 1 and a.args[0].arg == "self" and not (a.posonlyargs or a.vararg or a.kwonlyargs or a.kwarg)


def _is_self(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _is_main(node: ast.AST) -> bool:
    """``self.get_iterator('main')`` or ``self._iterators['main']``."""
    if isinstance(node, ast.Call):
        holder, names, form = node.func, node.args, "get_iterator"
        if node.keywords:
            return False
    elif isinstance(node, ast.Subscript):
        holder, names, form = node.value, [node.slice], "_iterators"
    else:
        return False
    if not isinstance(holder, ast.Attribute) or holder.attr != form or not _is_self(holder.value):
        return False
    return len(names) == 1 and isinstance(names[0], ast.Constant) and names[0].value == "main"


def _drawn_from(call: ast.Call) -> ast.expr | None:
    """The iterator in ``iterator.next()`` and ``next(iterator)``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _NEXT and not call.args and not call.keywords:
        return call.func.value
    if isinstance(call.func, ast.Name) and call.func.id == "next" and len(call.args) == 1 and not call.keywords:
        return call.args[0]
    return None


def _batch_name(method: ast.FunctionDef, draws: list[ast.Call]) -> tuple[str, bool]:
    """The name of the parameter, and whether the statements that draw only give the batch this name."""
    names = [n for n in ast.walk(method) if isinstance(n, (ast.Name, ast.arg))]
    bound = {
        n.targets[0].id: n
        for n in ast.walk(method)
        if isinstance(n, ast.Assign) and n.value in draws and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
    }
    count = sum(isinstance(n, ast.Assign) and n.value in draws for n in ast.walk(method))
    if len(bound) == 1 and count == len(draws):
        ((name, _),) = bound.items()
        first = min(draw.lineno for draw in draws)
        if not any(isinstance(n, ast.Name) and n.id == name and n.lineno < first for n in names):
            return name, True
    taken = {n.arg if isinstance(n, ast.arg) else n.id for n in names}
    return next(n for n in (_BATCH, *(f"{_BATCH}_{i}" for i in range(1, len(taken) + 2))) if n not in taken), False


# -- everything else in the files ----------------------------------------------------------------------------------


def _allows(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether nothing in a file looks into an updater, steps it, or draws batches otherwise."""
    options_given = {node.arg for node in module.source.of(ast.keyword)}
    if options_given & _OPTIONS:
        return False
    return all(_is_harmless(analysis, module, node) for node in module.source.of(ast.Attribute, ast.Name))


def _is_harmless(analysis: Analysis, module: ModuleInfo, node: ast.AST) -> bool:
    kind = analysis.kind(node) if isinstance(node, ast.expr) else None
    name = str(getattr(kind, "name", ""))
    if name.startswith("chainer.iterators.") and name not in _ITERATORS or name.startswith("chainermn.iterators."):
        return False
    if name == _SHARED or name.startswith("chainermn.") and name.endswith("Updater"):
        return False
    if not isinstance(node, ast.Attribute):
        return True
    if node.attr in _UNSEEN or node.attr in _HOLDERS and not _is_inside(analysis, module, node):
        return False
    owners = [k.cls for k in options(analysis.kind(node.value)) if isinstance(k, Inst)]
    if node.attr == "epoch" and any(analysis.derives(cls, _OPTIMIZER) for cls in owners):
        return False  # an updater counts the epochs of its optimizers
    if node.attr in _COUNTERS | {"update"} and not _is_of_trainer(analysis, node):
        return not any(analysis.derives(cls, _UPDATER) for cls in owners)
    return True


def _is_of_trainer(analysis: Analysis, node: ast.Attribute) -> bool:
    """``trainer.updater.epoch``: the manager has it."""
    return node.attr in ("epoch", "epoch_detail", "iteration") and getattr(node.value, "attr", "") == "updater"


def _is_inside(analysis: Analysis, module: ModuleInfo, node: ast.AST) -> bool:
    """Whether an attribute belongs to an updater's class, which is looked at by itself, or to an evaluator's."""
    cls = module.source.enclosing(node, ast.ClassDef)
    info = analysis.classes.get(cls) if isinstance(cls, ast.ClassDef) else None
    return info is not None and any(analysis.derives(info, base) for base in (_UPDATER, _EVALUATOR))


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
    for node in context.source.of(ast.Name, ast.Attribute):
        symbol, parent = context.reference(node) or "", context.source.parents.get(node)
        called = isinstance(parent, ast.Call) and parent.func is node or isinstance(parent, ast.ClassDef)
        if symbol in _HANDED and context.kind(node) == Ref(symbol) and not called:
            decisions.replace(node, _HANDED[symbol], {})
            decisions.use(node)
            decisions.mark(node, context.rules.rows[symbol], symbol, "exact")
    for info in _classes(context):
        drawing = drawing_of(info) if _CORE in info.methods else None
        if drawing is None:
            continue
        decisions.edit(drawing.method, AddParameter(context.source.start(drawing.method), drawing.batch, ""))
        bound: list[ast.stmt] = [
            *drawing.names,
            *(context.source.statement(draw) for draw in drawing.draws if drawing.binds),
        ]
        for statement in dict.fromkeys(bound):
            decisions.edit(statement, Remove(context.source.start(statement)))
            decisions.remove(statement)
        for draw in drawing.draws if not drawing.binds else ():
            decisions.replace(draw, "BATCH", {"BATCH": Operand(code=drawing.batch)})


def _classes(context: Context) -> Iterator[ClassInfo]:
    for node in context.source.of(ast.ClassDef):
        info = context.analysis.classes.get(node)
        if info is not None and context.analysis.derives(info, _STANDARD):
            yield info


__all__ = ["Drawing", "are_handed", "drawing_of", "emit"]
