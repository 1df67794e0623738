"""Iterators that become DataLoaders though those that take them stay objects: the program itself never reads them.

The updaters and evaluators among the helpers walk over a loader of lists of examples. So whether an iterator becomes a
loader does not depend on what becomes of the trainer around it.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Const, Inst, Ref
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import loop_iterators
from chainer2torch.plan.native.calls import bound_call
from chainer2torch.plan.native.filled_updaters import is_drawn_inside, is_filled_in
from chainer2torch.plan.native.handed import are_handed
from chainer2torch.plan.native.loop_iterators import Form, Iterator
from chainer2torch.plan.native.left_iterators import is_left_at_end
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.updater_choices import goes_to_unknown_updater
from chainer2torch.plan.project_rules import has_short_iterators

_TAKERS = {
    "chainer.training.updaters.StandardUpdater": "loss_scale",  # with what keeps the long form
    "chainer.training.extensions.Evaluator": "kwargs",
}
_EVALUATOR = "chainer.training.extensions.Evaluator"
_OWN = ("chainer.", "chainermn.")
_MEMBERS = frozenset({"dataset", "batch_size"})
_LOOPED = frozenset({"chainercv.utils.apply_to_iterator"})  # the helper walks over whatever it gets
_WALKING = frozenset({"copy.copy", "copy", "enumerate", "hasattr", "iter", "len"})


def light_form(objects: Objects, inst: Inst) -> Iterator | None:
    """The loader that an iterator becomes which is not native with those that take it; None: something reads it."""
    if inst not in objects.light_forms:
        objects.light_forms[inst] = _light_form(objects, inst)
    found = objects.light_forms[inst]
    assert found is None or isinstance(found, Iterator)
    return found


def _light_form(objects: Objects, inst: Inst) -> Iterator | None:
    bound, call = loop_iterators.bound_of(objects, inst), objects.analysis.makers.get(inst.site)
    if bound is None or call is None or not loop_iterators.has_place(bound) or not objects.uses_of(inst):
        return None
    context = objects.context_of(call)
    if context.skipped.node(call) or not has_short_iterators(context.analysis, context.module):
        return None
    if "shuffle" in bound.given and not isinstance(context.kind(bound.given["shuffle"]), Const):
        return None
    if not all(_is_handed_on(objects, use) for use in objects.uses_of(inst)):
        return None
    repeats = loop_iterators.repeats(bound)
    if not repeats and is_left_at_end(objects, inst) or repeats and any(map(_is_endless, objects.uses_of(inst))):
        return None
    return Iterator(Form.LOADER, bound, (), False)


def _is_handed_on(objects: Objects, use: Use) -> bool:
    if use.context.skipped.node(use.node):
        return False
    if _is_kept(objects, use):
        return True
    if (is_filled_in(use) or is_drawn_inside(use)) and are_handed(objects.analysis, use.context.module):
        return True
    if use.member:
        return use.member in _MEMBERS and loop_iterators.is_load(use)
    if _is_asked(use) or _is_for_somebody(use):
        return True
    if goes_to_unknown_updater(use.context, use.node):
        return True
    return not loop_iterators.is_read(use) and not objects.flow(use, lambda *taken: _taken(objects, *taken))


def _is_asked(use: Use) -> bool:
    """``isinstance(it, Iterator)``, which a loader answers as well."""
    call = use.parent
    return isinstance(call, ast.Call) and use.context.kind(call.func) == Ref("builtins.isinstance")


def _is_for_somebody(use: Use) -> bool:
    """Whether it goes to what a person is asked to write: a loop over a loader."""
    call = use.context.source.parents[use.parent] if isinstance(use.parent, ast.keyword) else use.parent
    return isinstance(call, ast.Call) and use.node is not call.func and _is_left(use.context, call)


def _is_endless(use: Use) -> bool:
    """Whether it goes to a loop that would end with the batches of a loader."""
    call = use.context.source.parents[use.parent] if isinstance(use.parent, ast.keyword) else use.parent
    return isinstance(call, ast.Call) and use.context.reference(call.func) in _LOOPED


def _is_left(context: Context, call: ast.Call) -> bool:
    """Whether a loop takes the place of a function of a library on Chainer, or nothing: its call gets a marker."""
    symbol = context.reference(call.func)
    if symbol is None or symbol.startswith(_OWN):
        return False
    row = context.rules.rows.get(symbol)
    return row is None or row.state == "manual" or symbol in _LOOPED


def _is_kept(objects: Objects, use: Use) -> bool:
    """``iterator = {'main': iterator}``, ``iter(self._iterators['main'])`` in a class of evaluators that only walks."""
    cls = use.context.source.enclosing(use.node, ast.ClassDef)
    info = objects.analysis.classes.get(cls) if isinstance(cls, ast.ClassDef) else None
    if info is None or not objects.analysis.derives(info, _EVALUATOR):
        return False
    return all(_only_walks(objects, own) for own in _own_classes(objects, info))


def _taken(objects: Objects, use: Use, call: ast.Call, takers: list[Inst]) -> str:
    """Why a helper that takes an iterator cannot do with a loader; "": it can."""
    return next(filter(None, (_why_not(objects, use, call, taker) for taker in takers)), "")


def _why_not(objects: Objects, use: Use, call: ast.Call, taker: Inst) -> str:
    base = next((name for name in _TAKERS if objects.analysis.derives(taker.cls, name)), None)
    if base is None:
        return "taken by another class"
    if isinstance(taker.cls, ClassInfo):
        walks = base != _EVALUATOR or all(_only_walks(objects, cls) for cls in _own_classes(objects, taker.cls))
        return "" if walks else "read by an evaluator of the project's own"
    bound = bound_call(use.context, call, taker.cls)
    if bound is None or bound.extra_keywords or _TAKERS[base] in bound.given:
        return "taken by a long helper"
    return ""


def _own_classes(objects: Objects, cls: ClassInfo) -> list[ClassInfo]:
    return [c for c in objects.analysis.mro(cls) if isinstance(c, ClassInfo)]


def _only_walks(objects: Objects, cls: ClassInfo) -> bool:
    """Whether its methods do no more with their iterator than a loader can: copy it, walk over it, look at it.

    A loader has neither ``next`` nor ``reset`` nor epochs; what another function does that is handed one is not known.
    """
    context = objects.context(cls.module)
    return not any(_asks_more(context, method.node) for method in cls.methods.values())


def _asks_more(context: Context, method: ast.AST) -> bool:
    names = set[str]()
    for node in nodes_of(method):  # `iterator = self._iterators['main']`, `it = copy.copy(iterator)`
        pairs = [(t, node.value) for t in node.targets] if isinstance(node, ast.Assign) else []
        for target, value in pairs:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
                pairs += zip(target.elts, value.elts)
            elif isinstance(target, ast.Name) and _is_iterator(value, names):
                names.add(target.id)
    return any(
        isinstance(node, ast.Call)
        and ast.unparse(node.func) not in _WALKING
        and not _is_left(context, node)
        and any(_is_iterator(value, names) for value in (*node.args, *(k.value for k in node.keywords)))
        or isinstance(node, ast.Attribute)
        and _is_iterator(node.value, names)
        and not (node.attr in _MEMBERS or node.attr == "reset" and _is_tested(context, node))
        for node in nodes_of(method)
    )


def _is_tested(context: Context, node: ast.Attribute) -> bool:
    """``if hasattr(iterator, 'reset'): iterator.reset()``: a loader has none, and begins anew by itself."""
    tests = (a.test for a in context.source.ancestors(node) if isinstance(a, ast.If))
    return any(f"hasattr({ast.unparse(node.value)}, '{node.attr}')" in ast.unparse(test) for test in tests)


def _is_iterator(value: ast.expr, names: set[str]) -> bool:
    if isinstance(value, ast.Call) and ast.unparse(value.func) in ("copy.copy", "copy") and value.args:
        return _is_iterator(value.args[0], names)
    held = value.value if isinstance(value, ast.Subscript) else value.func if isinstance(value, ast.Call) else value
    if isinstance(held, ast.Attribute) and held.attr in ("_iterators", "get_iterator", "iterator"):
        return True
    return isinstance(value, ast.Name) and value.id in names


__all__ = ["light_form"]
