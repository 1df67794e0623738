"""What the search for a model's inputs tries of images, films and cubes of other sizes.

An input is as in ``search_values``. Written for Python 3.6.
"""

# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
import math
import re

SIDES = (32, 28, 64, 96, 128, 224, 227, 256, 299, 300, 512, 473, 16, 8, 4, 1)
_ODD = (17, 33, 65, 75, 139)
_MANY_CHANNELS = 32  # what has so many is no image
_VERY_MANY_CHANNELS = 64
_LARGEST_CUBE = 64
_STRIDES = (8, 16, 4, 32, 2)
_LEAST, _LEAST_BOARD = 8, 2
_LEAST_GREY = 16  # rows of fewer numbers are a sequence
_LARGEST_MAP = 65  # the side of what a Linear gets
_LONGEST_MAP = 257  # the longer side of what is no square
_LENGTHS = (16, 64, 256, 1024)


def is_image(spec):
    """An image, also a grey one without channels, or a film of them."""
    if not isinstance(spec, dict) or len(spec["shape"]) < 3 or spec["shape"][-2] != spec["shape"][-1]:
        return False
    return len(spec["shape"]) in (4, 5) or len(spec["shape"]) == 3 and spec["shape"][-1] >= _LEAST_GREY


def other_sides(inputs, arguments, larger=False, named=None):
    """The same with images of other sizes, the one that the class names first, or of larger ones alone."""
    images = [spec["shape"][-1] for spec in inputs.values() if is_image(spec)]
    if images:
        sides = sorted(n for n in SIDES if n > min(images)) if larger else SIDES
        for side in ([named] if named else []) + [n for n in sides if n != named]:
            yield (
                {
                    name: dict(spec, shape=spec["shape"][:-2] + [side, side]) if is_image(spec) else spec
                    for name, spec in inputs.items()
                },
                arguments,
            )
            cubes = {n: _cube(s, side) for n, s in inputs.items() if is_image(s) and len(s["shape"]) == 5}
            if cubes and side <= _LARGEST_CUBE:
                yield dict(inputs, **cubes), arguments


def _cube(spec, side):
    return dict(spec, shape=spec["shape"][:2] + [side] * 3)


def repaired(inputs, arguments, text, error):
    """Larger images where nothing is left of them, smaller ones where an attempt ran too long."""
    if "should be positive" in text:
        yield from other_sides(inputs, arguments, larger=True)
        yield from _grey(inputs, arguments)
    if "should be positive" in text or isinstance(error, AssertionError):  # one of the program's own, of a length
        yield from _longer(inputs, arguments)
    if "it ran for more than" in text or isinstance(error, MemoryError):
        yield from _quicker(inputs, arguments)


def _grey(inputs, arguments):
    """Images without channels in the place of rows of numbers."""
    for name, spec in inputs.items():
        if isinstance(spec, dict) and len(spec["shape"]) == 3 and spec["dtype"] == "float32" and not is_image(spec):
            for side in (32, 64):
                yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:1] + [side, side])}), arguments


def _longer(inputs, arguments):
    """Longer sequences of words or signals, or more points, where convolutions and pooling leave nothing of them."""
    for length in _LENGTHS:
        changed = {
            name: dict(spec, shape=spec["shape"][:-1] + [length])
            for name, spec in inputs.items()
            if isinstance(spec, dict)
            and spec["shape"][-1:] < [length]
            and (len(spec["shape"]) == 3 or len(spec["shape"]) == 2 and spec["dtype"].startswith("int"))
        }
        if changed:
            yield dict(inputs, **changed), arguments
        points = {
            name: dict(spec, shape=spec["shape"][:2] + [length, 1])
            for name, spec in inputs.items()
            if isinstance(spec, dict) and spec["shape"][3:] == [1] and spec["shape"][2] < length
        }
        if points:
            yield dict(inputs, **points), arguments


def _quicker(inputs, arguments):
    """Much smaller images and cubes, where an attempt ran too long."""
    images = [name for name, spec in inputs.items() if is_image(spec)]
    sides = [inputs[name]["shape"][-1] for name in images]
    for side in (16, 8, 4, 1):
        if sides and side < min(sides):
            shapes = {n: inputs[n]["shape"] for n in images}
            changed = {
                n: dict(inputs[n], shape=s[:2] + [side] * 3 if len(s) == 5 else s[:2] + [side] * 2)
                for n, s in shapes.items()
            }
            yield dict(inputs, **changed), arguments


def light(shape):
    """The shape of a small map where one of an image has many channels, which cost much."""
    if len(shape) == 4 and shape[1] >= _VERY_MANY_CHANNELS and shape[2] == shape[3] >= 32:
        return shape[:2] + [8, 8]
    return None


def by_area(inputs, arguments, a, b):
    """Images of other sides, where what a layer gets of them differs by a square: 512 in place of 512 * 7 * 7.

    Maps are smaller than images by a factor, or by that and an edge, which convolutions without padding take.
    """
    common = math.gcd(a, b)
    ours, wanted = (round((n // common) ** 0.5) if common else 0 for n in (a, b))
    if 0 in (ours, wanted) or ours == wanted or ours**2 * common != a or wanted**2 * common != b:
        yield from _rectangles(inputs, arguments, a, b)
        return
    for name, spec in inputs.items():
        if is_image(spec):
            side = spec["shape"][-1]
            sides = [side * wanted // ours] if side * wanted % ours == 0 else []
            sides += [side + times * stride * (wanted - ours) for times in (1, 2) for stride in _STRIDES]
            # Nothing makes the board of a game smaller but edges: it may have four fields.
            boards = [side + times * (wanted - ours) for times in (1, 2, 3, 4)]
            for other in sorted({*sides, *boards}, key=[*sides, *boards].index):
                if (_LEAST if other not in boards else _LEAST_BOARD) <= other <= max(SIDES):
                    yield dict(inputs, **{name: dict(spec, shape=spec["shape"][:-2] + [other, other])}), arguments


def _rectangles(inputs, arguments, a, b):
    """Images with two sides, where what a layer gets of them is no square: 64 * 7 * 10 in place of 64 * 2 * 2."""
    common = math.gcd(a, b)
    for ours in range(1, _LARGEST_MAP if common else 0):
        channels, rest = divmod(a, ours**2)
        if rest or channels < _LEAST or common % channels:
            continue
        area = b // channels
        pairs = [(n, area // n) for n in range(2, area + 1) if area % n == 0 and n <= area // n < _LONGEST_MAP]
        for low, high in pairs[::-1][:2]:
            for stride in _STRIDES:
                for one, other in dict.fromkeys([(low, high), (high, low)]):
                    sides = [stride * (n - ours) for n in (one, other)]
                    yield from _added(inputs, arguments, sides)


def _added(inputs, arguments, sides):
    for name, spec in inputs.items():
        if is_image(spec) and len(spec["shape"]) == 4:
            shape = spec["shape"][:2] + [n + more for n, more in zip(spec["shape"][2:], sides)]
            if all(_LEAST <= n <= max(SIDES) for n in shape[2:]):
                yield dict(inputs, **{name: dict(spec, shape=shape)}), arguments


def as_arguments(inputs, arguments):
    """Images with a side, or both, of a number that the model is made from: ``max_sentence_len=20``."""
    texts = [number for value in arguments.values() for number in re.findall(r"\b\d+\b", value)]
    numbers = [n for n in dict.fromkeys(map(int, texts)) if 1 < n <= max(SIDES)]
    for name, spec in inputs.items():
        if isinstance(spec, dict) and len(spec["shape"]) == 4 and spec["dtype"][0] == "f":
            top, (height, width) = spec["shape"][:2], spec["shape"][2:]
            for number in numbers:
                for sides in ([number, width], [height, number], [number, number]):
                    if sides != [height, width]:
                        yield dict(inputs, **{name: dict(spec, shape=top + sides)}), arguments


def uneven(inputs, arguments):
    """Images of odd sides, where branches with and without padding give maps that differ by one."""
    images = [name for name, spec in inputs.items() if is_image(spec)]
    for side in _ODD if images else ():
        together = {n: dict(inputs[n], shape=inputs[n]["shape"][:-2] + [side, side]) for n in images}
        yield dict(inputs, **together), arguments


def two_examples(inputs):
    """The same with two examples, where all inputs have more, as many of each; else None."""
    specs = list(inputs.values())
    if not specs or not all(isinstance(spec, dict) and spec["shape"] for spec in specs):
        return None
    if len({spec["shape"][0] for spec in specs}) > 1 or specs[0]["shape"][0] not in (3, 4):
        return None
    return {name: dict(spec, shape=[2] + spec["shape"][1:]) for name, spec in inputs.items()}


def smaller(inputs):
    """The same with images and films of half the side and less, the smallest first; many channels may be small maps."""
    images = {name: spec for name, spec in inputs.items() if is_image(spec)}
    sides = {spec["shape"][-1] for spec in images.values()}
    least = 8 if images and all(spec["shape"][1] >= _MANY_CHANNELS for spec in images.values()) else 16
    side = max(sides) if len(sides) == 1 else 0
    for less in [side // n for n in (4, 2) if side % (2 * n) == 0 and side // n >= least]:
        changed = {n: dict(s, shape=[less if axis == side else axis for axis in s["shape"]]) for n, s in images.items()}
        yield dict(inputs, **changed)
