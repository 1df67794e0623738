"""What the names in a text that is code of a file stand for."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.scopes import Scope
from chainer2torch.plan.context import Context

DOTTED = re.compile(r"(?<![\w.])[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*")


class Aliases:
    """The names that a file's imports bind to something of Chainer's, in any scope."""

    def __init__(self, context: Context):
        self._context = context
        self._bound: dict[str, list[tuple[ast.alias, str]]] = {}
        for alias in context.source.of(ast.alias):
            kind = context.analysis.bindings.get(alias)
            if isinstance(kind, Ref) and kind.name in context.analysis.libraries:
                name = alias.asname or alias.name.split(".")[0]
                self._bound.setdefault(name, []).append((alias, kind.name))

    def resolve(self, dotted: str) -> str | None:
        """Chainer's name for a dotted name as the file spells it; None when no import binds it."""
        root, dot, rest = dotted.partition(".")
        found = self._bound.get(root)
        return self._context.rules.canonical(found[0][1] + dot + rest) if found else None

    def named(self, text: str) -> tuple[list[str], frozenset[tuple[Scope, str]]]:
        """Chainer's names in a text that is code of this file, and the names that imports bind for them."""
        names: list[str] = []
        needed: set[tuple[Scope, str]] = set()
        for match in DOTTED.finditer(text):
            name = self.resolve(match[0])
            if name is None and match[0] in self._context.analysis.libraries:
                names.append(match[0])
            elif name is not None:
                names.append(name)
                root = match[0].split(".")[0]
                needed |= {(self._context.scope(alias, root), root) for alias, _ in self._bound[root]}
        return names, frozenset(needed)
