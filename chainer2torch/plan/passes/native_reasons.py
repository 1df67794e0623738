"""Why training objects keep Chainer's form in the native style: said in the report, where they are made."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.launching import ONE_PROCESS
from chainer2torch.plan.native.concerns import is_native, native_objects
from chainer2torch.plan.native.light_loaders import light_form
from chainer2torch.plan.native.managers import group_of
from chainer2torch.plan.native.programs import TRAINER
from chainer2torch.plan.parts.assigned_values import reaching
from chainer2torch.plan.native.loop_iterators import CONCERN as ITERATORS

_KEPT = "keeps Chainer's own form: {}"
NO_ENGINE = "; so it runs in a loop of its own, without an Ignite engine"
_STAND_IN = (
    "if this is a trigger or an extension of Chainer: what takes its place asks for what a manager has "
    "(iteration, epoch, epoch_detail, ...), no updater: {} stands in for a Trainer, and may lack them"
)
_ASKING = ("chainer.training.triggers.", "chainer.training.extensions.")
_MOCKS = ("mock.", "types.SimpleNamespace", "unittest.mock.")
_PARALLEL = tuple(f"chainer.training.updaters.{name}" for name in ("ParallelUpdater", "MultiprocessParallelUpdater"))


def run(context: Context) -> Decisions:
    """A word at each call that makes an object which does not become native; nothing is marked in the source."""
    decisions = Decisions(context)
    if not is_native(context):
        return decisions
    objects = native_objects(context)
    group = group_of(context)
    written = {c for p in (group.opened.values() if group is not None else ()) for c in (p.call, p.updater)}
    for call in context.source.of(ast.Call):
        _stand_in(context, decisions, call)
        symbol = context.reference(call.func)
        row = context.rules.rows.get(symbol) if symbol is not None else None
        if row is None or call in written or row.state not in ("exact", "close") and row.name not in _PARALLEL:
            continue
        made = [i for i in objects.of(context.kind(call)) if objects.analysis.makers.get(i.site) is call]
        kept = [i for i in made if objects.concern(i) is not ITERATORS or light_form(objects, i) is None]
        reason = next((r for r in map(objects.reason, kept) if r), "")
        if reason:
            message = _KEPT.format(reason) if row.state in ("exact", "close") else row.next
            message += ONE_PROCESS * (row.name in _PARALLEL)
            kept_loop = row.name == TRAINER and context.choices.trainer == "ignite" and group_of(context) is None
            message += NO_ENGINE * kept_loop
            decisions.refine(call.func, row, row.state, message, of=row.name)
    return decisions


def _stand_in(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """``trigger(trainer)`` with an object of the program's own in the place of a Trainer, as tests have it."""
    called = options(context.kind(call.func))
    if len(call.args) != 1 or call.keywords or context.migrated or not context.imports_chainer:
        return
    if not all(k == UNKNOWN or isinstance(k, Inst) and str(k.cls).startswith(_ASKING) for k in called):
        return
    given = options(context.kind(call.args[0]))
    own = [k.cls for k in given if isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and "updater" in k.cls.attrs]
    if len(own) == len(given) and not any(context.analysis.derives(cls, TRAINER) for cls in own):
        decisions.mark(call, None, TRAINER, "review", _STAND_IN.format(own[0].name), "C2T600")
    elif UNKNOWN not in called and (mocked := _mocked(context, call.args[0])):
        decisions.mark(call, None, TRAINER, "review", _STAND_IN.format(mocked), "C2T600")


def _mocked(context: Context, node: ast.expr) -> str:
    """The class of an object that has whatever it is asked for, or what the program gives it: ``MagicMock()``."""
    made = reaching(context, node) if isinstance(node, ast.Name) else [node]
    for value in made:
        callee = context.kind(value.func) if isinstance(value, ast.Call) else None
        if isinstance(callee, Ref) and callee.name.startswith(_MOCKS):
            return callee.name.rpartition(".")[2]
    return ""


__all__ = ["NO_ENGINE", "run"]
