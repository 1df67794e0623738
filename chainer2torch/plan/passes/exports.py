"""Names that the files of a project go on taking from each other: such an import stays, though its file is done."""

from __future__ import annotations

import ast
import functools
from collections.abc import Mapping

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Mod
from chainer2torch.analysis.module_index import ModuleInfo
from chainer2torch.plan.passes.unused_imports import is_chainer, remaining_uses
from chainer2torch.plan.sites import Plan


def taken(analysis: Analysis, plans: Mapping[str, Plan]) -> dict[str, frozenset[str]]:
    """By path, the names that other files still import from a file once their own edits are made.

    A file that passes a name on (``from .base import F`` in ``__init__``) needs it as long as somebody takes it there,
    so this is repeated until nothing changes.
    """
    uses = functools.cache(lambda path: remaining_uses(plans[path]))  # few files take a name of Chainer's from another
    imported = {path: _imported(analysis, plan) for path, plan in plans.items()}
    through = {path: _through_modules(plan) for path, plan in plans.items()}
    found: dict[str, frozenset[str]] = {}
    while True:
        new: dict[str, set[str]] = {}
        for path, plan in plans.items():
            passed = found.get(path, frozenset())
            for source, name, bound in imported[path]:
                if name == "*":
                    new.setdefault(source, set()).update((uses(path) | passed) - plan.variables - plan.imported)
                elif not bound or bound in passed or bound in uses(path):
                    new.setdefault(source, set()).add(name)
            for source, name in through[path]:
                new.setdefault(source, set()).add(name)
        frozen = {path: frozenset(names) for path, names in new.items()}
        if frozen == found:
            return found
        found = frozen


def _imported(analysis: Analysis, plan: Plan) -> list[tuple[str, str, str]]:
    """(path, name, bound) of what ``from module import name`` takes from files of the project.

    With ``bound`` it takes the name only if that is still used here: an import of Chainer's goes when it is not.
    """
    found: list[tuple[str, str, str]] = []
    for node in plan.source.of(ast.ImportFrom):
        source = (
            analysis.project.find_relative(node.level, node.module or "", plan.module)
            if node.level
            else analysis.project.find(node.module or "", plan.module)
        )
        if not isinstance(source, ModuleInfo) or source.path == plan.module.path:
            continue
        for alias in node.names:
            conditional = alias.name != "*" and is_chainer(plan, node, alias)
            found.append((source.path, alias.name, (alias.asname or alias.name) if conditional else ""))
    return found


def _through_modules(plan: Plan) -> list[tuple[str, str]]:
    """(path, name) of each ``module.name`` of a module of the project that no edit replaces."""
    found = []
    for node in plan.source.of(ast.Attribute):
        kind = plan.analysis.kind(node.value)
        if isinstance(kind, Mod) and _root(node) not in plan.consumed:
            found.append((kind.info.path, node.attr))
    return found


def _root(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node
