"""What the search tries of sequences that belong together: sorted by their lengths, and labels as long as they are.

An input is as in ``search_values``. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import re

_LENGTHS = (6, 4, 4)
_NO_LIST = re.compile(r"'int' object is not (iterable|subscriptable)|'int' has no len|not 'int'")
_NO_ARRAY = re.compile(r"'list' object has no attribute '(shape|ndim|dtype|data|size)'|list indices .* not tuple")
_CHARACTERS = 3
_MOST = 16
_A_NUMBER = re.compile(r"incompatible array types are mixed.*<class 'numpy\.int|'numpy\.int\d+' object is not iterable")
_UNSORTED = re.compile(r"TransposeSequence|in_types\[\d\]\.shape\[0\] >= in_types\[\d\]\.shape\[0\]|descending")


def repaired(inputs, arguments, text, error):
    """Lists for arrays, words of characters for words, and sequences in the order of their lengths."""
    if _NO_ARRAY.search(text):
        yield from _as_arrays(inputs, arguments)
    for name, spec in inputs.items() if _NO_LIST.search(text) else ():
        for other in inputs.values():  # a list beside another: ``zip(fs, bs)``
            if isinstance(spec, int) and isinstance(other, (list, dict)):
                yield dict(inputs, **{name: other}), arguments
    if "truth value of an array" in text:  # whether there are any sequences is asked of a list
        yield from _alike(inputs, arguments)
        yield {name: _as_rows(spec) for name, spec in inputs.items()}, arguments
        for name, spec in inputs.items():
            yield dict(inputs, **{name: _as_rows(spec)}), arguments
    if _A_NUMBER.search(text):
        for name, spec in inputs.items():
            if _as_lists(spec) != spec or _is_list(spec):
                yield dict(inputs, **{name: _of_words(spec)}), arguments
    if not _UNSORTED.search(text + str(getattr(error, "expect", ""))):
        return
    yield from _alike(_by_length(inputs), arguments)
    for together in (_by_length(inputs), {name: _as_lists(spec) for name, spec in inputs.items()}):
        if together != inputs:
            yield together, arguments


def _as_arrays(inputs, arguments):
    """Arrays for lists of sequences: for one, for all behind the first, for all."""
    found = [name for name, spec in inputs.items() if _is_list(spec)]
    for names in [[name] for name in found[::-1]] + [found[1:], found]:
        changed = {name: dict(inputs[name][0], shape=[len(inputs[name]), *inputs[name][0]["shape"]]) for name in names}
        yield dict(inputs, **changed), arguments


def _alike(inputs, arguments):
    """Labels that are given for each place of sequences: as many lists, as long as those."""
    sequences = next((_as_rows(spec) for spec in inputs.values() if _is_list(_as_rows(spec))), None)
    changed = {
        name: [dict(item, below=2) for item in sequences]
        for name, spec in inputs.items()
        if sequences
        and (isinstance(spec, dict) or _is_list(spec))
        and _is_integer(spec)
        and _as_rows(spec) != sequences
    }
    if changed and sequences[0]["dtype"][0] == "i":
        yield dict(inputs, **changed), arguments


def _is_integer(spec):
    return all(map(_is_integer, spec)) if isinstance(spec, list) else isinstance(spec, dict) and spec["dtype"][0] == "i"


def _as_rows(spec):
    """A list of the rows of an array."""
    if isinstance(spec, dict) and len(spec["shape"]) > 1 and spec["shape"][0] <= _MOST:
        return [dict(spec, shape=spec["shape"][1:]) for _ in range(spec["shape"][0])]
    return spec


def _of_words(spec):
    """Sentences of words as sentences of words of characters."""
    rows = _as_rows(spec)
    return [[dict(row, shape=[_CHARACTERS])] * row["shape"][0] if len(row["shape"]) == 1 else row for row in rows]


def _by_length(inputs):
    return {name: _sorted(spec) for name, spec in inputs.items()}


def _sorted(spec):
    """A list of sequences, or of lists, the longest first."""
    if isinstance(spec, list) and all(
        isinstance(item, list) or isinstance(item, dict) and item["shape"] for item in spec
    ):
        return sorted(spec, key=lambda item: -(len(item) if isinstance(item, list) else item["shape"][0]))
    return spec


def _as_lists(spec):
    """Rows of words, and lists of sequences of any lengths, as sequences of the same lengths."""
    if _is_list(spec):
        return [dict(spec[0], shape=[n] + spec[0]["shape"][1:]) for n in _LENGTHS]
    if isinstance(spec, dict) and spec["dtype"][0] == "i" and len(spec["shape"]) == 2:
        return [dict(spec, shape=[n]) for n in _LENGTHS]
    return spec


def _is_list(spec):
    return isinstance(spec, list) and bool(spec) and all(isinstance(s, dict) and s["shape"] for s in spec)
