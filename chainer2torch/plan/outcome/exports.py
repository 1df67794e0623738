"""Names that the files of a project go on taking from each other: such an import stays, though its file is done."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Mod
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.context import Context
from chainer2torch.plan.ledger import Ledger
from chainer2torch.plan.outcome.unused_imports import is_chainer, remaining_uses


def taken(analysis: Analysis, ledgers: Mapping[str, Ledger]) -> dict[str, frozenset[str]]:
    """By path, the names that other files still import from a file once their own edits are made.

    A file that passes a name on (``from .base import F`` in ``__init__``) needs it as long as somebody takes it there,
    so this is repeated until nothing changes.
    """
    uses = functools.cache(
        lambda path: remaining_uses(ledgers[path].context, ledgers[path])
    )  # few files take a name of Chainer's from another
    imported = {path: _imported(analysis, ledger.context) for path, ledger in ledgers.items()}
    through = {path: _through_modules(ledger.context, ledger) for path, ledger in ledgers.items()}
    found: dict[str, frozenset[str]] = {}
    while True:
        new: dict[str, set[str]] = {}
        for path, ledger in ledgers.items():
            passed = found.get(path, frozenset())
            for source, name, bound in imported[path]:
                if name == "*":
                    new.setdefault(source, set()).update(
                        (uses(path) | passed) - ledger.context.variables - ledger.context.imported
                    )
                elif not bound or bound in passed or bound in uses(path):
                    new.setdefault(source, set()).add(name)
            for source, name in through[path]:
                new.setdefault(source, set()).add(name)
        frozen = {path: frozenset(names) for path, names in new.items()}
        if frozen == found:
            return found
        found = frozen


def _imported(analysis: Analysis, context: Context) -> list[tuple[str, str, str]]:
    """(path, name, bound) of what ``from module import name`` takes from files of the project.

    With ``bound`` it takes the name only if that is still used here: an import of Chainer's goes when it is not.
    """
    found: list[tuple[str, str, str]] = []
    for node in context.source.of(ast.ImportFrom):
        source = (
            analysis.project.find_relative(node.level, node.module or "", context.module)
            if node.level
            else analysis.project.find(node.module or "", context.module)
        )
        if not isinstance(source, ModuleInfo) or source.path == context.module.path:
            continue
        for alias in node.names:
            conditional = alias.name != "*" and is_chainer(context, node, alias)
            found.append((source.path, alias.name, (alias.asname or alias.name) if conditional else ""))
    return found


def _through_modules(context: Context, ledger: Ledger) -> list[tuple[str, str]]:
    """(path, name) of each ``module.name`` of a module of the project that no edit replaces."""
    found = []
    facts = context.analysis.facts
    for node in context.source.of(ast.Attribute):
        kind = facts.get(node.value)
        if isinstance(kind, Mod) and _root(node) not in ledger.consumed:
            found.append((kind.info.path, node.attr))
    return found


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node
