"""Mutants by seed and number, and what is wrong with their migration."""

from __future__ import annotations

import contextlib
import random
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from chainer2torch.rules.table import Rules, load_rules
from tests.support.mutations import complaint, mutated

ROOT = Path(__file__).parents[2]
_LARGE = 60_000


class TooLong(BaseException):
    """One mutant took longer than it may: no handler of the engine takes this for an error of a file."""


class Limit:
    """So many seconds for a block of code, in the main thread of Unix."""

    def __init__(self, seconds: int) -> None:
        self.seconds = seconds

    def __enter__(self) -> None:
        if hasattr(signal, "SIGALRM"):
            signal.signal(signal.SIGALRM, self._over)
            signal.alarm(self.seconds)

    def __exit__(self, *_: object) -> None:
        if hasattr(signal, "SIGALRM"):
            signal.alarm(0)

    def _over(self, number: int, frame: FrameType | None) -> None:
        raise TooLong(f"takes longer than {self.seconds} s")


def rules_of(style: str) -> Rules:
    """The rule tables of a style, as the command loads them."""
    return load_rules(lazy=True, style=style)


def programs(trees: Sequence[Path]) -> list[str]:
    """What gets damaged: the programs of the trees that name Chainer, in a stable order."""
    texts = []
    for path in sorted(path for tree in trees for path in tree.rglob("*.py") if path.is_file()):
        with contextlib.suppress(OSError, UnicodeDecodeError):
            text = path.read_text(encoding="utf-8")
            if "chainer" in text and len(text) < _LARGE:
                texts.append(text)
    return texts


def mutants(texts: Sequence[str], seed: int, start: int, count: int) -> Iterator[tuple[int, str]]:
    """The mutants of a seed with their numbers; a number gives the same mutant whatever comes before it."""
    for number in range(start, start + count):
        draw = random.Random(f"{seed}/{number}")
        yield number, mutated(draw, draw.choice(texts))


def wrong(text: str, rules: Rules, limit: Limit) -> str | None:
    """What is wrong with the migration of a text; None: nothing."""
    try:
        with limit:
            return complaint(text, rules)
    except TooLong as over:
        return str(over)
