"""Why places need a person, grouped: one action settles all places of a cause."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from chainer2torch.plan.site import Site
from chainer2torch.report.extras import Extras
from chainer2torch.report.model import FileRow


@dataclasses.dataclass(frozen=True)
class Cause:
    """Places with the same code and the same reason; ``symbols`` are the Chainer names at them, sorted."""

    code: str
    state: str
    reason: str
    step: str
    places: tuple[tuple[FileRow, Site], ...]
    asks: bool = True  # else nothing is asked: the places were not executed

    @property
    def symbols(self) -> list[str]:
        """The Chainer names at its places, sorted."""
        return sorted({site.symbol for _, site in self.places})

    @property
    def files(self) -> int:
        """In how many files its places are."""
        return len({row.path for row, _ in self.places})


def causes(places: Iterable[tuple[FileRow, Site]], extras: Extras) -> list[Cause]:
    """The causes of some places, those of most places first; of equally many, what is left as Chainer code first.

    Last come those that ask nothing.
    """
    groups: dict[tuple[str, str, str, str, bool], list[tuple[FileRow, Site]]] = {}
    for row, site in places:
        reason = " ".join(site.message.split())
        step = " ".join(extras.next_step(site.symbol).split()) if site.open else ""
        step = "" if step in reason else step
        # without a reason or a step of its own, a symbol is its own cause
        asks = site.state != "review" or not extras.asks_nothing(site.symbol)
        key = (site.code, site.state, reason or ("" if step else site.symbol), step, asks)
        groups.setdefault(key, []).append((row, site))
    found = [
        Cause(code, state, reason, step, tuple(places), asks)
        for (code, state, reason, step, asks), places in groups.items()
    ]
    return sorted(found, key=lambda cause: (not cause.asks, -len(cause.places), cause.state, cause.code, cause.reason))
