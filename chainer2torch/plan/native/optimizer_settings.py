"""Settings of optimizers: what ``optimizer.lr`` becomes that is read or set, where the optimizer is one of several.

A setting that a class does not have counts only where Chainer goes on all the same: ``optimizer.alpha = x`` gives an
SGD an attribute that nobody asks for, while ``optimizer.alpha *= x`` raises there.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.components import meeting
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.native.class_checks import possible_classes
from chainer2torch.plan.native.objects import Concern, Objects, Use
from chainer2torch.plan.native.optimizer_forms import CHOSEN, CORRECTS, FORMS, classes_of
from chainer2torch.plan.questions.paths import is_path

_RATE = "self.param_groups[0]['lr']"
_CORRECTED = "native.corrected_rate(self)"
_EITHER = "native.current_rate(self)"  # of one that may be an Adam
_PAIR = "['betas']"
_PURE = frozenset({"abs", "float", "int", "len", "max", "min", "pow", "round"})


def setting_node(use: Use) -> ast.AST:
    """The whole of ``optimizer.alpha`` or ``optimizer.hyperparam.alpha``."""
    outer = use.context.source.parents.get(use.parent)
    return outer if use.member == "hyperparam" and isinstance(outer, ast.Attribute) else use.parent


def setting_of(objects: Objects, use: Use) -> str | None:
    """What a setting that is read or set becomes, as a template; None: it is not one for all classes."""
    node = setting_node(use)
    if not isinstance(node, ast.Attribute):
        return None
    if _is_rate_of_chosen(objects, use, node):
        return _EITHER if isinstance(node.ctx, ast.Load) else None
    found = {_setting(cls, node.attr) for cls in _classes(objects, use)}
    if not found:  # the program does not come here
        found = {_setting(cls, node.attr) for cls in FORMS} - {None, _CORRECTED}
    elif _fails_without(objects, use, node):
        found -= {None}
    if not isinstance(node.ctx, ast.Load):
        found -= {_CORRECTED}  # it cannot be set
    elif found == {_RATE, _CORRECTED}:
        return _EITHER
    return found.pop() if len(found) == 1 else None


def _is_rate_of_chosen(objects: Objects, use: Use, node: ast.Attribute) -> bool:
    """``optimizer.lr`` of one that is chosen by its name; ``+=`` raises where there is none."""
    insts = objects.of(use.context.kind(use.node)) if node.attr == "lr" else []
    plain = not isinstance(use.context.source.parents.get(node), ast.AugAssign)
    return plain and bool(insts) and all(inst.site and inst.cls == CHOSEN for inst in insts)


def set_by(objects: Objects, use: Use) -> tuple[ast.Assign, str] | None:
    """A statement ``optimizer.lr = x`` that is written as a whole, and how.

    Of a pair of values one is set in its place; the rate of an optimizer that is chosen by its name by a helper, as one
    without such a setting refuses it.
    """
    node = setting_node(use)
    statement = use.context.source.parents.get(node)
    if not isinstance(node, ast.Attribute) or not isinstance(statement, ast.Assign) or statement.targets != [node]:
        return None
    if _is_rate_of_chosen(objects, use, node):
        return statement, "native.set_rate(self, value)"
    pair, _, place = (setting_of(objects, use) or "").rpartition("[")
    if not pair.endswith(_PAIR) or not is_path(use.node):
        return None
    values = f"value, {pair}[1]" if place == "0]" else f"{pair}[0], value"
    return statement, f"{pair} = ({values})"


def guarded(objects: Objects, use: Use) -> dict[str, tuple[str, ...]]:
    """For ``optimizer.alpha = x`` as a statement: by the template of the setting, torch's classes that have it.

    {} where that does not say it: those without must not be of these classes, nor may the value do anything else.
    """
    node = setting_node(use)
    statement = use.context.source.parents.get(node)
    if not isinstance(node, ast.Attribute) or not isinstance(statement, ast.Assign) or statement.targets != [node]:
        return {}
    if not _is_pure(statement.value) or _is_read(objects, use, node):
        return {}
    found: dict[str | None, set[str]] = {}
    for cls in _classes(objects, use):
        if not isinstance(cls, str) or cls not in FORMS:
            return {}
        found.setdefault(_setting(cls, node.attr), set()).add(FORMS[cls].torch)
    found.pop(_CORRECTED, None)
    forms = [form for torch in found.values() for form in torch]
    apart = len(set(forms)) == len(forms)
    return {text: tuple(sorted(torch)) for text, torch in found.items() if text is not None} if apart else {}


def asked_setting(objects: Objects, use: Use) -> tuple[str, ...] | None:
    """torch's classes for which ``hasattr(optimizer, 'alpha')`` is true; None: that is not what is asked."""
    call = use.parent
    if not isinstance(call, ast.Call) or use.context.kind(call.func) != Ref("builtins.hasattr"):
        return None
    name = call.args[1] if len(call.args) == 2 and call.args[0] is use.node else None
    if not isinstance(name, ast.Constant) or not any(_setting(cls, str(name.value)) for cls in FORMS):
        return None
    having: set[str] = set()
    others: set[str] = set()
    for cls in _classes(objects, use):
        if not isinstance(cls, str) or cls not in FORMS:
            return None
        (having if _setting(cls, str(name.value)) else others).add(FORMS[cls].torch)
    return tuple(sorted(having)) if not having & others else None


def _setting(cls: object, name: str) -> str | None:
    form = FORMS.get(cls) if isinstance(cls, str) else None
    if form is not None and name in form.hyperparameters:
        return f"self.param_groups[0]{form.hyperparameters[name]}"
    return _CORRECTED if name == "lr" and cls in CORRECTS else None


def _classes(objects: Objects, use: Use) -> set[object]:
    return {*possible_classes(objects, use)} if use.inst.site else _classes_seen_from(objects, use)


def _classes_seen_from(objects: Objects, use: Use) -> set[object]:
    """The classes of all optimizers that a file's program makes: one whose site is not known is among them."""
    insts = [uses[0] for uses in objects.uses.values() if uses[0].inst.site]
    own = objects.concern(use.inst)
    seen = [u for u in insts if objects.concern(u.inst) is own and objects.sees(use.context, u.context)]
    return {cls for u in seen for cls in classes_of(u.inst.cls)}


def _fails_without(objects: Objects, use: Use, node: ast.Attribute) -> bool:
    """Whether Chainer raises here for an optimizer without the setting, and the program does not go on."""
    statement = use.context.source.parents.get(node)
    reads = isinstance(node.ctx, ast.Load) or isinstance(statement, ast.AugAssign)
    return reads and use.context.source.enclosing(node, ast.Try) is None and not _is_given(objects, use, node)


def _is_given(objects: Objects, use: Use, node: ast.Attribute) -> bool:
    """Whether an optimizer may have got such an attribute, though its class has no such setting."""
    return any(
        other.attr == node.attr and isinstance(other.ctx, ast.Store)
        for used in _beside(objects, use)
        if isinstance(other := setting_node(used), ast.Attribute)
        and not isinstance(used.context.source.parents.get(other), ast.AugAssign)
    )


def _is_read(objects: Objects, use: Use, node: ast.Attribute) -> bool:
    return any(
        other.attr == node.attr and isinstance(other.ctx, ast.Load)
        for used in _beside(objects, use)
        if isinstance(other := setting_node(used), ast.Attribute)
    )


def _beside(objects: Objects, use: Use) -> list[Use]:
    """The uses of all optimizers of a program."""
    seen = objects.analysis.once(meeting)[use.context.module]
    uses = objects.once(_by_concern).get(objects.concern(use.inst), [])
    return [u for u in uses if u.context.module in seen]


def _by_concern(objects: Objects) -> dict[Concern | None, list[Use]]:
    found: dict[Concern | None, list[Use]] = {}
    for uses in objects.uses.values():
        for use in uses:
            found.setdefault(objects.concern(use.inst), []).append(use)
    return found


def _is_pure(value: ast.expr) -> bool:
    """Whether it makes no difference that a value is not computed."""
    return not any(
        isinstance(node, (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom))
        or isinstance(node, ast.Call)
        and not (isinstance(node.func, ast.Name) and node.func.id in _PURE)
        for node in nodes_of(value)
    )


__all__ = ["asked_setting", "guarded", "set_by", "setting_node", "setting_of"]
