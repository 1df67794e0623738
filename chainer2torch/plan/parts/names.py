"""What stands for a name of Chainer's that is passed on as a value: a base class, an activation, a loss function."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.collector import AS_VALUE, Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.mode_values import emit_in_mode
from chainer2torch.plan.questions.reading import differs_as_value
from chainer2torch.rules.table import Row

_CALLERS = (Ref("builtins.map"), Ref("functools.partial"))


def emit_value(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> None:
    """A name that is passed on as a value."""
    if row.value is None:
        reason = row.note if row.state == "manual" else AS_VALUE
        decisions.mark(node, row, row.name, "manual", reason)
        return
    if row.type_only and _called_through(context, node):
        _function(context, decisions, node, row)
        return
    if emit_in_mode(context, decisions, node, row):
        return
    emit_name(context, decisions, node, node, row)


def _function(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> None:
    """A class whose name is called later: the function that makes its objects, or a question where it is both."""
    function = (row.fallback or "").partition("(")[0]
    if not function.startswith("compat.") or _asked_for(context, node):
        message = "the name is called, and may be asked for as a class, too; here it is the class, which makes others"
        decisions.replace(node, row.value or "", {})
        decisions.use(node)
        decisions.mark(node, None, row.name, "manual", message, row.code)
        return
    decisions.replace(node, function, {})
    decisions.use(node)
    decisions.mark(node, row, row.name, row.state, row.note)


def _bound_name(context: Context, node: ast.expr) -> str | None:
    """The name to which a statement assigns the class: ``f = chainer.Variable``."""
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Assign) and len(parent.targets) == 1 and isinstance(parent.targets[0], ast.Name):
        return parent.targets[0].id
    return None


def _called_through(context: Context, node: ast.expr) -> bool:
    """Whether a name of a class is called, but not where it stands."""
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is node:
        return context.kind(parent.func) in _CALLERS
    name = _bound_name(context, node)
    calls = context.source.of(ast.Call) if name is not None else ()
    return any(
        isinstance(call.func, ast.Name) and call.func.id == name or _hands_on(context, call, name) for call in calls
    )


def _hands_on(context: Context, call: ast.Call, name: str | None) -> bool:
    """``map(f, xs)``."""
    return (
        context.kind(call.func) in _CALLERS
        and bool(call.args)
        and isinstance(call.args[0], ast.Name)
        and call.args[0].id == name
    )


def _asked_for(context: Context, node: ast.expr) -> bool:
    """Whether the name of a class that is assigned is also read where nobody calls it."""
    name, parents = _bound_name(context, node), context.source.parents
    for use in context.source.of(ast.Name) if name is not None else ():
        if use.id == name and isinstance(use.ctx, ast.Load):
            call = parents.get(use)
            if not isinstance(call, ast.Call) or call.func is not use and not _hands_on(context, call, name):
                return True
    return False


def emit_name(context: Context, decisions: Decisions, node: ast.expr, site: ast.expr, row: Row) -> None:
    """What stands for the name itself; ``site`` is where it is told."""
    old = context.rules.old.get(row.name)
    changed = old if old is not None and context.version <= old.until else None
    other = changed is None and old is not None and differs_as_value(context, row, old)
    changed = old if other else changed
    decisions.replace(node, (changed and changed.value) or row.value or "", {})
    decisions.use(site)
    if changed is None or changed.value is not None and not other:
        decisions.mark(site, row, row.name, row.state, row.note)
    else:  # its template says what is different, a bare name does not
        decisions.mark(
            site,
            changed,
            row.name,
            "review",
            changed.note or "in version 1 this had other defaults; see to what it is called with, and in which mode",
        )
