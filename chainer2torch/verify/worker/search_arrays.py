"""Inputs of a search that are arrays where others are Variables.

An input is as in ``search_values``. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import collections
import re

_MOST_VALUES = 1 << 24
WIDER = "output: float64, of integers where numbers with a fraction may be meant"


def has_floats(spec):
    """Whether an input has an array of floats."""
    if isinstance(spec, list):
        return any(has_floats(item) for item in spec)
    return isinstance(spec, dict) and spec["dtype"][0] == "f"


def is_plain(spec):
    """Whether an input has an array that stays one."""
    if isinstance(spec, list):
        return any(is_plain(item) for item in spec)
    return isinstance(spec, dict) and bool(spec.get("plain"))


def plain(spec):
    """An input as arrays."""
    if isinstance(spec, list):
        return [plain(item) for item in spec]
    return dict(spec, plain=True) if isinstance(spec, dict) else spec


def all_plain(inputs):
    """All inputs as arrays."""
    return collections.OrderedDict((name, plain(spec)) for name, spec in inputs.items())


def are_wanted(error):
    """Whether an attempt failed because it makes Variables itself, of what it is given."""
    return isinstance(error, TypeError) and re.search(r"are expected\. Actual: .*Variable'>$", str(error)) is not None


def only_arrays(inputs, others):
    """Whether inputs differ from others in that they are arrays alone."""
    return inputs != others and all_plain(inputs) == all_plain(others)


def are_wider(outputs, inputs):
    """Whether outputs are float64, of several inputs that are all integers: an integer state times a weight is that."""
    kinds = [spec["dtype"] for spec in inputs.values() if isinstance(spec, dict)]
    integers = len(inputs) > 1 and kinds and not any(kind.startswith("float") for kind in kinds)
    return bool(integers) and any(array.ndim and array.dtype == "float64" for array in outputs)


def is_too_large(spec):
    """Whether an input has an array that no attempt is worth."""
    if isinstance(spec, list):
        return any(is_too_large(item) for item in spec)
    size = 1
    for n in spec["shape"] if isinstance(spec, dict) else ():
        size *= n
    return size > _MOST_VALUES


def is_likely(inputs, first):
    """Whether inputs are integers where the layers of the model take words, and have none but labels otherwise."""
    takes_words = first in ("words", "sequences")
    kinds = {kind for spec in list(inputs.values())[:1] for kind in _kinds(spec)}
    return not kinds or ("i" in kinds) == takes_words


def _kinds(spec):
    if isinstance(spec, list):
        return {kind for item in spec for kind in _kinds(item)}
    return {spec["dtype"][0]} if isinstance(spec, dict) else set()
