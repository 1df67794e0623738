"""Compares what Chainer and PyTorch computed: arrays by dtype, nested outputs, and samples by their moments."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainer2torch.verify.judge import tolerances
from chainer2torch.verify.judge.tolerances import Tolerance


# Values that are compared at once.
_PART = 1 << 18


@dataclasses.dataclass(frozen=True)
class Difference:
    """The comparison of one value: ``reason`` is None when it is within the tolerance."""

    name: str
    dtype: str
    max_abs: float
    max_rel: float
    reason: str | None
    # Whether shape and dtype agree, so that a reason is about values only.
    alike: bool = True

    @property
    def equal(self) -> bool:
        """Whether the two values are equal within the tolerance."""
        return self.reason is None


def compare_arrays(
    name: str, expected: np.ndarray, actual: np.ndarray, tolerance: Tolerance | None = None, *, any_float: bool = False
) -> Difference:
    """Compares two arrays: shape, kind and width of a float dtype, and the values; NaN equals NaN, inf the same inf.

    Integers of different width are equal when their values are (Chainer's int32 labels are int64 in PyTorch).
    ``any_float`` lets float dtypes differ.
    """
    dtype = str(expected.dtype)
    if expected.shape != actual.shape:
        return _different(name, dtype, f"shape {_shape(actual)} instead of {_shape(expected)}")
    kinds = {"u": "i"}
    if kinds.get(expected.dtype.kind, expected.dtype.kind) != kinds.get(actual.dtype.kind, actual.dtype.kind):
        return _different(name, dtype, f"dtype {actual.dtype} instead of {expected.dtype}")
    if expected.dtype.kind == "f" and expected.dtype != actual.dtype and not any_float:
        return _different(name, dtype, f"dtype {actual.dtype} instead of {expected.dtype}")
    if expected.size == 0:
        return Difference(name, dtype, 0.0, 0.0, None)
    if expected.dtype.kind not in "fc":
        wrong = expected != actual
        if not wrong.any():
            return Difference(name, dtype, 0.0, 0.0, None)
        at = np.unravel_index(int(np.argmax(wrong)), expected.shape)
        gap = float(np.max(np.abs(expected.astype(np.float64) - actual.astype(np.float64))))
        return Difference(
            name,
            dtype,
            gap,
            math.inf,
            f"{int(wrong.sum())} of {expected.size} values differ, first at {_index(at)}: "
            f"{actual[at]} instead of {expected[at]}",
        )
    return _compare_floats(name, expected, actual, tolerance or tolerances.for_dtype(dtype))


def _compare_floats(name: str, expected: np.ndarray, actual: np.ndarray, tolerance: Tolerance) -> Difference:
    """Part by part, so that a large array needs little memory beside itself."""
    dtype = str(expected.dtype)
    x, y = expected.reshape(-1), actual.reshape(-1)
    max_abs = max_rel = worst = 0.0
    count, at = 0, 0
    for start in range(0, x.size, _PART):
        gap, relative, bad = _gaps(x[start : start + _PART], y[start : start + _PART], tolerance)
        max_abs, max_rel = max(max_abs, float(gap.max())), max(max_rel, float(relative.max()))
        if bad.any():
            place = int(np.argmax(np.where(bad, gap, -1.0)))
            if not count or gap[place] > worst:
                worst, at = float(gap[place]), start + place
            count += int(bad.sum())
    if not count:
        return Difference(name, dtype, max_abs, max_rel, None)
    return Difference(
        name,
        dtype,
        max_abs,
        max_rel,
        f"{count} of {x.size} values differ, most at {_index(np.unravel_index(at, expected.shape))}: "
        f"{y[at]:.8g} instead of {x[at]:.8g} ({tolerance})",
    )


def _gaps(expected: np.ndarray, actual: np.ndarray, tolerance: Tolerance) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The absolute and the relative differences, and where they are too large."""
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = actual.astype(wide), expected.astype(wide)
    with np.errstate(all="ignore"):
        gap = np.abs(a - b)
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = np.where(same, 0.0, np.where(np.isnan(gap), np.inf, gap))
        bound = tolerance.atol + tolerance.rtol * np.abs(b)
        bad = ~same & ~(gap <= np.where(np.isfinite(bound), bound, 0.0))
        relative = np.where(same, 0.0, gap / np.maximum(np.abs(b), 1e-30))
        # The relative error of a value that is nearly zero says nothing: the absolute tolerance covers it.
        relative = np.where(np.abs(b) > tolerance.atol, relative, 0.0)
    return gap, relative, bad


def compare_moments(
    name: str, expected: np.ndarray, actual: np.ndarray, samples: int = tolerances.MOMENT_SAMPLES
) -> Difference:
    """Compares two large samples of a random value: mean and variance, each within its standard error, and the
    distribution by the largest gap between the two cumulative frequencies (Kolmogorov-Smirnov).
    """
    dtype = str(expected.dtype)
    if min(expected.size, actual.size) < samples:
        return _different(name, dtype, f"a sample of {min(expected.size, actual.size)} values is too small for moments")
    if expected.dtype.kind != actual.dtype.kind or (expected.dtype.kind == "f" and expected.dtype != actual.dtype):
        return _different(name, dtype, f"dtype {actual.dtype} instead of {expected.dtype}")
    a, b = actual.astype(np.float64), expected.astype(np.float64)
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return _different(name, dtype, "the sample is not finite")
    worst = 0.0
    for what, x, y in (("mean", a, b), ("variance", (a - a.mean()) ** 2, (b - b.mean()) ** 2)):
        error = math.sqrt(x.var() / x.size + y.var() / y.size) + 1e-7 * abs(y.mean()) + 1e-12
        gap = abs(x.mean() - y.mean())
        worst = max(worst, gap)
        if gap > tolerances.MOMENT_SIGMAS * error:
            return Difference(
                name,
                dtype,
                gap,
                gap / max(abs(y.mean()), 1e-30),
                f"{what} {x.mean():.6g} instead of {y.mean():.6g} (standard error {error:.2g})",
            )
    gap, limit = _kolmogorov_smirnov(a, b), tolerances.KS_LIMIT * math.sqrt(1 / a.size + 1 / b.size)
    if gap > limit:
        return Difference(
            name,
            dtype,
            gap,
            gap,
            f"the distributions differ: cumulative frequencies are {gap:.4f} apart (limit {limit:.4f})",
        )
    return Difference(name, dtype, worst, 0.0, None)


def compare_initial(name: str, expected: np.ndarray, actual: np.ndarray) -> Difference:
    """Compares initial values over several builds (the first axis): equal where fixed, else alike in distribution.

    An element is fixed when every build gives it the same value: biases, scales, a forget gate's ones.
    """
    dtype = str(expected.dtype)
    if expected.shape != actual.shape:
        return _different(name, dtype, f"shape {_shape(actual)} instead of {_shape(expected)}")
    if expected.dtype.kind != "f" or expected.size == 0:
        return compare_arrays(name, expected, actual, any_float=True)
    fixed, other = (np.all(a == a[:1], axis=0) for a in (expected, actual))
    if not np.array_equal(fixed, other):
        return _different(
            name,
            dtype,
            "initial values are random on one side and fixed on the other: "
            f"{actual[0][fixed != other][0]:.6g} instead of "
            f"{expected[0][fixed != other][0]:.6g}",
        )
    difference = compare_arrays(name, expected[0][fixed], actual[0][fixed], any_float=True)
    if not difference.equal or fixed.all():
        return difference
    random = expected[:, ~fixed].ravel().astype(np.float64), actual[:, ~fixed].ravel().astype(np.float64)
    if random[0].size < tolerances.INITIAL_SAMPLES:
        return difference
    return compare_moments(name, *random, samples=tolerances.INITIAL_SAMPLES)


def _kolmogorov_smirnov(a: np.ndarray, b: np.ndarray) -> float:
    both = np.concatenate((np.sort(np.round(a, 6)), np.sort(np.round(b, 6))))
    order = np.argsort(both, kind="stable")  # merges the two: so many searches in them take twice as long
    both = both[order]
    last = np.append(both[1:] != both[:-1], True)  # the gap only changes behind the last of equal values
    of_a = np.cumsum(order < a.size)[last]
    of_b = np.flatnonzero(last) + 1 - of_a
    return float(np.max(np.abs(of_a / a.size - of_b / b.size)))


def compare_trees(expected: Any, actual: Any, name: str = "output") -> list[str]:
    """What differs in the structure of two described outputs (see wire.Tree); numbers are compared elsewhere."""
    if expected["t"] == "object" or actual["t"] == "object":
        if expected == actual and expected["v"].startswith("builtins."):
            return []
        return [f"{name}: cannot be compared: {_words(expected)} and {_words(actual)}"]
    numbers = {expected["t"], actual["t"]} == {"array", "value"}
    if expected["t"] != actual["t"] and not numbers:
        return [f"{name}: {_words(actual)} instead of {_words(expected)}"]
    if numbers:
        return []
    if expected["t"] == "list":
        if len(expected["items"]) != len(actual["items"]):
            return [f"{name}: {len(actual['items'])} items instead of {len(expected['items'])}"]
        return [
            reason
            for i, (x, y) in enumerate(zip(expected["items"], actual["items"], strict=True))
            for reason in compare_trees(x, y, f"{name}[{i}]")
        ]
    if expected["t"] == "dict":
        if set(expected["items"]) != set(actual["items"]):
            return [f"{name}: keys {sorted(actual['items'])} instead of {sorted(expected['items'])}"]
        return [
            reason
            for key in expected["items"]
            for reason in compare_trees(expected["items"][key], actual["items"][key], f"{name}[{key!r}]")
        ]
    if expected["t"] == "value":
        return _compare_values(expected["v"], actual["v"], name)
    return []


def _compare_values(x: Any, y: Any, name: str) -> list[str]:
    number = (int, float)
    if isinstance(x, number) and isinstance(y, number):
        return []
    if x == y and type(x) is type(y):
        return []
    return [f"{name}: {y!r} instead of {x!r}"]


def leaves(tree: Any, arrays: Mapping[str, np.ndarray], path: str = "out") -> dict[str, np.ndarray]:
    """Every number of described outputs as an array, by path: arrays and, as 0-d arrays, plain numbers."""
    if tree["t"] == "array":
        return {path: arrays[tree["key"]]} if tree["key"] in arrays else {}
    if tree["t"] == "list":
        return {k: v for i, item in enumerate(tree["items"]) for k, v in leaves(item, arrays, f"{path}/{i}").items()}
    if tree["t"] == "dict":
        return {k: v for key, item in tree["items"].items() for k, v in leaves(item, arrays, f"{path}/{key}").items()}
    if tree["t"] == "value" and isinstance(tree["v"], (bool, int, float)):
        return {path: np.asarray(tree["v"])}
    return {}


def _different(name: str, dtype: str, reason: str) -> Difference:
    return Difference(name, dtype, math.inf, math.inf, reason, alike=False)


def _shape(array: np.ndarray) -> str:
    return "x".join(map(str, array.shape)) or "()"


def _index(at: Any) -> str:
    return "[" + ", ".join(str(int(i)) for i in at) + "]"


def _words(tree: Any) -> str:
    return str(tree["v"]) if tree["t"] in ("object", "value") else f"a {tree['t']}"
