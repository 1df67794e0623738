"""Imports of Chainer that stay for what could not be converted: they must not keep the rest of the file from running.

A left import at the top of a module or a function is put into ``try: ... except Exception:``, where a stand-in is
bound. Where Chainer cannot be imported, the module is imported and what was converted works; a line that still needs
Chainer raises an error that names the marker above it. A stand-in can be compared without an error, so a name of which
the file asks whether something is it has none (a NameError is loud), unless it is needed while the module is imported
(a base class, a default, a table), other files take it, or it has another meaning in the file, too.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.libraries import STAND_IN
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import GuardImport, IntoIf, Remove, Replace, ReplaceStatement
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.outcome.local_imports import bound_name, is_chainer, stands_at_its_use
from chainer2torch.plan.outcome.unused_imports import Removals
from chainer2torch.plan.questions.at_import import runs_at_import
from chainer2torch.plan.questions.cupy_guards import catches_absence, chosen_module, cupy_guard, is_cupy

_NOT_THERE = frozenset({"ImportError", "ModuleNotFoundError"})
_ABSENT = _NOT_THERE | {"Exception"}


def left_imports(ledger: Ledger, removals: Removals, needed: frozenset[str]) -> Iterator[GuardImport]:
    """The guards of the imports of Chainer that stay at the top of a file.

    ``needed`` names must be bound; others are, unless something is compared with them.
    """
    context = ledger.context
    foreign = {
        bound_name(alias)
        for statement in context.source.of(ast.Import, ast.ImportFrom)
        for alias in statement.names
        if not is_chainer(context, alias)
    }
    taken = foreign | context.source.assigned
    compared = _compared(context)
    for line in _lines(context):
        left = [alias for statement in line for alias in _staying(context, statement, removals)]
        if left and all(alias is not None and is_chainer(context, alias) for alias in left):
            names = {bound_name(alias): _dotted(context, alias) for alias in left if alias is not None}
            if needed.isdisjoint(names) and stands_at_its_use(context, ledger, line[0]):
                continue
            stand_ins = tuple(
                (name, dotted)
                for name, dotted in names.items()
                # half way the next stage has to see what the name is, and Chainer is there
                if not (name in compared or context.choices.only)
                or name in needed
                or name in taken
                or hasattr(builtins, name)
            )
            yield GuardImport(context.source.start(line[0]), stand_ins)


def _compared(context: Context) -> frozenset[str]:
    """The bare names of which a file asks whether something is one of them."""
    return frozenset(
        name.id
        for compare in context.source.of(ast.Compare)
        for side in (compare.left, *compare.comparators)
        for name in (side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side])
        if isinstance(name, ast.Name)
    )


def wider_guards(context: Context, removals: Removals) -> Iterator[Replace]:
    """The user's own ``except ImportError`` around imports of Chainer that stay: what stops them today is often
    something else, as a Chainer that is installed does not run on today's NumPy."""
    for block in context.source.of(ast.Try):
        imports = [s for s in block.body if isinstance(s, (ast.Import, ast.ImportFrom))]
        left = [a for s in imports for i, a in enumerate(s.names) if i not in removals.get(s, ())]
        if not left or len(imports) < len(block.body) or not all(is_chainer(context, alias) for alias in left):
            continue
        if chosen_module(context, block) is not None:
            continue  # another pass makes it an array module
        for handler in block.handlers:
            if isinstance(handler.type, ast.Name) and handler.type.id in _NOT_THERE:
                yield Replace(context.source.span(handler.type), "Exception", {})


def names_at_import(context: Context, ledger: Ledger) -> frozenset[str]:
    """The names of Chainer's that stay and are needed while a module is imported, and those that it exports."""
    gone = {n for top in ledger.removed for n in nodes_of(top)}
    project, path = context.analysis.project, context.module.path
    imported = path in project.import_folders or project.is_package(context.module.directory)
    needed = {
        node.id
        for node, _ in context.analysis.names_in(context.source)
        if isinstance(node, ast.Name)
        and isinstance(node.ctx, ast.Load)
        and node not in ledger.consumed
        and node not in gone
        and runs_at_import(context, node, imported)
    }
    return _exported(context) | needed


def _lines(context: Context) -> Iterator[list[ast.stmt]]:
    """The statements at the top of the module, of its functions, and of what follows an import that failed; those that
    share a line together.
    """
    functions = (f.body for f in context.source.of(ast.FunctionDef, ast.AsyncFunctionDef))
    others = (h.body for t in context.source.of(ast.Try) if _imports_only(t.body) for h in t.handlers)
    for body in (context.source.tree.body, *functions, *(body for body in others if _imports_only(body))):
        line: list[ast.stmt] = []
        for statement in body:
            if line and statement.lineno > (line[-1].end_lineno or 0):
                yield line
                line = []
            line.append(statement)
        yield line


def _imports_only(body: list[ast.stmt]) -> bool:
    return all(isinstance(statement, (ast.Import, ast.ImportFrom)) for statement in body)


def _staying(context: Context, statement: ast.stmt, removals: Removals) -> list[ast.alias | None]:
    """The aliases of an import that stay; None for anything else that stays."""
    if not isinstance(statement, (ast.Import, ast.ImportFrom)) or context.skipped.node(statement):
        return [None]
    gone = removals.get(statement, frozenset())
    return [alias for i, alias in enumerate(statement.names) if i not in gone]


def _exported(context: Context) -> frozenset[str]:
    """The names that ``__all__`` holds: what the module promises must be there."""
    return frozenset(
        c.value
        for statement in context.source.of(ast.Assign)
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in statement.targets)
        for c in nodes_of(statement.value)
        if isinstance(c, ast.Constant) and isinstance(c.value, str)
    )


def empty_guards(context: Context, removals: Removals) -> Iterator[Remove]:
    """The removal of ``try: import chainer; except ImportError: chainer = None`` when all of its imports go."""
    for block in context.source.of(ast.Try):
        bound = {bound_name(a) for s in block.body if isinstance(s, (ast.Import, ast.ImportFrom)) for a in s.names}
        of_cupy = cupy_guard(block) is not None
        plain = not of_cupy and "#" not in context.source.segment(block)
        idle = (_does_nothing(h, bound) or plain and _is_never_reached(h, removals) for h in block.handlers)
        if block.orelse or block.finalbody or not all(idle):
            continue
        if all(_goes(statement, removals) for statement in block.body):
            yield Remove(context.source.start(block))


def _goes(statement: ast.stmt, removals: Removals) -> bool:
    """Whether a statement is an import all of whose names go."""
    if not isinstance(statement, (ast.Import, ast.ImportFrom)):
        return False
    return len(removals.get(statement, ())) == len(statement.names)


def _is_never_reached(handler: ast.ExceptHandler, removals: Removals) -> bool:
    """Whether a handler only imports what goes, too, or raises: no import is left that could fail."""
    return catches_absence(handler.type) and all(
        isinstance(s, (ast.Pass, ast.Raise)) or _goes(s, removals) for s in handler.body
    )


def device_guards(context: Context, removals: Removals) -> Iterator[IntoIf | ReplaceStatement]:
    """``try: import cupy`` with another way where CuPy is missing: when the import goes nothing can fail any more, and
    what the ``try`` found out, whether there is a GPU, is asked of PyTorch.

    Where the rest of the ``try`` can fail, too, it stays, and raises what the import did.
    """
    whole = set()
    for block in context.source.of(ast.Try):
        if cupy_guard(block) is None:
            continue
        imports = [s for s in block.body if isinstance(s, (ast.Import, ast.ImportFrom))]
        if all(len(removals.get(s, ())) == len(s.names) for s in imports):
            whole.add(block)
            bound = {bound_name(alias) for statement in imports for alias in statement.names}
            if len(imports) < len(block.body) or not _does_nothing(block.handlers[0], bound):
                yield IntoIf(context.source.start(block), "torch.cuda.is_available()")
    seen: set[ast.Try] = set()
    for statement in removals:
        found = _failing(context, statement) if len(removals[statement]) == len(statement.names) else None
        if found is not None and found not in whole and found not in seen:
            seen.add(found)
            code = "if not torch.cuda.is_available():\n    raise ImportError('no GPU')"
            yield ReplaceStatement(context.source.start(statement), code, {})


def _failing(context: Context, statement: ast.stmt) -> ast.Try | None:
    """The ``try`` around an import of CuPy that goes on in another way where CuPy is missing, if it is seen to."""
    if not is_cupy(statement):
        return None
    inner: ast.AST = statement
    for node in context.source.ancestors(statement):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return None
        if isinstance(node, ast.Try) and inner in node.body:
            bound = {bound_name(alias) for alias in getattr(statement, "names", ())}
            idle = node.body == [statement] and all(_does_nothing(handler, bound) for handler in node.handlers)
            return node if not idle and any(catches_absence(handler.type) for handler in node.handlers) else None
        inner = node
    return None


def _does_nothing(handler: ast.ExceptHandler, bound: Collection[str]) -> bool:
    """Whether a handler does nothing but give constants to the names that the imports bind."""
    return (handler.type is None or isinstance(handler.type, ast.Name) and handler.type.id in _ABSENT) and all(
        isinstance(s, ast.Pass)
        or isinstance(s, ast.Assign)
        and (isinstance(s.value, ast.Constant) or _is_short_form(s.value))
        and all(isinstance(t, ast.Name) and t.id in bound for t in s.targets)
        for s in handler.body
    )


def _is_short_form(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") == STAND_IN.rpartition(".")[2]


def _dotted(context: Context, alias: ast.alias) -> str:
    """What a name of Chainer's stands for; ``import chainer.links`` binds ``chainer``."""
    kind = context.analysis.bindings[alias]
    assert isinstance(kind, Ref)
    return kind.name if alias.asname or "." not in alias.name else bound_name(alias)
