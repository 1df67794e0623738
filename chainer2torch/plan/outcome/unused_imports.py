"""Which imports of Chainer nobody needs any more once the edits are made."""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Collection, Iterable

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.import_statements import hidden_imports
from chainer2torch.analysis.definitions import OF_PYTHON
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.scopes import Scope
from chainer2torch.analysis.source import Nodes, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.residue import runs_text

# Modules of which calls and names are rewritten, and which nobody imports for what the import itself does.
_PLAIN = frozenset(sys.stdlib_module_names - {"__future__", "__main__", "readline", "rlcompleter", "site", "this"})
_REPLACED = _PLAIN | {"numpy", "cupy"}
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
Removals = dict[ast.Import | ast.ImportFrom, frozenset[int]]  # by statement, the numbers of the aliases that go


def unused_aliases(context: Context, ledger: Ledger, taken: frozenset[str]) -> dict[str, ast.Assign]:
    """The statements ``F = chainer.functions`` whose names are all replaced, by the name."""
    found: dict[str, ast.Assign] = {}
    for name, statement in reversed(list(context.module_aliases.items())):
        skipped = context.skipped.node(statement) or name in taken
        if not skipped and (context.source.tree, name) not in _uses(context, ledger, {name}, found.values()):
            found[name] = statement
    return found


def unused_imports(
    context: Context, ledger: Ledger, taken: frozenset[str], gone: Iterable[ast.stmt] = ()
) -> tuple[Removals, frozenset[str]]:
    """The imports whose names are all replaced, and those names; other files take ``taken`` from here.

    What the statements that are ``gone`` read does not count.
    """
    removable: set[str] = set()
    keep: set[str] = set()
    found: list[tuple[ast.Import | ast.ImportFrom, int, str]] = []
    for statement in context.source.of(ast.Import, ast.ImportFrom):
        for i, alias in enumerate(statement.names):
            name = alias.asname or alias.name.split(".")[0]
            if context.skipped.node(statement) or not is_chainer(context, statement, alias):
                keep.add(name)
            elif alias.name == "*":
                if (
                    isinstance(statement, ast.ImportFrom)
                    and not _star_used(context, ledger)
                    and taken <= context.module.env.keys()
                ):
                    found.append((statement, i, "*"))
            else:
                found.append((statement, i, name))
    uses = _uses(context, ledger, {name for _, _, name in found}, gone)
    uses |= {(context.source.tree, name) for name in taken}
    removals: Removals = {}
    hidden = context.analysis.once(_hidden)
    for statement in {s for s, _, _ in found}:
        unused = frozenset(
            i
            for s, i, name in found
            if s is statement and ((context.scope(s.names[i], name), name) not in uses or s.names[i] in hidden)
        )
        removable |= {name for s, i, name in found if s is statement and i in unused}
        if unused:
            removals[statement] = unused
    return removals, frozenset(removable - keep)


def _hidden(analysis: Facts) -> frozenset[ast.alias]:
    """The imported names of a project that the next import binds anew."""
    return frozenset().union(*(hidden_imports(module.source) for module in analysis.project.modules.values()))


def is_chainer(context: Context, statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    """Whether an alias of an import binds a name of Chainer's."""
    if alias.name == "*":
        return (
            isinstance(statement, ast.ImportFrom)
            and not statement.level
            and (statement.module or "") in context.analysis.libraries
        )
    kind = context.analysis.bindings.get(alias)
    return isinstance(kind, Ref) and kind.name in context.analysis.libraries


def idle_imports(context: Context, output: Nodes, taken: frozenset[str]) -> tuple[Removals, frozenset[str]]:
    """The imports of NumPy, CuPy and Python's modules that the source uses and the output does not, and their names."""
    statements = [
        s
        for s in context.source.of(ast.Import, ast.ImportFrom)
        if not context.skipped.node(s)
        and any(_is_replaced(s, alias) for alias in s.names)
        and _stands_alone(context, s)
    ]
    if not statements:
        return {}, frozenset()
    before, after = _loaded(context.source), _loaded(output) | _in_texts(output) | taken
    after = after - (_defined(output) - _defined(context.source))  # `strtobool`, which the file has itself now
    removals: Removals = {}
    idle: set[str] = set()
    for statement in statements:
        gone = {
            i: alias.asname or alias.name
            for i, alias in enumerate(statement.names)
            if _is_replaced(statement, alias) and (name := alias.asname or alias.name) in before and name not in after
        }
        if gone:
            removals[statement] = frozenset(gone)
            idle |= set(gone.values())
    return removals, frozenset(idle)


def _defined(nodes: Nodes) -> set[str]:
    """The names of functions and classes, wherever they stand."""
    return {node.name for node in nodes.of(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)}


def is_of_python(statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import takes only modules of Python's own."""
    if isinstance(statement, ast.ImportFrom):
        return (statement.module or "").split(".")[0] in _PLAIN and not statement.level
    return all(alias.name.split(".")[0] in _PLAIN for alias in statement.names)


def _stands_alone(context: Context, statement: ast.Import | ast.ImportFrom) -> bool:
    """Whether an import of Python's modules is a line of a module or function; guards, and what classes have, stay."""
    alone = (ast.Module, ast.FunctionDef, ast.AsyncFunctionDef)
    return not is_of_python(statement) or isinstance(context.source.parents.get(statement), alone)


def _is_replaced(statement: ast.Import | ast.ImportFrom, alias: ast.alias) -> bool:
    if isinstance(statement, ast.Import):
        return alias.name in _REPLACED
    return is_of_python(statement) and alias.name != "*"


def _loaded(nodes: Nodes) -> set[str]:
    names = {n.id for n in nodes.of(ast.Name) if not isinstance(n.ctx, ast.Store)}
    for node in nodes.of(ast.Assign):
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets):
            names |= {c.value for c in nodes_of(node.value) if isinstance(c, ast.Constant) and isinstance(c.value, str)}
    return names


def _in_texts(nodes: Nodes) -> set[str]:
    """The words of texts that run: ``eval('np.arange(3)')``. A text that is not known may name anything."""
    calls = [call for call in nodes.of(ast.Call) if runs_text(call)]
    if not calls:
        return set()
    if all(isinstance(call.args[0], ast.Constant) for call in calls):
        texts = [str(call.args[0].value) for call in calls]  # type: ignore[attr-defined]
    else:
        texts = [n.value for n in nodes.of(ast.Constant) if isinstance(n.value, str)]
    return {word for text in texts for word in _WORD.findall(text)}


def _star_used(context: Context, ledger: Ledger) -> bool:
    """Whether a name that a star import of Chainer brings is still used."""
    bound = context.imported | context.variables | set(dir(builtins))
    left = [n for n in context.source.of(ast.Name) if n not in ledger.consumed and n.id not in bound]
    kinds = map(context.kind, left)
    return any(isinstance(kind, Ref) and kind.name.partition(".")[0] not in OF_PYTHON for kind in kinds)


def remaining_uses(context: Context, ledger: Ledger) -> frozenset[str]:
    """The names of the module that the file still reads once the edits are made, and those in its ``__all__``."""
    return frozenset(name for scope, name in _uses(context, ledger) if scope in (None, context.source.tree))


def _uses(
    context: Context, ledger: Ledger, names: Collection[str] | None = None, others: Iterable[ast.stmt] = ()
) -> set[tuple[Scope, str]]:
    """The scopes and names that are read once the edits are made, and ``others`` are gone: of some names, or of all."""
    gone = {n for top in (*ledger.removed, *others) for n in nodes_of(top)}
    uses = ledger.needed | {
        (context.scope(node, node.id), node.id)
        for node in context.source.of(ast.Name)
        if (names is None or node.id in names)
        and not isinstance(node.ctx, ast.Store)
        and node not in ledger.consumed
        and node not in gone
    }
    for statement in context.source.of(ast.Assign):
        if any(isinstance(t, ast.Name) and t.id == "__all__" for t in statement.targets):
            uses.update(
                (context.source.tree, c.value)
                for c in nodes_of(statement.value)
                if isinstance(c, ast.Constant) and isinstance(c.value, str)
            )
    return uses
