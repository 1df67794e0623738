"""A last look: names that an import of Chainer binds, but of which the analysis could not say what they are."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def run(context: Context) -> Decisions:
    """Marks them: the file binds such a name more than once, and nobody knows which value it has where it is used."""
    decisions = Decisions(context)
    bindings = context.analysis.bindings
    imported = {
        alias.asname or alias.name.split(".")[0]: kind.name
        for alias in context.source.of(ast.alias)
        if isinstance(kind := bindings.get(alias), Ref) and kind.name in context.analysis.libraries
    }
    if not imported:
        return decisions
    local: dict[ast.AST, frozenset[str]] = {}
    for node in context.source.of(ast.Name):
        if (
            node.id in imported
            and not isinstance(node.ctx, ast.Store)
            and context.analysis.kind(node) == UNKNOWN
            and not _is_local(context, node, local)
        ):
            with decisions.provided(free=((Part.ROOT, node),)):
                decisions.mark(
                    node,
                    None,
                    imported[node.id],
                    "manual",
                    f"the name stands for different things: {imported[node.id]}, or something else",
                )
    return decisions


def _is_local(context: Context, node: ast.Name, local: dict[ast.AST, frozenset[str]]) -> bool:
    for scope in context.source.ancestors(node):
        if isinstance(scope, (*_FUNCTIONS, *_COMPREHENSIONS)):
            if scope not in local:
                local[scope] = _bound_in(scope)
            if node.id in local[scope]:
                return True
    return False


def _bound_in(scope: ast.AST) -> frozenset[str]:
    """The names that a function or comprehension binds itself, other than by imports."""
    parts = list(nodes_of(scope))
    names = {n.id for n in parts if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    names |= {n.arg for n in parts if isinstance(n, ast.arg)}
    names -= {name for n in parts if isinstance(n, ast.Global) for name in n.names}
    imported = {n.asname or n.name.split(".")[0] for n in parts if isinstance(n, ast.alias)}
    return frozenset(names - imported)
