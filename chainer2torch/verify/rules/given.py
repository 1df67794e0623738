"""Draws the inputs of an example from a seed: the ``given`` specifications of docs/adding-a-rule.md."""

from __future__ import annotations

import ast
import dataclasses
import re
import threading
from collections.abc import Mapping
from typing import Any

import numpy as np

from chainer2torch.verify.worker import wire

_DTYPES = {
    "f16": "float16",
    "f32": "float32",
    "f64": "float64",
    "bool": "bool",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "u8": "uint8",
}
_SPEC = re.compile(
    r"""^\s*(?P<dtype>[a-z]+\d*)\s*\[(?P<shape>[\d,\s]*)\]\s*
    (?:(?P<op>>=|<=|>|<)\s*(?P<bound>-?[\d.e+-]+)
     |in\s*(?P<left>[\[(])\s*(?P<low>-?[\d.e+-]+)\s*,\s*(?P<high>-?[\d.e+-]+)\s*(?P<right>[\])]))?\s*$""",
    re.VERBOSE,
)

# Examples are drawn by two threads at a time. In CPython 3.11 a switch between threads that both make trees of nodes
# ends one of them: "SystemError: AST constructor recursion depth mismatch".
_PARSING = threading.Lock()


class GivenError(ValueError):
    """A specification of an input is not understood; the message quotes it."""


@dataclasses.dataclass(frozen=True)
class Spec:
    """One array to draw: dtype, shape and, where given, the range of its values (integers stay below ``high``)."""

    dtype: str
    shape: tuple[int, ...]
    low: float | None = None
    high: float | None = None

    def draw(self, rng: np.random.RandomState, float_dtype: str = "float32") -> np.ndarray:
        """An array of this kind; ``float_dtype`` replaces float32 (other float dtypes are meant as they stand)."""
        dtype = float_dtype if self.dtype == "float32" else self.dtype
        if dtype == "bool":
            return np.asarray(rng.randint(0, 2, self.shape).astype(bool))
        if dtype.startswith("float"):
            return np.asarray(self._floats(rng), dtype=dtype)
        low = 0 if self.low is None else int(self.low)
        high = low + 10 if self.high is None else int(self.high)
        return np.asarray(rng.randint(low, high, self.shape), dtype=dtype)

    def _floats(self, rng: np.random.RandomState) -> Any:
        if self.low is None and self.high is None:
            return rng.standard_normal(self.shape)
        if self.low is not None and self.high is not None:
            width = self.high - self.low
            return rng.uniform(self.low + 1e-3 * width, self.high - 1e-3 * width, self.shape)
        if self.low is not None:
            return self.low + rng.uniform(0.1, 2.0, self.shape)
        assert self.high is not None
        return self.high - rng.uniform(0.1, 2.0, self.shape)


def parse(text: str) -> Spec:
    """Parses ``"f32[3,4]"``, ``"f32[3,4]>0"``, ``"f32[3] in (-1,1)"``, ``"i32[5]<10"``, ``"i32[5] in [-1,10)"``."""
    match = _SPEC.match(text)
    if not match or match["dtype"] not in _DTYPES:
        raise GivenError(
            f'`{text}` is not an input: write it as "f32[3,4]", "i32[5]<10", "f32[3] in (-1,1)" or "=<Python literal>"'
        )
    dtype = _DTYPES[match["dtype"]]
    try:
        shape = tuple(int(part) for part in match["shape"].split(",") if part.strip())
        low = high = None
        if match["op"]:
            bound = float(match["bound"])
            integer = dtype[0] in "iu"
            if match["op"].startswith(">"):
                low = bound + 1 if integer and match["op"] == ">" else bound
            else:
                high = bound + 1 if integer and match["op"] == "<=" else bound
                low = 0 if integer else None
        elif match["left"]:
            low, high = float(match["low"]), float(match["high"])
            if dtype[0] in "iu":
                low, high = low + (match["left"] == "("), high + (match["right"] == "]")
    except ValueError:
        raise GivenError(f"`{text}` is not an input: a number in it cannot be read") from None
    return Spec(dtype, shape, low, high)


def is_array(spec: Any) -> bool:
    """Whether a specification stands for an array (or for nested arrays), not for a plain value."""
    if isinstance(spec, str):
        return not spec.startswith("=")
    if isinstance(spec, Mapping):
        return any(map(is_array, spec.values()))
    return isinstance(spec, (list, tuple)) and any(map(is_array, spec))


def is_float(spec: Any) -> bool:
    """Whether a specification holds a float32 array, which is run in every float dtype."""
    if isinstance(spec, str):
        return not spec.startswith("=") and parse(spec).dtype == "float32"
    if isinstance(spec, Mapping):
        return any(map(is_float, spec.values()))
    return isinstance(spec, (list, tuple)) and any(map(is_float, spec))


def draw(
    given: Mapping[str, Any], seed: str, float_dtype: str, arrays: dict[str, np.ndarray], prefix: str
) -> dict[str, Any]:
    """The inputs in the form the workers read (see wire.decode_inputs); the arrays go to ``arrays`` under ``prefix``.

    The draw depends on ``seed``, the input's name and its place only, not on the other inputs or the dtype.
    """

    def one(spec: Any, path: str) -> Any:
        if isinstance(spec, (list, tuple)):
            return [one(item, f"{path}/{i}") for i, item in enumerate(spec)]
        if isinstance(spec, Mapping):
            return {"dict": {key: one(item, f"{path}/{key}") for key, item in spec.items()}}
        if not isinstance(spec, str):
            return spec
        if spec.startswith("="):
            return _literal(spec[1:])
        rng = np.random.RandomState(wire.seed_of(f"{seed}/{path}"))
        arrays[f"{prefix}/{path}"] = parse(spec).draw(rng, float_dtype)
        return {"array": f"{prefix}/{path}"}

    return {name: one(spec, name) for name, spec in given.items()}


def _literal(text: str) -> Any:
    try:
        with _PARSING:
            value = ast.literal_eval(text.strip())
        return _plain(value)
    except (ValueError, SyntaxError):
        raise GivenError(f"`={text}` is not a Python literal") from None


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return {"tuple": [_plain(item) for item in value]}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {"dict": {key: _plain(item) for key, item in value.items()}}
    return value


def kind(spec: Any, array: bool = False) -> str | None:
    """The kind of an input in the words of a rule's ``returns``; None for a plain value.

    The dtype of floats is left out: the same emitted code must serve every float dtype.
    """
    if isinstance(spec, str) and not spec.startswith("="):
        parsed = parse(spec)
        dtype = "" if parsed.dtype.startswith("float") else f" dtype {parsed.dtype}"
        return f"{'device' if array else 'tensor'} rank {len(parsed.shape)}{dtype}"
    if isinstance(spec, (list, tuple)) and spec and all(isinstance(item, str) and is_array(item) for item in spec):
        return "list of device" if array else "list of tensor"
    return None
