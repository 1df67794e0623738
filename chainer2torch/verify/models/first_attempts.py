"""What is tried first of a model that the code does not tell all about: arrays of several sorts and sizes."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from chainer2torch.verify.models.entries import ModelEntry

_MOST = 60
_LARGE = 128
_SIDES = (32, 28, 33, 64, 96, 128, 224, 227, 256)
_IMAGE = re.compile(r",32,32\]$")
_MAP = re.compile(r"^f32\[\d+,(6[4-9]|[789]\d|\d{3,}),")  # so many channels are no image, and cost much
_ROWS = re.compile(r"^i32\[(\d+),5\]<")
_VECTORS = re.compile(r"^f32\[(\d+,\d+)\]$")
_FLAGS = re.compile(r"^(train|test|is_\w+|use_\w+)$")
_RATES = re.compile(r"ratio$|(^|_)rate$|temperature$")
_SEQUENCES = re.compile(r"s$|seq|sent|word|token|hx")
_LENGTHS = (4, 6, 4)
LABELS = re.compile(r"(^|_)(t|ts|y|ys|gt|labels?|targets?|teacher)(_|\d|$)")


def variants(entry: ModelEntry, side: int | None = None) -> list[ModelEntry]:
    """An entry with inputs of other shapes: images of several sizes (``side`` first: the size that its class names),
    words one by one instead of in rows, rows of vectors instead of vectors. How often a model halves an image, or which
    axes a layer keeps, its code does not say.
    """

    def changed(pattern: re.Pattern[str], text: str) -> list[ModelEntry]:
        inputs = {
            name: pattern.sub(text, array) if isinstance(array, str) else array for name, array in entry.inputs.items()
        }
        return [dataclasses.replace(entry, inputs=inputs)] if inputs != entry.inputs else []

    if any(_is_image(array) for array in entry.inputs.values()):
        # What a class names is often as large as photographs are; the layers may take less.
        first = [64, 96, side] if side is not None and side >= _LARGE else [side or _SIDES[0]]
        if side is None and all(_MAP.match(array) for array in entry.inputs.values() if _is_image(array)):
            first = [8, 16]
        sides = dict.fromkeys([*first, *_SIDES])
        return [
            dataclasses.replace(
                entry,
                inputs={
                    name: _of_side(array, side) if isinstance(array, str) else array
                    for name, array in entry.inputs.items()
                },
            )
            for side in sides
        ]
    return [entry, *changed(_ROWS, r"i32[\1]<"), *changed(_VECTORS, r"f32[2,\1]")]


def _is_image(array: Any) -> bool:
    return isinstance(array, str) and _IMAGE.search(array) is not None


def _of_side(array: str, side: int) -> str:
    """An image of another size; of large ones fewer, but never two: batch normalization makes 1 and -1 of those."""
    if not _IMAGE.search(array):
        return array
    batch = 3 if side >= _LARGE else 4
    return re.sub(r"\[4,", f"[{batch},", _IMAGE.sub(f",{side},{side}]", array))


def attempts(
    target: str,
    made: Sequence[tuple[Sequence[Any], Mapping[str, Any]]],
    known: Mapping[str, str | None],
    side: int | None = None,
) -> list[ModelEntry]:
    """What to try for a model: its constructor arguments, of its inputs those arrays that the code tells, and the size
    of images that its class names.
    """
    found = []
    for inputs in _inputs(known):
        for args, kwargs in made:
            entry = ModelEntry(
                target, args, kwargs, {f"x{i}": spec for i, spec in enumerate(inputs)}, ["train", "eval"], inferred=True
            )
            found.append(entry)
    # Other sizes come after everything else: large images take longest.
    several = [variants(entry, side) for entry in found]
    return [*(some[0] for some in several), *(other for some in several for other in some[1:])][:_MOST]


def _inputs(known: Mapping[str, str | None]) -> Iterator[list[Any]]:
    """Arrays for all inputs: those that are not known are of one sort, labels apart."""
    open_ = [name for name, array in known.items() if array is None]
    if not open_:
        yield list(known.values())
        return
    sorts: list[tuple[Any, list[Any]]] = [
        ("f32[4,3,32,32]", ["i32[4]<2", "i32[4,32,32]<2"]),
        ("f32[4,8]", ["i32[4]<2"]),
        ("i32[4,5]<5", ["i32[4]<2", "i32[4,5]<2"]),
        ([f"i32[{n}]<5" for n in _LENGTHS], [[f"i32[{n}]<2" for n in _LENGTHS], ["i32[1]<2" for _ in _LENGTHS]]),
        ("f32[4,3,32]", ["i32[4]<2"]),
        ([f"f32[{n},8]" for n in _LENGTHS], [["i32[1]<2" for _ in _LENGTHS]]),
    ]
    floats = [array for array in known.values() if array and array.startswith("f32")]
    if floats:
        sorts.insert(0, (floats[0], ["i32[4]<2"]))
    elif all(_SEQUENCES.search(name) for name in open_):
        sorts = [*sorts[3:4], *sorts[5:], *sorts[:3], sorts[4]]
    batch = next((match[1] for array in known.values() if array and (match := re.match(r"\w+\[(\d+)", array))), None)
    for other, labels in sorts:
        if batch is not None and isinstance(other, str):
            other = re.sub(r"\[\d+", f"[{batch}", other)
        for label in labels if any(LABELS.search(name) for name in open_) else labels[:1]:
            if batch is not None and isinstance(label, str):
                label = re.sub(r"\[\d+", f"[{batch}", label)
            yield [
                array
                if array is not None
                else False
                if _FLAGS.search(name)
                else 0.5
                if _RATES.search(name)
                else label
                if LABELS.search(name) and len(known) > 1
                else other
                for name, array in known.items()
            ]
