"""What came of one model: its records compared, and the link where a difference begins."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from chainer2torch.verify import worker_process
from chainer2torch.verify.judge import no_numbers, rounding, tolerances
from chainer2torch.verify.judge.compare import Difference, compare_arrays, compare_initial
from chainer2torch.verify.judge.layouts import compare_in_any_layout
from chainer2torch.verify.judge.outcome import FAILED, PASSED, UNVERIFIED, Outcome, Pair
from chainer2torch.verify.judge.verdict import judge, note
from chainer2torch.verify.models.quiet_places import quiet_places

_MOST_NAMES = 8
_Compare = Callable[[str, np.ndarray, np.ndarray], Difference]
# What ended a case that is no answer of the migrated code: too little memory, a worker that was killed.
_OF_THE_MACHINE = frozenset({"WorkerDied", "MemoryError"})
_MARKER = re.compile(r"\s*# TODO\(chainer2torch ")


def outcome_of(
    pair: Pair,
    left: worker_process.WorkerResult,
    right: worker_process.WorkerResult,
    device: str,
    sets_first_values: bool = True,
) -> Outcome:
    """Compares what both sides recorded of a model.

    Where the port sets no first values anywhere, that they differ from Chainer's is no difference, and said. A float64
    pass for which arrays of the program's own were changed can show that both are equal, and nothing else: what these
    are computed from is float32.
    """
    outcome = _compared(pair, left, right, device, sets_first_values)
    if outcome.status == FAILED and left.records[pair.id].get("promoted"):
        far = 0.0 if outcome.raised else _farthest_output(outcome, left.arrays(pair.id), right.arrays(pair.id))
        outcome.status, outcome.raised, outcome.float32_only = UNVERIFIED, False, far <= tolerances.ROUNDING_STRICT
        said = "" if outcome.float32_only else f"; outputs differ by {far:.1e}, which is more than float32 leaves"
        outcome.reasons.insert(0, f"the program makes arrays of float32, so its float64 pass is not sure{said}")
    return outcome


def _farthest_output(outcome: Outcome, a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> float:
    """How far the outputs that differ are apart, of their largest value; infinite where that is no number."""
    if outcome.failures != len(outcome.differing):
        return float("inf")
    names = [name for name in outcome.differing if name.startswith("out")]
    found = [rounding.distance(b[name], a[name]) if name in a and name in b else None for name in names]
    return max((float("inf") if far is None else far for far in found), default=0.0)


def _compared(
    pair: Pair,
    left: worker_process.WorkerResult,
    right: worker_process.WorkerResult,
    device: str,
    sets_first_values: bool,
) -> Outcome:
    outcome = Outcome(pair)
    x, y = left.records.get(pair.id), right.records.get(pair.id)
    if x is None or (y is None and x["status"] == "ok"):
        name, ended = ("Chainer", left) if x is None else ("PyTorch", right)
        outcome.not_reached = True
        outcome.leave(
            f"{name}: "
            + (
                "the worker ended before this case"
                if ended.status is not None
                else "its time was up before this case (--timeout, --budget, or name the models one by one)"
            )
        )
        return outcome
    if y is None:  # the original itself does not run: nothing to compare with
        outcome.float32_only = pair.dtype == "float64"
        outcome.original_raises = x["type"] not in ("ImportError", "ModuleNotFoundError", "NotRun", "MemoryError")
        outcome.not_reached = x["type"] in _OF_THE_MACHINE
        outcome.leave(f"Chainer: {x['type']} in {x['phase']}: {' '.join(x['message'].split())}")
        return outcome
    if y.get("type") in _OF_THE_MACHINE:  # it says nothing of the model
        outcome.not_reached = True
        outcome.leave(f"PyTorch: {y['type']}: {' '.join(y['message'].split())}")
        return outcome
    a, b = left.arrays(pair.id), right.arrays(pair.id)
    if waiting := frozenset(y.get("waiting", ())):
        # PyTorch makes the parameters of these layers when they are first called, and they were not: Chainer has the
        # biases of some already.
        a = {name: a[name] for name in a if name in b or name.removeprefix("step/end/") not in waiting}
    if without := tuple(f"model/{key}" for key in y.get("without", ())):  # a map says that the port has none of these
        a = {name: array for name, array in a.items() if not name.endswith(without)}
    # Of a port with other names, of what has no shape yet, and where a second model cannot be made, they are not known.
    a = {name: a[name] for name in a if name in b or not name.startswith("init/")} if _lacks_first_values(y) else a
    b = {name: b[name] for name in b if name in a or not name.startswith("init/")}
    if not sets_first_values:
        outcome.notes += _first_values(a, b)
        a = {name: array for name, array in a.items() if not name.startswith("init/")}
    judge(outcome, x, y, a, b, device)
    if x.get("promoted"):
        outcome.notes.append(f"{pair.label}: arrays of float32 that the program makes are float64 where they meet such")
    if y["status"] == "ok" and not any(name.startswith("out") for name in (*a, *b)):
        # Nothing was differentiated: the gradients hold what the frameworks start with, and steps go nowhere.
        about = [reason for reason in outcome.reasons if reason.startswith("out")]
        if outcome.status != PASSED and all("cannot be compared" in reason for reason in about):
            outcome.status, outcome.reasons = UNVERIFIED, about or ["output: holds no array that can be compared"]
            return outcome
    outcome.notes += _names(y.get("names", []))
    lacking = sorted({*x.get("missing", []), *y.get("missing", [])})
    outcome.notes += [f"not installed, and not used by what was run: {', '.join(lacking)}"] if lacking else []
    outcome.notes += ["its migrated module still imports chainer"] if y.get("imports_chainer") else []
    outcome.notes += ["PyTorch's model is made from tensors, Chainer's from arrays"] if y.get("with_tensors") else []
    if y.get("own_serialize"):
        outcome.notes.append(f"its own serialize raises, and was left out: {y['own_serialize']}")
    if "calls" not in x or "calls" not in y:
        outcome.reasons += _left_to_a_person(y.get("trace", "")) if y["status"] == "error" else []
        return outcome
    compare = compare_in_any_layout if y.get("names") else compare_arrays
    outcome.layers = _layers(x["calls"], y["calls"], a, b, compare)
    outcome.inside = _inside(x["calls"], y["calls"], a, b, compare)
    if y["status"] == "error":
        outcome.reasons += _left_to_a_person(y.get("trace", ""))
        outcome.reasons.append(_before_error(x["calls"], y["calls"], a, b, compare))
        return outcome
    for name in sorted(name for name in a if name.startswith("step/")):
        if name not in b:
            outcome.fail(f"{name}: missing on PyTorch's side")
            continue
        note(outcome, compare_arrays(name, a[name], b[name], any_float=True))
    outcome.notes += [f"steps were compared until the original stops: {x['no_steps']}"] if x.get("no_steps") else []
    unknown = x.get("no_first_values") or y.get("no_first_values")
    outcome.notes += [f"first values were not compared: {unknown}"] if unknown else []
    if outcome.status == FAILED and y.get("not_held"):
        outcome.status = UNVERIFIED
        places = ", ".join(y["not_held"])
        outcome.reasons.insert(
            0, f"weights that could not be copied: the original holds {places} unregistered, the port does not"
        )
        return outcome
    drawn = [reason.partition(":")[0] for reason in outcome.reasons if reason.startswith("init/")]
    if outcome.status == FAILED and len(drawn) == len(outcome.reasons):
        outcome.reasons.insert(0, f"only what a new model starts with differs: {', '.join(drawn)}")
    elif outcome.status == FAILED:
        outcome.reasons.insert(0, _first_divergence(x["calls"], y["calls"], a, b, compare, y.get("returns", "")))
        outcome.begins = _first_gap(x["calls"], y["calls"], a, b, compare)
        no_numbers.take_back(outcome, a, b)
    return outcome


def _names(how: Sequence[str]) -> list[str]:
    """How a port's names were found; what the table says is counted where it is much."""
    told = [line for line in how if line.endswith(", by the table")]
    if len(told) <= _MOST_NAMES:
        return [f"names: {line}" for line in how]
    told = [line for line in told if "no counterpart" not in line]
    return [f"names: {len(told)} by the table", *(f"names: {line}" for line in how if line not in told)]


def _lacks_first_values(y: Mapping[str, Any]) -> bool:
    return bool(y.get("names") or y.get("waiting") or y.get("no_first_values"))


def _first_values(a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> list[str]:
    """What a new model starts with, said of a port that has PyTorch's own first values."""
    names = [name for name in sorted(a) if name.startswith("init/") and name in b]
    other = [name for name in names if not compare_initial(name, a[name], b[name]).equal]
    said = ", ".join(name.removeprefix("init/model/") for name in other[:5]) + (", ..." if len(other) > 5 else "")
    return [f"a new model does not start as Chainer's does (PyTorch's own first values): {said}"] if other else []


def _left_to_a_person(trace: str) -> list[str]:
    """The comment of the migration above a line that an error passes, the innermost first."""
    for path, number in reversed(re.findall(r'File "([^"]+)", line (\d+)', trace)):
        try:
            lines = Path(path).read_text(encoding="utf-8", errors="replace").splitlines()[: int(number) - 1]
        except OSError:
            continue
        if lines and _MARKER.match(lines[-1]):
            return [f"the migration has left this place to a person: {lines[-1].strip(' #')}"]
    return []


def _before_error(
    xs: Sequence[Mapping[str, Any]],
    ys: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
    compare: _Compare,
) -> str:
    """How far both sides agree before PyTorch raises."""
    where = _first_divergence(xs, ys, a, b, compare)
    if where.startswith("first diverging"):
        return where
    done = [_call(x) for x, y in _calls(xs, ys) if y is not None]
    return f"equal until then, up to {done[-1]}" if done else "no link had been called until then"


def _first_divergence(
    xs: Sequence[Mapping[str, Any]],
    ys: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
    compare: _Compare,
    returns: str = "",
) -> str:
    """Which link's output differs first, in the order of the calls; the calls of a link are paired one by one."""
    before, missing = "the inputs", ""
    for x, y in _calls(xs, ys):
        if y is None:
            missing = missing or f"; the first link that PyTorch did not call is {_call(x)}"
            continue
        for name, other in _outputs(x, y, a, b):
            if other is None:
                return f"first diverging link: {_place(x, y)}: another number of outputs"
            difference = compare(x["path"], a[name], other)
            if not difference.equal and x["path"] == "/":
                end = f", up to {returns}" if returns else ""
                return (
                    f"every link's output is equal, the model's own is not: the difference comes after {before}{end}"
                    f"{missing}: {difference.reason}; largest error {difference.max_abs:.3g}"
                )
            if not difference.equal:
                return (
                    f"first diverging link: {_place(x, y)}: {difference.reason}; "
                    f"largest error {difference.max_abs:.3g}; equal up to {before}"
                )
        before = _call(x)
    backward = _backward_place(xs, a, b) + quiet_places(xs, a, b)
    return (
        f"no link's output differs: the difference comes after {before} or only in the backward pass{missing}{backward}"
    )


def _first_gap(
    xs: Sequence[Mapping[str, Any]],
    ys: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
    compare: _Compare,
) -> float | None:
    """How far the first link's output that differs is from Chainer's (:func:`rounding.distance`); None where there is
    none, or where it has no counterpart.
    """
    for x, y in _calls(xs, ys):
        for name, other in _outputs(x, y, a, b):
            if other is None or not compare(x["path"], a[name], other).equal:
                return None if other is None else rounding.distance(other, a[name].astype(np.float64))
    return None


def _backward_place(xs: Sequence[Mapping[str, Any]], a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]) -> str:
    """Between which links a difference of gradients begins: the backward pass comes from the end."""
    known: list[tuple[Mapping[str, Any], bool]] = []
    for call in xs:
        prefix = f"pgrad/model{call['path'].rstrip('/')}/"
        names = [name for name in a if name.startswith(prefix) and "/" not in name[len(prefix) :]]
        if names and call["path"] != "/":
            known.append((call, all(name in b and compare_arrays(name, a[name], b[name]).equal for name in names)))
    last = max((i for i, (_, equal) in enumerate(known) if not equal), default=None)
    if last is None:
        return ""
    behind = f"; those of {_call(known[last + 1][0])} and behind it are equal" if last + 1 < len(known) else ""
    return f": gradients differ from {_call(known[last][0])} on, going back{behind}"


def _calls(
    xs: Sequence[Mapping[str, Any]], ys: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any] | None]]:
    """Each call of a link with its counterpart: the calls of one link are paired one by one."""
    waiting: dict[str, list[Mapping[str, Any]]] = {}
    for call in ys:
        waiting.setdefault(call["path"], []).append(call)
    for x in xs:
        partners = waiting.get(x["path"])
        yield x, partners.pop(0) if partners else None


def _outputs(
    x: Mapping[str, Any], y: Mapping[str, Any] | None, a: Mapping[str, np.ndarray], b: Mapping[str, np.ndarray]
) -> list[tuple[str, np.ndarray | None]]:
    """The names of a call's outputs on Chainer's side, each with its counterpart; None where there is none."""
    key = x["key"]
    names = sorted(name for name in a if name == key or name.startswith(key + "/"))
    return [(name, b.get(y["key"] + name[len(key) :]) if y else None) for name in names]


def _layers(
    xs: Sequence[Mapping[str, Any]],
    ys: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
    compare: _Compare,
) -> list[tuple[str, float]]:
    """The largest relative error of each link's output, in the order of the calls; infinite where it has no
    counterpart.
    """
    found = []
    for x, y in _calls(xs, ys):
        errors = [math.inf] if y is None else [0.0]
        for name, other in _outputs(x, y, a, b):
            errors.append(math.inf if other is None else compare(x["path"], a[name], other).max_rel)
        found.append((_call(x), max(errors)))
    return found


def _inside(
    xs: Sequence[Mapping[str, Any]],
    ys: Sequence[Mapping[str, Any]],
    a: Mapping[str, np.ndarray],
    b: Mapping[str, np.ndarray],
    compare: _Compare,
) -> frozenset[str]:
    """The targets of the links below the model of which every call has equal outputs."""
    equal: set[str] = set()
    different: set[str] = set()
    for x, y in _calls(xs, ys):
        target = x.get("target", "")
        if not target or x["path"] == "/":
            continue
        outputs = _outputs(x, y, a, b)
        is_equal = bool(outputs) and all(
            other is not None and compare(x["path"], a[name], other).equal for name, other in outputs
        )
        (equal if is_equal else different).add(target)
    return frozenset(equal - different)


def _call(call: Mapping[str, Any]) -> str:
    return f"{call['path']} ({call['line']})" if call["line"] else f"{call['path']}"


def _place(x: Mapping[str, Any], y: Mapping[str, Any]) -> str:
    return f"{x['path']}, {x['type']} at {x['line'] or '?'} and {y['type']} at {y['line'] or '?'}"
