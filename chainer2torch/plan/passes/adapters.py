"""Adapters where a part that is Chainer's after this run meets one that is not (``migrate --only``)."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import UNKNOWN, HostArray, Inst, Ref, options
from chainer2torch.analysis.libraries import adapted
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.parts.keeping import argument_of
from chainer2torch.plan.questions.rows import row_at
from chainer2torch.plan.stages import CODE, DATA, MODELS, TRAINING
from chainer2torch.rules.table import Row

# the arguments of the training that are models
_MODEL_ARGUMENTS = {
    "chainer.GradientMethod.setup": "link",
    "chainer.training.extensions.Evaluator": "target",
    "chainer.training.extensions.snapshot_object": "target",
    "chainer.training.extensions.snapshot": "target",
}
# an adapter, and the stages between which it stands
_ADAPTERS = {
    "as_torch_model": MODELS,
    **dict.fromkeys(
        ("as_chainer_link", "as_chainer_iterator", "as_chainer_loss", "as_torch_converter", "as_chainer_report"),
        TRAINING,
    ),
}
# a method of the user's that Chainer's training calls, and that has no adapter
_OWN_TRAINING = {"chainer.training.extensions.Evaluator": "evaluate"}
# what stays Chainer's in the training's code and meets tensors there
_MEET_TENSORS = {
    "chainer.training.updaters.StandardUpdater.converter": "compat.as_torch_converter(value)",
    "chainer.report": "compat.as_chainer_report(value)",
}
_ARRAYS = "Chainer hands arrays to it and its model takes tensors by now; migrate the training with the models"


def run(context: Context) -> Decisions:
    """Puts adapters where a part that is Chainer's afterwards meets one that is not; takes away those that are idle."""
    decisions = Decisions(context)
    stages = context.stages
    if TRAINING in stages.chosen and MODELS in stages.out:
        _wrap_models(context, decisions, Part.SITE, "compat.as_torch_model(value)", ("Evaluator",))
    if MODELS in stages.chosen and TRAINING in stages.out:
        _wrap_models(context, decisions, Part.KEPT, "compat.as_chainer_link(value)", ())
        _training_with_arrays(context, decisions)
    if DATA in stages.chosen and TRAINING in stages.out:
        for call in context.source.of(ast.Call):
            if any(
                isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.dataset.Iterator")
                for k in options(context.analysis.kind(call))
            ):
                with decisions.provided(taken=((Part.SITE, call.func),)):
                    decisions.wrap(call, "compat.as_chainer_iterator(value)")
    _take_away(context, decisions)
    return decisions


def _wrap_models(context: Context, decisions: Decisions, decided: Part, template: str, own: tuple[str, ...]) -> None:
    """Models that are handed to the training; the helpers called ``own`` take either."""
    for call in context.source.of(ast.Call):
        row = row_at(context, call.func)
        if row is None or row.name.endswith(own or ("-",)):
            continue
        name = _MODEL_ARGUMENTS.get(row.name, "obj" if row.home == "serializers.toml" else "")
        argument = argument_of(call, row, name) if name else None
        if argument is None or _is_adapted(context, argument):
            continue
        if name != "obj" or context.analysis.kind(argument) == UNKNOWN:
            with decisions.provided(taken=((decided, call.func),)):
                decisions.wrap(argument, template)


def _training_with_arrays(context: Context, decisions: Decisions) -> None:
    """Adapters in code that Chainer's training calls and that meets models which take tensors; marks what has none."""
    for cls in context.source.of(ast.ClassDef):
        info = context.analysis.classes.get(cls)
        for base, method in _OWN_TRAINING.items() if info is not None else ():
            own = info.methods.get(method) if info is not None else None
            if own is not None and info is not None and context.analysis.derives(info, base):
                decisions.mark(own.node, context.rules.rows.get(base), f"{base}.{method}", "manual", _ARRAYS, CODE)
    for node in context.source.of(ast.Name, ast.Attribute):
        row = row_at(context, node)
        if row is not None:
            with decisions.provided(taken=((Part.KEPT, node),)):
                _meets_tensors(context, decisions, node, row)


def _meets_tensors(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> None:
    """Adapters at one reference that stays Chainer's."""
    call = context.source.parents.get(node)
    if isinstance(call, ast.Call) and node in call.args and _is_adapted(context, call):
        return
    if row.name in _MEET_TENSORS and isinstance(getattr(node, "ctx", None), ast.Load):
        decisions.wrap(node, _MEET_TENSORS[row.name])
    for name in ("loss_func", "eval_func", "lossfun"):
        given = argument_of(call, row, name) if isinstance(call, ast.Call) and call.func is node else None
        if given is None or isinstance(given, ast.Constant) and given.value is None or _is_adapted(context, given):
            continue
        if name == "loss_func":
            decisions.wrap(given, "compat.as_chainer_loss(value, arrays=True)")
        elif name == "lossfun" and not (isinstance(call, ast.Call) and _hands_arrays(context, call, given)):
            decisions.wrap(given, "compat.as_chainer_loss(value)")
        else:
            decisions.mark(node, row, row.name, "manual", _ARRAYS, CODE, replaces=((Part.KEPT, node),))


def _hands_arrays(context: Context, call: ast.Call, lossfun: ast.expr) -> bool:
    """Whether a loss function gets arrays of the host as arguments."""
    return any(
        isinstance(kind, HostArray)
        for given in (*call.args, *(keyword.value for keyword in call.keywords))
        if given is not lossfun
        for kind in options(context.analysis.kind(given))
    )


def _is_adapted(context: Context, value: ast.expr) -> bool:
    """Whether an earlier run has put an adapter here."""
    kind = context.analysis.kind(value.func) if isinstance(value, ast.Call) else None
    return isinstance(kind, Ref) and adapted(kind.name)


def _take_away(context: Context, decisions: Decisions) -> None:
    """Adapters of an earlier run between parts that are both on torch's side by now."""
    for node, name in _helpers(context):
        call = context.source.parents.get(node)
        if (
            name in _ADAPTERS
            and isinstance(call, ast.Call)
            and call.func is node
            and len(call.args) == 1
            and _ADAPTERS[name] not in context.stages.out
        ):
            decisions.replace(call, "value", {"value": context.operand(call.args[0])})
        elif name.endswith("OfLinks") and MODELS not in context.stages.out:
            decisions.replace(node, f"compat.{name.removesuffix('OfLinks')}", {})


def _helpers(context: Context) -> Iterator[tuple[ast.expr, str]]:
    """The references of a file to adapters, by their names."""
    if "chainer_compat" not in context.source.text:
        return
    for node in context.source.of(ast.Name, ast.Attribute):
        kind = context.analysis.kind(node)
        if isinstance(kind, Ref) and "chainer_compat" in kind.name.split(".")[:-1] and isinstance(node.ctx, ast.Load):
            yield node, kind.name.rsplit(".", 1)[-1]
