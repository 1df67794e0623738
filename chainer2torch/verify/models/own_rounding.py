"""Values of models that rounding decides: Chainer runs once more, its weights and products changed in their last bit.

An argmin of distances that are nearly equal, a unit that is zero but for rounding, a routing that amplifies: there
float32 gives other values in any other order of the same sums, on Chainer's own side, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from chainer2torch.verify.judge import rounding, sensitivity
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome
from chainer2torch.verify.judge.rounding import Arrays, distance

_LITTLE = 1e-6  # of float64, in relation to the largest value of an array: far less than any other formula gives
_SAID = "rounding decides what differs, and no float64 pass could show more"
# Runs the cases of these ids under Chainer, changed in the last bit; gives the arrays of each that ran.
Again = Callable[[Sequence[str]], Mapping[str, Mapping[str, np.ndarray]]]


@dataclasses.dataclass(frozen=True)
class _Value:
    name: str
    relative: float


def explain(outcomes: Sequence[Outcome], chainer: Arrays, torch: Arrays, again: Again) -> None:
    """Looks at each float32 outcome that failed by values alone, and that float64 does not show as one of meaning.

    Where Chainer does not repeat any of these values itself, it passes if float64 is equal, and is not verified if
    float64 was not compared.
    """
    by_id = {outcome.pair.id: outcome for outcome in outcomes}
    doubles = {o.pair.id: by_id.get(f"{o.pair.id.partition('@')[0]}@float64") for o in outcomes}
    open_ = [o for o in outcomes if _is_open(o, doubles[o.pair.id])]
    arrays = again([o.pair.id for o in open_]) if open_ else {}
    for outcome in open_:
        double, name = doubles[outcome.pair.id], outcome.pair.id
        if double is None or name not in arrays:
            continue
        ours = _distances(outcome, chainer(name), torch(name))
        found = sensitivity.decided_by_rounding(
            outcome.differing, ours, _distances(outcome, chainer(name), arrays[name])
        )
        if len(ours) < len(outcome.differing) or len(found) < len(outcome.differing):
            continue
        outcome.notes.append(_note(outcome, found))
        if double.status == PASSED:
            outcome.status, outcome.reasons, outcome.rounded = PASSED, [], True
        else:
            outcome.status = UNVERIFIED
            outcome.reasons.insert(0, _SAID)


def explain_doubles(
    outcomes: Sequence[Outcome],
    chainer: Arrays,
    torch: Arrays,
    again: Again,
    is_late: Callable[[], bool] = lambda: False,
) -> None:
    """The same for float64, which :func:`rounding.explain` takes for the truth: a maximum over values that are equal
    but for rounding, a variance of values that are all the same.

    Where Chainer does not repeat what differs, the outcome passes if that is no more than rounding could be, or comes
    behind a step of training that is equal; else it is not verified, as it is where an output differs, or where there
    is no time to ask Chainer (``is_late``). Call it before float32 is judged.
    """
    open_ = [
        o
        for o in outcomes
        if o.pair.dtype == "float64"
        and _only_values(o)
        and not _differs_forward(o, chainer(o.pair.id), torch(o.pair.id))
    ]
    arrays = again([o.pair.id for o in open_]) if open_ else {}
    for outcome in open_:
        name = outcome.pair.id
        if name not in arrays:
            if is_late():
                outcome.status, outcome.is_undecided = UNVERIFIED, True
                outcome.reasons.insert(0, "its time was up before Chainer could say whether it repeats these values")
            continue
        ours = _distances(outcome, chainer(name), torch(name))
        own = _distances(outcome, chainer(name), arrays[name])
        found = sensitivity.decided_by_rounding(outcome.differing, ours, own)
        if len(ours) < len(outcome.differing) or len(found) < len(outcome.differing):
            continue
        outcome.notes.append(_note(outcome, found))
        largest = rounding.largest_gradient(chainer(name))
        if not any(map(_is_output, found)) and all(
            value.startswith("step/")
            and not value.startswith("step/1/")  # behind a step that is equal
            or far <= _LITTLE
            or value.startswith(rounding.GRADIENTS)
            and far * rounding.largest(chainer(name)[value]) <= _LITTLE * largest
            for value, (far, _) in found.items()
        ):
            outcome.status, outcome.reasons, outcome.rounded = PASSED, [], True
        else:
            outcome.status = UNVERIFIED
            outcome.reasons.insert(0, "rounding decides what differs, in float64, too")


def _differs_forward(outcome: Outcome, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> bool:
    """Whether an output differs by more than another order of the same sums could make it, amplified by layers that
    normalize over few values.
    """
    names = list(filter(_is_output, outcome.differing))
    far = {value.name: value.relative for value in _distances(outcome, expected, actual)}
    return any(far.get(name, float("inf")) > _LITTLE for name in names)


def _is_output(name: str) -> bool:
    return name.partition("/")[0] == "out"


def _note(outcome: Outcome, found: Mapping[str, tuple[float, float]]) -> str:
    worst = max(found, key=lambda value: found[value][0])
    return (
        f"{outcome.pair.label}: rounding decides {len(found)} of the arrays, {worst} most: PyTorch differs by "
        f"{found[worst][0]:.1e}, Chainer from itself by {found[worst][1]:.1e} when its weights and products change "
        "in the last bit"
    )


def by_layers(outcome: Outcome, double: Outcome | None, said: Sequence[str]) -> None:
    """Takes back a float32 outcome of which float64 is equal, and each layer too, forward and backward, with what
    Chainer gave around it: what differs in the whole is rounding that later layers amplify (a unit that switches).
    """
    if len(said) == 2 and double is not None and double.status == PASSED and _is_open(outcome, double):
        outcome.status, outcome.reasons, outcome.rounded = PASSED, [], True
        outcome.notes.append(
            f"{outcome.pair.label}: {len(outcome.differing)} arrays differ, and in float64 none: {said[1]}"
        )


def _is_open(outcome: Outcome, double: Outcome | None) -> bool:
    return outcome.pair.dtype == "float32" and _only_values(outcome) and double is not None and double.status != FAILED


def _only_values(outcome: Outcome) -> bool:
    """Whether a case failed, and by nothing but values, none of them drawn."""
    return (
        outcome.status == FAILED
        and not outcome.raised
        and outcome.failures == len(outcome.differing)
        and not any(name.startswith("init/") for name in outcome.differing)
    )


def _distances(outcome: Outcome, expected: Mapping[str, Any], actual: Mapping[str, Any]) -> list[_Value]:
    """How far the values that differ are apart, where that is a number."""
    found = []
    for name in outcome.differing:
        if name in expected and name in actual:
            far = distance(actual[name], expected[name].astype(np.float64))
            found += [] if far is None else [_Value(name, far)]
    return found


__all__ = ["by_layers", "explain", "explain_doubles"]
