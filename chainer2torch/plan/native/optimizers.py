"""The concern of optimizers: which of them can be made by one call of torch.optim, where their model is known."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from chainer2torch.analysis.kinds import Inst, Ref, options
from chainer2torch.plan.argument_guards import is_negative
from chainer2torch.plan.context import Context
from chainer2torch.plan.marks import changes_rules
from chainer2torch.plan.native import heeding
from chainer2torch.plan.native.class_checks import asked_classes, possible_classes
from chainer2torch.plan.native.escapes import may_escape
from chainer2torch.plan.native.filled_updaters import is_asked, is_filled_in
from chainer2torch.plan.native.lending import is_lent, shifts, wrapped_by
from chainer2torch.plan.native.named_optimizers import table_of
from chainer2torch.plan.native.objects import Concern, Objects, Use
from chainer2torch.plan.native.optimizer_forms import CHOSEN, CORRECTS, HOOKS, classes_of, form_of, may_be_empty
from chainer2torch.plan.native.optimizer_places import holds_no_model, placement
from chainer2torch.plan.native.optimizer_settings import (
    asked_setting,
    guarded,
    set_by,
    setting_node,
    setting_of,
)
from chainer2torch.plan.native.own_hooks import is_own_hook
from chainer2torch.plan.questions.clearing import CLEARS, clears_itself
from chainer2torch.plan.questions.own_settings import has_own_settings
from chainer2torch.rules.signature import BindError

SAVED = frozenset(
    f"chainer.serializers.{name}" for name in ("save_npz", "load_npz", "save_hdf5", "load_hdf5")
)  # functions that take what is saved as their second argument
_STATEMENTS = frozenset({"use_cleargrads", "new_epoch", "zero_grads"})
CHANGES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "clip_grads": ("torch.nn.utils.clip_grad_norm_(self.param_groups[0]['params'], value)",),
        "weight_decay": ("native.decay_weights(self.param_groups[0]['params'], value)",),
        "reallocate_cleared_grads": ("native.fill_missing_gradients(self)",),
    }
)  # methods that change the gradients at once, and what takes their place
BY_NAME: Mapping[str, tuple[str, int]] = MappingProxyType(
    {"getattr": ("native.setting", 2), "setattr": ("native.set_setting", 3)}
)  # Python's functions, with the number of their arguments


# -- uses ----------------------------------------------------------------------------------------------------------


def _made(objects: Objects, inst: Inst, call: ast.Call, context: Context) -> str:
    if inst.cls == CHOSEN and table_of(context, call) is None:
        return "its class is chosen at run time"
    if isinstance(inst.cls, str) and inst.cls != CHOSEN and context.reference(call.func) is None:
        return "its class is chosen at run time"
    if len(objects.of(context.kind(call))) != 1:
        return "its class is one of several"
    if changes_rules(objects.analysis, context.module):
        return "the project changes how single parameters are updated"
    given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg in ("lr", "alpha"))]
    if any(is_negative(rate, context.kind(rate)) for rate in given if not isinstance(rate, ast.Starred)):
        return "torch.optim refuses a rate below zero"
    found = placement(objects, inst)
    if isinstance(found, str):
        return found
    return heeding.why_not(objects, inst, found) if heeding.heeds(objects, inst) else ""


def _used(objects: Objects, use: Use) -> str | None:
    if not use.member:
        if saved_by(use) is not None and _loads_counters(objects):
            return "another optimizer that loads a file is asked for its counters"
        named = by_name(use) and not _may_name_rate(objects, use)
        understood = saved_by(use) is not None or shifts(use) or named or steps_together(use)
        asked = bool(asked_classes(objects, use)) or asked_setting(objects, use) is not None
        return "" if understood or asked or is_filled_in(use) or is_asked(use) else None
    if use.inst.site and possible_classes(objects, use).isdisjoint(classes_of(use.inst.cls)):
        return ""  # the program asks for another class in front of it
    if use.member == "serialize":
        return ""  # its row has a helper for optimizers of every form
    if use.member == "target":
        return "" if isinstance(use.parent, ast.Attribute) and isinstance(use.parent.ctx, ast.Load) else None
    if use.call is not None:
        return _called(objects, use, use.call)
    attribute = setting_node(use)
    assert isinstance(attribute, ast.Attribute)
    place = setting_of(objects, use)
    if set_by(objects, use) is not None or place is None and guarded(objects, use):
        return ""
    if place is not None:
        is_whole = place.startswith("self.") and place.endswith("']")
        return "" if is_whole or isinstance(attribute.ctx, ast.Load) else f"`.{use.member}` is set"
    return None


def needs_target(objects: Objects, insts: Iterable[Inst], lent: Callable[[Inst], bool]) -> bool:
    """Whether somebody asks one of these optimizers for its model; ``lent``: whether its taker does."""
    return any(lent(inst) or _asks_for_target(objects, inst) for inst in insts)


def _asks_for_target(objects: Objects, inst: Inst) -> bool:
    made_in = objects.uses_of(inst)[0].context
    handed = [u for u in objects.unknown_sites() if objects.concern(u.inst) is CONCERN]
    uses = [*objects.uses_of(inst), *(u for u in handed if objects.sees(made_in, u.context))]
    return any(use.member == "target" and target_clears(use) is None for use in uses)


def _called(objects: Objects, use: Use, call: ast.Call) -> str:
    context, name = use.context, use.member
    whole = isinstance(context.source.parents[call], ast.Expr)
    if name == "setup":
        if len(call.args) == 1 and holds_no_model(context.analysis, context.kind(call.args[0])):
            return "set up with arrays, and not with a model"
        return "" if use.inst.site or _is_set_up_anywhere(objects, use, call) else "set up at a place that is not known"
    if whole and name == "update":
        if loss_given(call) is None:
            return "an update that is not understood"
        hidden = any(isinstance(a, ast.Starred) for a in call.args[:1])  # the function of the loss
        hidden = hidden or not call.args and any(k.arg is None for k in call.keywords)
        whole = not call.args and not call.keywords or not hidden
        return "" if whole else "an update that is not understood"
    if whole and name == "add_hook":
        if not use.inst.site:
            return "a hook of one of several optimizers"
        known = hook_of(context, call) is not None or is_own_hook(context, call)
        return "" if known else "a hook that is not understood"
    takes = any("value" in line for line in CHANGES.get(name, ()))
    if whole and takes and has_own_settings(context.analysis, context.module):
        return f"`{name}()`"  # of several groups
    if whole and name in CHANGES and len(call.args) == takes and not call.keywords:
        return ""
    if whole and name in _STATEMENTS and not call.args and not call.keywords:
        counted = any(other.member in ("epoch", "t") for other in objects.uses_of(use.inst))
        return "" if not counted else f"`{name}()`"
    return f"`.{name}()` has no counterpart"


def _is_set_up_anywhere(objects: Objects, use: Use, call: ast.Call) -> bool:
    """Whether any of a program's optimizers may get the parameters of a model that ``setup`` is called with."""
    uses = [u for uses in objects.uses.values() for u in uses if objects.concern(u.inst) is CONCERN]
    uses = [u for u in uses if objects.sees(use.context, u.context)]
    forms = [form_of(u.inst.cls) for u in uses]
    simple = all(form is not None and may_be_empty(form) and not form.fills for form in forms)
    whole = len(call.args) + len(call.keywords) == 1 and not any(isinstance(a, ast.Starred) for a in call.args)
    return simple and whole and not any(u.member == "add_hook" for u in uses)


def loss_given(call: ast.Call) -> list[ast.expr] | None:
    """The function of a loss and its arguments in ``optimizer.update(...)``; None: keywords without a function."""
    own = [keyword.value for keyword in call.keywords if keyword.arg == "lossfun"]
    return [*call.args, *own] if call.args or own or not call.keywords else None


def is_plain_update(context: Context, node: ast.AST) -> bool:
    """``optimizer.update`` in a call without a loss: the step of whichever optimizer it is."""
    call = context.source.parents.get(node)
    named = isinstance(node, ast.Attribute) and node.attr == "update"
    return named and isinstance(call, ast.Call) and call.func is node and not loss_given(call)


def is_alike(context: Context, node: ast.AST) -> bool:
    """Whether a member is written alike for every optimizer: a plain step, ``optimizer.zero_grads``, its model."""
    named = isinstance(node, ast.Attribute) and node.attr in ("target", "zero_grads", *CHANGES)
    return named or is_plain_update(context, node)


def hook_of(context: Context, call: ast.Call) -> ast.Call | None:
    """The call that makes the hook in ``opt.add_hook(WeightDecay(r))``, of a class that is understood."""
    made = call.args[0] if call.args else None
    if not isinstance(made, ast.Call) or any(k.arg != "name" for k in call.keywords):
        return None
    name = hook_name(context, made)
    row = context.rules.rows.get(name)
    if name not in HOOKS or row is None or row.signature is None or context.reference(made.func) is None:
        return None
    try:
        return made if not row.signature.bind(made.args, made.keywords).starred else None
    except BindError:
        return None


def hook_name(context: Context, made: ast.Call) -> str:
    """Chainer's own name of the class of a hook."""
    kind = context.kind(made.func)
    row = context.rules.rows.get(kind.name) if isinstance(kind, Ref) else None
    return row.name if row is not None else ""


def by_name(use: Use) -> str:
    """The helper in the place of ``setattr(optimizer, name, value)`` or ``getattr(optimizer, name)``; "" if none."""
    call = use.parent
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in BY_NAME:
        return ""
    helper, count = BY_NAME[call.func.id]
    function = use.context.source.enclosing(call, ast.FunctionDef, ast.Lambda)
    if isinstance(function, ast.FunctionDef) and function.name == "__getattr__":
        return ""  # a wrapper hands on all that an optimizer has
    whole = count == 2 or isinstance(use.context.source.parents[call], ast.Expr)
    starred = any(isinstance(a, ast.Starred) for a in call.args)
    return helper if whole and len(call.args) == count and call.args[0] is use.node and not starred else ""


def _may_name_rate(objects: Objects, use: Use) -> bool:
    """Whether ``getattr(optimizer, name)`` may ask an Adam for ``lr``, which no setting of torch's is."""
    call = use.parent
    assert isinstance(call, ast.Call)
    name = call.args[1]
    other = isinstance(name, ast.Constant) and name.value != "lr"
    reads = isinstance(call.func, ast.Name) and call.func.id == "getattr"
    return reads and not other and not CORRECTS.isdisjoint(_classes_at(objects, use))


def _classes_at(objects: Objects, use: Use) -> set[object]:
    """The classes of optimizers that may reach a place: where nobody knows which, all that the program makes."""
    insts = objects.of(use.context.kind(use.node))
    if not all(inst.site for inst in insts):
        made = (uses[0] for uses in objects.uses.values() if uses[0].inst.site)
        known = [u.inst for u in made if objects.concern(u.inst) is CONCERN and objects.sees(use.context, u.context)]
        insts = known or insts
    return {cls for inst in insts for cls in classes_of(inst.cls)}


def steps_together(use: Use) -> bool:
    """Whether ``create_multi_node_optimizer(optimizer, comm)`` makes an optimizer average gradients in its steps."""
    return wrapped_by(use, "chainermn.create_multi_node_optimizer")


def saved_by(use: Use) -> ast.Call | None:
    """The call that writes or reads the state of an object: ``save_npz(path, optimizer)``."""
    call = use.parent
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.keywords or call.args[1] is not use.node:
        return None
    kinds = options(use.context.kind(call.func))
    known = all(isinstance(k, Ref) and k.name in SAVED for k in kinds) and len(kinds) == 1
    return call if known and use.context.reference(call.func) is not None else None


def _loads_counters(objects: Objects) -> bool:
    """Whether some optimizer that takes its state from a file is asked for ``t``: the file must have it."""
    for uses in objects.uses.values():
        if any(use.member in _COUNTERS for use in uses) and any(
            (call := saved_by(use)) is not None and ".load" in (use.context.reference(call.func) or "") for use in uses
        ):
            return True
    return False


def target_clears(use: Use) -> ast.Call | None:
    """The call ``optimizer.target.cleargrads()`` of Chainer's own method."""
    parents = use.context.source.parents
    method = parents.get(use.parent)
    call = parents.get(method) if isinstance(method, ast.Attribute) and method.attr in CLEARS else None
    if isinstance(method, ast.Attribute) and clears_itself(use.context.analysis, method.attr):
        return None
    return call if isinstance(call, ast.Call) and call.func is method and not call.args else None


_COUNTERS = frozenset({"epoch", "t"})
_BASES = ("chainer.Optimizer", "chainer.GradientMethod")
CONCERN = Concern("optimizers", _BASES, _made, _used, in_displays=True, lent=is_lent, escapes=may_escape)

__all__ = [
    "CHANGES",
    "CONCERN",
    "by_name",
    "hook_name",
    "needs_target",
    "hook_of",
    "is_alike",
    "loss_given",
    "saved_by",
    "steps_together",
    "target_clears",
]
