"""Gradients of Chainer's that are no number: where PyTorch has one there, what was given tells nothing."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from chainer2torch.verify.judge.compare import compare_arrays
from chainer2torch.verify.judge.outcome import FAILED, UNVERIFIED, Outcome

_GRADIENTS = ("grad/", "pgrad/")


def take_back(outcome: Outcome, a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> None:
    """Calls a difference not verified where Chainer's (``a``) own gradients hold NaN and all else is equal.

    The derivative of a logarithm of what was drawn is none: Chainer multiplies it by the zero of a unit that is off,
    PyTorch leaves it out. Values that the model gives are never excused, and equal they are not called either.
    """
    names = list(outcome.differing)
    if outcome.status != FAILED or outcome.raised or not names or outcome.failures != len(names):
        return
    gradients = [name for name in names if name.startswith(_GRADIENTS)]
    steps = [name for name in names if name.startswith("step/")]  # what such a gradient has moved
    if not gradients or len(gradients) + len(steps) != len(names):
        return
    if all(name in a and name in b and _is_equal_elsewhere(name, a[name], b[name]) for name in names):
        said = ", ".join(gradients[:3]) + (", ..." if len(gradients) > 3 else "")
        outcome.status = UNVERIFIED
        outcome.reasons.insert(
            0, f"Chainer's own gradients are no numbers (NaN) for what was drawn: {said}; other inputs tell more"
        )


def _is_equal_elsewhere(name: str, expected: np.ndarray, actual: np.ndarray) -> bool:
    if expected.shape != actual.shape or expected.dtype.kind != "f" or actual.dtype.kind != "f":
        return False
    none = np.isnan(expected)
    filled = np.where(none, actual, expected).astype(expected.dtype)
    return bool(none.any()) and compare_arrays(name, filled, actual, any_float=True).reason is None
