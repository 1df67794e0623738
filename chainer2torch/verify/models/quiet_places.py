"""Where a difference lies that no output shows: gradients on one side only, running values, what a step changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from chainer2torch.verify.judge.compare import compare_arrays

_MOST = 4


def quiet_places(xs: Sequence[Mapping[str, Any]], a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> str:
    """A sentence for the end of another; empty where nothing of the kind differs."""
    lines = {call["path"].strip("/"): call["line"] for call in reversed(xs)}
    found = []
    for words, names in (
        ("no gradient reaches, unlike Chainer's (frozen, or cut off)", _one_sided(a, b)),
        ("a gradient reaches that Chainer's does not have", _one_sided(b, a)),
        ("the running values differ of", _differing("state/model/", a, b)),
    ):
        places = list(dict.fromkeys(_place(name, lines) for name in names))
        if places:
            more = f" and {len(places) - _MOST} more" if len(places) > _MOST else ""
            found.append(f"{words} {', '.join(places[:_MOST])}{more}")
    if not found and not list(_differing("pgrad/model/", a, b)):
        places = [_place(name, lines) for name in _differing("step/end/state/model/", a, b)]
        if places:
            found.append(f"gradients are equal, and after a step differ {', '.join(places[:_MOST])}")
    return "".join(f"; {said}" for said in found)


def _one_sided(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Iterator[str]:
    """The parameters with a gradient in ``a`` that ``b`` has none for, or zeros."""
    for name in sorted(a):
        if name.startswith("pgrad/model/") and np.any(a[name]) and (name not in b or not np.any(b[name])):
            yield name


def _differing(prefix: str, a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> Iterator[str]:
    for name in sorted(a):
        if name.startswith(prefix) and name in b and not compare_arrays(name, a[name], b[name], any_float=True).equal:
            yield name


def _place(name: str, lines: Mapping[str, str]) -> str:
    """``/bn1/avg_var (net.py:12)``: a value of a link with the line that calls the link first."""
    path = name.partition("/model/")[2]
    line = lines.get(path.rpartition("/")[0], "")
    return f"/{path} ({line})" if line else f"/{path}"
