"""What becomes of parameters with a rule of their own: ``requires_grad_(False)``, or marks that optimizers heed.

Chainer computes the gradients of frozen parameters, too. Where those count, as in the norm of all gradients, or where
a parameter has a hook of its own, it gets a mark (native/marks.py). The answers are about the files that may be loaded
in one run; all places that can meet freeze in the same way.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Collection

from chainer2torch.analysis.components import meeting
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.project_rules import has_short_optimizers
from chainer2torch.plan.questions import callers, freezing, parameter_hooks
from chainer2torch.plan.questions.own_settings import own_settings
from chainer2torch.plan.questions.shared_links import shares_parameters


def changes_rules(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a run changes how single parameters are updated, in a way that only Chainer's forms know."""
    return module in analysis.once(_answers).changing


def marks_parameters(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a run marks parameters: its optimizers heed that."""
    return module in analysis.once(_answers).marking


def hooks_parameters(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a run gives single parameters hooks, which are called behind those of all parameters."""
    return module in analysis.once(_answers).hooking


def freezes_by_marks(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether only marks do what a file does to parameters that it freezes."""
    return module in analysis.once(_answers).by_marks


@dataclasses.dataclass(frozen=True)
class _Answers:
    """The files of which something holds."""

    changing: frozenset[ModuleInfo]
    marking: frozenset[ModuleInfo]
    hooking: frozenset[ModuleInfo]
    by_marks: frozenset[ModuleInfo]


def _answers(analysis: Analysis) -> _Answers:
    modules = list(analysis.project.modules.values())
    seen = analysis.once(meeting)
    names = (freezing.SWITCH, freezing.RULE, freezing.RELEASE)
    places = [module for module in modules if any(n.attr in names for n in module.source.of(ast.Attribute))]

    def near(found: Collection[ModuleInfo]) -> frozenset[ModuleInfo]:
        return frozenset(module for module in modules if any(other in seen[module] for other in found))

    by_marks = _by_marks(analysis, places)
    hooking = [m for m in places if any(freezing.is_hook(m, node) for node in m.source.of(ast.Attribute))]
    long = [m for m in places if not has_short_optimizers(analysis, m)]  # there the switches stay Chainer's
    unclear = [m for m in places if _changes(analysis, m)]
    marked = [m for m in {*by_marks, *hooking} if any(_marks(analysis, m, node) for node in m.source.of(ast.Attribute))]
    late = [m for m in marked if not freezing.is_behind_setup(analysis, m, _run(analysis, m))]
    heeding = [m for m in modules if any(o in seen[m] and _marks_in_run_of(analysis, o, m) for o in marked)]
    sharing = [m for m in modules if shares_parameters(analysis, m) and not has_short_optimizers(analysis, m)]
    return _Answers(near([*long, *unclear, *late, *sharing]), frozenset(heeding), near(hooking), by_marks)


def _run(analysis: Analysis, module: ModuleInfo) -> list[ModuleInfo]:
    """The files that may be loaded with one, in their order."""
    together = analysis.once(meeting)[module]
    return [other for other in analysis.project.modules.values() if other in together]


def _changes(analysis: Analysis, module: ModuleInfo) -> bool:
    return any(
        node.attr in (freezing.RULE, freezing.SWITCH)
        and not freezing.is_understood(analysis, module, node)
        and not parameter_hooks.is_simple(analysis, module, node)
        or node.attr == freezing.RELEASE
        and not (freezing.is_own(analysis, module, node) or freezing.is_release(analysis, module, node))
        for node in module.source.of(ast.Attribute)
    )


def _marks(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    """Whether a place marks a parameter, or takes the mark away."""
    if freezing.is_own(analysis, module, node) or own_settings(analysis, module, node) is not None:
        return False
    if node.attr == freezing.RULE:
        return freezing.is_hook(module, node) or not freezing.reads(module, node)
    return node.attr in (freezing.SWITCH, freezing.RELEASE)


def _by_marks(analysis: Analysis, places: list[ModuleInfo]) -> frozenset[ModuleInfo]:
    """Of the files that freeze those that do it by marks: gradients count, or it is undone, or not at a known time."""
    seen = analysis.once(meeting)

    def any_near(module: ModuleInfo, holds: Callable[[ModuleInfo], bool]) -> bool:
        return any(holds(other) for other in _run(analysis, module))

    found = {
        module
        for module in places
        if any_near(module, lambda m: any(word in m.source.text for word in freezing.CLIPS))
        or any_near(module, lambda m: any(_releases(analysis, m, n) for n in m.source.of(ast.Attribute)))
        or not freezing.freezes_for_good(analysis, module, _run(analysis, module))
    }
    size = -1
    while size != len(found):  # what meets one of these may ask for its marks
        size = len(found)
        found |= {m for m in places if any(o in seen[m] and _marks_in_run_of(analysis, o, m) for o in found)}
    return frozenset(found)


def _releases(analysis: Analysis, module: ModuleInfo, node: ast.Attribute) -> bool:
    return freezing.is_release(analysis, module, node) or freezing.releases(module, node)


def _marks_in_run_of(analysis: Analysis, module: ModuleInfo, other: ModuleInfo) -> bool:
    """Whether a file marks parameters in the runs of another one, as far as one can see."""
    run = _run(analysis, other)
    return any(
        _marks(analysis, module, node) and not callers.is_idle(analysis, module, node, run)
        for node in module.source.of(ast.Attribute)
    )


__all__ = ["changes_rules", "freezes_by_marks", "hooks_parameters", "marks_parameters"]
