"""Steps that are written out though something else of their program is not understood.

A program becomes a loop over a DataLoader as a whole (programs.py), or keeps an updater that the loop calls
(managers.py). Between the two: nobody asks for the updater, and all that it does is one step by an optimizer that is
at hand. Then the loop says that step, whichever form the optimizer and the extensions have.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.borrowed import is_counted
from chainer2torch.plan.native.calls import bound_call
from chainer2torch.plan.native.flows import put_into
from chainer2torch.plan.native.light_loaders import light_form
from chainer2torch.plan.native.loop_iterators import is_read
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.programs import TRAINER, UPDATER, Program, Unclear, program_of
from chainer2torch.plan.project_rules import has_short_optimizers

_OPTIMIZERS = "optimizers"
_COUNTS = frozenset({"epoch", "new_epoch"})  # of an optimizer: the updater counts them


def opened(
    objects: Objects, runs: Mapping[ast.Call, tuple[ast.Expr, ...]], borrows: bool
) -> Mapping[ast.Call, Program]:
    """The programs whose step is written out, by the calls that make their Trainers.

    ``runs``: where these run; ``borrows``: whether managers stand in for updaters in other functions.
    """
    known = {call: _opened(objects, call, statements, borrows) for call, statements in runs.items()}
    found = {call: program for call, program in known.items() if program is not None}
    size = -1
    while size != len(found):  # an iterator gives batches to all that take it, or to none
        size = len(found)
        updaters = {program.updater for program in found.values()}
        found = {call: p for call, p in found.items() if _gets_batches(objects, p, updaters)}
    return found


def _opened(objects: Objects, call: ast.Call, runs: tuple[ast.Expr, ...], borrows: bool) -> Program | None:
    context = objects.context_of(call)
    try:
        program = program_of(objects, call, context, runs)
    except Unclear:
        return None
    (updater,) = objects.of(context.kind(program.updater))
    inside = bound_call(context, program.updater, UPDATER)
    assert inside is not None
    uses = [u for u in objects.uses_of(updater) if not (borrows and is_counted(u, program.updater))]
    if context.skipped.node(program.updater) or not all(map(_is_given_to_trainer, uses)):
        return None
    if not _steps(objects, context, inside.given["optimizer"]):
        return None
    loaders = _iterators(objects, program)
    return program if loaders and all(light_form(objects, inst) is not None for inst in loaders) else None


def _is_given_to_trainer(use: Use) -> bool:
    """Whether an updater is bound to its variable, or an argument of a Trainer."""
    call = use.parent.value if isinstance(use.parent, ast.Assign) else use.parent
    call = use.context.source.parents[call] if isinstance(call, ast.keyword) else call
    if call is use.node:
        return True
    return isinstance(call, ast.Call) and use.context.reference(call.func) == TRAINER


def _steps(objects: Objects, context: Context, optimizer: ast.expr) -> bool:
    """Whether an optimizer, whichever it is, has ``zero_grad`` and ``step``, and counts no epochs that are read."""
    kinds = options(context.kind(optimizer))
    if not has_short_optimizers(context.analysis, context.module):
        return False
    for kind in kinds:
        concern = objects.concern(kind)
        if not isinstance(kind, Inst) or concern is None or concern.name != _OPTIMIZERS:
            return False
        own = [cls for cls in objects.analysis.mro(kind.cls) if isinstance(cls, ClassInfo)]
        if any({"update", *_COUNTS} & {*cls.methods, *cls.attrs} for cls in own):
            return False
    return not any(
        use.member in _COUNTS
        for uses in objects.uses.values()
        for use in uses
        if (concern := objects.concern(use.inst)) is not None
        and concern.name == _OPTIMIZERS
        and objects.sees(context, use.context)
    )


def _iterators(objects: Objects, program: Program) -> list[Inst]:
    """The iterators that a program may read; none, if one of them is not known."""
    context = objects.context_of(program.call)
    inside = bound_call(context, program.updater, UPDATER)
    assert inside is not None
    kinds = options(context.kind(inside.given["iterator"]))
    found = [k for k in kinds if isinstance(k, Inst) and k.site and objects.concern(k) is not None]
    return found if len(found) == len(kinds) else []


def _gets_batches(objects: Objects, program: Program, updaters: set[ast.Call]) -> bool:
    """Whether only steps that are written out take the iterators of a program, so that they may give batches."""
    if program.step.conversion is not None:
        return True
    uses = [use for inst in _iterators(objects, program) for use in objects.uses_of(inst)]
    return all(is_read(use) or _taker(use) is None or _taker(use) in updaters for use in uses)


def _taker(use: Use) -> ast.Call | None:
    """The call of which an object is an argument."""
    around = use.context.source.ancestors(use.node)
    for outer in around:
        if isinstance(outer, ast.Call):
            return outer
        if isinstance(outer, ast.stmt):
            return None
    return None


def _is_displayed(use: Use) -> bool:
    """Whether an object stands in a dictionary or list that goes on, or is put into one."""
    return isinstance(use.parent, (ast.Dict, ast.List, ast.Tuple)) or put_into(use.parent) is not None


def collates(objects: Objects, inst: Inst, programs: Iterable[Program]) -> bool:
    """Whether the loader that an iterator becomes gives batches to steps that are written out."""
    return any(p.step.conversion is None and inst in _iterators(objects, p) for p in programs)


def steps_only(objects: Objects, inst: Inst, programs: Iterable[Program]) -> bool:
    """Whether nothing takes an optimizer but steps that are written out, with a model that has a name."""
    named = {p.updater for p in programs if p.step.model != f"{p.step.optimizer}.target"}
    takers = [(use, _taker(use)) for use in objects.uses_of(inst) if not use.member]
    if any(call is None and _is_displayed(use) for use, call in takers):
        return False
    takes = (call for use, call in takers if call is not None and any(objects.takers(use.context, call)))
    return all(call in named for call in takes)


__all__ = ["collates", "opened", "steps_only"]
