"""Which layers of a model that differs differ by themselves: each was given Chainer's outputs of those before it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chainer2torch.verify.judge import tolerances
from chainer2torch.verify.judge.layouts import compare_in_any_layout
from chainer2torch.verify.judge.rounding import distance

_MOST = 6
DIFFER = "these differ by themselves"


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
    return [f"given Chainer's outputs of the layers before it, {DIFFER}: {', '.join(wrong[:_MOST])}{more}; {said}"]


def back_by_themselves(
    calls: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
    rounded: bool = False,
) -> list[str]:
    """One line about the backward pass; none where no gradient came back on both sides. ``a`` has Chainer's gradients
    of parameters and, under ``back/``, at the outputs of the calls; ``b`` PyTorch's under ``sync/``, each with
    Chainer's gradients of what lies behind it. ``rounded``: float64 is equal, so that these may differ by what
    float32 loses in sums of terms that cancel.
    """
    if not any(f"sync/{name}" in b for name in a if name.startswith("back/")):
        return []
    wrong, right = [], 0
    for number, call in reversed(list(enumerate(calls))):
        where = f" ({call['line']})" if call["line"] else ""
        own = [name for name in a if _is_of(name, call["path"])] if _is_last(calls, number) else []
        differing = [name for name in own if not _is_equal(name, a[name], b.get(f"sync/{name}"), rounded)]
        arrived = [
            difference
            for name in a
            if name.startswith("back/") and name[5:].startswith(call["key"]) and f"sync/{name}" in b
            if name[5:] == call["key"] or name[5 + len(call["key"])] == "/"
            if not (difference := compare_in_any_layout(name, a[name], b[f"sync/{name}"])).equal
            and not (rounded and _is_rounded(a[name], b[f"sync/{name}"]))
        ]
        if arrived:
            wrong.append(f"what comes back to {call['path']}{where}, largest error {arrived[0].max_abs:.3g}")
        if differing:
            names = ", ".join(name.rpartition("/")[2] for name in differing)
            wrong.append(f"{call['path']}{where}: the gradient of {names}")
        right += not arrived and not differing
    said = f"{right} of {len(calls)} layers are equal"
    if not wrong:
        return [f"given Chainer's gradients of the layers behind it, each layer's are equal: {said}"]
    more = f"; and {len(wrong) - _MOST} more" if len(wrong) > _MOST else ""
    return [
        f"given Chainer's gradients of the layers behind it, {DIFFER} in the backward pass: "
        f"{'; '.join(wrong[:_MOST])}{more}; {said}"
    ]


def _is_last(calls: Sequence[Mapping[str, Any]], number: int) -> bool:
    """Whether no later call is of the same link: the gradients of its parameters are a sum over its calls."""
    return all(call["path"] != calls[number]["path"] for call in calls[number + 1 :])


def _is_of(name: str, path: str) -> bool:
    prefix = f"pgrad/model{path.rstrip('/')}/"
    return name.startswith(prefix) and "/" not in name[len(prefix) :]


def _is_equal(name: str, expected: np.ndarray, actual: np.ndarray | None, rounded: bool) -> bool:
    if actual is None:  # no gradient and a gradient of zeros mean the same
        actual = np.zeros_like(expected)
    return compare_in_any_layout(name, expected, actual).equal or rounded and _is_rounded(expected, actual)


def _is_rounded(expected: np.ndarray, actual: np.ndarray) -> bool:
    """Whether two arrays differ by as little of their largest value as float32 may, in sums of terms that cancel."""
    far = distance(actual, expected.astype(np.float64))
    return far is not None and far <= tolerances.ROUNDING


def _errors(key: str, a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Iterator[float | None]:
    """The largest error of each output of a call, None of one that is equal."""
    for name in a:
        if (name == key or name.startswith(key + "/")) and f"sync/{name}" in b:
            difference = compare_in_any_layout(name, a[name], b[f"sync/{name}"])
            yield None if difference.equal else difference.max_abs
