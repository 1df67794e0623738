"""What a call becomes whose name has a rule: reads it, picks the case, writes the edit down."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Mapping, Sequence

from chainer2torch.analysis.kinds import HostArray, Tensor, options
from chainer2torch.plan.array_guards import widths
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand, Replace
from chainer2torch.plan.match import UNDECIDED, Question, constant, constants_of, dtype_named, is_torch_dtype, renames
from chainer2torch.plan.parts import starred
from chainer2torch.plan.parts.host_arrays import runs_backwards
from chainer2torch.plan.questions.choice import Choice, choose_case, keeps_spelling, lost_arguments
from chainer2torch.plan.parts.super_receivers import instance_behind
from chainer2torch.plan.questions.device_specs import with_devices
from chainer2torch.plan.questions.function_objects import as_function
from chainer2torch.plan.questions.overridden_methods import may_be_own
from chainer2torch.plan.questions.reading import read
from chainer2torch.plan.questions.rows import receiver_kinds
from chainer2torch.plan.questions.xp_uses import module_in
from chainer2torch.rules.signature import BindError
from chainer2torch.rules.table import Row

# What makes a tensor of an argument.
_MADE_OF = re.compile(
    r"((?:torch\.(?:as_tensor|from_numpy|tensor)|native\.as_tensor)\(|native\.to_device\([\w.]+(?:\([^()]*\))?, )"
    r"(\w+)(?=[,)])"
)
_TORCH_WORDS = frozenset({"create_graph", "dim", "keepdim", "retain_graph"})


def emit_call(
    context: Context,
    decisions: Decisions,
    call: ast.Call,
    row: Row,
    site: ast.expr,
    receiver: ast.expr | None = None,
) -> Choice | None:
    """Decides on a call; gives the case that it takes, None where it stays."""
    assert row.signature is not None
    symbol = row.name
    if row.state == "manual":
        decisions.mark(site, row, symbol, "manual", row.note)
        return None
    try:
        reading = read(context, call, row, receiver)
    except BindError as error:
        if receiver is not None and (_is_torchs(call) or _is_the_users(context, call)):
            return None
        message = f"the call does not fit Chainer's signature: {error}"
        decisions.mark(site, row, symbol, "manual", message, "C2T010")
        return None
    if reading.doubt:
        decisions.mark(site, row, symbol, "manual", reading.doubt, "C2T010")
        return None
    row, bound = reading.row, reading.bound
    if receiver is not None and starred.emit_with_numpy(context, decisions, call, row, receiver):
        return None
    if bound.starred:
        starred.emit_starred(context, decisions, call, row, site, receiver)
        return None
    choice = choose_case(context, call, reading)
    if choice.template is None:
        _without_case(decisions, call, choice, site, receiver, symbol)
        return None
    if receiver is None:
        choice = dataclasses.replace(choice, template=as_function(context, choice.template, row, bound.given))
    assert choice.template is not None
    same = keeps_spelling(call, choice.template, receiver)
    lost = lost_arguments(choice)
    if lost and not same:
        message = f"the rule has no place for what is passed as `{lost[0]}`"
        decisions.mark(site, row, symbol, "manual", message, "C2T010")
        return None
    if (
        receiver is None
        and row.value is not None
        and reading.as_written
        and renames(choice.template, row.value, frozenset(bound.given))
    ):
        decisions.edit(call, Replace(context.source.span(call), row.value, {}, callee_only=True))
    elif not same:
        decisions.edit(call, replacement(context, call, choice.question, choice.template))
        if choice.question.on_device and receiver is not None and choice.template.startswith("torch."):
            _as_tensors(context, decisions, bound.extra_args)
    if receiver is None:
        decisions.use(site)
    state = "exact" if choice.settled else row.state
    decisions.mark(site, row, symbol, state, row.note if state != "exact" else "", difference=choice.difference)
    return choice


def _as_tensors(context: Context, decisions: Decisions, arrays: Sequence[ast.expr]) -> None:
    """Arrays of the host among those of an array module, which torch's functions do not take: ``xp.meshgrid(x, n)``.

    On a GPU CuPy refuses to mix them, and so does PyTorch.
    """
    for array in arrays:
        if all(isinstance(kind, HostArray) for kind in options(context.kind(array))):
            decisions.wrap(array, "torch.as_tensor(value)", {})


def _is_the_users(context: Context, call: ast.Call) -> bool:
    """Whether a link of the project has a method of its own here, in place of the one that refuses these arguments."""
    return isinstance(call.func, ast.Attribute) and may_be_own(context, call.func, receiver_kinds(context, call.func))


def _is_torchs(call: ast.Call) -> bool:
    """Whether a method is called in PyTorch's words, as an earlier run wrote it: NumPy and Chainer say ``axis``."""
    return any(keyword.arg in _TORCH_WORDS for keyword in call.keywords)


def _without_case(
    decisions: Decisions, call: ast.Call, choice: Choice, site: ast.expr, receiver: ast.expr | None, symbol: str
) -> None:
    """A call that no case fits, or whose rule has none."""
    row = choice.reading.row
    if row.fallback or any(not case.native for case in row.cases):
        why = (
            "what it becomes depends on arguments that are not known here"
            if choice.undecided
            else "these arguments have no counterpart"
        )
        decisions.mark(site, row, symbol, "manual", f"{why}. {row.note}".strip())
        return
    decisions.mark(site, row, symbol, row.state, row.note)
    if row.value is not None and receiver is None:  # same call under another name
        decisions.replace(call.func, row.value, {})
        decisions.use(site)


def replacement(context: Context, call: ast.Call, question: Question, template: str) -> Replace:
    """A template in the place of a call, with what the question knows about its arguments."""
    row = question.row
    assert row.signature is not None
    given = question.bound.given
    operands = {name: context.operand(node) for name, node in given.items()}
    for name, default in row.signature.defaults.items():
        operands.setdefault(name, Operand(code=default))
    if (held := instance_behind(context, given.get("self"), template)) is not None:
        operands["self"] = held
    if question.on_device and (receiver := given.get("self")) is not None:
        operands["self"] = context.operand(module_in(receiver))
    template = with_devices(context, _with_widths(_with_dtypes(template, question), question), given)
    template = _with_copies(context, template, given)
    constants = {}
    for text in constants_of(template):
        value = constant(text, question)
        if value is not UNDECIDED:
            constants[text] = repr(round(value, 12) if isinstance(value, float) else value)
    long = frozenset(n for n in given if all(isinstance(k, Tensor) and k.dtype == "int64" for k in question.kinds(n)))
    return Replace(
        context.source.span(call),
        template,
        operands,
        row.drop,
        constants,
        long,
        context.training(call),
        context.needs_parentheses(call),
        extra=tuple(context.operand(a) for a in question.bound.extra_args),
        extra_keywords=tuple((k, context.operand(v)) for k, v in question.bound.extra_keywords),
    )


def _with_dtypes(template: str, question: Question) -> str:
    """A template with the names of dtypes in it: ``DTYPE(dtype)`` is ``torch.float32``."""
    for text in re.findall(r"DTYPE\(\w+\)", template):
        name = text[6:-1]
        new = name if is_torch_dtype(name, question) else f"torch.{dtype_named(name, question)}"
        template = template.replace(text, new)
    return template


def _with_copies(context: Context, template: str, given: Mapping[str, ast.expr]) -> str:
    """A template that copies an array of the host that runs backwards: PyTorch makes a tensor of none."""
    backwards = {
        name
        for _, name in _MADE_OF.findall(template)
        if name in given
        and all(isinstance(k, HostArray) for k in options(context.kind(given[name])))
        and runs_backwards(context, given[name])
    }
    return _MADE_OF.sub(lambda found: found[0] + ".copy()" * (found[2] in backwards), template)


def _with_widths(template: str, question: Question) -> str:
    """A template with the widths of a padding in torch's order: ``WIDTHS(pad_width)`` is ``(0, 1)``."""
    for text, name in re.findall(r"(WIDTHS\((\w+)\))", template):
        template = template.replace(text, repr(widths(name, question)))
    return template
