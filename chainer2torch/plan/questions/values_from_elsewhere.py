"""Values that a library made which was given nothing of Chainer's: ``logger = logging.get_logger(__name__)``."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context

_OF_VALUES = (ast.Constant, ast.Tuple, ast.List, ast.Dict, ast.Name, ast.expr_context, ast.keyword)


def is_from_elsewhere(context: Context, node: ast.expr) -> bool:
    """Whether a value is what a function of another library gave for literals, and nothing else.

    The library is none on Chainer, and no file or folder of the project has its name.
    """
    call = _assigned_once(context.source, node.id) if isinstance(node, ast.Name) else node
    if not isinstance(call, ast.Call) or not isinstance(kind := context.analysis.kind(call.func), Ref):
        return False
    top = kind.name.partition(".")[0]
    if "." not in kind.name or kind.name in context.analysis.libraries or "chain" in top:
        return False
    if top == "builtins" or top in context.analysis.once(_of_project):
        return False
    return all(
        isinstance(part, _OF_VALUES) and (not isinstance(part, ast.Name) or _is_builtin(context, part))
        for given in (*call.args, *call.keywords)
        for part in nodes_of(given)
    )


def _is_builtin(context: Context, name: ast.Name) -> bool:
    kind = context.analysis.kind(name)
    return isinstance(kind, Ref) and kind.name.startswith("builtins.__")


def _assigned_once(source: Source, name: str) -> ast.expr | None:
    """What the only statement of a file that binds a name assigns to it."""
    bound = [n for n in source.named.get(name, ()) if not isinstance(n.ctx, ast.Load)]
    if len(bound) != 1 or name in {a.arg for a in source.of(ast.arg)}:
        return None
    statement = source.parents.get(bound[0])
    if not isinstance(statement, ast.Assign) or statement.targets != bound or statement not in source.tree.body:
        return None
    return statement.value


def _of_project(analysis: Analysis) -> frozenset[str]:
    """The names of all files and folders of the project, as far as they are known here."""
    return frozenset(part.removesuffix(".py") for path in analysis.project.modules for part in path.split("/"))
