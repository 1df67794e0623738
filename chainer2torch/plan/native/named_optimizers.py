"""Optimizers that are chosen by their name: ``getattr(chainer.optimizers, config['name'])(**config['args'])``.

    Optimizer = getattr(optimizers, name)            Optimizer = getattr(compat.TorchOptimizersByName, name)
    optimizer = Optimizer(**args)                    optimizer = Optimizer(model.parameters(), **args)
    optimizer.setup(model)

The table makes torch's optimizers of Chainer's arguments. What ``getattr`` gives may be called at one place only.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native import places

TABLE = "chainer.optimizers"


def table_of(context: Context, maker: ast.Call) -> ast.expr | None:
    """The ``chainer.optimizers`` of which a call takes the class; None: it is not seen, or the class has other uses."""
    chosen = maker.func
    if isinstance(chosen, ast.Name):
        here = places.function_of(context, chosen)
        names = [*context.source.named.get(chosen.id, ())]
        names = [n for n in names if context.scope(n, n.id) is context.scope(chosen, chosen.id)]
        stores = [n for n in names if not isinstance(n.ctx, ast.Load)]
        if len(names) != 2 or len(stores) != 1 or places.function_of(context, stores[0]) is not here:
            return None
        statement = context.source.parents[stores[0]]
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return None
        chosen = statement.value
    if not isinstance(chosen, ast.Call) or ast.unparse(chosen.func) != "getattr" or len(chosen.args) != 2:
        return None
    table = chosen.args[0]
    return table if context.kind(table) == Ref(TABLE) and context.reference(table) == TABLE else None


def take_table(context: Context, decisions: Decisions, maker: ast.Call, torch: str) -> None:
    """Puts the table of torch's optimizers in the place of Chainer's module."""
    table = table_of(context, maker)
    assert table is not None
    decisions.replace(table, torch, {})
    decisions.use(table)
    decisions.mark(table, context.rules.rows[TABLE], TABLE, "exact")


__all__ = ["table_of", "take_table"]
