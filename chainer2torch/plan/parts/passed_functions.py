"""Activations with another default than torch's, passed on as values in the native style."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Ref, options
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.calls import emit_call
from chainer2torch.plan.parts.names import emit_value
from chainer2torch.rules.table import Row

_FUNCTIONS = "chainer.functions."
_PLACES = (ast.Call, ast.keyword, ast.Assign, ast.IfExp, ast.Dict, ast.List, ast.Tuple, ast.arguments)


def passed_function(context: Context, decisions: Decisions, node: ast.AST, row: Row) -> None:
    """``activation=F.leaky_relu``: a functools.partial, unless it is compared, asked, or called with a setting."""
    parent = context.source.parents.get(node)
    assert isinstance(node, (ast.Name, ast.Attribute))
    if isinstance(parent, ast.Call) and parent.func is node:
        emit_call(context, decisions, parent, row, node)
        return
    form, settings = _form(row)
    partial = isinstance(parent, ast.Call) and context.kind(parent.func) == Ref("functools.partial")
    key = isinstance(parent, ast.Dict) and node in parent.keys
    plain = isinstance(parent, _PLACES) and not partial and not key and not _names_it(parent)
    callers = [context.analysis.once(_settings).get(setting, frozenset()) for setting in settings]
    asked = any(name != row.name.rpartition(".")[2] for names in callers for name in names)
    if not plain or asked or _is_compared(context, node) or context.analysis.once(_asks_functions):
        emit_value(context, decisions, node, row)
        return
    decisions.replace(node, form, {})
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state, row.note)


def _form(row: Row) -> tuple[str, list[str]]:
    """What stands for the function: its template's with Chainer's defaults bound, which have these names there.

    ``f(x, negative_slope=slope)`` with ``slope=0.2`` becomes ``functools.partial(f, negative_slope=0.2)``.
    """
    template = ast.parse(str(row.cases[-1].torch), mode="eval").body
    assert isinstance(template, ast.Call) and row.signature is not None
    defaults = row.signature.defaults
    settings = {keyword.arg: ast.unparse(keyword.value) for keyword in template.keywords}
    bound = [f"{name}={defaults[setting]}" for name, setting in settings.items()]
    return f"functools.partial({', '.join([ast.unparse(template.func), *bound])})", list(settings.values())


def _names_it(node: ast.AST) -> bool:
    """Whether a statement gives the function another name, by which it may be called like any function."""
    return isinstance(node, ast.Assign) and not all(isinstance(target, ast.Attribute) for target in node.targets)


def _settings(analysis: Analysis) -> Mapping[str, frozenset[str]]:
    """The keywords of all calls, with the names of the functions that are called with them."""
    found: dict[str, set[str]] = {}
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            name = ast.unparse(call.func).rpartition(".")[2] if call.keywords else ""
            for keyword in call.keywords:
                found.setdefault(str(keyword.arg), set()).add(name)
    return {keyword: frozenset(names) for keyword, names in found.items()}


def _asks_functions(analysis: Analysis) -> bool:
    """Whether the project asks what may be a function for its name, or for its type: a partial has no name."""
    modules = analysis.project.modules.values()
    named = [node.value for module in modules for node in module.source.attributes.get("__name__", ())]
    calls = (call for m in modules if "isfunction" in m.source.text for call in m.source.of(ast.Call))
    named += [call.args[0] for call in calls if analysis.kind(call.func) == Ref("inspect.isfunction") and call.args]
    return any(
        not (isinstance(value, ast.Attribute) and value.attr == "__class__")
        and any(
            k == UNKNOWN or isinstance(k, Ref) and k.name.startswith(_FUNCTIONS) for k in options(analysis.kind(value))
        )
        for value in named
    )


def _is_compared(context: Context, node: ast.Name | ast.Attribute) -> bool:
    """Whether some file of the project compares with the function: each partial is another object."""
    name = node.id if isinstance(node, ast.Name) else node.attr
    return name in context.analysis.once(_compared)


def _compared(analysis: Analysis) -> frozenset[str]:
    compares = (n for m in analysis.project.modules.values() for n in m.source.of(ast.Compare))
    parts = [part for compare in compares for part in nodes_of(compare)]
    names = {part.id for part in parts if isinstance(part, ast.Name)}
    return frozenset(names | {part.attr for part in parts if isinstance(part, ast.Attribute)})
