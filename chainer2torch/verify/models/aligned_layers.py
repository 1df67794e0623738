"""Which layers of a model that differs differ by themselves: each was given Chainer's outputs of those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chainer2torch.verify.judge.layouts import compare_in_any_layout

_MOST = 6


def by_themselves(
    calls: Sequence[Mapping[str, Any]], a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]
) -> list[str]:
    """One line; none where nothing was aligned. ``a`` has Chainer's outputs, ``b`` PyTorch's under ``sync/``."""
    wrong, right = [], 0
    for call in calls:
        errors = list(_errors(call["key"], a, b))
        if not errors:
            continue
        differing = [error for error in errors if error is not None]
        if differing:
            place = "the model's own output" if call["path"] == "/" else call["path"]
            where = f"{call['line']}; " if call["line"] else ""
            wrong.append(f"{place} ({where}largest error {max(differing):.3g})")
        else:
            right += 1
    if not wrong and not right:
        return []
    said = f"{right} of {right + len(wrong)} outputs are equal"
    if not wrong:
        return [f"given Chainer's outputs of the layers before it, each layer is equal: {said}"]
    more = f", and {len(wrong) - _MOST} more" if len(wrong) > _MOST else ""
    return [
        f"given Chainer's outputs of the layers before it, these differ by themselves: {', '.join(wrong[:_MOST])}"
        f"{more}; {said}"
    ]


def _errors(key: str, a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Iterator[float | None]:
    """The largest error of each output of a call, None of one that is equal."""
    for name in a:
        if (name == key or name.startswith(key + "/")) and f"sync/{name}" in b:
            difference = compare_in_any_layout(name, a[name], b[f"sync/{name}"])
            yield None if difference.equal else difference.max_abs
