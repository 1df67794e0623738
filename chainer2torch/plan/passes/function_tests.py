"""Questions for a function: ``inspect.isfunction(f)``, ``isinstance(f, types.FunctionType)``, ``f.__name__``.

Chainer's functions are functions of Python. Those of torch may be built in, as ``torch.tanh`` is, or get an argument
by ``functools.partial``, and some have another name.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Kind, Ref, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context

_FUNCTIONS = "chainer.functions."
_TYPES = frozenset({"types.FunctionType", "types.LambdaType"})
_WORDS = ("isfunction", "FunctionType", "LambdaType")
_ROUTINE = "inspect.isroutine(f) or isinstance(f, functools.partial)"
_CODE = "C2T200"
_MAY_BE = "functions of torch may be built in or a functools.partial, and both count as functions here"
_NAMED = "the function of torch may have another name, or none"


def run(context: Context) -> Decisions:
    """Lets a program take for a function what a function of Chainer's has become."""
    decisions = Decisions(context)
    if not context.beside_chainer:
        return decisions
    asking = any(word in context.source.text for word in _WORDS)
    for call in context.source.of(ast.Call) if asking else ():
        if (asked := _asked(context, call)) is not None:
            _ask_routine(context, decisions, call, asked)
    for node in context.source.attributes.get("__name__", ()):
        names = [name for kind in options(context.kind(node.value)) if (name := _function(kind))]
        if any(not _keeps_name(context, name) for name in names) and not _is_said(context, node, "__name__"):
            decisions.mark(node, None, f"{names[0]}.__name__", "review", _NAMED, _CODE)
    return decisions


def _asked(context: Context, call: ast.Call) -> ast.expr | None:
    """What a call asks whether it is a function."""
    kind = context.kind(call.func)
    if not isinstance(kind, Ref) or call.keywords:
        return None
    if kind.name == "inspect.isfunction" and len(call.args) == 1:
        return call.args[0]
    if kind.name == "builtins.isinstance" and len(call.args) == 2:
        cls = context.kind(call.args[1])
        return call.args[0] if isinstance(cls, Ref) and cls.name in _TYPES else None
    return None


def _ask_routine(context: Context, decisions: Decisions, call: ast.Call, asked: ast.expr) -> None:
    kinds = options(context.kind(asked))
    if not any(map(_function, kinds)) and not (UNKNOWN in kinds and context.analysis.once(_function_values)):
        return
    decisions.replace(call, _ROUTINE, {"f": context.operand(asked)})
    if UNKNOWN in kinds:
        decisions.mark(call.func, None, ast.unparse(call.func), "review", _MAY_BE, _CODE)


def _function(kind: Kind) -> str:
    """The name of the function of Chainer's that a value is; "" for any other value."""
    name = kind.name if isinstance(kind, Ref) and kind.name.startswith(_FUNCTIONS) else ""
    return name if name.rpartition(".")[2][:1].islower() else ""


def _keeps_name(context: Context, name: str) -> bool:
    """Whether what a function becomes as a value has the name that it had."""
    row = context.rules.rows.get(name)
    value = row.value if row is not None else None
    return value is not None and value.rpartition(".")[2] == name.rpartition(".")[2]


def _is_said(context: Context, node: ast.expr, word: str) -> bool:
    return any(f"{word}: " in line for line in context.comments_above(node))


def _function_values(analysis: Analysis) -> bool:
    """Whether a program hands on functions of Chainer's, or puts them into a table."""
    return any(
        _function(analysis.kind(node))
        and not (isinstance(parent := module.source.parents.get(node), ast.Call) and parent.func is node)
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Name, ast.Attribute)
        if not isinstance(module.source.parents.get(node), ast.Attribute)
    )


__all__ = ["run"]
