"""What the search for a model's arguments and inputs tries: values by the names of parameters, and repairs that
follow from what Chainer and NumPy say of the last attempt.

An input is ``{"dtype", "shape", "below", "plain"}``, a list of inputs, or a plain value; an argument is a text of
Python. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import re

from . import search_areas, search_arguments, search_arrays, search_lists, search_shapes

BATCH = search_arguments.BATCH
_LARGEST = 1 << 15
_LENGTHS = (4, 6, 4)
_LABELS = re.compile(r"(^|_)(t|ts|y|ys|gt|labels?|targets?|teacher|answers?|action|actions)(_|\d|$)")
_SEQUENCES = re.compile(r"(?<=[a-z])s$|seq|sent|word|token|hx|list")
_STATES = re.compile(r"^(h|c|hx|cx|hy|cy|hs|cs|state|states|prev_\w+|init_\w+|initial_\w+)$")
_NUMBERS = re.compile(
    r"(^|_)(n|num|size|batchsize|batch_size|bs|length|len|max|step|steps|stage|index|idx|i|k)(_|$)|size$"
)
_FLAGS = re.compile(r"^(train|test|training|is|use|with|do|return|only|stochastic|greedy|deterministic)(_|$)|train$")
_RATES = re.compile(r"alpha|beta|gamma|ratio|rate|temperature|sigma|scale|eps|coef|lambda")


def array(dtype, shape, below=0):
    """The description of an array to draw."""
    return {"dtype": dtype, "shape": list(shape), "below": below}


def _words(*shape):
    return array("int32", shape, 5)


IMAGE = array("float32", (BATCH, 3, 32, 32))
VECTOR = array("float32", (BATCH, 8))
ROWS = array("float32", (BATCH, 5, 8))
SIGNAL = array("float32", (BATCH, 8, 32))
VIDEO = array("float32", (BATCH, 3, 16, 32, 32))
CUBE = array("float32", (3, 3, 16, 16, 16))
SMALL, SMALL_CUBE = array("float32", (BATCH, 8, 4, 4)), array("float32", (BATCH, 8, 1, 1, 1))
FLAT = array("float32", (BATCH,))
SCALAR = array("float32", ())
WORD, WORDS = _words(BATCH), _words(BATCH, 5)
SENTENCES = [_words(n) for n in _LENGTHS]
CHARACTERS = [[_words(3)] * n for n in _LENGTHS]  # of each word of each sentence
COLUMNS = [_words(BATCH) for _ in range(5)]
SPEECH = [array("float32", (n, 8)) for n in _LENGTHS]
STEPS = [VECTOR, VECTOR, VECTOR]
LABEL, LABEL_ROWS = array("int32", (BATCH,), 2), array("int32", (BATCH, 5), 2)
LABEL_MAP = array("int32", (BATCH, 32, 32), 2)
LABEL_LISTS = [array("int32", (n,), 2) for n in _LENGTHS]
MASK = array("bool", (BATCH, 5))
_BY_RANK = {0: SCALAR, 1: FLAT, 2: VECTOR, 3: ROWS, 4: IMAGE, 5: VIDEO}
_ANY = [IMAGE, VECTOR, WORDS, WORD, SENTENCES, SPEECH, ROWS, SIGNAL, COLUMNS, STEPS, FLAT, 2, VIDEO, MASK, 0.5, False]


def inputs_for(name):
    """What an input of this name may be, the likely first."""
    if _FLAGS.search(name):
        first = [False, True]
    elif _LABELS.search(name):
        first = [LABEL, WORDS, LABEL_ROWS, LABEL_LISTS, SENTENCES, LABEL_MAP, VECTOR, IMAGE, FLAT]
    elif _STATES.search(name):
        first = [VECTOR, None, array("float32", (1, BATCH, 8)), ROWS, IMAGE, STEPS]
    elif _NUMBERS.search(name):
        first = [BATCH, 2, 5, LABEL]
    elif _RATES.search(name):
        first = [0.5, VECTOR, FLAT]
    elif "mask" in name:
        first = [MASK, array("float32", (BATCH, 5)), array("bool", (BATCH, 5, 5))]
    elif _SEQUENCES.search(name):
        first = [SENTENCES, SPEECH, WORDS, CHARACTERS, COLUMNS, STEPS]
    else:
        first = []
    return first + [value for value in _ANY if value not in first] + [None]


_LESS_COMMON = {"films": CUBE, "small films": SMALL_CUBE, "small images": SMALL}
_BEGIN = dict(
    _LESS_COMMON, images=IMAGE, vectors=VECTOR, words=WORDS, sequences=SENTENCES, speech=SPEECH, signals=SIGNAL
)


def sorts(names, first="images"):
    """Inputs of one sort for all names, labels and numbers apart: how an attempt begins. ``first`` is what the layers
    of the model take.
    """
    if not names:
        yield []
        return
    special = [_LABELS, _STATES, _NUMBERS, _FLAGS, _RATES]
    open_ = [not any(p.search(name) for p in special) or len(names) == 1 for name in names]
    begin = _BEGIN[first]
    pairs = ((begin, LABEL),) if first in _LESS_COMMON else ()
    pairs += (
        (IMAGE, LABEL),
        (VECTOR, LABEL),
        (WORDS, LABEL),
        (SENTENCES, LABEL_LISTS),
        (SENTENCES, SENTENCES),
        (WORDS, WORDS),
        (WORD, WORD),
        (ROWS, LABEL_ROWS),
        (SIGNAL, LABEL),
        (SPEECH, LABEL_LISTS),
        (STEPS, LABEL),
    )
    for sort, labels in sorted(pairs, key=lambda pair: pair[0] is not begin):
        yield [
            sort if free else labels if _LABELS.search(name) and not _FLAGS.search(name) else inputs_for(name)[0]
            for name, free in zip(names, open_)
        ]


# What is said of floats where places in an array are meant: Chainer goes through a Variable value by value.
_INTEGERS = re.compile(
    r"of integer|applied more than|integer is required|only integers|cannot be interpreted as an integer"
)


def repairs(inputs, arguments, error, options=None, keys=None):
    """Other inputs and arguments, as what an error says suggests; pairs of dicts by name. ``options`` are texts that
    the project's own options and settings have, by name, ``keys`` what the constructor asks tables for.
    """
    text = " ".join(str(error).split())
    options = options or {}
    yield from search_areas.repaired(inputs, arguments, text, error)
    yield from search_shapes.repaired(inputs, arguments, text, error)
    yield from search_lists.repaired(inputs, arguments, text, error)
    for a, b in search_shapes.wanted(error):
        yield from numbers(inputs, arguments, a, b)
    yield from search_arguments.lacking(inputs, arguments, text, options)
    divisor = re.search(r"\b(\d+) is not (?:divisible|a multiple).*?\b(\d+)", text)
    if divisor:
        a, b = int(divisor.group(1)), int(divisor.group(2))
        yield from numbers(inputs, arguments, a, b * (a // b + 1) if b else 0)
    expect, actual = str(getattr(error, "expect", "")), str(getattr(error, "actual", ""))
    unlike = re.match(r"(\d+) != (\d+)$", actual)
    if unlike and ".ndim" in expect:
        yield from ranks(inputs, arguments, int(unlike.group(1)), int(unlike.group(2)))
    elif unlike:
        a, b = int(unlike.group(1)), int(unlike.group(2))
        if abs(a - b) == 1 and re.search(r"shape\[[234]\]", expect):
            yield from search_areas.uneven(inputs, arguments)
        yield from search_shapes.without_axis(inputs, arguments, a, b)
        yield from search_areas.by_area(inputs, arguments, a, b)
        yield from numbers(inputs, arguments, a, b)
        if "W.shape[1]" in expect:
            yield from search_areas.as_arguments(inputs, arguments)
    elif "dtype" in expect or _INTEGERS.search(text):
        yield from dtypes(inputs, arguments, text)
    unpack = re.search(r"values to unpack \(expected (?:at least )?(\d+)(?:, got (\d+))?", text)
    if unpack:
        for name, spec in inputs.items():
            if is_array(spec) and len(spec["shape"]) != int(unpack.group(1)):
                yield from ranked(inputs, arguments, name, int(unpack.group(1)))
    yield from _shapes(inputs, arguments, text)
    # a program's own error that names two numbers
    is_own = isinstance(error, (ValueError, AssertionError)) and len(set(re.findall(r"\b\d+\b", text))) == 2
    if is_own or "must have same" in text or "mismatch" in text.lower() or "!=" in text:
        found = [int(n) for n in re.findall(r"\b\d+\b", text)][:6]
        for a, b in zip(found, found[1:]):
            if a != b:
                yield from numbers(inputs, arguments, a, b)
                yield from numbers(inputs, arguments, b, a)
    if "index" in text or "out of" in text or isinstance(error, (IndexError, KeyError)):
        yield from _below(inputs, arguments)
    yield from search_arguments.others(inputs, arguments, text, options, keys or {})
    if "Variable" in text or isinstance(error, (TypeError, AttributeError, ValueError)):
        for name, spec in inputs.items():
            if search_arrays.has_floats(spec) and not search_arrays.is_plain(spec):
                yield dict(inputs, **{name: search_arrays.plain(spec)}), arguments


def _shapes(inputs, arguments, text):
    """The numbers in which two shapes differ that an error names."""
    shapes = [[int(n) for n in re.findall(r"\d+", shape)] for shape in re.findall(r"\((\d+(?:, ?\d+)*,?)\)", text)]
    for one, other in zip(shapes, shapes[1:]):
        if len(one) != len(other) and "broadcast" in text:
            yield from ranks(inputs, arguments, len(one), len(other))
            yield from ranks(inputs, arguments, len(other), len(one))
        for a, b in zip(one[::-1], other[::-1]):
            if a != b:
                yield from numbers(inputs, arguments, a, b)
                yield from numbers(inputs, arguments, b, a)


def is_array(spec):
    """Whether an input is one array."""
    return isinstance(spec, dict)


def _replaced(spec, a, b):
    """An input with every axis of ``a`` as ``b``, the first one apart."""
    if isinstance(spec, list):
        return [_replaced(item, a, b) for item in spec]
    if not is_array(spec):
        return spec
    shape = [b if n == a and (i or len(spec["shape"]) == 1) else n for i, n in enumerate(spec["shape"])]
    return dict(spec, shape=shape)


def _replaced_one(spec, a, b):
    """Inputs with one axis of ``a`` as ``b``."""
    if isinstance(spec, list):
        yield _replaced(spec, a, b)
    elif is_array(spec):
        for i, n in enumerate(spec["shape"]):
            if n == a and (i or len(spec["shape"]) == 1):  # the batch stays
                shape = spec["shape"][:i] + [b] + spec["shape"][i + 1 :]
                for other in filter(None, (search_areas.light(shape), shape)):
                    yield dict(spec, shape=other)


def numbers(inputs, arguments, a, b):
    """A number that does not fit, put right in one of the inputs, in all, or in one of the arguments."""
    if not 0 < b <= _LARGEST or a == b:
        return
    for name, spec in inputs.items():
        for other in _replaced_one(spec, a, b):
            yield dict(inputs, **{name: other}), arguments
    together = {name: _replaced(spec, a, b) for name, spec in inputs.items()}
    if together != inputs:
        yield together, arguments
    for name, value in arguments.items():
        for old, new in ((a, b), (b, a)):
            if re.search(r"\b{}\b".format(old), value) and 0 < new <= _LARGEST:
                yield inputs, dict(arguments, **{name: re.sub(r"\b{}\b".format(old), str(new), value)})
            if re.search(r"\b{}\b".format(a), value) and together != inputs:
                yield together, dict(arguments, **{name: re.sub(r"\b{}\b".format(a), str(b), value)})
    yield from search_shapes.flattened(inputs, arguments, a, b)
    # What reaches the layer is larger or smaller than the input by a factor, or by what is joined to it.
    for name, spec in inputs.items():
        if is_array(spec) and len(spec["shape"]) >= 2 and spec["dtype"][0] == "f" and spec["shape"][1] != a:
            width, rest = spec["shape"][1], spec["shape"][2:]
            factor = width * b // a if a and width * b % a == 0 and not (rest and a % width) else 0
            for new in [factor] if rest else [factor, width + b - a]:
                if 0 < new <= _LARGEST:
                    yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:1] + [new] + rest)}), arguments


def ranks(inputs, arguments, a, b):
    """Inputs of another number of axes."""
    for name, spec in inputs.items():
        if is_array(spec) and len(spec["shape"]) == a:
            for shape in search_shapes.of_rank(spec["shape"], b):
                yield dict(inputs, **{name: dict(spec, shape=shape)}), arguments
            yield from ranked(inputs, arguments, name, b)
    for name, spec in inputs.items():
        if is_array(spec) and len(spec["shape"]) != a:
            yield from ranked(inputs, arguments, name, len(spec["shape"]) + b - a)


def ranked(inputs, arguments, name, rank):
    """One input of so many axes."""
    if rank in _BY_RANK:
        spec = inputs[name]
        if spec["dtype"][0] == "f":
            yield dict(inputs, **{name: dict(spec, shape=_BY_RANK[rank]["shape"])}), arguments
        else:
            shape = (spec["shape"] + [5, 5, 5, 5])[:rank] if rank != 3 else [BATCH, 32, 32]
            yield dict(inputs, **{name: dict(spec, shape=shape)}), arguments


def dtypes(inputs, arguments, text=""):
    """One of the inputs as another kind of numbers: what an error names are integers beside floats, which the program
    makes of arrays itself where it stacks them.
    """
    if "object" in text:
        for name, spec in inputs.items():
            if search_arrays.has_floats(spec) and not search_arrays.is_plain(spec):
                yield dict(inputs, **{name: search_arrays.plain(spec)}), arguments
    for name, spec in inputs.items() if re.search(r"float32 != int|int\d* != float32|i != f", text) else ():
        if is_array(spec) and spec["dtype"][0] == "i":
            yield dict(inputs, **{name: dict(spec, dtype="float32")}), arguments
            yield dict(inputs, **{name: dict(spec, dtype="float32", plain=True)}), arguments
    for name, spec in inputs.items():
        for other in _recast(spec):
            yield dict(inputs, **{name: other}), arguments


def _recast(spec):
    if isinstance(spec, list):
        for dtype in ("int32", "float32"):
            other = _all_of(spec, dtype)
            if other != spec:
                yield other
    elif is_array(spec):
        for dtype in ("float32", "int32", "bool"):
            if spec["dtype"] != dtype:
                yield dict(spec, dtype=dtype, below=2)


def _all_of(spec, dtype):
    """Lists, of lists too, with all their arrays of one kind of numbers."""
    if isinstance(spec, list):
        return [_all_of(item, dtype) for item in spec]
    return dict(spec, dtype=dtype, below=2) if is_array(spec) and spec["dtype"] != dtype else spec


def _below(inputs, arguments):
    """Smaller integers."""
    for name, spec in inputs.items():
        if is_array(spec) and spec["dtype"][0] == "i" and spec["below"] > 2:
            yield dict(inputs, **{name: dict(spec, below=2)}), arguments
        if isinstance(spec, list) and any(is_array(s) and s["dtype"][0] == "i" and s["below"] > 2 for s in spec):
            yield dict(inputs, **{name: [dict(s, below=2) if is_array(s) else s for s in spec]}), arguments
