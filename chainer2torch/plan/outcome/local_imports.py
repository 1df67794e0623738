"""Imports of Chainer that only marked places need stand there, in the native style: ``from chainer import cuda`` above
the statement that uses it. Where Chainer cannot be imported that line says so, beside the marker, and the module needs
neither a ``try`` around its imports nor a stand-in.

A name takes this way with all of its uses or with none: each is computed whenever its statement is.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Above
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.outcome.unused_imports import Removals

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_SCOPES = (*_FUNCTIONS, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
# statements that compute what stands in them (of a block: in its head) whenever they are reached
_AT_ONCE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Return, ast.Raise, ast.If, ast.While, ast.For, ast.With) + (
    ast.AsyncFor,
    ast.AsyncWith,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
)
_WHY = "  # not migrated: the comment below says why"  # which a traceback shows with the line
_ROOTS = frozenset({"chainer", "chainermn", "chainerx"})
_ABSENCE = frozenset({"ImportError", "ModuleNotFoundError"})


def moved_imports(
    context: Context, ledger: Ledger, removals: Removals, needed: Collection[str]
) -> tuple[Removals, tuple[Above, ...]]:
    """The aliases of imports at the top that go to where they are used, and the imports there."""
    if context.choices.style != "native" or context.choices.only or context.module.path.endswith(".ipynb"):
        return {}, ()
    aliases: dict[str, list[tuple[ast.Import | ast.ImportFrom, int]]] = {}
    for statement in context.source.of(ast.Import, ast.ImportFrom):
        for i, alias in enumerate(statement.names):
            aliases.setdefault(bound_name(alias), []).append((statement, i))
    found: dict[ast.Import | ast.ImportFrom, set[int]] = {}
    edits: dict[tuple[int, str], Above] = {}
    barred = {*needed, *context.source.assigned, *_global_names(context), *_names_of_texts(ledger)}
    for name, places in aliases.items():
        (statement, i), several = places[0], len(places) > 1
        if several or name in barred or statement not in context.source.tree.body or i in removals.get(statement, ()):
            continue
        if context.skipped.node(statement) or not is_chainer(context, statement.names[i]):
            continue
        above = _places(context, ledger, name)
        if above:
            found.setdefault(statement, set()).add(i)
            code = ast.unparse(_alone(statement, i)) + _WHY
            edits.update({(s, code): Above(s, code) for s in map(context.source.start, above)})
    return {s: frozenset(numbers) for s, numbers in found.items()}, tuple(edits.values())


def stands_at_its_use(context: Context, ledger: Ledger, line: ast.stmt) -> bool:
    """Whether a statement behind an import needs it in any case: what cannot be imported would stop that one, too.

    It is the next one, or one of those that a call of the constructor became: ``super().__init__(l3=chainer.X(n))``.
    """
    if not isinstance(line, (ast.Import, ast.ImportFrom)):
        return False
    if context.choices.style != "native" or not _in_function(context, line):
        return False
    block = context.source.block(line)
    behind = [s for s in block[block.index(line) + 1 :] if not isinstance(s, (ast.Import, ast.ImportFrom))]
    names = {bound_name(alias) for alias in line.names}
    first = next((i for i, statement in enumerate(behind) if _may_leave(statement)), len(behind))
    return any(
        isinstance(node, ast.Name)
        and node.id in names
        and node not in ledger.consumed
        and _statement_of(context, node) is statement
        for statement in behind[: first + 1]
        for node in nodes_of(statement)
    )


def _may_leave(statement: ast.AST) -> bool:
    """Whether what stands behind a statement may not be reached."""
    leaving = (ast.Return, ast.Raise, ast.Break, ast.Continue, ast.Yield, ast.YieldFrom)
    return any(isinstance(node, leaving) for node in nodes_of(statement))


def _places(context: Context, ledger: Ledger, name: str) -> list[ast.stmt]:
    """The statements above which an import of a name has to stand; none where one use has no such place."""
    gone = {n for top in ledger.removed for n in nodes_of(top)}
    found: list[ast.stmt] = []
    for node in context.source.of(ast.Name):
        if node.id != name or node in ledger.consumed or node in gone:
            continue
        if context.scope(node, name) is not context.source.tree:
            return []
        statement = _statement_of(context, node)
        if statement is None or not (_in_function(context, statement) and _has_own_lines(context, statement)):
            return []
        if not _follows(context, statement, found):
            found.append(statement)
    return found


def _statement_of(context: Context, node: ast.AST) -> ast.stmt | None:
    """The statement that computes a node whenever it is reached; None where it may do so later, or not at all."""
    inner = node
    for outer in context.source.ancestors(node):
        if isinstance(outer, (ast.Lambda, ast.Assert, *_COMPREHENSIONS)):
            return None
        if isinstance(outer, ast.IfExp) and inner is not outer.test:
            return None
        if isinstance(outer, ast.BoolOp) and inner is not outer.values[0]:
            return None
        if isinstance(outer, ast.stmt):
            return outer if isinstance(outer, _AT_ONCE) and not _sees_absence(context, outer) else None
        inner = outer
    return None


def _has_own_lines(context: Context, statement: ast.stmt) -> bool:
    line, start = context.source.line_at(context.source.start(statement))
    first = line[: context.source.start(statement) - start]
    others = [s for s in context.source.block(statement) if isinstance(s, ast.stmt) and s is not statement]
    alone = all((s.end_lineno or 0) < statement.lineno or s.lineno > (statement.end_lineno or 0) for s in others)
    in_class = isinstance(next(context.source.ancestors(statement), None), ast.ClassDef)
    return not first.strip() and alone and not in_class and not line[len(first) :].startswith("elif")


def _in_function(context: Context, statement: ast.stmt) -> bool:
    """What stands at the top of a module is computed when it is imported: there a name must be bound."""
    return any(isinstance(outer, _FUNCTIONS) for outer in context.source.ancestors(statement))


def _sees_absence(context: Context, statement: ast.stmt) -> bool:
    """Whether something goes on in another way where an import fails: it must not be this one."""
    inner: ast.AST = statement
    for outer in context.source.ancestors(statement):
        if isinstance(outer, _FUNCTIONS):
            return False
        if isinstance(outer, ast.Try) and inner in outer.body:
            caught = {
                n.id for h in outer.handlers if h.type is not None for n in nodes_of(h.type) if isinstance(n, ast.Name)
            }
            if caught & _ABSENCE:
                return True
        inner = outer
    return False


def _follows(context: Context, statement: ast.stmt, places: list[ast.stmt]) -> bool:
    """Whether one of the places comes first on every way to a statement of the same function."""
    for outer in (statement, *context.source.ancestors(statement)):
        if isinstance(outer, _SCOPES) and outer is not statement:
            return False
        if isinstance(outer, ast.stmt):
            block = context.source.block(outer)
            if any(place in block and block.index(place) <= block.index(outer) for place in places):
                return True
    return False


def _alone(statement: ast.Import | ast.ImportFrom, number: int) -> ast.stmt:
    if isinstance(statement, ast.Import):
        return ast.Import([statement.names[number]])
    return ast.ImportFrom(statement.module, [statement.names[number]], statement.level)


def _names_of_texts(ledger: Ledger) -> Iterator[str]:
    return (name for _, name in ledger.needed)


def _global_names(context: Context) -> Iterator[str]:
    return (name for statement in context.source.of(ast.Global, ast.Nonlocal) for name in statement.names)


def is_chainer(context: Context, alias: ast.alias) -> bool:
    """Whether an alias binds a module or name of Chainer's own; a star binds names that nobody knows."""
    kind = context.analysis.bindings.get(alias)
    return alias.name != "*" and isinstance(kind, Ref) and kind.name.split(".")[0] in _ROOTS


def bound_name(alias: ast.alias) -> str:
    """The name that an alias of an import binds."""
    return alias.asname or alias.name.split(".")[0]


__all__ = ["bound_name", "is_chainer", "moved_imports", "stands_at_its_use"]
