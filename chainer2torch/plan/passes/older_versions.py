"""Calls in the words of Chainer's version 1: other arguments, or the same places with another meaning.

``L.Convolution2D(3, 64, 3, 1, 1, w)`` passes `wscale` in version 1 and `nobias` since version 2. The old signatures
stand in ``rules/eras``; where a call fits both and they differ, its arguments and its file decide, or nobody does.
"""

from __future__ import annotations

import ast
import dataclasses
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Tensor, options, scalar_type
from chainer2torch.plan.edits import Operand, Replace
from chainer2torch.rules.signature import BindError, Bound

if TYPE_CHECKING:
    from chainer2torch.plan.sites import Plan
    from chainer2torch.rules.table import Row

_MODES = {"test": "not value", "train": "value"}
_CODE = "C2T204"


@dataclasses.dataclass(frozen=True)
class Reading:
    """How a call is read: the row that says what it becomes and its arguments, or the doubt about them."""

    row: Row
    bound: Bound
    doubt: str = ""
    as_written: bool = True  # whether today's parameters take the arguments as they stand


def read(plan: Plan, call: ast.Call, row: Row, receiver: ast.expr | None) -> Reading:
    """Binds a call to today's signature or to that of version 1. Raises BindError when it fits neither."""
    assert row.signature is not None
    old = plan.rules.old.get(row.name)
    if old is None or old.signature is None:
        return Reading(row, row.signature.bind(call.args, call.keywords, receiver))
    failed: BindError | None = None
    try:
        now = row.signature.bind(call.args, call.keywords, receiver)
        if now.starred:
            return Reading(row, now)
        fits = not any(name in old.signature.names for name, _ in now.extra_keywords)
    except BindError as error:
        failed, fits, now = error, False, Bound({})
    try:
        then = old.signature.bind(call.args, call.keywords, receiver)
    except BindError:
        if failed is not None:
            raise failed from None
        return Reading(row, now)
    idle = {name for name, node in then.given.items() if name in old.ignores or _is_idle(row, old, name, node)}
    given = {old.renames.get(name, name): node for name, node in then.given.items() if name not in idle}
    if not fits and any(_no_flag(plan, old, name, node) for name, node in then.given.items()):
        raise failed or BindError("an argument of version 1 that is no truth value")
    if fits:
        if given == now.given:
            changed = (
                plan.version <= old.until or bool(old.cases) and _defaults_differ(row, old, then) and plan.era == 1
            )  # asked last
            return Reading(old, then, as_written=False) if changed else Reading(row, now)
        era = _by_arguments(plan, row, old, now, then) or plan.era
        if era is None:
            return Reading(row, now, _doubt(now, then))
        if era > 1:
            return Reading(row, now)
    if not old.until and given.keys() <= row.signature.names and len(given) == len(then.given.keys() - idle):
        return Reading(row, Bound(given), as_written=False)
    return Reading(old, then, as_written=False)


def differs_as_value(plan: Plan, row: Row, old: Row) -> bool:
    """Whether the name itself meant something else in the version of a file: ``rnn = L.StatelessLSTM`` and then
    ``rnn(n, n)`` made a forget gate that starts at 0. What is called under another name is read nowhere else."""
    return (
        plan.era == 1
        and old.signature is not None
        and row.signature is not None
        and bool(old.cases)
        and (old.value is not None and old.value != row.value or _defaults_differ(row, old, Bound({})))
    )


def _defaults_differ(row: Row, old: Row, then: Bound) -> bool:
    """Whether a parameter that is left out had another default in version 1, or decided what a mode decides now.

    ``F.dropout(x)`` of version 1 drops in every mode.
    """
    assert row.signature is not None and old.signature is not None
    return (
        bool(old.differs_without)
        and old.differs_without not in then.given
        or any(
            name in _MODES and name not in row.signature.names or default != row.signature.defaults.get(name, default)
            for name, default in old.signature.defaults.items()
            if name not in then.given
        )
    )


def _is_idle(row: Row, old: Row, name: str, node: ast.expr) -> bool:
    """Whether an argument that today's signature lacks is passed as what it is by default: ``wscale=1``."""
    assert row.signature is not None and old.signature is not None
    default = old.signature.defaults.get(name)
    if name in row.signature.names or name in old.renames or default is None or not isinstance(node, ast.Constant):
        return False
    literal = ast.parse(default, mode="eval").body
    return (
        isinstance(literal, ast.Constant)
        and not isinstance(literal.value, bool)
        and type(node.value) in (int, float)
        and literal.value == node.value
    )


def _no_flag(plan: Plan, old: Row, name: str, node: ast.expr) -> bool:
    """Whether a number stands where version 1 took a truth value: then this is no call of that version either."""
    assert old.signature is not None
    return old.signature.defaults.get(name) in ("True", "False") and scalar_type(plan.analysis.kind(node)) in (
        "int",
        "float",
        "str",
    )


def _by_arguments(plan: Plan, row: Row, old: Row, now: Bound, then: Bound) -> int | None:
    """What the first argument that would change its meaning says: a truth value where only one of them takes one."""
    for (name, node), (before, other) in zip(now.given.items(), then.given.items(), strict=False):
        if name == before or node is not other:
            continue
        flags = [
            r.signature.defaults.get(n) in ("True", "False")
            for r, n in ((row, name), (old, before))
            if r.signature is not None
        ]
        kinds = {scalar_type(k) for k in options(plan.analysis.kind(node))}
        if flags[0] != flags[1] and kinds <= {"bool", "int", "float"} and kinds:
            is_flag = kinds == {"bool"}
            if is_flag or "bool" not in kinds:
                return 2 if is_flag == flags[0] else 1
    return None


def _doubt(now: Bound, then: Bound) -> str:
    pairs = [
        (a, b)
        for (a, node), (b, other) in zip(now.given.items(), then.given.items(), strict=False)
        if a != b and node is other
    ]
    new, old = pairs[0] if pairs else ("another argument", "this one")
    return (
        f"the argument that is `{new}` since version 2 was `{old}` in version 1 of Chainer, and nothing here says "
        "which version this was written for; pass it by name, or say --chainer-version"
    )


def number_of_elements(plan: Plan, call: ast.Call) -> None:
    """``len(variable)`` counted the elements in version 1; since version 2 it is the length of the first axis.

    A parameter or attribute that is a Variable here may be given an array elsewhere: that is a question.
    """
    if len(call.args) != 1 or call.keywords:
        return
    argument, function = call.args[0], plan.source.enclosing(call, ast.FunctionDef)
    variables = [isinstance(k, Tensor) and not k.array and k.rank != 1 for k in options(plan.analysis.kind(argument))]
    computed = (
        isinstance(argument, (ast.Call, ast.BinOp))
        or isinstance(argument, ast.Name)
        and not (
            isinstance(function, ast.FunctionDef)
            and argument.id in {a.arg for a in ast.walk(function.args) if isinstance(a, ast.arg)}
        )
    )
    if all(variables) and computed:
        plan.replace(call, "self.numel()", {"self": plan.operand(call.args[0])})
        plan.mark(call, None, "chainer.Variable.__len__", "exact")
    elif any(variables):
        plan.mark(
            call,
            None,
            "chainer.Variable.__len__",
            "review",
            "in version 1 of Chainer this is the number of "
            "elements of a Variable, and the length of the first axis of an array; write x.numel() for Variables",
            _CODE,
        )


def collect_parameters(plan: Plan, node: ast.AST, row: Row) -> None:
    """``optimizer.setup(model.collect_parameters())`` takes the model itself; a pair of lists is made nowhere."""
    call = plan.source.parents.get(node)
    setup = plan.source.parents.get(call) if isinstance(call, ast.Call) and call.func is node else None
    if (
        isinstance(node, ast.Attribute)
        and isinstance(call, ast.Call)
        and isinstance(setup, ast.Call)
        and isinstance(setup.func, ast.Attribute)
        and setup.func.attr == "setup"
        and call in setup.args
    ):
        plan.replace(call, "self", {"self": plan.operand(node.value)})
        plan.mark(node, row, row.name, "exact")
    else:
        plan.mark(
            node,
            row,
            row.name,
            "manual",
            "version 1's pair of lists, of parameters and of gradients, is not "
            "made; read the parameters by name from named_parameters(), and their .grad",
        )


def copy_parameters_from(plan: Plan, node: ast.AST, row: Row) -> None:
    """``target.copy_parameters_from(model.parameters)``: whatever their order is, it is the same in both."""
    call = plan.source.parents.get(node)
    if isinstance(node, ast.Attribute) and isinstance(call, ast.Call) and (source := _all_parameters(plan, call)):
        plan.replace(
            call,
            "compat.copyparams(target, source, copy_persistent=False)",
            {"target": plan.operand(node.value), "source": plan.operand(source)},
        )
        plan.mark(node, row, row.name, "exact")
    else:
        plan.mark(node, row, row.name, "manual", row.note)


def parameters(plan: Plan, node: ast.AST, row: Row) -> None:
    """``model.parameters`` of a FunctionSet, which only the copy to another one takes over."""
    call = plan.source.parents.get(node)
    copied = isinstance(call, ast.Call) and _all_parameters(plan, call) is not None
    plan.mark(node, row, row.name, "exact" if copied else "manual", "" if copied else row.note)


def _all_parameters(plan: Plan, call: ast.Call) -> ast.expr | None:
    """The model of ``copy_parameters_from(model.parameters)``."""
    if (
        isinstance(call.func, ast.Attribute)
        and call.func.attr == "copy_parameters_from"
        and len(call.args) == 1
        and not call.keywords
        and isinstance(call.args[0], ast.Attribute)
        and call.args[0].attr == "parameters"
        and all(plan.analysis.is_link(plan.analysis.kind(held)) for held in (call.func.value, call.args[0].value))
    ):
        return call.args[0].value
    return None


def call_of_link(plan: Plan, call: ast.Call) -> None:
    """``self.bn(x, test=test)``: version 1 passed the mode to the call, torch's layers keep it."""
    kinds = options(plan.analysis.kind(call.func))
    if (
        call in plan.edits
        or any(isinstance(a, ast.Starred) for a in call.args)
        or any(k.arg is None for k in call.keywords)
    ):
        return
    if any(_is_some_link(k) for k in kinds) or kinds == (UNKNOWN,) and _is_looked_up(call.func):
        _call_of_some_link(plan, call)
        return
    if not all(isinstance(k, Inst) and isinstance(k.cls, str) and plan.analysis.is_link(k) for k in kinds):
        return
    own = {
        name
        for k in kinds
        if isinstance(k, Inst) and isinstance(k.cls, str)  # L.SimplifiedDropconnect's train=
        for row in [plan.rules.member(k.cls, "__call__")]
        if row is not None and row.signature is not None
        for name in row.signature.names
    }
    modes = _MODES.keys() - own
    mode = next(((_MODES[k.arg], k.value) for k in call.keywords if k.arg in modes), None)
    args, keywords = call.args, [k for k in call.keywords if k.arg not in modes]
    if mode is None:
        if not (
            len(args) == 2
            and all(
                isinstance(k, Inst)
                and isinstance(k.cls, str)
                and plan.rules.is_subclass(k.cls, "chainer.links.BatchNormalization")
                for k in kinds
            )
        ):
            return
        if plan.era is None:
            plan.mark(
                call,
                None,
                "chainer.links.BatchNormalization.__call__",
                "review",
                "the second argument is "
                "`finetune` since version 2 and was `test` in version 1 of Chainer; pass it by name",
                _CODE,
            )
        if plan.era != 1:
            return
        mode, args = (_MODES["test"], args[1]), args[:1]
    template, value = mode
    if isinstance(value, ast.Constant):
        training = str(bool(value.value) is (template == "value"))
    else:
        training = template
    operands = {"layer": plan.operand(call.func), "value": plan.operand(value)}
    plan.edits[call] = Replace(
        plan.source.span(call),
        f"compat.call_in_mode(layer, {training}, *args, **kwargs)",
        operands,
        extra=tuple(Operand(plan.source.span(a)) for a in args),
        extra_keywords=tuple((str(k.arg), Operand(plan.source.span(k.value))) for k in keywords),
    )
    plan.mark(call, None, "chainer.Link.__call__", "exact", "", _CODE)


def _is_some_link(kind: Kind) -> bool:
    """Whether nothing but that it is a link is known of it: ``self[name]``, ``for link in self.children():``."""
    return isinstance(kind, Inst) and kind.cls in ("chainer.Link", "chainer.Chain") and not kind.site


def _is_looked_up(node: ast.expr) -> bool:
    """``getattr(self, name)`` and ``links[name]``: most likely a link."""
    return (
        isinstance(node, ast.Subscript)
        or isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "getattr"
    )


def _call_of_some_link(plan: Plan, call: ast.Call) -> None:
    """``self[name](x, test=test)``: a link of the project takes the mode as it did, a layer is put into it."""
    named = any(k.arg in _MODES for k in call.keywords)
    # of a batch normalization the second argument is `test`
    second = (
        plan.era == 1
        and len(call.args) == 2
        and not call.keywords
        and (plan.analysis.kind(call.func) != UNKNOWN or any(name in ast.unparse(call.args[1]) for name in _MODES))
    )
    if plan.migrated or not plan.imports_chainer or not (named or second):
        return
    plan.edits[call] = Replace(
        plan.source.span(call),
        "compat.call_as_version_1(layer, *args, **kwargs)",
        {"layer": plan.operand(call.func)},
        extra=tuple(Operand(plan.source.span(a)) for a in call.args),
        extra_keywords=tuple((str(k.arg), Operand(plan.source.span(k.value))) for k in call.keywords),
    )
    plan.mark(call, None, "chainer.Link.__call__", "exact", "", _CODE)
