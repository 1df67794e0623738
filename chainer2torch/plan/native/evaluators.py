"""``extensions.Evaluator``: over a DataLoader, with what moves a batch to the device as its function."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, UNKNOWN, Class, Func, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.native.batches import Conversion, are_dictionaries, parts_of
from chainer2torch.plan.native.calls import bound_call, operands_of
from chainer2torch.plan.native.train_flags import asks_the_thread
from chainer2torch.plan.native.unknown_iterators import may_be_left
from chainer2torch.plan.native.objects import Objects
from chainer2torch.plan.native.programs import EVALUATOR, Device, Unclear, converter_of, device_of, function_of
from chainer2torch.plan.questions.device_specs import device_of_number
from chainer2torch.plan.questions.paths import is_path

_FUNCTION = "eval_func"
# what both evaluators have under one name
_SAME = frozenset("get_target get_all_targets get_iterator get_all_iterators _targets _iterators default_name".split())
_OWN = "OWN({})"
_TORCH = "pytorch_pfn_extras.training.extensions.Evaluator({})"
_ASKED = "native.ModeEvaluator({})"  # for what asks the thread for the mode: a data set, say


@dataclass(frozen=True, eq=False)
class Evaluator:
    """An evaluator: what it calls with the parts of a batch, where ``parts`` are needed to write that down."""

    function: str
    parts: tuple[str, ...]
    device: Device
    conversion: Conversion | None = None
    named: bool = False  # whether a batch is a dictionary, whose parts go by name
    made: bool = False  # whether an expression makes the function, once: `eval_func=model.get_loss_func()`


def evaluator_of(objects: Objects, call: ast.Call, context: Context) -> Evaluator:
    """What an evaluator evaluates. Raises Unclear."""
    bound = bound_call(context, call, EVALUATOR)
    if bound is None or bound.extra_keywords and {k for k, _ in bound.extra_keywords} - {"progress_bar"}:
        raise Unclear("an evaluator whose arguments are not known")
    if "eval_hook" in bound.given and _asks_for_more(context, bound.given["eval_hook"]):
        raise Unclear("its hook asks for what only Chainer's evaluator has")
    if may_be_left(context, bound.given["iterator"]):
        raise Unclear("an iterator that is made here, or else given")
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
    made = called is function and not is_path(called)
    if called is target and not is_path(called):
        raise Unclear("what is evaluated has no name")
    named = are_dictionaries(context.analysis, context.kind(bound.given["iterator"]))
    if named is None:
        raise Unclear("only some examples are dictionaries")
    parts = None if named else parts_of(context.analysis, context.kind(called))
    if made and _FUNCTION in (parts or ()):
        raise Unclear("what is evaluated has no name")
    return Evaluator(_FUNCTION if made else ast.unparse(called), parts or (), device, named=named, made=made)


def _asks_for_more(context: Context, hook: ast.expr) -> bool:
    """Whether a hook asks the evaluator that it is handed for its ``converter`` or ``device``, or hands it on."""
    functions: list[ast.AST] = [hook] if isinstance(hook, ast.Lambda) else []
    functions += [kind.info.node for kind in options(context.kind(hook)) if isinstance(kind, Func)]
    return any(_reads_more(context, function) for function in functions)


def _reads_more(context: Context, function: ast.AST) -> bool:
    arguments = getattr(function, "args", None)
    source = context.analysis.module_of(function)
    if not isinstance(arguments, ast.arguments) or source is None:
        return False
    parents = source.source.parents
    places = [*arguments.posonlyargs, *arguments.args]
    handed = {places[-1].arg} if places else set()  # the first one of a method is its object
    parts = [parents[node] for node in nodes_of(function) if isinstance(node, ast.Name) and node.id in handed]
    return not all(isinstance(part, ast.Attribute) and part.attr in _SAME for part in parts)


def emit(
    objects: Objects, context: Context, decisions: Decisions, call: ast.Call, makes_device: bool, in_parts: bool
) -> None:
    """pytorch-pfn-extras' evaluator in the place of a call.

    ``makes_device``: the training has no variable with the device. ``in_parts``: parts of the model may report.
    """
    evaluator = evaluator_of(objects, call, context)
    bound = bound_call(context, call, EVALUATOR)
    assert bound is not None
    operands = {name.upper(): operand for name, operand in operands_of(context, bound).items()}
    target = "native.observers(TARGET)" if in_parts else "TARGET"
    parts = ["ITERATOR", target, *["eval_hook=EVAL_HOOK" for _ in range("EVAL_HOOK" in operands)]]
    function = "EVAL_FUNC" if "EVAL_FUNC" in operands else ""
    if evaluator.conversion is not None:
        operands |= evaluator.conversion.operands(evaluator.function)
        function = f"lambda *batch: {evaluator.conversion.call('list(batch)')}"
    elif evaluator.device.name:
        function = _moved(context, evaluator, makes_device)
        operands["CALLEE"] = Operand(code=evaluator.function)
        if evaluator.device.made is not None:
            operands["SPEC"] = Operand(code=ast.unparse(evaluator.device.made))
    if function:
        separator = ", " if function == "EVAL_FUNC" else ",\n    "
        parts[-1] += f"{separator}eval_func={function}"
    for name, value in bound.extra_keywords:
        operands[name.upper()] = context.operand(value)
        parts.append(f"{name}={name.upper()}")
    own = isinstance(context.kind(call.func), Class)  # a class of the program's own, which keeps its name
    operands |= {"OWN": context.operand(call.func)} if own else {}
    plain = _ASKED if asks_the_thread(context.analysis, context.module) else _TORCH
    decisions.replace(call, (_OWN if own else plain).format(", ".join(parts)), operands)
    decisions.remove(*(bound.given[name] for name in ("converter", "device") if name in bound.given))
    if own:
        return
    decisions.use(call.func)
    row = context.rules.rows[EVALUATOR]
    decisions.mark(call.func, row, row.name, "exact")


def _moved(context: Context, evaluator: Evaluator, makes_device: bool) -> str:
    """The function that moves a batch to the device and calls the model; only the run may tell its parts."""
    spec = evaluator.device.made if makes_device else None
    device = evaluator.device.name
    if spec is not None:
        device = "torch_device" if "device" in evaluator.parts else "device"
    values = [f"{_FUNCTION}=EVAL_FUNC"] if evaluator.made else []
    values += [f"{device}={device_of_number(context, spec, 'SPEC')}"] if spec is not None else []
    made = ", ".join(values)
    if evaluator.named:
        made = f"*, {made}, " if made else ""
        return f"lambda {made}**batch: CALLEE(**{{key: x.to({device}) for key, x in batch.items()}})"
    if not evaluator.parts:
        made = f", {made}" if made else ""
        return f"lambda *batch{made}: CALLEE(*[x.to({device}) for x in batch])"
    made = f", *, {made}" if made else ""
    moved = ", ".join(f"{name}.to({device})" for name in evaluator.parts)
    return f"lambda {', '.join(evaluator.parts)}{made}: CALLEE({moved})"


__all__ = ["Evaluator", "emit", "evaluator_of"]
