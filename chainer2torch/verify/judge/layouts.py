"""A layer's output that a port has with its axes in another order, or flattened: the same values are equal."""

from __future__ import annotations

import itertools

import numpy as np

from chainer2torch.verify.judge.compare import Difference, compare_arrays

_MOST_AXES = 4


def compare_in_any_layout(name: str, a: np.ndarray, b: np.ndarray) -> Difference:
    """Compares two arrays; where only the shapes differ, in the layout of ``b`` that is nearest to ``a``."""
    plain = compare_arrays(name, a, b)
    if plain.equal or a.shape == b.shape or a.size != b.size or not 1 < b.ndim <= _MOST_AXES:
        return plain
    turned = (b.transpose(axes).reshape(a.shape) for axes in itertools.permutations(range(b.ndim)))
    found = [compare_arrays(name, a, other) for other in turned]
    return min(found, key=lambda difference: (not difference.equal, difference.max_abs))
