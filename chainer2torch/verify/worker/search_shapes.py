"""What the search for a model's arguments and inputs tries when an error names whole shapes, a place in an array, or a
number where there should be several.

An input is as in ``search_values``. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import re

_SHAPE = r"\((\d+(?:, ?\d+)*,?|)\)"
_LONGEST = 4096
_NO_NUMBER = re.compile(
    r"'int' object is not (iterable|subscriptable)|object of type 'int' has no len|int.* no .*'append'"
)


def repaired(inputs, arguments, text, error):
    """Other inputs and arguments, as what an error says suggests."""
    expect, actual = str(getattr(error, "expect", "")), str(getattr(error, "actual", ""))
    if re.search(r"\.shape == .*\.shape", expect):
        found = re.match("{} != {}$".format(_SHAPE, _SHAPE), actual)
        for a, b in ((1, 2), (2, 1)) if found else ():
            yield from _whole(inputs, arguments, _numbers(found.group(a)), _numbers(found.group(b)))
    known = re.search(r"known_size\(=(\d+)\)", expect)  # of what is reshaped
    if known and 0 < int(known.group(1)) < _LONGEST:
        yield from _rows(inputs, arguments, int(known.group(1)))
    if "shape-mismatch" in text or "not aligned" in text:
        yield from _as_made(inputs, arguments)
    reshaped = re.search(r"reshape array of size \d+ into shape " + _SHAPE, text)
    if reshaped:
        yield from _same_numbers(inputs, arguments, _numbers(reshaped.group(1)))
    place = re.search(r"index (\d+) is out of bounds for axis (\d+) with size (\d+)", text)
    if place:
        yield from _longer(inputs, arguments, *(int(part) for part in place.groups()))
    if "An Expr instance" in text:  # how Chainer refuses labels without the axes of what they label
        yield from _label_maps(inputs, arguments)
    if _NO_NUMBER.search(text):
        yield from _several(inputs, arguments)


def _label_maps(inputs, arguments):
    """Labels of images as maps of their sides."""
    sides = [spec["shape"][2:] for spec in inputs.values() if isinstance(spec, dict) and len(spec["shape"]) > 2]
    for name, spec in inputs.items() if sides else ():
        if isinstance(spec, dict) and spec["dtype"][0] == "i" and spec["shape"][1:] != sides[0]:
            yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:1] + sides[0])}), arguments


def of_rank(shape, rank):
    """Shapes of one axis more or less with as many values for each example: a vector as a square, a grey image."""
    if rank == len(shape) + 1 and len(shape) > 1:
        side = int(round(shape[-1] ** 0.5))
        if side > 1 and side**2 == shape[-1]:
            yield shape[:-1] + [side, side]
    if rank == len(shape) - 1 and shape[1:2] == [1]:
        yield shape[:1] + shape[2:]


def flattened(inputs, arguments, a, b):
    """Inputs whose axes behind the first are ``b`` values together where they were ``a``: with another last axis, as
    vectors, and as squares.
    """
    for name, spec in inputs.items():
        if isinstance(spec, dict) and len(spec["shape"]) > 2:
            size = 1
            for n in spec["shape"][1:]:
                size *= n
            rest = size // (spec["shape"][-1] or 1)
            if size == a and rest and b % rest == 0 and 0 < b // rest < _LONGEST:
                yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:-1] + [b // rest])}), arguments
            batch = spec["shape"][:1]
            for shape in [batch + [b]] + list(of_rank(batch + [b], 3)) if size == a else ():
                yield dict(inputs, **{name: dict(spec, shape=shape)}), arguments


def without_axis(inputs, arguments, a, b):
    """Words one by one, where what they are embedded in was flattened: ``a`` is ``b`` times their number in a row."""
    for name, spec in inputs.items():
        if isinstance(spec, dict) and spec["dtype"][0] == "i" and len(spec["shape"]) == 2:
            if a == b * spec["shape"][1]:
                yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:1])}), arguments
    together = {
        name: dict(spec, shape=spec["shape"][:1])
        for name, spec in inputs.items()
        if isinstance(spec, dict) and spec["dtype"][0] == "i" and len(spec["shape"]) == 2 and a == b * spec["shape"][1]
    }
    if len(together) > 1:
        yield dict(inputs, **together), arguments


def wanted(error):
    """Pairs of numbers, one that an axis has and one that it should have, where an error names the axis alone."""
    sizes = re.search(r"index \d+ has size (\d+) and the array at index \d+ has size (\d+)", str(error))
    if sizes:  # arrays that NumPy puts together
        one, other = int(sizes.group(1)), int(sizes.group(2))
        return [(other, one), (one, other)]
    expect = re.search(r"\.?shape\[-?\d+\] == (\d+)\b", str(getattr(error, "expect", "")))
    actual = re.search(r"shape: " + _SHAPE, str(getattr(error, "actual", "")))
    if not expect or not actual:
        return []
    return [(n, int(expect.group(1))) for n in reversed(_numbers(actual.group(1))) if n != int(expect.group(1))]


def _numbers(text):
    return [int(part) for part in re.findall(r"\d+", text)]


def _whole(inputs, arguments, shape, other):
    """An input of one shape with the other: what is compared with the output."""
    for name, spec in inputs.items():
        if isinstance(spec, dict) and spec["shape"] == shape:
            yield dict(inputs, **{name: dict(spec, shape=other)}), arguments


def _rows(inputs, arguments, length):
    """Rows of so many numbers, or whose axes are so many together."""
    for name, spec in inputs.items():
        if isinstance(spec, dict) and spec["dtype"][0] == "f" and spec["shape"]:
            yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:1] + [length])}), arguments


def _as_made(inputs, arguments):
    """Inputs with as many channels as a number that the model is made from, where an error names none."""
    numbers = dict.fromkeys(int(value) for value in arguments.values() if value.isdigit() and 1 < int(value) < _LONGEST)
    for name, spec in inputs.items():
        if isinstance(spec, dict) and spec["dtype"][0] == "f" and len(spec["shape"]) > 1:
            for axis in dict.fromkeys([1, len(spec["shape"]) - 1]):
                for number in numbers:
                    shape = spec["shape"][:axis] + [number] + spec["shape"][axis + 1 :]
                    if shape != spec["shape"]:
                        yield dict(inputs, **{name: dict(spec, shape=shape)}), arguments


def _same_numbers(inputs, arguments, shape):
    """Arguments of a number that an array should have, and no input has, as one that an input has."""
    sides = [n for spec in inputs.values() if isinstance(spec, dict) for n in spec["shape"]]
    for name, value in arguments.items():
        if value.isdigit() and int(value) in shape:
            for side in dict.fromkeys(sides):
                if int(value) != side:
                    yield inputs, dict(arguments, **{name: str(side)})


def _longer(inputs, arguments, index, axis, size):
    """Inputs so long that they have what is asked for."""
    changed = {}
    for name, spec in inputs.items():
        if isinstance(spec, dict) and spec["shape"][axis : axis + 1] == [size] and index < _LONGEST:
            changed[name] = dict(spec, shape=spec["shape"][:axis] + [index + 1] + spec["shape"][axis + 1 :])
    if changed:
        yield dict(inputs, **changed), arguments
        for name in changed if len(changed) > 1 else ():
            yield dict(inputs, **{name: changed[name]}), arguments


def _several(inputs, arguments):
    """Several numbers for one: for all arguments with the name of several, then for each; and several of several."""
    numbers = [name for name, value in arguments.items() if value.isdigit()]
    plural = [name for name in numbers if name.endswith("s")]
    for names in ([plural] if len(plural) > 1 else []) + [[name] for name in plural + numbers]:
        for form in ("[{0}, {0}]", "({0}, {0})"):
            yield inputs, dict(arguments, **{name: form.format(arguments[name]) for name in names})
    for name, value in arguments.items():
        if re.match(r"[\[(]\d+(, \d+)+[\])]$", value):
            yield inputs, dict(arguments, **{name: "[{0}, {0}]".format(value)})
            yield inputs, dict(arguments, **{name: re.sub(r"\d+", "(2,)", value)})
