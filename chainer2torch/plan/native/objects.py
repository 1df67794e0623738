"""Which of a project's training objects can become native ones: optimizers, iterators, updaters, trainers.

An object is known by its construction site. It becomes native when *every* use of it, anywhere in the project, is
understood. Objects that meet (an optimizer that an updater gets, two iterators that reach one variable) form a
component, which becomes native as a whole or stays as it is in the faithful style as a whole. That is the greatest
fixpoint: all are native until a use says otherwise.

What is done with an object is judged by a ``Concern``; where it goes (names, attributes, parameters) by ``flows.py``.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from chainer2torch.analysis.components import meeting
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, Class, Inst, Kind, Method, Ref, Union, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import alike, flows
from chainer2torch.plan.native.calls import is_dict
from chainer2torch.plan.native.use import Use
from chainer2torch.plan.options import Options

Answer = TypeVar("Answer")
Key: TypeAlias = int | tuple[str, int]
"""A construction site; for objects whose site is not known the name of their concern, and the number of the file."""
_UNKNOWN_SITE = "made at a place that is not known"
_UPDATER = "chainer.training.updaters.Updater"
_UPDATERS = "updater"  # the name of their concern
_VALUES = (ast.Name, ast.Attribute, ast.Call, ast.Subscript, ast.IfExp, ast.BoolOp, ast.NamedExpr)


@dataclasses.dataclass(frozen=True, eq=False)
class Concern:
    """What one kind of objects can become. Each function gives "" for *understood*, else the reason why not.

    ``made``: the call that makes the object. ``used``: one use of it; None leaves it to the general questions (where
    does it go, who takes it). ``takes``: an object, of any concern, that is an argument when one of these objects is
    made, or of one of its methods; the two then belong to one component.
    """

    name: str
    bases: tuple[str, ...]  # the classes of Chainer whose objects these are
    made: Callable[[Objects, Inst, ast.Call, Context], str]
    used: Callable[[Objects, Use], str | None]
    takes: Callable[[Objects, Use, ast.Call, Inst], str] = lambda objects, use, call, taker: "taken by another object"
    called_back: bool = False  # whether functions get such objects from Chainer, so that their site is not known there
    in_displays: bool = False  # whether one may stand in a dictionary that has a name
    lent: Callable[[Objects, Use, ast.Call, Inst], bool] = lambda objects, use, call, taker: False
    """Whether one that is taken may become native though its taker does not: the taker's other form does with it."""
    escapes: Callable[[Objects, Use], bool] = lambda objects, use: False  # whether one may go on where nobody sees it
    alone: bool = False  # whether the taker of one that is lent also does with the other form of it
    each: bool = (
        False  # whether each of several in a variable may be judged by itself, though others are used otherwise
    )


class Objects:
    """The training objects of a project, with their uses, and which of them become native."""

    def __init__(self, analysis: Analysis, concerns: Sequence[Concern]):
        self.analysis = analysis
        self.concerns = concerns
        self.uses: dict[Key, list[Use]] = {}
        self.reasons: dict[Key, str] = {}  # why an object stays as it is, by the root of its component
        self.forms: dict[Inst, object] = {}  # what a concern has found out about an object
        self.light_forms: dict[Inst, object] = {}  # what becomes of it where it is not native with those that take it
        self._parents: dict[Key, Key] = {}
        self._answers: dict[Callable[..., Any], Any] = {}
        self._concerns: dict[object, Concern | None] = {}
        self._contexts: dict[ModuleInfo, Context] = {}
        self._files = {module: number for number, module in enumerate(analysis.project.modules.values())}
        self._escaped: set[Key] = set()  # what goes on where nobody sees it
        self._takers: dict[Key, set[str]] = {}  # by what is taken: the concerns of those that take it
        self._lent: dict[Key, list[tuple[Key, str]]] = {}  # by what is lent: the taker, and why that stays as it is
        for module in analysis.project.modules.values():
            self._collect(self.context(module))
        self._judge()

    # -- asking ----------------------------------------------------------------------------------------------------

    def once(self, question: Callable[[Objects], Answer]) -> Answer:
        """The answer to a question about all objects. It is worked out once, however many files ask; after judging."""
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: Answer = self._answers[question]
        return answer

    def context(self, module: ModuleInfo) -> Context:
        """What may be asked about a file of the project."""
        if module not in self._contexts:
            self._contexts[module] = Context(self.analysis, module, Options(style="native"))
        return self._contexts[module]

    def context_of(self, node: ast.AST) -> Context:
        """What may be asked about the file in which a node stands."""
        module = self.analysis.module_of(node)
        assert module is not None
        return self.context(module)

    def concern(self, kind: Kind) -> Concern | None:
        """The concern of an object; None: it is no training object."""
        if not isinstance(kind, Inst):
            return None
        if kind.cls not in self._concerns:
            derives = self.analysis.derives
            found = (c for c in self.concerns if any(derives(kind.cls, base) for base in c.bases))
            self._concerns[kind.cls] = next(found, None)
        return self._concerns[kind.cls]

    def of(self, kind: Kind) -> list[Inst]:
        """The training objects among the options of a kind; of several of a class that are used alike each of them."""
        found = [k for k in options(kind) if isinstance(k, Inst) and self.concern(k) is not None]
        return [one for k in found for one in self._each(k)]

    def _each(self, inst: Inst) -> list[Inst]:
        concern = self.concern(inst)
        if concern is not None and concern.each and inst.among:
            return [Inst(inst.cls, site) for site in inst.among]
        return alike.each(inst, self._members) if inst.among else [inst]

    @functools.cached_property
    def _members(self) -> dict[int, set[ast.AST]]:
        return alike.members(self.analysis, lambda kind: self.concern(kind) is not None)

    def is_native(self, kind: Kind) -> bool:
        """Whether a value is a training object that becomes native (or None), whichever of its kinds it is."""
        found = self.of(kind)
        others = [k for k in options(kind) if k != NONE and self.concern(k) is None]
        return bool(found) and not others and not any(self.reason(k) for k in found)

    def reason(self, inst: Inst) -> str:
        """Why an object does not become native; "": it does. Of one whose site is not known, ask for a use of it."""
        return self.reasons.get(self._root(inst.site), "") if inst.site else _UNKNOWN_SITE

    def any_file_seen_from(self, context: Context, question: Callable[[ModuleInfo], bool]) -> bool:
        """Whether the answer is yes for a file that may be loaded in one run with this one."""
        return any(question(module) for module in self.files_seen_from(context))

    def files_seen_from(self, context: Context) -> list[ModuleInfo]:
        """The files that may be loaded in one run with this one, in their order."""
        seen = self.analysis.once(meeting)[context.module]
        return [module for module in self._files if module in seen]

    def sees(self, one: Context, other: Context) -> bool:
        """Whether two files may be loaded in one run."""
        return other.module in self.analysis.once(meeting)[one.module]

    def reason_at(self, use: Use) -> str:
        """Why the object of a use does not become native; "": it does."""
        return self.reasons.get(self._root(self._key(use.inst, use.context)), "")

    def uses_of(self, inst: Inst) -> list[Use]:
        """All uses of an object, in the order of the files and of the places in them."""
        return self.uses.get(inst.site, []) if inst.site else []

    def uses_in(self, module: ModuleInfo) -> list[Use]:
        """All uses in a file."""
        return self.once(_by_module).get(module, [])

    def is_in(self, inst: Inst, module: ModuleInfo) -> bool:
        """Whether a file makes or uses an object."""
        return inst.site in self.once(_sites_in).get(module, ())

    def unknown_sites(self) -> list[Use]:
        """The uses of objects whose site is not known, such as ``updater.get_optimizer('main')``."""
        return [use for uses in self.uses.values() for use in uses if not use.inst.site]

    # -- components ------------------------------------------------------------------------------------------------

    def _key(self, inst: Inst, context: Context) -> Key:
        concern = self.concern(inst)
        return inst.site or (concern.name if concern is not None else "", self._files[context.module])

    def _root(self, key: Key) -> Key:
        while key in self._parents:
            key = self._parents[key]
        return key

    def meet(self, one: Key, other: Key) -> None:
        """Puts two objects into one component."""
        a, b = self._root(one), self._root(other)
        if a != b:
            self._parents[b] = a

    # -- finding and judging ---------------------------------------------------------------------------------------

    def _collect(self, context: Context) -> None:
        facts = self.analysis.facts
        for node in context.source.of(*_VALUES):
            kind = facts.get(node)
            found = self.of(kind) if isinstance(kind, (Inst, Union)) else []
            assert isinstance(node, ast.expr)
            if (
                not found
                or self._is_part(context, node)
                or isinstance(getattr(node, "ctx", None), (ast.Store, ast.Del))
            ):
                continue
            for inst in found:
                self.meet(self._key(found[0], context), self._key(inst, context))
                self.uses.setdefault(self._key(inst, context), []).append(Use(node, inst, context))

    def _is_part(self, context: Context, node: ast.expr) -> bool:
        """Whether an expression is a part of another training object, ``trainer.updater``: judged with that one.

        What a class of the program's own keeps under a name of its own, ``self.opt = optimizer``, is no part of it.
        """
        if not isinstance(node, ast.Attribute):
            return False
        owners = self.of(context.kind(node.value))
        return any(not flows.is_own_attribute(context, owner, node.attr) for owner in owners)

    def _judge(self) -> None:
        refused: list[tuple[Key, str]] = []
        for key, uses in self.uses.items():
            if uses[0].inst.site:
                refused += [(key, reason) for reason in [self._made(uses[0].inst)] if reason]
            refused += [(key, reason) for use in uses for reason in [self._used(use)] if reason]
        for key in self.uses:
            if isinstance(key, tuple):
                self._meet_taken(key)
        refused += [taken for takers in self._lent.values() for taken in takers if taken[1]]
        for key, reason in refused:
            self.reasons.setdefault(self._root(key), reason)
        self._refuse_takers()

    def _refuse_takers(self) -> None:
        """What takes an object that stays as it is stays as it is, too."""
        size = -1
        while size != len(self.reasons):
            size = len(self.reasons)
            for key, takers in self._lent.items():
                concern = self.concern(self.uses[key][0].inst)
                if self._root(key) in self.reasons and not (concern is not None and concern.alone):
                    for taker, _ in takers:
                        self.reasons.setdefault(self._root(taker), self.reasons[self._root(key)])

    def is_lent(self, inst: Inst) -> bool:
        """Whether something that does not become native takes an object."""
        takers = self._lent.get(inst.site, []) if inst.site else []
        return any(self._root(taker) in self.reasons for taker, _ in takers)

    def is_unseen(self, inst: Inst) -> bool:
        """Whether an object goes on where nobody sees it."""
        return inst.site in self._escaped

    def _meet_taken(self, key: tuple[str, int]) -> None:
        """What ``updater.get_optimizer('main')`` gives in a file is an object that something took in one of its runs.

        Two objects of one class that reach one variable have no site there either. An updater's methods meet none
        that no updater took.
        """
        here = self.uses[key][0].context
        classes = {flows.class_around(use.context, use.node) or use.inst.cls for use in self.uses[key]}
        inside = all(flows.is_in_class(use.context, use.node, _UPDATER) for use in self.uses[key])
        for other in self.uses:
            uses = self.uses[other]
            concern = self.concern(uses[0].inst)
            called_back = concern is not None and concern.called_back
            takers = self._takers.get(other, set())
            if other in self._escaped and concern is not None and concern.name == key[0]:
                self.meet(key, other)
            if not takers and not called_back and uses[0].inst.cls not in classes or inside and _UPDATERS not in takers:
                continue
            if concern is None or concern.name != key[0] or not any(self.sees(here, use.context) for use in uses):
                continue
            own = self.analysis.mro(uses[0].inst.cls)  # `self` in a class of the program's own is no other object
            if any(isinstance(cls, str) or cls in own for cls in classes):
                self.meet(key, other)

    def _made(self, inst: Inst) -> str:
        call, concern = self.analysis.makers.get(inst.site), self.concern(inst)
        module = self.analysis.module_of(call) if call is not None else None
        if call is None or module is None or concern is None:
            return _UNKNOWN_SITE
        context = self.context(module)
        if context.skipped.node(call):
            return "skipped on request"
        return concern.made(self, inst, call, context)

    def _used(self, use: Use) -> str:
        concern = self.concern(use.inst)
        assert concern is not None
        if use.context.skipped.node(use.node):
            return "skipped on request"
        own = concern.used(self, use)
        if own is not None:
            return own
        refused: list[str] = []  # by those that take it

        def taken(use: Use, call: ast.Call, takers: list[Inst]) -> str:
            refused.append(self._taken_by(use, call, takers))
            return refused[-1]

        reason = self.flow(use, taken)
        if reason and not any(refused) and concern.escapes(self, use):
            self._escaped.add(self._key(use.inst, use.context))
            return ""
        return reason

    def flow(self, use: Use, taken: Callable[[Use, ast.Call, list[Inst]], str]) -> str:
        """Where an object goes that its own concern has nothing to say about; ``taken`` judges who takes it."""
        context, node, parent = use.context, use.node, use.parent
        if use.member:
            return f"`.{use.member}` has no counterpart"
        if isinstance(parent, (ast.Expr, ast.Delete)) or flows.is_test(parent, node) or self._goes_on(use):
            return ""
        if self._may_be_displayed(use) and flows.put_into(parent) is not None:
            return self._argument(use, taken)
        if isinstance(parent, (ast.Assign, ast.AnnAssign)):
            targets = parent.targets if isinstance(parent, ast.Assign) else [parent.target]
            return next(filter(None, (flows.stored(context, target) for target in targets)), "")
        if isinstance(parent, ast.Return):
            return flows.returned(context, node)
        if isinstance(parent, ast.Tuple) and (unpacked := flows.unpacked(context, parent, node)) is not None:
            return flows.stored(context, unpacked)
        if isinstance(parent, ast.Tuple) and isinstance(context.source.parents[parent], ast.Return):
            return flows.returned(context, parent)
        return self._argument(use, taken)

    def _goes_on(self, use: Use) -> bool:
        """``a if c else b``, ``a or b``: the whole is a use of its own."""
        return isinstance(use.parent, _VALUES[4:]) and use.inst in self.of(use.context.kind(use.parent))

    def _argument(self, use: Use, taken: Callable[[Use, ast.Call, list[Inst]], str]) -> str:
        """An argument of a call, also in a tuple, list or dictionary: who takes it?"""
        context = use.context
        argument: ast.AST = use.node
        for parent in context.source.ancestors(use.node):
            if isinstance(parent, ast.Call) and argument is not parent.func and not is_dict(context, parent):
                reason = self._call(use, parent, taken)
                if reason is None and argument is use.node:
                    reason = flows.passed(context, parent, use.node)
                return reason if reason is not None else f"given to `{flows.short(parent.func)}`"
            if isinstance(parent, ast.Assign) and isinstance(argument, ast.expr) and self._may_be_displayed(use):
                calls = flows.calls_of_display(context, argument) or []
                reasons = [self._call(use, call, taken) for call in calls]
                return next(filter(None, reasons), "") if calls and None not in reasons else "kept in a container"
            if not isinstance(parent, (ast.keyword, ast.Dict, ast.List, ast.Tuple, ast.Call)):
                break
            argument = argument if isinstance(parent, ast.keyword) else parent
        return "used in a way that is not understood"

    def _may_be_displayed(self, use: Use) -> bool:
        concern = self.concern(use.inst)
        return concern is not None and concern.in_displays

    def _call(self, use: Use, call: ast.Call, taken: Callable[[Use, ast.Call, list[Inst]], str]) -> str | None:
        """What the objects that a call makes, or whose method it is, say of an argument; None: there are none."""
        takers = list(self.takers(use.context, call))
        return taken(use, call, takers) if takers else None

    def takers(self, context: Context, call: ast.Call) -> Iterator[Inst]:
        """The training objects that a call makes, or whose method it is."""
        for kind in options(context.kind(call.func)):
            if isinstance(kind, Method):
                yield from self.of(kind.receiver)
            elif isinstance(kind, (Ref, Class)):
                yield from (i for i in self.of(context.kind(call)) if self.analysis.makers.get(i.site) is call)

    def _taken_by(self, use: Use, call: ast.Call, takers: list[Inst]) -> str:
        """What the concerns of those say that take an object; they become one component, unless it is only lent."""
        own, concern, reasons = self._key(use.inst, use.context), self.concern(use.inst), []
        for taker in takers:
            its, key = self.concern(taker), self._key(taker, use.context)
            assert concern is not None and its is not None
            self._takers.setdefault(own, set()).add(its.name)
            reason = its.takes(self, use, call, taker)
            if concern.lent(self, use, call, taker):
                self._lent.setdefault(own, []).append((key, reason))
            else:
                self.meet(own, key)
                reasons.append(reason)
        return next(filter(None, reasons), "")


def _by_module(objects: Objects) -> dict[ModuleInfo, list[Use]]:
    found: dict[ModuleInfo, list[Use]] = {}
    for uses in objects.uses.values():
        for use in uses:
            found.setdefault(use.context.module, []).append(use)
    return found


def _sites_in(objects: Objects) -> dict[ModuleInfo, set[int]]:
    found: dict[ModuleInfo, set[int]] = {}
    for key, uses in objects.uses.items():
        if isinstance(key, int):
            modules = {use.context.module for use in uses}
            maker = objects.analysis.makers.get(key)
            made = objects.analysis.module_of(maker) if maker is not None else None
            for module in modules | ({made} if made is not None else set()):
                found.setdefault(module, set()).add(key)
    return found


__all__ = ["Concern", "Key", "Objects", "Use"]
