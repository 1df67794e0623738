"""What the lines around a step ask of their function: a free name for the loss, the statements that clear gradients."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence

from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.native import places
from chainer2torch.plan.native.calls import handed_on
from chainer2torch.plan.native.hooks import Hooked, Way
from chainer2torch.plan.native.objects import Use
from chainer2torch.plan.native.optimizer_forms import BEGINS_EARLY, DECAY, arguments, spread_arguments
from chainer2torch.plan.native.optimizer_places import Placement, model_of
from chainer2torch.plan.native.optimizers import loss_given
from chainer2torch.plan.questions.clearing import CLEARS, clears_itself
from chainer2torch.plan.questions.cut_graphs import CUTS, cuts
from chainer2torch.plan.questions.lazy_layers import may_be_lazy


def is_one_of(torch: Sequence[str]) -> str:
    """The question whether an optimizer is of one of some classes, as a template."""
    return f"isinstance(self, {torch[0] if len(torch) == 1 else '(' + ', '.join(torch) + ')'})"


def fills(placements: Iterable[Placement], hooks: Sequence[Hooked]) -> bool:
    """Whether an optimizer needs zeros for gradients that are missing, before its step or before its hooks.

    The helpers count them as zeros; those of Adam do so before the hooks. A decay fills them for what comes behind it.
    """
    if hooks and all(h.way is Way.CALL and h.name == DECAY for h in hooks if h.hook.misses):
        return any(made.form.fills for made in placements)
    misses = any(h.hook.misses for h in hooks)
    before = any(h.hook.misses and h.way is Way.CALL for h in hooks)
    return any(
        made.form.fills
        or misses
        and made.form.torch.startswith("torch.")
        or before
        and not made.form.torch.startswith("native.Adam")
        for made in placements
    )


def written(context: Context, made: Placement, defaults: Mapping[str, str]) -> tuple[str, list[str]]:
    """The class of an optimizer and its arguments, as parts of a template."""
    texts = (spread_arguments if made.options is not None else arguments)(made.form, made.bound, defaults)
    if made.form.torch == BEGINS_EARLY and context.analysis.once(may_be_lazy):
        return "native.AdaGrad", texts  # torch's asks each parameter for its shape
    return made.form.torch, texts


def clear_model(
    context: Context, decisions: Decisions, uses: Sequence[Use], done: set[ast.AST], setup: ast.Call
) -> None:
    """``model.cleargrads()`` in the function that sets the optimizer up and makes its steps: ``zero_grad()``."""
    function = places.function_of(context, setup)
    steps = [
        use
        for use in uses
        if use.member == "update"
        and use.context.module is context.module
        and places.function_of(context, use.node) is function
    ]
    reads = any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in nodes_of(function or context.source.tree))
    for call in _model_clears(context, setup, steps):
        if reads and isinstance(call.func, ast.Attribute) and call.func.attr == "zerograds":
            continue  # the gradients that somebody reads are zeros, not None
        if call.func not in done and isinstance(call.func, ast.Attribute):
            done.add(call.func)
            row = context.rules.member("chainer.Link", call.func.attr)
            optimizer = Operand(code=context.source.segment(steps[0].node))
            decisions.replace(call.func, "self.zero_grad", {"self": optimizer})
            if row is not None:
                decisions.mark(call.func, row, row.name, "exact")


def _model_clears(context: Context, setup_call: ast.Call, steps: Sequence[Use]) -> list[ast.Call]:
    """The calls of Chainer's ``cleargrads()`` on the optimizer's model, where a name of the optimizer is known."""
    setup, given = context.source.statement(setup_call), model_of(setup_call)
    function = places.function_of(context, setup)
    model = ast.unparse(given)
    behind = [
        n for n in nodes_of(function or context.source.tree) if hasattr(n, "lineno") and _is_behind(context, n, setup)
    ]
    if len({ast.unparse(step.node) for step in steps}) != 1:
        return []
    if not all(places.is_simple(e) and not places.is_rebound(e, behind) for e in (given, steps[0].node)):
        return []
    return [
        node
        for node in behind
        if isinstance(node, ast.Call)
        and not node.args
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in CLEARS
        and not clears_itself(context.analysis, node.func.attr)
        and ast.unparse(node.func.value) == model
        and places.function_of(context, node) is function
    ]


def _is_behind(context: Context, node: ast.AST, statement: ast.stmt) -> bool:
    return context.source.start(node) > context.source.start(statement)


def free_name(context: Context, call: ast.Call) -> str:
    """``loss``, or another name that the function does not use."""
    function = places.function_of(context, call) or context.source.tree
    names = [n for n in nodes_of(function) if isinstance(n, ast.Name)]
    taken = {n.id for n in names} | {a.arg for a in nodes_of(function) if isinstance(a, ast.arg)}
    loads = [n for n in names if n.id == "loss" and isinstance(n.ctx, ast.Load)]
    bound = any(n.id == "loss" and isinstance(n.ctx, ast.Store) for n in names)
    if bound and all(_is_bound_behind(context, n, call) for n in loads):
        return "loss"
    return next(name for name in ("loss", "step_loss", "update_loss", "loss_of_step", "_loss") if name not in taken)


def _is_bound_behind(context: Context, load: ast.Name, call: ast.Call) -> bool:
    """Whether what a load gives is bound in its own suite, or in one around it, and not in front of the call."""
    binding = places.binding_of(context, load)
    if binding is None:
        return False
    return not context.source.start(binding) < context.source.start(call) < context.source.start(load)


def loss_lines(context: Context, call: ast.Call, operands: dict[str, Operand], crosses: bool) -> list[str]:
    """The lines that compute a loss and its gradients, as those of a template with these operands."""
    name, given = free_name(context, call), loss_given(call)
    assert given
    function, *args = given
    others = [k for k in call.keywords if k.value is not function]
    if isinstance(function, ast.Lambda) and not args and not others and not function.args.args:
        value = "body"
        if isinstance(function.body, ast.Name):
            name = function.body.id
        operands["body"] = context.operand(function.body)
    else:
        texts, handed = handed_on(context, args, others)
        value = f"function({', '.join(texts)})"
        operands.update({"function": context.operand(function), **handed})
    is_there = isinstance(function, ast.Lambda) and ast.unparse(function.body) == name and value == "body"
    first = [] if is_there else [f"{name} = {value}"]
    if context.module.path in context.analysis.once(cuts).long:  # it ends where the graph was cut
        around = places.function_of(context, call) or context.source.tree
        keeps = crosses or any(isinstance(n, ast.Attribute) and n.attr == CUTS for n in nodes_of(around))
        rest = ["retain_graph=True"] if keeps else []
        return [*first, "self.zero_grad()", f"native.backward({', '.join([name, *rest])})"]
    return [*first, "self.zero_grad()", f"{name}.backward({'retain_graph=True' * crosses})"]


__all__ = ["clear_model", "fills", "free_name", "is_one_of", "loss_lines"]
