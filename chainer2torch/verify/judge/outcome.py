"""A pair of snippets to compare, and what came of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

PASSED, FAILED, UNVERIFIED = "passed", "failed", "not verified"

_CHECK = "def check_type_forward("


@dataclasses.dataclass(frozen=True)
class Pair:
    """One thing to run in both frameworks: two module texts with a function ``run``, and what to feed it."""

    id: str
    row: str
    label: str
    chainer: str
    torch: str
    given: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    dtype: str = "float32"
    mode: str = "train"
    compare: str = "allclose"
    grad: bool = True
    raises: bool = False
    loud: str = ""  # "may": PyTorch may raise where Chainer gives a value; "must": it has to
    arrays: Sequence[str] = ()
    rtol: float | None = None
    atol: float | None = None
    seed: str = ""
    strided: bool = False
    initial: bool = False
    may_not_be_a_call: bool = False
    host: str = ""  # why it is compared on the CPU only
    tried: bool = False  # a call that nobody has written: where Chainer refuses it there is nothing to compare

    @property
    def unchecked(self) -> bool:
        """Whether the migration took out the type checks of the program's own functions: Chainer's are off, then."""
        return _CHECK in self.chainer and _CHECK not in self.torch

    @property
    def loaders(self) -> bool:
        """Whether the migrated text reads through PyTorch's loaders: then Chainer's iterators do as they do."""
        return "DataLoader(" in self.torch

    @property
    def clips(self) -> bool:
        """Whether the migrated text clips with PyTorch's function: then Chainer's hook divides as it does."""
        return "clip_grad_norm_" in self.torch


@dataclasses.dataclass
class Outcome:
    """What came of a pair. ``reasons`` say why it failed or was not verified, ``notes`` what it rests on; errors are
    the largest relative ones.
    """

    pair: Pair
    status: str = PASSED
    reasons: list[str] = dataclasses.field(default_factory=list)
    notes: list[str] = dataclasses.field(default_factory=list)
    forward: float = 0.0
    backward: float = 0.0
    compared: int = 0
    # Of a model: the largest relative error of each layer's output, in the order of the calls.
    layers: list[tuple[str, float]] = dataclasses.field(default_factory=list)
    # Of a model: the program's own classes of links below it all outputs of which are equal.
    inside: frozenset[str] = frozenset()
    # How often it failed, and the values among that, by name: those may still turn out to be rounding (``rounded``).
    failures: int = 0
    differing: dict[str, str] = dataclasses.field(default_factory=dict)
    rounded: bool = False
    # Whether it failed because PyTorch raised: that is no difference between values.
    raised: bool = False
    # Whether it was not verified because the program, which makes arrays of float32, has no float64 pass.
    float32_only: bool = False
    # Whether it was not verified because the original itself raises, as some do in one of the two modes.
    original_raises: bool = False
    # Whether it was not verified because time was up, the worker had ended, or memory was not enough.
    not_reached: bool = False
    # Of a model whose outputs differ: how far the first one's is from Chainer's, of its largest value; None: no number.
    begins: float | None = None
    # Whether it differs, and there was no time to ask whether Chainer repeats it.
    is_undecided: bool = False

    def fail(self, reason: str) -> None:
        """Marks the pair as failed, for one more reason."""
        self.status = FAILED
        self.failures += 1
        self.reasons.append(reason)

    def leave(self, reason: str) -> None:
        """Marks the pair as not verified, for a reason."""
        self.status = UNVERIFIED
        self.reasons.append(reason)
