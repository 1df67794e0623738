"""One place where a training object of Chainer's is used."""

from __future__ import annotations

import ast
import dataclasses
import functools

from chainer2torch.analysis.kinds import Inst
from chainer2torch.plan.context import Context


@dataclasses.dataclass(frozen=True, eq=False)
class Use:
    """One expression whose value is the object."""

    node: ast.expr
    inst: Inst
    context: Context

    @functools.cached_property
    def parent(self) -> ast.AST:
        """What the expression stands in."""
        return self.context.source.parents[self.node]

    @functools.cached_property
    def member(self) -> str:
        """The name in ``object.name``; "" where the object is used otherwise."""
        parent = self.parent
        return parent.attr if isinstance(parent, ast.Attribute) else ""

    @functools.cached_property
    def call(self) -> ast.Call | None:
        """The call in ``object.name(...)``."""
        outer = self.context.source.parents.get(self.parent)
        return outer if self.member and isinstance(outer, ast.Call) and outer.func is self.parent else None
