"""Tells rounding from a difference of meaning: where float32 differs, the float64 pass of the same case decides."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from chainer2torch.verify.judge import tolerances
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome

_TINY = 1e-30
_MORE = "this looks like rounding, of more than float32 explains"
_DTYPES = re.compile(
    r"the same dtype|mixed dtype|dtypes must be equal|expected scalar type|but (got|found):? \w*([Ff]loat|[Dd]ouble)"
)
GRADIENTS = ("grad/", "pgrad/")
Arrays = Callable[[str], Mapping[str, np.ndarray]]


def explain(outcomes: Sequence[Outcome], chainer: Arrays, torch: Arrays) -> None:
    """Looks at each float32 outcome that failed beside its float64 outcome: the same weights, inputs and cotangents.

    It passes, with a note, if all that failed are values, float64 is equal, and PyTorch's float32 values are as near
    to the float64 ones as float32 can be expected to come (:func:`distance`). Steps of training amplify rounding: where
    float64 is equal there, they pass however large the difference has become. All else stays failed, and says which
    of the two it looks like.

    Args:
        outcomes: Of pairs whose ids are ``<case>@<dtype>``.
        chainer, torch: The arrays of a pair, by its id.
    """
    by_id = {outcome.pair.id: outcome for outcome in outcomes}
    for outcome in outcomes:
        case, _, dtype = outcome.pair.id.partition("@")
        double = by_id.get(f"{case}@float64")
        if dtype != "float32" or outcome.status != FAILED or double is None or outcome.raised:
            continue
        drawn = [reason for reason in outcome.reasons if reason.startswith("init/")]
        if drawn:  # samples: no float64 decides about them, only about the rest
            if len(drawn) < outcome.failures:
                outcome.failures -= len(drawn)
                kept = {name: why for name, why in outcome.differing.items() if not name.startswith("init/")}
                outcome.differing = kept
                _explain_one(outcome, double, chainer, torch, case)
                if outcome.status == PASSED:
                    said = ", ".join(reason.partition(":")[0] for reason in drawn)
                    outcome.reasons = [f"but for rounding, only what a new model starts with differs: {said}", *drawn]
                    outcome.status, outcome.rounded = FAILED, False
            continue
        _explain_one(outcome, double, chainer, torch, case)


def _explain_one(outcome: Outcome, double: Outcome, chainer: Arrays, torch: Arrays, case: str) -> None:
    """Passes an outcome whose differences are rounding; else says what they look like."""
    if _mixes_dtypes(double):
        notes = _only_rounding(outcome, chainer, torch, f"{case}@float64", strict=True)
        if notes is not None:
            outcome.notes += [*notes, f"{outcome.pair.label}: float64 is Chainer's own"]
            outcome.status, outcome.reasons, outcome.rounded = PASSED, [], True
            return
    if double.status == FAILED and not double.raised:
        outcome.reasons.append("float64 shows the same difference: it is one of meaning")
        return
    if double.status != PASSED:
        said = "float64 was not compared: whether this is rounding is not known"
        has_none = double.not_reached or double.float32_only or double.original_raises
        is_open = double.not_reached and (
            _began_as_rounding(outcome) or _differs_in_gradients_alone(outcome, chainer, torch)
        )
        if double.is_undecided or is_open or has_none and _may_be_rounding(outcome, chainer, torch):
            outcome.status = UNVERIFIED
            outcome.reasons.insert(0, said)
        else:
            outcome.reasons.append(said)
        return
    notes = _only_rounding(outcome, chainer, torch, f"{case}@float64")
    if notes is None:
        outcome.reasons.append(f"float64 is equal within {tolerances.for_dtype('float64')}: {_MORE}")
    else:
        outcome.notes += notes
        outcome.status, outcome.reasons, outcome.rounded = PASSED, [], True


def without_layers(outcomes: Sequence[Outcome]) -> None:
    """Takes back what failed in float32 alone, by more than float32 explains, where there was no time to compare the
    layers by themselves: they say whether rounding has been amplified.
    """
    for outcome in outcomes:
        values_only = outcome.failures == len(outcome.differing)
        if outcome.status == FAILED and values_only and any(reason.endswith(_MORE) for reason in outcome.reasons):
            outcome.status = UNVERIFIED
            outcome.reasons.insert(
                0, "its time was up before the layers by themselves could say whether this is rounding"
            )


def without_float64(outcomes: Sequence[Outcome]) -> None:
    """Takes float64 outcomes back that failed only because PyTorch does not mix dtypes: the program makes arrays of
    float32 itself, where it runs in float32 nothing is mixed, and the float64 pass is the harness's own. Call it last.
    """
    by_id = {outcome.pair.id: outcome for outcome in outcomes}
    for outcome in outcomes:
        single = by_id.get(outcome.pair.id.partition("@")[0] + "@float32")
        if outcome.pair.dtype == "float64" and _mixes_dtypes(outcome) and single is not None:
            if single.status == PASSED:
                outcome.status, outcome.raised, outcome.float32_only = UNVERIFIED, False, True
                outcome.reasons[:0] = ["the program makes arrays of float32, so it has no float64 pass"]


def _may_be_rounding(outcome: Outcome, chainer: Arrays, torch: Arrays) -> bool:
    """Whether all that differs is a value, and by as little as rounding could make it; steps of training amplify it."""
    if outcome.failures != len(outcome.differing):
        return False
    expected, actual = chainer(outcome.pair.id), torch(outcome.pair.id)
    most = largest_gradient(expected)
    return all(
        name in expected and name in actual and _is_near(name, expected[name], actual[name], most)
        for name in outcome.differing
        if not name.startswith("step/")
    )


def _began_as_rounding(outcome: Outcome) -> bool:
    """Whether all that differs is a value, and the first link whose output differs is as near to Chainer's as rounding
    leaves it: a network of a hundred layers can make anything of that.
    """
    is_of_values = outcome.failures == len(outcome.differing)
    return is_of_values and outcome.begins is not None and outcome.begins <= tolerances.ROUNDING_STRICT


def _differs_in_gradients_alone(outcome: Outcome, chainer: Arrays, torch: Arrays) -> bool:
    """Whether all outputs are equal, and gradients differ by as much as rounding may: how much a unit that switches, or
    a sum that cancels, has changed them only float64 tells.
    """
    names = [name for name in outcome.differing if not name.startswith("step/")]
    if outcome.failures != len(outcome.differing) or not all(name.startswith(GRADIENTS) for name in names):
        return False
    expected, actual = chainer(outcome.pair.id), torch(outcome.pair.id)
    most = largest_gradient(expected)
    for name in names:
        if name not in expected or name not in actual:
            return False
        gap = distance(actual[name], expected[name].astype(np.float64))
        if gap is None or min(gap, gap * largest(expected[name]) / max(most, _TINY)) > tolerances.ROUNDING_MOST:
            return False
    return True


def _is_near(name: str, expected: np.ndarray, actual: np.ndarray, most: float) -> bool:
    """Whether two arrays are as near to each other as rounding could leave them: a gradient may be a sum that cancels,
    so that only the largest gradient of the case says how large its terms are.
    """
    far = distance(actual, expected.astype(np.float64))
    if far is None or not name.startswith(GRADIENTS):
        return far is not None and far <= tolerances.ROUNDING
    return far <= tolerances.ROUNDING or far * largest(expected) <= tolerances.ROUNDING_OF_ZERO * most


def _mixes_dtypes(outcome: Outcome) -> bool:
    """Whether PyTorch raised for two dtypes in one operation."""
    return outcome.status == FAILED and outcome.raised and _DTYPES.search(" ".join(outcome.reasons)) is not None


def _only_rounding(
    outcome: Outcome, chainer: Arrays, torch: Arrays, double: str, strict: bool = False
) -> list[str] | None:
    """What to say about the values that differ; None unless all of them are explained by rounding. ``strict``: by no
    more of it than Chainer's own float32 has.
    """
    if outcome.failures != len(outcome.differing):
        return None
    label, notes = outcome.pair.label, []
    steps = [name for name in outcome.differing if name.startswith("step/")]
    others = [name for name in outcome.differing if name not in steps]
    if steps:
        notes.append(
            f"{label}: after steps of training values differ in float32 and not in float64: rounding, which "
            f"training amplifies ({steps[0]}: {outcome.differing[steps[0]]})"
        )
    expected, actual, exact = chainer(outcome.pair.id), torch(outcome.pair.id), chainer(double)
    worst, cancelling = (-1.0, ""), 0
    backward, zero = _of_gradients(expected, exact) if others else (0.0, 0.0)
    for name in others:
        if name not in exact or name not in expected or name not in actual:
            return None
        far, own = distance(actual[name], exact[name]), distance(expected[name], exact[name])
        limit = backward if name.startswith(GRADIENTS) else tolerances.ROUNDING
        if far is None or own is None:
            return None
        limits = [tolerances.ROUNDING_STRICT if strict else limit, tolerances.ROUNDING_RATIO * own]
        if not strict and name.startswith(GRADIENTS) and own > tolerances.ROUNDING_MOST:
            limits.append(zero / max(largest(exact[name]), _TINY))
        if not strict and name.startswith(GRADIENTS) and largest(exact[name]) < tolerances.ZERO * zero:
            # It is zero, and Chainer may have found that exactly: what is left is the other formula's rounding.
            limits.append(tolerances.ROUNDING_OF_FORMULA * zero / max(largest(exact[name]), _TINY))
        if far > max(limits):
            return None
        if far > limit:
            cancelling += 1
        else:
            worst = max(worst, (far, name))
    if others:
        about = [f"{cancelling} are sums that cancel, as far away under Chainer"] if cancelling else []
        if worst[1]:
            about.insert(
                0,
                f"PyTorch's float32 is at most {worst[0]:.1e} of an array's largest value away from "
                f"float64: {worst[1]}",
            )
        notes.append(
            f"{label}: {len(others)} arrays differ in float32 and not in float64: rounding ({'; '.join(about)})"
        )
    return notes


def _of_gradients(single: Mapping[str, np.ndarray], double: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """How far PyTorch's gradients may be from float64: by how far Chainer's own are, those apart that all cancel; and
    how large those may be that should be zero.
    """
    names = [name for name in single if name.startswith(GRADIENTS) and name in double]
    own = [distance(single[name], double[name]) for name in names]
    worst = max((far for far in own if far is not None and far <= tolerances.ROUNDING_MOST), default=0.0)
    limit = max(tolerances.ROUNDING_OF_GRADIENTS, min(tolerances.ROUNDING_MOST, tolerances.ROUNDING_RATIO * worst))
    return limit, tolerances.ROUNDING_OF_ZERO * max((largest(double[name]) for name in names), default=0.0)


def distance(single: np.ndarray, double: np.ndarray) -> float | None:
    """How far a float32 array is from the float64 one, in units of its largest value: an entry may be a sum of terms
    that cancel, so its own size says nothing. None where shapes differ or a value is not finite.
    """
    if single.shape != double.shape or double.dtype.kind != "f" or single.dtype.kind != "f" or not double.size:
        return None
    if not (np.isfinite(single).all() and np.isfinite(double).all()):
        return None
    gap = float(np.max(np.abs(single.astype(np.float64) - double)))
    return gap / max(largest(double), _TINY)


def largest(array: np.ndarray) -> float:
    """The largest absolute value of an array."""
    return float(np.max(np.abs(array))) if array.size else 0.0


def largest_gradient(arrays: Mapping[str, np.ndarray]) -> float:
    """The largest absolute value of all gradients of a case."""
    return max((largest(array) for name, array in arrays.items() if name.startswith(GRADIENTS)), default=0.0)
