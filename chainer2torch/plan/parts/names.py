"""What stands for a name of Chainer's that is passed on as a value: a base class, an activation, a loss function."""

from __future__ import annotations

import ast

from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.reading import differs_as_value
from chainer2torch.rules.table import Row


def emit_value(context: Context, decisions: Decisions, node: ast.expr, row: Row) -> None:
    """A name that is passed on as a value."""
    if row.value is None:
        reason = (
            row.note if row.state == "manual" else "passed as a value; no torch object means the same for every call"
        )
        decisions.mark(node, row, row.name, "manual", reason)
        return
    emit_name(context, decisions, node, node, row)


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
