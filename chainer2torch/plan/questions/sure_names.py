"""Whether a name has its value for sure where a statement runs: a branch may be all that gives it one."""

from __future__ import annotations

import ast

from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.paths import FUNCTIONS

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_NOT_ALWAYS = (ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.ExceptHandler, ast.match_case)
_LEAVING = (ast.Return, ast.Raise, ast.Continue, ast.Break)


def may_lack_value(context: Context, name: str, statement: ast.stmt) -> bool:
    """Whether a variable may be unbound at ``statement``, as its assignments stand in branches that may not have run.

    Where the program reads it in any case, before or in the statement, it has a value. Asked of variables of the
    functions around the statement; the file's own code is left to the order of its lines.
    """
    around = {statement, *context.source.ancestors(statement)}
    for scope in context.source.ancestors(statement):
        if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        if name in {arg.arg for arg in within(scope.args).of(ast.arg)}:
            return False
        if any(context.scopes.get(n) is scope for n in _stores(scope, name)):
            return not (_bound_on_the_way(scope.body, name, around) or _binds(statement, name))
    return False


def _bound_on_the_way(body: list[ast.stmt], name: str, around: set[ast.AST]) -> bool:
    """Whether what runs before the statement that ``around`` leads to binds a name."""
    for part in body:
        if part not in around:
            if _binds(part, name):
                return True
        elif isinstance(part, FUNCTIONS):
            return any(_binds(other, name) for other in body)  # it runs when it is called
        else:
            inside = next((block for block in _blocks(part) if not around.isdisjoint(block)), [])
            return _says_at_its_head(part, name) or _bound_on_the_way(inside, name, around)
    return False


def _binds(part: ast.stmt, name: str) -> bool:
    """Whether a name has its value behind a statement, wherever the way goes on from it."""
    if isinstance(part, _DEFINITIONS):
        return part.name == name
    if isinstance(part, (ast.Import, ast.ImportFrom)):
        return any((alias.asname or alias.name.split(".")[0]) == name for alias in part.names)
    if _says_at_its_head(part, name):
        return not isinstance(part, (ast.For, ast.AsyncFor)) or _says(part.iter, name)
    if isinstance(part, ast.If):
        return _binds_all(part.body, name) and _binds_all(part.orelse, name)
    if isinstance(part, (ast.With, ast.AsyncWith)):
        return _binds_all(part.body, name)
    if isinstance(part, ast.Try):
        ways = [part.body + part.orelse, *(handler.body for handler in part.handlers)]
        return _binds_all(part.finalbody, name) or all(_binds_all(way, name) for way in ways)
    return False


def _says_at_its_head(part: ast.stmt, name: str) -> bool:
    """Whether a statement says a name outside of its blocks: ``for name in models:``, ``if name.large:``."""
    blocks = {inner for block in _blocks(part) for inner in block}
    return any(_says(child, name) for child in ast.iter_child_nodes(part) if child not in blocks)


def _says(node: ast.AST, name: str) -> bool:
    """Whether an expression binds or reads a name whenever it is computed."""
    if isinstance(node, ast.Name):
        return node.id == name
    if isinstance(node, ast.IfExp):
        return _says(node.test, name)
    if isinstance(node, ast.BoolOp):
        return _says(node.values[0], name)
    if isinstance(node, _NOT_ALWAYS):
        return False
    return any(_says(child, name) for child in ast.iter_child_nodes(node))


def _binds_all(body: list[ast.stmt], name: str) -> bool:
    return any(_binds(part, name) or isinstance(part, _LEAVING) or _exits(part) for part in body)


def _exits(part: ast.stmt) -> bool:
    """``sys.exit()``, ``exit(1)``."""
    call = part.value if isinstance(part, ast.Expr) else None
    return isinstance(call, ast.Call) and ast.unparse(call.func) in ("exit", "quit", "sys.exit", "os._exit")


def _stores(part: ast.AST, name: str) -> list[ast.Name]:
    return [n for n in within(part).of(ast.Name) if n.id == name and isinstance(n.ctx, ast.Store)]


def _blocks(part: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(part, ast.Try):
        return [part.body + part.orelse, *(handler.body for handler in part.handlers), part.finalbody]
    if isinstance(part, ast.Match):
        return [case.body for case in part.cases]
    return [block for field in ("body", "orelse") if (block := getattr(part, field, None))]
