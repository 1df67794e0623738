"""Functions of a program that it puts into a module of Chainer's: ``F.my_loss = my_loss``, and ``F.my_loss(x)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Class, Func, Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Remove

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MODULES = (
    *("chainer.functions", "chainer.links", "chainer.iterators", "chainer.datasets", "chainer.optimizers"),
    *("chainer.training.extensions", "chainer.training.updaters", "chainer.training.triggers", "chainer.initializers"),
)


def put_there(context: Context, decisions: Decisions, node: ast.expr, name: str) -> bool:
    """Writes the program's own name where it was put into a module under another; the assignment goes."""
    if name.rpartition(".")[0] not in _MODULES or not isinstance(node, ast.Attribute):
        return False
    statement = context.ask(_put, context.source.tree).get(name)
    if statement is None or not isinstance(statement.value, ast.Name):
        return False
    if isinstance(node.ctx, ast.Store):
        decisions.edit(statement, Remove(context.source.start(statement)))
        decisions.remove(statement)
    elif context.kind(statement.value) in (context.kind(value) for value in _seen(context, node, statement.value.id)):
        decisions.replace(node, statement.value.id, {})
    else:
        return False
    decisions.use(node)
    decisions.mark(node, context.rules.python["chainer.functions.*"], name, "exact")
    return True


def _put(context: Context, tree: ast.Module) -> dict[str, ast.Assign]:
    """The assignments of a file that give a function or class of the project a new name in Chainer: those of which the
    project has one, and whose name no other file reads.
    """
    found: dict[str, list[ast.Assign]] = {}
    elsewhere: set[str] = set()
    for module in context.analysis.project.modules.values():
        for node in module.source.of(ast.Attribute):
            kind = context.analysis.kind(node)
            if not isinstance(kind, Ref) or kind.name.rpartition(".")[0] not in _MODULES:
                continue
            statement = module.source.parents.get(node)
            if not isinstance(node.ctx, ast.Load) and isinstance(statement, ast.Assign):
                found.setdefault(kind.name, []).append(statement)
            if module.source is not context.source:
                elsewhere.add(kind.name)
    return {
        name: statements[0]
        for name, statements in found.items()
        if len(statements) == 1
        and statements[0] in tree.body
        and len(statements[0].targets) == 1
        and name not in elsewhere
        and isinstance(context.kind(statements[0].value), (Func, Class))
    }


def _seen(context: Context, node: ast.expr, name: str) -> list[ast.expr]:
    """The name itself, if it means the same at a place: nothing around the place binds it anew."""
    function = context.source.enclosing(node, *_FUNCTIONS)
    while function is not None:
        bound = {n.id for n in nodes_of(function) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        bound |= {a.arg for a in nodes_of(function) if isinstance(a, ast.arg)}
        if name in bound:
            return []
        function = context.source.enclosing(function, *_FUNCTIONS)
    return [n for n in context.source.named.get(name, ()) if isinstance(n.ctx, ast.Load)]
