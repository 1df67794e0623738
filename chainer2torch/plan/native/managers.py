"""Trainer programs whose step stays that of an updater: an ExtensionsManager, and a loop that calls it.

The loop over a DataLoader (programs.py) has to know everything of a program. This form asks little: whatever the
updater, its optimizers and iterators are, the manager gets them from it. What has to be known is how many iterations
an epoch has, since pytorch-pfn-extras counts epochs by that; so the updaters and iterators that the files have must be
such that it follows from the dataset and the size of a batch. That is one answer for all files that see each other.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import finalizers, imports, own_clocks
from chainer2torch.plan.native.batches_drawn import draws_as_code
from chainer2torch.plan.native.borrowed import borrowed
from chainer2torch.plan.native.calls import bound_call
from chainer2torch.plan.native.concerns import objects_of
from chainer2torch.plan.native.asked_updaters import COUNTS, UNKNOWN_MEMBER, asked_members
from chainer2torch.plan.native.handed import are_handed, counting, draw_themselves
from chainer2torch.plan.native.light_loaders import light_form
from chainer2torch.plan.native.loop_iterators import CONCERN as ITERATORS
from chainer2torch.plan.native.loop_iterators import hands_on_a_class
from chainer2torch.plan.native.loop_iterators import WORKERS, bound_of, is_read, repeats
from chainer2torch.plan.native.manager_parts import Group, Managed, Run
from chainer2torch.plan.native.objects import Use
from chainer2torch.plan.native.opened import opened
from chainer2torch.plan.native.own_updaters import given_to
from chainer2torch.plan.native.places import suite_of
from chainer2torch.plan.native.programs import TRAINER, Program, Unclear, function_of, name_of
from chainer2torch.plan.native.reporting_parts import REPORTS, reports_in_parts
from chainer2torch.plan.native.trainers import TRAINERS
from chainer2torch.plan.native.updater_choices import choices_of, own_updaters
from chainer2torch.plan.questions.paths import is_path
from chainer2torch.plan.questions.reading import library_module

_UPDATER = "chainer.training.updaters.Updater"
_PARALLEL = "chainer.training.updaters.ParallelUpdater"
_EXTENSION = "chainer.training.Extension"
_MAKE_EXTENSION = "chainer.training.make_extension"
_MEMBERS = frozenset({"extend", "run", "updater", "observation", "out", "reporter", "get_extension", "elapsed_time"})


def group_of(context: Context) -> Group | None:
    """The Trainers around a file, if they become managers; None: they do not, or there are none.

    An engine has a number of iterations for its epochs, and no other clock.
    """
    group = context.analysis.once(_groups).get(context.module)
    return None if group is not None and group.own_clock and context.choices.trainer == "ignite" else group


def hand_over(context: Context) -> bool:
    """Whether all training loops around a file give their batches to the updaters that they call."""
    if not are_handed(context.analysis, context.module):
        return False
    group = group_of(context)
    if group is not None:
        return group.handed
    analysis = context.analysis
    return analysis.once(_native_files).get(context.module, False) or context.module in analysis.once(_loose_files)


def _loose_files(analysis: Analysis) -> frozenset[ModuleInfo]:
    """The files of updaters without a Trainer, if all Trainers whose updater is not known hand over their batches."""
    groups = analysis.once(_groups)
    open_groups = [group for group in groups.values() if group is not None and not group.knows_updaters]
    if not open_groups or not all(group.handed for group in open_groups):
        return frozenset()
    numbers = imports.groups(analysis.project)
    updaters = {numbers[cls.module] for cls in analysis.once(own_updaters)} - analysis.once(_training)
    return frozenset(module for module, number in numbers.items() if number in updaters)


def _training(analysis: Analysis) -> frozenset[int]:
    """The groups of files that have a Trainer."""
    objects, numbers = objects_of(analysis), imports.groups(analysis.project)
    uses = (use for found in objects.uses.values() for use in found if objects.concern(use.inst) is TRAINERS)
    return frozenset(numbers[use.context.module] for use in uses)


def _native_files(analysis: Analysis) -> dict[ModuleInfo, bool]:
    """Whether all Trainers of the files that see a file are native, and there are some."""
    objects, groups = objects_of(analysis), imports.groups(analysis.project)
    uses = [use for found in objects.uses.values() for use in found if objects.concern(use.inst) is TRAINERS]
    trains = {groups[use.context.module] for use in uses}
    kept = {groups[use.context.module] for use in uses if objects.reason_at(use)}
    return {module: group in trains - kept for module, group in groups.items()}


def _groups(analysis: Analysis) -> dict[ModuleInfo, Group | None]:
    files: dict[int, list[ModuleInfo]] = {}
    for module, number in imports.groups(analysis.project).items():
        files.setdefault(number, []).append(module)
    found: dict[ModuleInfo, Group | None] = {}
    for modules in files.values():
        group = _Reader(analysis, modules).read()
        found |= dict.fromkeys(modules, group)
    return found


class _Reader:
    """What the files of one group say about their Trainers."""

    def __init__(self, analysis: Analysis, modules: list[ModuleInfo]):
        self.analysis, self.modules = analysis, modules
        self.objects = objects_of(analysis)
        self._are_known = True  # whether it is known of which classes the updaters are
        self._own_clock = False

    def read(self) -> Group | None:
        """What becomes of them; None: there are none, or they keep Chainer's form."""
        try:
            return self._read()
        except Unclear:
            return None

    def _read(self) -> Group | None:
        uses = [
            use
            for found in self.objects.uses.values()
            for use in found
            if use.context.module in self.modules
            and self.objects.concern(use.inst) is TRAINERS
            and self.objects.reason_at(use)
        ]
        makers = {use.inst.site: self.analysis.makers.get(use.inst.site) for use in uses if use.inst.site}
        if not makers:
            return None
        self._are_known = all(self._knows_updater(call) for call in makers.values() if call is not None)
        self._check_clock()
        for use in uses:
            if use.member and not (use.member in _MEMBERS and isinstance(getattr(use.parent, "ctx", None), ast.Load)):
                raise Unclear(f"the manager has no `{use.member}`")
        managed = {call: self._managed(call) for call in makers.values() if call is not None}
        runs = [self._run(use, managed) for use in uses if use.member == "run"]
        stands_in = borrowed(self.objects, self.modules)
        asked = [set().union(*asked_members(self.objects, module, stands_in)) for module in self.modules]
        lost, members = any(not run.updater for run in runs), set().union(*asked)
        asks = lost or bool(members)
        connects = any(map(self._has_copies, self.modules))
        by_run, loaders = {run.statement: run for run in runs}, not self._own_clock and self._are_loaders()
        if self._own_clock:
            own_clocks.check_helpers(self.objects.context(self.modules[0]))
        steps = {} if asks or self._own_clock else self._opened(runs, managed, bool(stands_in))
        handed = loaders and not lost and are_handed(self.analysis, self.modules[0])
        handed = handed and (self._are_known or self._all_are_handed())
        handed = handed and UNKNOWN_MEMBER not in members
        connects = connects or handed and (self.modules[0] in self.analysis.once(counting) or bool(members & COUNTS))
        drawing = [{managed[call].draws_itself for call in run.made} for run in runs]
        handed = handed and all(len(found) < 2 and None not in found for found in drawing)
        early = self._starts_early()
        clock, known = self._own_clock, self._are_known
        return Group(managed, by_run, early, asks, connects, loaders, steps, handed, stands_in, clock, known)

    def _all_are_handed(self) -> bool:
        """Whether each updater of the project has the form that these loops ask for: it may be the one that they get.

        One of files with another Trainer has the form that this one asks for.
        """
        own, numbers = self.analysis.once(own_updaters), imports.groups(self.analysis.project)
        others = self.analysis.once(_training) - {numbers[self.modules[0]]}
        alike = all(are_handed(self.analysis, cls.module) and numbers[cls.module] not in others for cls in own)
        return bool(own) and alike

    def _opened(self, runs: list[Run], managed: dict[ast.Call, Managed], borrows: bool) -> Mapping[ast.Call, Program]:
        """The Trainers whose step is written out, where nobody asks for an updater."""
        places = {call: tuple(run.statement for run in runs if call in run.made) for call in managed}
        found = opened(self.objects, {call: found for call, found in places.items() if found}, borrows)
        kept = {run.statement for run in runs if not all(call in found for call in run.made)}
        return {call: p for call, p in found.items() if kept.isdisjoint(p.runs)}

    # -- how epochs are counted ------------------------------------------------------------------------------------

    def _check_clock(self) -> None:
        for cls in self.analysis.classes.values():
            if cls.module in self.modules or not self._are_known and self.analysis.derives(cls, _UPDATER):
                self._check_class(cls)
        for module in self.modules:
            for call in module.source.of(ast.Call):
                self._check_call(self.objects.context(module), call)

    def _check_class(self, cls: ClassInfo) -> None:
        derives = self.analysis.derives
        self._own_clock |= own_clocks.counts_itself(self.analysis, cls)
        if derives(cls, _EXTENSION) and finalizers.is_unclear(cls):
            raise Unclear(f"`{cls.name}.finalize` gets no manager")

    def _check_call(self, context: Context, call: ast.Call) -> None:
        """Iterators that count otherwise, and functions that pytorch-pfn-extras calls with another argument."""
        symbol = context.reference(call.func) or ""
        bound = bound_call(context, call, symbol)
        given = {k.arg for k in call.keywords} | set(bound.given if bound is not None else ())
        if context.kind(call.func) == Ref(_MAKE_EXTENSION):
            made = bound_call(context, call, _MAKE_EXTENSION)
            if made is None or "finalizer" in made.given:
                raise Unclear("a finalizer gets no manager")
        if symbol.startswith("chainermn.iterators.") or symbol.endswith("ParallelUpdater") and "loss_scale" in given:
            raise Unclear(f"`{symbol}` divides the work")
        _, is_iterator, name = symbol.partition("chainer.iterators.")
        if is_iterator and name.endswith("Iterator") and (name not in WORKERS or "order_sampler" in given):
            self._own_clock = True

    def _knows_updater(self, trainer: ast.Call) -> bool:
        """Whether the class of what a Trainer gets is known: else it may be one of files that no import connects."""
        context = self.objects.context_of(trainer)
        bound = bound_call(context, trainer, TRAINER)
        kinds = options(context.kind(bound.given["updater"])) if bound is not None else ()
        return bool(kinds) and all(isinstance(k, Inst) and self.analysis.derives(k.cls, _UPDATER) for k in kinds)

    def _has_copies(self, module: ModuleInfo) -> bool:
        context = self.objects.context(module)
        return any(context.reference(node) == _PARALLEL for node in module.source.of(ast.Name, ast.Attribute))

    # -- the places ------------------------------------------------------------------------------------------------

    def _managed(self, call: ast.Call) -> Managed:
        context = self.objects.context_of(call)
        bound = bound_call(context, call, TRAINER)
        statement = context.source.parents.get(call)
        if (
            bound is None
            or bound.given.keys() - {"updater", "stop_trigger", "out"}
            or "stop_trigger" not in bound.given
        ):
            raise Unclear("a Trainer whose arguments are not known")
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or not is_path(statement.targets[0]):
            raise Unclear("has no statement of its own")
        updater = bound.given["updater"]
        named = is_path(updater) and library_module(context, updater) is None
        if not named or context.source.line_statement(statement) is not statement:
            raise Unclear("the updater has no name")
        return Managed(
            call,
            ast.unparse(statement.targets[0]),
            ast.unparse(updater),
            bound.given["stop_trigger"],
            bound.given.get("out"),
            self._has_parts(),
            self._loader(context, call, updater),
            self._draws(context, updater),
            self._draws_itself(context, updater),
        )

    def _draws(self, context: Context, updater: ast.expr) -> str:
        """How many batches an update draws, as code; "": one. One that is not known may be any of the project's."""
        kinds = options(context.kind(updater))
        classes = [kind.cls for kind in kinds if isinstance(kind, Inst) and self.analysis.derives(kind.cls, _UPDATER)]
        if unknown := len(classes) < len(kinds):
            classes = [cls for cls in self.analysis.classes.values() if self.analysis.derives(cls, _UPDATER)]
        code = draws_as_code(self.analysis, classes, ast.unparse(updater), unknown)
        self._own_clock |= code is None
        return code or ""

    def _draws_itself(self, context: Context, updater: ast.expr) -> bool | None:
        """Whether each class that an updater may have draws its batches itself; None: only some of them."""
        drawing = self.analysis.once(draw_themselves)
        found = {cls in drawing for cls in choices_of(self.analysis, context.kind(updater))}
        return found.pop() if len(found) == 1 else None

    def _loader(self, context: Context, trainer: ast.Call, updater: ast.expr) -> str:
        """The path of the iterator that every updater that it may be is made with, in the function of its Trainer."""
        paths: set[str] = set()
        for kind in options(context.kind(updater)):
            maker = self.analysis.makers.get(kind.site) if isinstance(kind, Inst) else None
            if maker not in context.source.parents or maker is None:
                return ""
            given = given_to(self.objects, context, maker)
            if isinstance(given, str) or function_of(context, maker) is not function_of(context, trainer):
                return ""
            try:
                paths.add(name_of(context, given.iterator, maker, "the iterator"))
            except Unclear:
                return ""
        return paths.pop() if len(paths) == 1 else ""

    def _run(self, use: Use, managed: dict[ast.Call, Managed]) -> Run:
        context, call = use.context, use.call
        statement = context.source.parents.get(call) if call is not None else None
        if call is None or not isinstance(statement, ast.Expr) or call.args or not is_path(use.node):
            raise Unclear("runs in a way that is not understood")
        quiet = all(k.arg == "show_loop_exception_msg" for k in call.keywords)  # pytorch-pfn-extras shows none
        if context.source.line_statement(statement) is not statement or not quiet:
            raise Unclear("runs in a way that is not understood")
        name, scope = ast.unparse(use.node), function_of(context, statement)
        made = [one for maker, one in managed.items() if one.name == name and maker in context.source.parents]
        near = [one for one in made if function_of(context, one.call) is scope]
        known = {one.updater for one in near}
        updater = known.pop() if len(known) == 1 and _keep(context, near, statement) else ""
        loaders = {one.loader for one in near} if updater else set()
        loader = loaders.pop() if len(loaders) == 1 else ""
        return Run(statement, name, updater, tuple(one.call for one in near), loader)

    def _has_parts(self) -> bool:
        """Whether parts of what is trained may report under their own names."""
        models = [
            (use.context, use.call.args[0])
            for uses in self.objects.uses.values()
            for use in uses
            if use.member == "setup" and use.call is not None and use.call.args and use.context.module in self.modules
        ]
        kinds = [(kind, inner) for inner, node in models for kind in options(inner.kind(node))]
        unknown = not kinds or not all(isinstance(kind, Inst) for kind, _ in kinds)
        known = {kind for kind, _ in kinds}
        return (
            unknown
            or any(reports_in_parts(self.analysis, kind, inner.module) for kind, inner in kinds)
            or any(not known.issuperset(options(found)) for found in self._observers())
        )

    def _observers(self) -> Iterator[Kind]:
        """What reports values, other than an object for itself."""
        for module in self.modules:
            context = self.objects.context(module)
            for call in module.source.of(ast.Call):
                observers = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "observer")]
                if observers and context.reference(call.func) in REPORTS:
                    yield from (context.kind(o) for o in observers if not (isinstance(o, ast.Name) and o.id == "self"))

    def _are_loaders(self) -> bool:
        """Whether every iterator that repeats, and that an updater may get, is known and becomes a DataLoader."""
        found = [
            use
            for uses in self.objects.uses.values()
            for use in uses
            if use.context.module in self.modules and self.objects.concern(use.inst) is ITERATORS and use.inst.site
        ]
        return (
            bool(found)
            and all(map(self._is_loader, found))
            and not any(hands_on_a_class(self.analysis, module) for module in self.modules)
        )

    def _is_loader(self, use: Use) -> bool:
        bound = bound_of(self.objects, use.inst)
        if bound is not None and repeats(bound) is False:
            return True
        if bound is not None and (not self.objects.reason_at(use) or light_form(self.objects, use.inst) is not None):
            return True
        return all(map(self._is_apart, self.objects.uses_of(use.inst)))

    def _is_apart(self, use: Use) -> bool:
        """Whether a use of an iterator takes it to no updater."""

        def taken(use: Use, call: ast.Call, takers: list[Inst]) -> str:
            updaters = [taker for taker in takers if self.analysis.derives(taker.cls, _UPDATER)]
            return "an updater draws from it" if updaters else ""

        return is_read(use) or not self.objects.flow(use, taken)

    def _starts_early(self) -> bool:
        return any(
            isinstance(call.func, ast.Attribute)
            and call.func.attr == "extend"
            and any(k.arg == "call_before_training" and not _is_false(k.value) for k in call.keywords)
            for module in self.modules
            for call in module.source.of(ast.Call)
        )


def _keep(context: Context, made: list[Managed], run: ast.Expr) -> bool:
    """Whether a path to the updater still leads to it where the training runs, whichever of these Trainers it is."""
    statements = [context.source.statement(one.call) for one in made]
    first = min(statement.lineno for statement in statements)
    root = next(n.id for n in nodes_of(ast.parse(made[0].updater)) if isinstance(n, ast.Name))
    scope = function_of(context, run)
    for store in context.source.of(ast.Name):
        if store.id != root or not isinstance(store.ctx, ast.Store) or store.lineno < first:
            continue
        after = suite_of(context, context.source.statement(store))
        taken = any(statement in after and statement.lineno > store.lineno for statement in statements)
        if function_of(context, store) is scope and not taken:
            return False
    loops = [a for a in context.source.ancestors(run) if isinstance(a, (ast.For, ast.While))]
    return all(loop in context.source.ancestors(one.call) for loop in loops for one in made)


def _is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not node.value


__all__ = ["Group", "Managed", "Run", "group_of", "hand_over"]
