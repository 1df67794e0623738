"""``extensions.Evaluator``: over a DataLoader, with what moves a batch to the device as its function."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.kinds import NONE, UNKNOWN
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.native.batches import Conversion, are_dictionaries, call_of, parts_of
from chainer2torch.plan.native.calls import bound_call, operands_of
from chainer2torch.plan.native.objects import Objects
from chainer2torch.plan.native.programs import EVALUATOR, Device, Unclear, converter_of, device_of, function_of
from chainer2torch.plan.questions.paths import is_path

_TORCH = "pytorch_pfn_extras.training.extensions.Evaluator({})"


@dataclasses.dataclass(frozen=True, eq=False)
class Evaluator:
    """An evaluator: what it calls with the parts of a batch, where ``parts`` are needed to write that down."""

    function: str
    parts: tuple[str, ...]
    device: Device
    conversion: Conversion | None = None
    named: bool = False  # whether a batch is a dictionary, whose parts go by name


def evaluator_of(objects: Objects, call: ast.Call, context: Context) -> Evaluator:
    """What an evaluator evaluates. Raises Unclear."""
    bound = bound_call(context, call, EVALUATOR)
    if bound is None or bound.extra_keywords and {k for k, _ in bound.extra_keywords} - {"progress_bar"}:
        raise Unclear("an evaluator whose arguments are not known")
    conversion = converter_of(context, bound.given.get("converter"), bound.given.get("device"))
    target, function = bound.given["target"], bound.given.get("eval_func")
    kind = context.kind(target)
    if not context.analysis.is_link(kind) and not (kind == UNKNOWN and is_path(target)):
        raise Unclear("what is evaluated is not a model")
    called = target if function is None or context.kind(function) == NONE else function
    if conversion is not None:
        if not is_path(called):
            raise Unclear("what is evaluated has no name")
        return Evaluator(ast.unparse(called), (), Device(), conversion)
    device = device_of(context, bound.given.get("device"), function_of(context, call))
    if not device.name:
        return Evaluator("", (), device)
    if not is_path(called):
        raise Unclear("what is evaluated has no name")
    named = are_dictionaries(context.analysis, context.kind(bound.given["iterator"]))
    if named is None:
        raise Unclear("only some examples are dictionaries")
    parts = None if named else parts_of(context.analysis, context.kind(called))
    return Evaluator(ast.unparse(called), parts or (), device, named=named)


def emit(objects: Objects, context: Context, decisions: Decisions, call: ast.Call, device: str) -> None:
    """pytorch-pfn-extras' evaluator in the place of a call; ``device`` is the variable that the training uses."""
    evaluator = evaluator_of(objects, call, context)
    bound = bound_call(context, call, EVALUATOR)
    assert bound is not None
    operands = operands_of(context, bound)
    parts = ["iterator", "target", *[f"{name}={name}" for name in ("eval_hook",) if name in operands]]
    if evaluator.conversion is not None:
        operands |= evaluator.conversion.operands(evaluator.function)
        parts[-1] += f",\n    eval_func=lambda *batch: {evaluator.conversion.call('list(batch)')}"
    elif evaluator.device.name and not evaluator.parts:  # only the run tells how many parts a batch has
        operands |= {"CALLEE": Operand(code=evaluator.function), "DEVICE": Operand(code=device)}
        stars = "**" if evaluator.named else "*"
        parts[-1] += f",\n    eval_func=lambda {stars}batch: CALLEE({stars}native.to_device(DEVICE, batch))"
    elif evaluator.parts:
        names = ast.arguments([], [ast.arg(name) for name in evaluator.parts], None, [], [], None, [])
        inside = ast.parse(call_of(evaluator.function, evaluator.parts, device), mode="eval").body
        operands["EVALUATE"] = Operand(code=ast.unparse(ast.Lambda(names, inside)))
        parts[-1] += ",\n    eval_func=EVALUATE"
    elif "eval_func" in operands:
        parts.append("eval_func=eval_func")
    for name, value in bound.extra_keywords:
        operands[name] = context.operand(value)
        parts.append(f"{name}={name}")
    decisions.replace(call, _TORCH.format(", ".join(parts)), operands)
    decisions.remove(*(bound.given[name] for name in ("converter", "device") if name in bound.given))
    decisions.use(call.func)
    row = context.rules.rows[EVALUATOR]
    decisions.mark(call.func, row, row.name, "exact")


__all__ = ["Evaluator", "emit", "evaluator_of"]
