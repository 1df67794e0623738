"""Variations of a rule's example: other inputs, other arguments. Legal, unusual and wrong ones alike."""

from __future__ import annotations

import ast
import copy
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from chainer2torch.rules.signature import BindError, Signature
from chainer2torch.verify.rules import callmatrix
from chainer2torch.verify.rules import given as given_specs


@dataclasses.dataclass(frozen=True)
class InputVariation:
    """A change of the drawn inputs: ``change(name, array)`` gives what takes the array's place."""

    label: str
    change: Callable[[str, np.ndarray], np.ndarray]


@dataclasses.dataclass(frozen=True)
class CallVariation:
    """Another way to call."""

    label: str
    before: str


def unchanged(name: str, array: np.ndarray) -> np.ndarray:
    """The inputs as they were drawn."""
    return array


def _floats(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[str, np.ndarray], np.ndarray]:
    return lambda name, array: change(array) if array.dtype.kind == "f" else array


def _only(which: str, change: Callable[[np.ndarray], np.ndarray]) -> Callable[[str, np.ndarray], np.ndarray]:
    return lambda name, array: change(array) if name == which else array


def _first(length: int) -> Callable[[str, np.ndarray], np.ndarray]:
    return lambda name, array: array[:length] if array.ndim else array


def _resized(old: int, new: int) -> Callable[[str, np.ndarray], np.ndarray]:
    """Every axis of length ``old`` gets the length ``new``, in all inputs."""

    def change(name: str, array: np.ndarray) -> np.ndarray:
        for axis, length in enumerate(array.shape):
            if length == old:
                array = np.take(array, np.arange(new) % old, axis)
        return array

    return change


def _turned(name: str, array: np.ndarray) -> np.ndarray:
    """The same values in Fortran's order."""
    return np.array(array, order="F")


def _integers(array: np.ndarray) -> np.ndarray:
    return np.round(3 * array).astype(np.int32)


def _special(array: np.ndarray) -> np.ndarray:
    """Values at which functions have kinks, poles and ties."""
    values = np.array([0, 1, -1, 1, 0, 0.5, -0.5, 2, -2, 2.5, -2.5, 3, -3, 6, 20], array.dtype)
    return np.resize(values, array.shape)


def _unlimited(array: np.ndarray) -> np.ndarray:
    values = np.array([np.inf, 1, -np.inf, 0, -1, 100, -100], array.dtype)
    return np.resize(values, array.shape)


def of_inputs(given: Mapping[str, Any]) -> Iterator[InputVariation]:
    """Variations of the inputs that an example draws."""
    arrays = [name for name, spec in given.items() if given_specs.is_array(spec)]
    if not arrays:
        return
    shapes = [shape for name in arrays for shape in _shapes(given[name])]
    yield InputVariation("as it stands", unchanged)
    yield InputVariation("Fortran's order", _turned)
    for length in sorted({n for shape in shapes for n in shape} - {0}):
        for new in (0, 1):
            if new != length:
                yield InputVariation(f"axes of length {length} have length {new}", _resized(length, new))
    yield InputVariation("first element", _first(1))
    yield InputVariation("nothing along the first axis", _first(0))
    if any(given_specs.is_float(given[name]) for name in arrays):
        yield InputVariation("zeros", _floats(np.zeros_like))
        yield InputVariation("ties", _floats(np.ones_like))
        yield InputVariation("special values", _floats(_special))
        yield InputVariation("infinite", _floats(_unlimited))
        yield InputVariation("large", _floats(lambda a: a * 100))
        for dtype in ("float16", "float64"):
            yield InputVariation(f"all {dtype}", _floats(lambda a, dtype=dtype: a.astype(dtype)))  # type: ignore[misc]
        yield InputVariation("all integers", _floats(_integers))
        yield InputVariation("all bool", _floats(lambda a: a > 0))
    for name in arrays:
        for label, change in _SINGLE.items():
            yield InputVariation(f"{name} {label}", _only(name, change))


def _shapes(spec: Any) -> Iterator[tuple[int, ...]]:
    if isinstance(spec, str):
        if not spec.startswith("="):
            yield given_specs.parse(spec).shape
    else:
        for item in spec.values() if isinstance(spec, Mapping) else spec:
            yield from _shapes(item)


def _half(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float16) if array.dtype.kind == "f" else array.astype(np.int16)


def _double(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind == "f" else array.astype(np.int64)


_SINGLE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "is narrower": _half,
    "is wider": _double,
    "is of integers": lambda a: _integers(a) if a.dtype.kind == "f" else a.astype(np.uint8),
    "is bool": lambda a: a > 0,
    "is of floats": lambda a: a.astype(np.float32),
    "has one axis more at the end": lambda a: a[..., None],
    "has one axis more at the front": lambda a: a[None],
    "has one axis less": lambda a: a[0] if a.ndim and len(a) else a,
    "has one axis less at the end": lambda a: a[..., 0] if a.ndim and a.shape[-1] else a,
    "has length one in front": lambda a: a[:1] if a.ndim else a,
    "has length one at the end": lambda a: a[..., :1] if a.ndim else a,
    "has no length at the end": lambda a: a[..., :0] if a.ndim else a,
    "is longer": lambda a: np.concatenate([a, a[:1]]) if a.ndim else a,
    "is longer at the end": lambda a: np.concatenate([a, a[..., :1]], -1) if a.ndim else a,
    "is a scalar": lambda a: a.ravel()[0].reshape(()) if a.size else a,
    "is negative": lambda a: -np.abs(a) if a.dtype.kind in "fi" else a,
}

_OTHERS = {
    bool: ("True", "False", "None", "0", "1"),
    int: (
        "0",
        "1",
        "-1",
        "-2",
        "2",
        "3",
        "5",
        "-5",
        "1.5",
        "True",
        "None",
        "()",
        "(0,)",
        "(1,)",
        "(0, 1)",
        "[0, 1]",
        "(-1, 0)",
        "np.int64(1)",
        "np.array(1)",
        "np.float32(1)",
    ),
    float: ("0", "0.0", "1", "-0.5", "1e-3", "None", "np.float32(0.3)", "np.float64(0.3)", "'0.5'"),
    str: ("'no'", "'mean'", "'sum'", "'max'", "'average'", "'nearest'", "'bilinear'", "'bogus'", "None"),
    type(None): ("None", "0", "1", "-1", "()", "(0,)", "(0, 1)", "[0, 1]", "2.0", "True"),
    tuple: (
        "()",
        "(0,)",
        "(1,)",
        "(0, 1)",
        "(1, 0)",
        "[1, 0]",
        "(1, 2, 3)",
        "(-1, 0)",
        "(-1,)",
        "0",
        "1",
        "None",
        "np.array([1, 0])",
        "(np.int64(1), np.int64(0))",
        "(2, 2)",
        "(0, 0)",
    ),
    list: ("()", "(1,)", "[0]", "[1, 0]", "0", "1", "None", "np.array([0, 1])"),
}


def of_call(name: str, signature: Signature | None, before: str) -> Iterator[CallVariation]:
    """The example's call with one argument replaced; arguments that it leaves out are written."""
    if signature is None:
        return
    tree = ast.parse(before)
    place = callmatrix.find_call(tree, name, signature)
    if place is None:
        return
    call, receiver = place
    try:
        bound = signature.bind(call.args, call.keywords, receiver)
    except BindError:
        return
    if bound.starred or bound.extra_args:
        return
    positional = [
        p.name
        for p in signature.parameters
        if p.kind == "positional" and not (receiver is not None and p.name == "self")
    ]
    original = copy.deepcopy(call)
    for parameter in signature.parameters:
        if parameter.kind not in ("positional", "keyword") or receiver is not None and parameter.name == "self":
            continue
        text = ast.unparse(bound.given[parameter.name]) if parameter.name in bound.given else parameter.default
        if text is None:
            continue
        try:
            value = ast.literal_eval(text)
        except (ValueError, SyntaxError):
            continue
        for other in _OTHERS.get(type(value), ()):
            if other == text:
                continue
            fresh = copy.deepcopy(original)
            node = ast.parse(other, mode="eval").body
            at = positional.index(parameter.name) if parameter.name in positional else None
            if at is not None and at < len(fresh.args):
                fresh.args[at] = node
            else:
                others = [k for k in fresh.keywords if k.arg != parameter.name]
                fresh.keywords = [*others, ast.keyword(parameter.name, node)]
            call.args, call.keywords = fresh.args, fresh.keywords
            yield CallVariation(f"{parameter.name}={other}", ast.unparse(tree))
