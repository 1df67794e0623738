"""Values that rounding decides: where Chainer differs from itself as much as PyTorch differs from Chainer.

Training can amplify the last bit of a weight to any size. (The bias of a convolution in front of a batch normalization
is the usual case: its gradient is zero but for rounding, and Adam divides by its size.) Such values say nothing about
the migration. They are found by running Chainer once more, from initial weights that are changed in their last bit.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

# A run in another rounding is one sample of where training may go: PyTorch may be this much further away.
FACTOR = 30.0


class Compared(Protocol):
    """One compared value (:class:`chainer2torch.verify.script.script_report.Step`)."""

    @property
    def name(self) -> str:
        """Of what."""
        ...

    @property
    def relative(self) -> float:
        """The relative difference."""
        ...


def decided_by_rounding(
    different: Iterable[str], steps: Sequence[Compared], nudged: Sequence[Compared]
) -> Mapping[str, tuple[float, float]]:
    """The names among ``different`` whose values Chainer itself does not repeat.

    Args:
        different: names of values that differ between the frameworks.
        steps: the comparison of PyTorch with Chainer, in float64.
        nudged: the comparison of Chainer from changed weights with Chainer, in float64.
    Returns:
        For each such name the largest relative difference of PyTorch, and that of Chainer from itself.
    """
    found = {}
    for name in different:
        ours, its_own = _worst(steps, name), _worst(nudged, name)
        if its_own > 0 and ours <= FACTOR * its_own:
            found[name] = ours, its_own
    return found


def _worst(steps: Iterable[Compared], name: str) -> float:
    return max((step.relative for step in steps if step.name == name), default=0.0)


def lines(found: Mapping[str, tuple[float, float]]) -> list[str]:
    """What a report says of them."""
    return [
        f"{name}: rounding decides it (in float64 PyTorch differs by {ours:.2e}, and Chainer from itself by "
        f"{its_own:.2e} when its initial weights change in the last bit)"
        for name, (ours, its_own) in sorted(found.items())
    ]


__all__ = ["FACTOR", "decided_by_rounding", "lines"]
