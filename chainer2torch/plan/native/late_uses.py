"""What is done with optimizers that keep Chainer's form: most of it needs none of that form.

    optimizer = make_optimizer(options)               # set up by others, handed to code that nobody sees
    optimizer.add_hook(WeightDecay(rate))             optimizer.param_groups[0]['weight_decay'] = rate
    optimizer.lr *= 0.5                               optimizer.param_groups[0]['lr'] *= 0.5
    optimizer.update()                                optimizer.step()

The helpers that they become are optimizers of torch.optim, too, so these lines hold for them, and what the program does
not ask of a helper is not written into it.
"""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Ref, options
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.marks import marks_parameters
from chainer2torch.plan.native import places
from chainer2torch.plan.native.hooks import Hooked, Way
from chainer2torch.plan.native.late_setups import runs_once
from chainer2torch.plan.native.objects import Objects, Use
from chainer2torch.plan.native.optimizer_forms import CORRECTS, DECAY, FORMS, HOOKS, classes_of
from chainer2torch.plan.native.optimizer_places import sets_up_again
from chainer2torch.plan.native.optimizer_settings import setting_node, setting_of
from chainer2torch.plan.native.optimizers import CONCERN, hook_name, hook_of, steps_together
from chainer2torch.plan.questions.overridden_methods import is_super
from chainer2torch.plan.questions.own_settings import has_own_settings
from chainer2torch.plan.questions.read_gradients import reads_behind_steps
from chainer2torch.plan.project_rules import has_short_communicators, has_short_optimizers

_LONG_CLASSES = frozenset(f"chainer.optimizers.{name}" for name in ("MSVAG", "AdaBound", "AMSBound"))
_LONG_SETTINGS = frozenset({"eta", "eps_inside_sqrt", "adabound", "final_lr", "gamma"})
_BOTH = frozenset({"amsgrad", "weight_decay_rate"})
_KEPT = frozenset({"setup", "target", "new_epoch", "use_cleargrads", "zero_grads", "add_hook", "clip_grads"})


@dataclasses.dataclass(frozen=True, eq=False)
class LateUses:
    """The uses in a program that are written as those of torch's optimizers are, and the hooks among them."""

    uses: tuple[Use, ...]
    hooks: tuple[Hooked, ...]


def late_uses(objects: Objects) -> LateUses:
    """What is done with optimizers that keep Chainer's form, in the short one."""
    found = [
        use
        for uses in objects.uses.values()
        for use in uses
        if objects.concern(use.inst) is CONCERN and objects.reason_at(use) and _is_late(objects, use)
    ]
    found = list({use.node: use for use in found}.values())
    hooks = _hooks(objects, [use for use in found if use.member == "add_hook" and use.call is not None])
    hooked = {hook.call for hook in hooks}
    return LateUses(tuple(use for use in found if use.call in hooked or _is_plain(objects, use)), tuple(hooks))


def _is_late(objects: Objects, use: Use) -> bool:
    """Whether a use is that of optimizers whose short form is a class of torch.optim, and of nothing else."""
    context = use.context
    if not has_short_optimizers(context.analysis, context.module) or context.skipped.node(use.node):
        return False
    kinds = [kind for kind in options(context.kind(use.node)) if kind != NONE]
    classes = [cls for kind in kinds if isinstance(kind, Inst) for cls in classes_of(kind.cls)]
    known = all(isinstance(kind, Inst) for kind in kinds) and all(
        c in FORMS and c not in _LONG_CLASSES for c in classes
    )
    return (
        known
        and not _is_wrapped(objects, use)
        and objects.analysis.once(_making_long_forms).isdisjoint(objects.files_seen_from(context))
    )


def _making_long_forms(analysis: Analysis) -> frozenset[ModuleInfo]:
    return frozenset(module for module in analysis.project.modules.values() if _makes_long_forms(analysis, module))


def _makes_long_forms(analysis: Analysis, module: ModuleInfo) -> bool:
    """Whether a file makes an optimizer with settings that no short late one has: it becomes Chainer's own class."""
    for call in module.source.of(ast.Call):
        made = analysis.kind(call.func)
        if not isinstance(made, Ref) or not made.name.startswith("chainer.optimizers."):
            continue
        names = {keyword.arg for keyword in call.keywords}
        places = 3 if made.name.endswith(".RMSprop") else 4
        spread = None in names or any(isinstance(argument, ast.Starred) for argument in call.args)
        if spread or names & _LONG_SETTINGS or _BOTH <= names or len(call.args) > places:
            return True
    return False


def _is_wrapped(objects: Objects, use: Use) -> bool:
    """Whether a program puts its optimizers into an object of ChainerMN that averages gradients in ``update``."""
    short = has_short_communicators(use.context.analysis, use.context.module)
    return not short and objects.any_file_seen_from(use.context, lambda module: "chainermn" in module.source.text)


def _is_plain(objects: Objects, use: Use) -> bool:
    """Whether a use is a step or a setting, and understood.

    ``super().update()`` stays: ``super().step()`` would pass by the hooks, which torch calls around the class's own.
    """
    if is_super(use.node):
        return False
    if not use.member or use.member in _KEPT or CONCERN.used(objects, use) != "":
        return False
    if use.member in ("update", "reallocate_cleared_grads"):
        return True
    node = setting_node(use)
    corrected = isinstance(node, ast.Attribute) and node.attr == "lr" and _classes(objects, use) & CORRECTS
    return setting_of(objects, use) is not None and not corrected


def _classes(objects: Objects, use: Use) -> set[object]:
    return {cls for inst in objects.of(use.context.kind(use.node)) for cls in classes_of(inst.cls)}


# -- hooks ---------------------------------------------------------------------------------------------------------


def _hooks(objects: Objects, uses: list[Use]) -> list[Hooked]:
    """The hooks of which nobody but these lines knows, in the order in which each optimizer gets them."""
    groups: dict[tuple[object, str], list[Use]] = {}
    for use in sorted(uses, key=lambda use: (use.context.module.path, use.context.source.start(use.node))):
        function = places.function_of(use.context, use.node) or use.context.module
        groups.setdefault((function, ast.unparse(use.node)), []).append(use)
    homes: dict[int, set[tuple[object, str]]] = {}
    for key, group in groups.items():
        for use in group:
            for inst in objects.of(use.context.kind(use.node)):
                homes.setdefault(inst.site, set()).add(key)
    hooks: list[Hooked] = []
    for group in groups.values():
        sites = {inst.site for use in group for inst in objects.of(use.context.kind(use.node))}
        if all(len(homes[site]) == 1 for site in sites) and all(_is_understood(objects, use) for use in group):
            hooks += _written(objects, group)
    return hooks


def _is_understood(objects: Objects, use: Use) -> bool:
    context, call = use.context, use.call
    assert call is not None
    alone = isinstance(context.source.parents[call], ast.Expr)
    others = objects.any_file_seen_from(context, lambda module: _adds_hooks_unseen(objects, module))
    return (
        alone
        and not others
        and not marks_parameters(context.analysis, context.module)  # they are heeded before other hooks are called
        and hook_of(context, call) is not None
        and not any(steps_together(other) for other in objects.uses_of(use.inst))
        and not _is_set_up_again(objects, use)
    )


def _is_set_up_again(objects: Objects, use: Use) -> bool:
    """Whether an optimizer may get another model later: then it forgets its hooks."""
    insts = objects.of(use.context.kind(use.node))
    if all(inst.site for inst in insts):
        return any(sets_up_again(objects, inst) for inst in insts)
    setups = [u for u in objects.unknown_sites() if u.member == "setup" and objects.concern(u.inst) is CONCERN]
    return any(
        objects.sees(use.context, u.context)
        and (
            places.function_of(u.context, u.node) is not None
            and not runs_once(u.context, u.node)
            or u.context.source.enclosing(u.node, ast.For, ast.While) is not None
        )
        for u in setups
    )


def _adds_hooks_unseen(objects: Objects, module: ModuleInfo) -> bool:
    """Whether a file adds a hook to what may be an optimizer, or to one parameter, or calls hooks itself."""
    for node in module.source.of(ast.Attribute):
        assert isinstance(node, ast.Attribute)
        if node.attr in ("call_hooks", "remove_hook"):
            return True
        if node.attr == "add_hook":
            kind = objects.analysis.kind(node.value)
            if kind == UNKNOWN or isinstance(node.value, ast.Attribute) and node.value.attr == "update_rule":
                return True
    return False


def _written(objects: Objects, group: list[Use]) -> list[Hooked]:
    hooks: list[Hooked] = []
    for i, use in enumerate(group):
        context, call = use.context, use.call
        assert call is not None
        made = hook_of(context, call)
        assert made is not None
        name = hook_name(context, made)
        forms = [FORMS[str(cls)] for cls in _classes(objects, use)]
        last = name == DECAY and i == len(group) - 1 and all(form.decays for form in forms)
        last = last and not has_own_settings(context.analysis, context.module)
        last = last and not reads_behind_steps(context)  # there, weight_decay= has left the gradients as they were
        hook, way = HOOKS[name], Way.GROUP if last else Way.CALL
        kinds = ("torch.",) if way is Way.GROUP else ("torch.", "native.")
        fills = hook.misses and (name != DECAY or way is Way.GROUP)  # decay_weights fills them itself
        fills = fills and any(
            form.torch.startswith(kinds) and not form.fills and not form.torch.startswith("native.Adam")
            for form in forms
        )
        hooks.append(Hooked(call, made, name, hook, context, way, fills))
    return hooks


def in_file(objects: Objects, context: Context) -> tuple[list[Use], tuple[Hooked, ...]]:
    """The uses in one file, and all hooks."""
    found = objects.once(late_uses)
    return [use for use in found.uses if use.context.module is context.module], found.hooks


__all__ = ["in_file"]
