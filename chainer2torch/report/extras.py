"""What a report can say beyond what the run found: next steps, what is new, what a verification found."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

from chainer2torch.report.baseline import Comparison
from chainer2torch.report.verification import Check


def _nothing(symbol: str) -> str:
    return ""


def _asks(symbol: str) -> bool:
    return False


@dataclasses.dataclass(frozen=True)
class Step:
    """Something that a person does: where, what, and the command that helps."""

    place: str
    text: str
    command: str = ""


@dataclasses.dataclass(frozen=True)
class Extras:
    """``next_step`` gives the next step that a symbol's rule names; the rest is there when it was asked for.

    ``asks_nothing`` says of which symbols a place in state review was not executed, and has no comment.
    ``facts`` and ``steps`` are where a port stands, in pairs of a heading and a sentence, and what comes next.
    """

    next_step: Callable[[str], str] = _nothing
    comparison: Comparison | None = None
    checks: tuple[Check, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    steps: tuple[Step, ...] = ()
    asks_nothing: Callable[[str], bool] = _asks
