"""How much of Chainer is left in the output that was to change in this run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from chainer2torch.plan.context import Context
from chainer2torch.plan.site import Site
from chainer2torch.plan.stages import GO_WITH_OTHERS, stage_of


def left(context: Context, kept: Iterable[Site], found: Iterable[tuple[int, str]]) -> int:
    """How many of the references that are left in the output belong to what was to change in this run."""
    names = [context.rules.canonical(name) for _, name in found]
    if not context.choices.only:
        return len(names)
    left_out = Counter(site.symbol for site in kept)
    count = 0
    for name in names:
        if left_out[name]:
            left_out[name] -= 1
        else:
            row = context.rules.rows.get(name)
            count += row is not None and row.home in GO_WITH_OTHERS or stage_of(row, name) in context.stages.chosen
    return count
