"""``functools.partial(F.average_pooling_2d, ksize=3)``: the function of PyTorch with its own keywords bound."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Func, Method, Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.match import names_of, parsed
from chainer2torch.plan.parts.calls import replacement
from chainer2torch.plan.questions.choice import choose_case
from chainer2torch.plan.questions.reading import Reading, differs_as_value
from chainer2torch.rules.signature import Bound
from chainer2torch.rules.table import Row

_FUNCTIONS = "chainer.functions."
# what PyTorch calls the arguments behind the first that templates hand over by position
_NAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "torch.nn.functional.avg_pool2d": ("kernel_size",),
        "torch.nn.functional.max_pool2d": ("kernel_size",),
        "torch.reshape": ("shape",),
        "torch.clamp": ("min", "max"),
    }
)


def emit_partial(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> bool:
    """Decides on a function of Chainer's that is handed to ``partial`` with keywords, where one call of PyTorch's, of
    the first argument, is the same; gives whether it did.
    """
    call = context.source.parents.get(node)
    if not isinstance(call, ast.Call) or not _binds_keywords(context, call, node, row):
        return False
    assert row.signature is not None
    given = {str(keyword.arg): keyword.value for keyword in call.keywords}
    first, *others = (parameter.name for parameter in row.signature.parameters)
    if not given.keys() <= set(others) or _sets_more(context, row, frozenset(others)):
        return False
    choice = choose_case(context, call, Reading(row, Bound(given)))
    template = choice.template and _without_first(choice.template, first, frozenset(others))
    if not template:
        return False
    edit = replacement(context, call, choice.question, template)
    operands = {**edit.operands, "PARTIAL": context.operand(call.func)}
    decisions.edit(call, dataclasses.replace(edit, operands=operands))
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state, row.note, difference=choice.difference)
    return True


def _binds_keywords(context: Context, call: ast.Call, node: ast.expr, row: Row) -> bool:
    """Whether a call is ``partial(node, name=value)``, of a function with one meaning in all versions."""
    return (
        context.choices.style == "native"
        and row.name.startswith(_FUNCTIONS)
        and row.signature is not None
        and row.state != "manual"
        and not _differed(context, row)
        and context.kind(call.func) == Ref("functools.partial")
        and call.args == [node]
        and bool(call.keywords)
        and all(keyword.arg is not None for keyword in call.keywords)
    )


def _differed(context: Context, row: Row) -> bool:
    """Whether the function meant something else in the version of a file."""
    old = context.rules.old.get(row.name)
    return old is not None and (context.version <= old.until or differs_as_value(context, row, old))


def _without_first(template: str, first: str, others: frozenset[str]) -> str:
    """A template as ``PARTIAL(f, name=value)``; "" where it is more than one call of PyTorch's with the first argument
    in front.
    """
    tree = parsed(template)
    if not isinstance(tree, ast.Call) or not tree.args or ast.unparse(tree.args[0]) != first:
        return ""
    function, rest = ast.unparse(tree.func), tree.args[1:]
    names = _NAMES.get(function, ())
    values = [*rest, *(keyword.value for keyword in tree.keywords)]
    if (
        not function.startswith("torch.")
        or len(rest) > len(names)
        or any(keyword.arg is None for keyword in tree.keywords)
        or any(not names_of(ast.unparse(value)) <= others for value in values)
    ):
        return ""
    bound = [*map(ast.keyword, names, rest), *tree.keywords]
    handed = ", ".join([function, *(f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in bound)])
    return f"PARTIAL({handed})"


def _sets_more(context: Context, row: Row, names: frozenset[str]) -> bool:
    """Whether a call of something of the project's sets an argument under Chainer's name: it may be of the partial."""
    callers = context.analysis.once(_settings)
    rows = context.rules.rows
    own = (caller for name in names for caller in callers.get(name, frozenset()))
    return any(
        caller != "partial" and not any(f"chainer.{kind}.{caller}" in rows for kind in ("functions", "links"))
        for caller in own
    )


def _settings(analysis: Analysis) -> Mapping[str, frozenset[str]]:
    """The keywords of all calls, with the names of what is called with them."""
    found: dict[str, set[str]] = {}
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            name = ast.unparse(call.func).rpartition(".")[2] if call.keywords else ""
            if name == "__init__" or all(
                isinstance(k, (Class, Func, Method)) for k in options(analysis.kind(call.func))
            ):
                continue  # a constructor, or a function of the project
            for keyword in call.keywords:
                found.setdefault(str(keyword.arg), set()).add(name)
    return {keyword: frozenset(names) for keyword, names in found.items()}


__all__ = ["emit_partial"]
