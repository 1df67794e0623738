"""Which modules the code around a statement names, for a mode that is set for good."""

from __future__ import annotations

import ast

from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.functions_around import functions_around, paths_read
from chainer2torch.plan.questions.paths import FUNCTIONS
from chainer2torch.plan.questions.sure_names import may_lack_value


def modules_around(context: Context, statement: ast.stmt) -> list[str]:
    """The modules that the code around a statement calls by names which have their values there already."""
    around = functions_around(context, statement)
    runs = _first_run(context, statement)
    later = {
        n.id
        for n in context.source.nodes
        if isinstance(n, ast.Name)
        and isinstance(n.ctx, ast.Store)
        and _is_later(functions_around(context, n), n.lineno, around, statement.lineno, runs)
    }
    found: dict[str, None] = {}
    for node, root, functions in context.analysis.once_a_file(paths_read, context.source):
        if root not in later and functions <= around and context.analysis.is_link(context.analysis.kind(node)):
            found[ast.unparse(node)] = None
    sure = [text for text in found if not may_lack_value(context, text.partition(".")[0].partition("[")[0], statement)]
    return [text for text in sure if not any(text.startswith(other + ".") for other in sure)]


def _is_later(
    inside: frozenset[ast.AST], line: int, around: frozenset[ast.AST], statement: int, first_run: int
) -> bool:
    """Whether a name gets its value after the statement: in the same function, or in the file's own code."""
    return inside == around and line >= statement or not inside and line >= first_run


def _first_run(context: Context, statement: ast.stmt) -> int:
    """The line of the file's own code where a statement in a function may run first: names of later lines have no
    value then."""
    lines: list[int] = []
    waiting: list[ast.stmt | ast.expr] = [statement]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        outer = [a for a in context.source.ancestors(node) if isinstance(a, (*FUNCTIONS, ast.ClassDef))]
        if not outer or isinstance(outer[-1], ast.Lambda):
            lines.append(node.lineno)
            continue
        name = outer[-1].name
        if name not in seen:
            seen.add(name)
            waiting += [n for n in context.source.of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Load)]
    return min(lines, default=0)
