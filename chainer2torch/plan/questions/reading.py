"""How a call is read: by today's signature, or by that of Chainer's version 1.

``L.Convolution2D(3, 64, 3, 1, 1, w)`` passes `wscale` in version 1 and `nobias` since version 2. The old signatures
stand in ``rules/eras``; where a call fits both and they differ, its arguments and its file decide, or nobody does.
"""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.values import dataclass
from chainer2torch.analysis.kinds import Ref, options, scalar_type
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.casts import cast_behind
from chainer2torch.plan.questions.spread_keywords import keywords_of
from chainer2torch.rules.signature import BindError, Bound
from chainer2torch.rules.table import Row

_LINEAR = Ref("chainer.links.Linear")
# initializers of which version 1 counts the outputs of a convolution in another way
_OF_KERNELS = frozenset({"chainer.initializers.GlorotNormal", "chainer.initializers.GlorotUniform"})
_MODES = {"test": "not value", "train": "value"}


@dataclass(frozen=True)
class Reading:
    """How a call is read: the row that says what it becomes and its arguments, or the doubt about them."""

    row: Row
    bound: Bound
    doubt: str = ""
    as_written: bool = True  # whether today's parameters take the arguments as they stand


def read(context: Context, call: ast.Call, row: Row, receiver: ast.expr | None) -> Reading:
    """Binds a call to today's signature or to that of version 1. Raises BindError when it fits neither.

    A module of Chainer's is no value for any rule: in a template it could stand where the next run looks for a name.
    """
    reading = _read(context, call, row, receiver)
    module = next((name for node in reading.bound.given.values() if (name := library_module(context, node))), None)
    if module is None or reading.doubt:
        return reading
    return dataclasses.replace(reading, doubt=f"the module `{module}` is passed here, which stays Chainer's")


def library_module(context: Context, node: ast.AST) -> str | None:
    """The module of Chainer's that a name stands for, which no rule replaces."""
    name = context.reference(node)
    module = name is not None and context.rules.find(name) is None and context.rules.is_namespace(name)
    return name if module else None


def _read(context: Context, call: ast.Call, row: Row, receiver: ast.expr | None) -> Reading:
    """How a call is read, whatever is passed."""
    assert row.signature is not None
    keywords = keywords_of(context, call)
    old = context.rules.old.get(row.name)
    if old is None or old.signature is None or row.name in _OF_KERNELS and _fills_linear(context, call):
        bound = row.signature.bind(call.args, keywords, receiver)
        if "dtype" not in bound.given and (dtype := cast_behind(context, call, row.name)) is not None:
            bound = dataclasses.replace(bound, given={**bound.given, "dtype": dtype})
        return Reading(row, bound)
    failed: tuple[object, ...] | None = None  # not the exception: it would hold this frame, and the whole file with it
    try:
        now = row.signature.bind(call.args, keywords, receiver)
        if now.starred:
            return Reading(row, now)
        fits = not any(name in old.signature.names for name, _ in now.extra_keywords)
    except BindError as error:
        failed, fits, now = error.args, False, Bound({})
    try:
        then = old.signature.bind(call.args, keywords, receiver)
    except BindError:
        if failed is not None:
            raise BindError(*failed) from None
        return Reading(row, now)
    idle = {name for name, node in then.given.items() if name in old.ignores or is_idle(row, old, name, node)}
    given = {old.renames.get(name, name): node for name, node in then.given.items() if name not in idle}
    # `train=1` is as good as True, and nobody asks what `use_cudnn` was
    named = {id(keyword.value) for keyword in keywords if keyword.arg in _MODES or keyword.arg in old.ignores}
    if not fits and any(id(n) not in named and _no_flag(context, old, name, n) for name, n in then.given.items()):
        raise BindError(*(failed or ("an argument of version 1 that is no truth value",)))
    if fits:
        if given == now.given:
            changed = (
                context.version <= old.until
                or bool(old.cases)
                and _defaults_differ(row, old, then)
                and context.era == 1
            )  # asked last
            return Reading(old, then, as_written=False) if changed else Reading(row, now)
        era = _by_arguments(context, row, old, now, then) or context.era
        if era is None:
            return Reading(row, now, _doubt(now, then))
        if era > 1:
            return Reading(row, now)
    if not old.until and given.keys() <= row.signature.names and len(given) == len(then.given.keys() - idle):
        return Reading(row, Bound(given), as_written=False)
    return Reading(old, then, as_written=False)


def _fills_linear(context: Context, call: ast.Call) -> bool:
    """Whether an initializer is made for the weights of a linear layer, whose shape has no kernel."""
    parent = context.source.parents.get(call)
    layer = context.source.parents.get(parent) if isinstance(parent, ast.keyword) else parent
    return isinstance(layer, ast.Call) and layer.func is not call and context.kind(layer.func) == _LINEAR


def differs_as_value(context: Context, row: Row, old: Row) -> bool:
    """Whether the name itself meant something else in the version of a file: ``rnn = L.StatelessLSTM`` and then
    ``rnn(n, n)`` made a forget gate that starts at 0. What is called under another name is read nowhere else."""
    return (
        context.era == 1
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


def is_idle(row: Row, old: Row, name: str, node: ast.expr) -> bool:
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


def _no_flag(context: Context, old: Row, name: str, node: ast.expr) -> bool:
    """Whether a number stands where version 1 took a truth value: then this is no call of that version either."""
    assert old.signature is not None
    return old.signature.defaults.get(name) in ("True", "False") and scalar_type(context.analysis.kind(node)) in (
        "int",
        "float",
        "str",
    )


def _by_arguments(context: Context, row: Row, old: Row, now: Bound, then: Bound) -> int | None:
    """What the first argument that would change its meaning says: a truth value where only one of them takes one."""
    for (name, node), (before, other) in zip(now.given.items(), then.given.items(), strict=False):
        if name == before or node is not other:
            continue
        flags = [
            r.signature.defaults.get(n) in ("True", "False")
            for r, n in ((row, name), (old, before))
            if r.signature is not None
        ]
        kinds = {scalar_type(k) for k in options(context.analysis.kind(node))}
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
