"""Updaters of the program's own: classes on StandardUpdater that say in ``update_core`` what one step is.

They keep their text. Their base becomes a short class with what such a step asks for (``get_iterator``,
``get_optimizer``, ``converter``, ``device``), and the loop calls ``updater.update()``.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from chainer2torch.analysis.kinds import Class, Func, Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.batches_drawn import draws_one
from chainer2torch.plan.native.calls import is_dict
from chainer2torch.plan.native.filled_updaters import filled
from chainer2torch.plan.native.flows import takers_of_display, written_in
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.places import is_reached_through
from chainer2torch.plan.native.updater_bases import says_all
from chainer2torch.plan.native.updater_choices import are_known
from chainer2torch.plan.questions.overridden_methods import is_super

UPDATER = "chainer.training.updaters.StandardUpdater"
_MEMBERS = frozenset(
    "get_iterator get_optimizer get_all_optimizers _iterators _optimizers converter device iteration epoch "
    "epoch_detail is_new_epoch update update_core".split()
)

_BASES: Mapping[tuple[bool, bool], str] = MappingProxyType(  # by whether it is handed its batches, and says its step
    {
        (True, True): "native.BatchUpdater",
        (True, False): "native.StandardBatchUpdater",
        (False, True): "native.Updater",
    }
)
_OF_BOTH, _OF_ITERATORS = "native.Updater", "native.IteratorUpdater"
_ITERATOR = "chainer.dataset.Iterator"
_NAMED = frozenset({"iterator", "optimizer"})
_ARGUMENTS = frozenset({"iterator", "optimizer", "converter", "device", None})  # None: `**kwargs`


@dataclasses.dataclass(frozen=True)
class Given:
    """What a call that makes an updater of one's own hands over: optimizers by name, and the main iterator."""

    iterator: ast.expr
    optimizers: dict[str, ast.expr]
    several: bool  # whether they stand in a dictionary
    display: ast.expr | None = None  # that dictionary, where it has a name


def own_class(inst: Inst) -> ClassInfo | None:
    """The class of the program's own whose object an updater is."""
    return inst.cls if isinstance(inst.cls, ClassInfo) else None


def why_not(objects: Objects, cls: ClassInfo) -> str:
    """Why a class keeps Chainer's base; "" if the short one will do."""
    if not draws_one(objects.analysis, cls):
        return f"`{cls.name}` is not seen to draw one batch for an update"
    for owner in objects.analysis.mro(cls):
        if isinstance(owner, str):
            return "" if owner == UPDATER else "an updater on another class of Chainer's"
        if "update" in owner.methods or "finalize" in owner.methods or "serialize" in owner.methods:
            return f"`{owner.name}` has a method `update`, `finalize` or `serialize` of its own"
    return "an updater of another class"


def used(objects: Objects, use: Use) -> str | None:
    """Whether a member of such an updater is its own, or one that the short base has."""
    cls = own_class(use.inst)
    if use.member == "__init__" and use.call is not None:
        known = {k.arg for k in use.call.keywords} <= _ARGUMENTS and len(use.call.args) <= len(_ARGUMENTS)
        return "" if known else "its base is made with arguments that are not known"
    if cls is None or not use.member:
        return "" if isinstance(use.parent, ast.Call) and is_super(use.parent) else None
    own = any(
        isinstance(owner, ClassInfo) and (use.member in owner.methods or use.member in owner.attrs)
        for owner in objects.analysis.mro(cls)
    )
    return "" if own or use.member in _MEMBERS else None


def given_to(objects: Objects, context: Context, call: ast.Call) -> Given | str:
    """The iterator and the optimizers that a call hands over, or why that is not known."""
    values = {str(i): a for i, a in enumerate(call.args)} | {k.arg: k.value for k in call.keywords if k.arg}
    inside = [written_in(context, k.value) for k in call.keywords if k.arg is None]
    if any(isinstance(a, ast.Starred) for a in call.args) or any(pairs is None for pairs in inside):
        return "an updater whose arguments are not known"
    for name, value in (pair for pairs in inside for pair in pairs or ()):
        again = name in values and (name in _NAMED or not _is_plain(objects, context, value, values[name]))
        if again or not _is_plain(objects, context, value) and not _is_before(context, call, value):
            return "an updater whose arguments are not known"
        values[name] = value
    iterators = [node for value in values.values() for node in _of(objects, context, value, "iterators").values()]
    found = [(value, _of(objects, context, value, "optimizers")) for value in values.values()]
    optimizers = [(value, names) for value, names in found if names]
    put = filled(context, call, "_optimizers")
    if put is not None and all(_is(objects, context, value, "optimizers") for value in put.values()):
        named = filled(context, call, "_iterators") or {}
        main = named.get("main", iterators[0] if len(iterators) == 1 else None)
        return "it has no main iterator" if main is None else Given(main, put, several=True)
    if len(optimizers) != 1 or not iterators:
        return "which optimizers and iterators it gets is not known"
    main = next(
        (names["main"] for v in values.values() if "main" in (names := _of(objects, context, v, "iterators"))), None
    )
    if main is None:
        return "it has no main iterator"
    value, names = optimizers[0]
    several = not _is(objects, context, value, "optimizers")
    return Given(main, names, several, value if several and isinstance(value, ast.Name) else None)


def _of(objects: Objects, context: Context, value: ast.expr, concern: str) -> dict[str, ast.expr]:
    """The objects of a concern that an argument holds, by name: one by itself is `main`."""
    pairs = _pairs(context, value)
    if pairs is not None:
        found = {str(name): v for name, v in pairs if name is not None and _is(objects, context, v, concern)}
        return found if len(found) == len(pairs) else {}
    return {"main": value} if _is(objects, context, value, concern) else {}


def _pairs(context: Context, value: ast.expr) -> list[tuple[object, ast.expr]] | None:
    """What stands in ``{'gen': a}`` or ``dict(gen=a)``, by name; None where the name is not known, or it is neither."""
    if isinstance(value, ast.Name):
        written = written_in(context, value) or []
        once = len({name for name, _ in written}) == len(written)
        return [*written] if written and once and all(_is_before(context, value, v) for _, v in written) else None
    if isinstance(value, ast.Dict):
        return [(k.value if isinstance(k, ast.Constant) else None, v) for k, v in zip(value.keys, value.values)]
    if isinstance(value, ast.Call) and is_dict(context, value):
        return [(k.arg, k.value) for k in value.keywords]
    return None


def _is_before(context: Context, place: ast.expr, value: ast.expr) -> bool:
    """Whether every way to a place leads through the statement in which a value stands."""
    return is_reached_through(context, place, context.source.statement(value))


def _is_plain(objects: Objects, context: Context, *values: ast.expr) -> bool:
    """Whether none of several values under one name holds an object that matters here."""
    concerns = ("optimizers", "iterators")
    return not any(_of(objects, context, value, concern) for value in values for concern in concerns)


def _is(objects: Objects, context: Context, node: ast.expr, name: str) -> bool:
    concerns = [objects.concern(k) for k in options(context.kind(node))]
    return bool(concerns) and all(c is not None and c.name == name for c in concerns)


def takes_lists(use: Use) -> bool:
    """Whether an iterator goes to an updater of the program's own, which gets lists of examples."""
    displayed = takers_of_display(use.context, use.node)
    for call in displayed or (a for a in use.context.source.ancestors(use.node) if isinstance(a, ast.Call)):
        for kind in options(use.context.kind(call.func)):
            if isinstance(kind, Class):
                return use.context.analysis.derives(kind.info, UPDATER)
        return False
    return False


def model_given(objects: Objects, context: Context, optimizer: ast.expr, setup: ast.Call) -> ast.expr | None:
    """The model of ``opt = make_optimizer(model)``, a function of the project that sets the optimizer up."""
    if not isinstance(optimizer, ast.Name) or len(setup.args) != 1 or not isinstance(setup.args[0], ast.Name):
        return None
    stores = [n for n in context.source.named.get(optimizer.id, ()) if isinstance(n.ctx, ast.Store)]
    scope = context.scope(optimizer, optimizer.id)
    made = [context.source.parents[n] for n in stores if context.scope(n, n.id) is scope]
    if len(made) != 1 or not isinstance(made[0], ast.Assign) or not isinstance(made[0].value, ast.Call):
        return None
    call = made[0].value
    functions = [k.info for k in options(context.kind(call.func)) if isinstance(k, Func)]
    if len(functions) != 1 or setup not in nodes_of(functions[0].node):
        return None
    names = [a.arg for a in functions[0].node.args.args]
    keywords = {k.arg: k.value for k in call.keywords}
    name = setup.args[0].id
    if name in keywords:
        return keywords[name]
    return dict(zip(names, call.args)).get(name)


def emit_base(objects: Objects, context: Context, decisions: Decisions, handed: bool) -> None:
    """The short base in the place of Chainer's, for the classes of this file whose updaters need no more.

    ``handed``: whether loops give them their batches.
    """
    native = {own_class(u[0].inst) for u in objects.uses.values() if not objects.reason_at(u[0])}
    for node in context.source.of(ast.ClassDef):
        info = context.analysis.classes.get(node)
        if info is None:
            continue
        short = handed and info in native or says_all(objects, context, info)
        if not short and not handed:
            continue
        text = _BASES[handed, short]
        text = _OF_ITERATORS if text == _OF_BOTH and _draws_of_own(objects, info) else text
        for base in node.bases:
            if context.kind(base) == Ref(UPDATER) and context.reference(base) is not None:
                decisions.replace(base, text, {})
                decisions.use(base)
                decisions.mark(base, context.rules.rows[UPDATER], UPDATER, "exact")


def _draws_of_own(objects: Objects, cls: ClassInfo) -> bool:
    """Whether every updater of a class draws of an iterator of the program's own, and of no loader."""
    analysis = objects.analysis
    insts = [uses[0].inst for uses in objects.uses.values() if uses[0].inst.site]
    makers = [analysis.makers.get(inst.site) for inst in insts if cls in analysis.mro(inst.cls)]
    return bool(makers) and analysis.once(are_known) and all(m is not None and _gets_own(objects, m) for m in makers)


def _gets_own(objects: Objects, maker: ast.Call) -> bool:
    """Whether a call hands an iterator of the program's own over by itself: then there is no other."""
    context = objects.context_of(maker)
    given = given_to(objects, context, maker)
    if isinstance(given, str) or given.iterator not in (*maker.args, *(k.value for k in maker.keywords)):
        return False
    kinds, derives = options(context.kind(given.iterator)), context.analysis.derives
    return all(isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and derives(k.cls, _ITERATOR) for k in kinds)


__all__ = ["Given", "emit_base", "given_to", "model_given", "own_class", "takes_lists", "used", "why_not"]
