"""Which module of a port written by hand stands for which link of the original.

A port names its layers as it likes. The mapping is proposed from names, shapes and the order of use, and a table
``[tool.chainer2torch.verify.names]`` settles what is left or what was proposed wrongly.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy
import torch

from chainer2torch.compat.links import link_slots

# What a table says of a parameter of the port: ``attn.in_proj_weight[1/3]`` is the first third of its rows, ``.T``
# transposes.
_TARGET = re.compile(r"(?P<whole>[^\[\]]*?)(?:\[(?P<part>\d+)/(?P<parts>\d+)\])?(?P<transposed>\.T)?$")
_PLACE = re.compile(r"\\{(\w+)\\}")
# Chainer's counter for the fine-tuning of batch normalization; PyTorch has none.
_COUNTERS = frozenset({"N"})


class NamesError(LookupError):
    """Parameters of one side have no counterpart on the other; the message names them and the table to write."""


@dataclasses.dataclass
class Names:
    """Chainer's keys with their places in the module, Chainer's paths of the modules, and how each was found."""

    slots: dict[str, tuple[Any, bool]] = dataclasses.field(default_factory=dict)
    paths: dict[str, str] = dataclasses.field(default_factory=dict)
    how: list[str] = dataclasses.field(default_factory=list)
    # Keys that have no counterpart, as the table says.
    without: list[str] = dataclasses.field(default_factory=list)

    def load(self, entries: Mapping[str, Any]) -> None:
        """Writes Chainer's arrays into the module."""
        for key, (slot, transposed) in self.slots.items():
            array = numpy.asarray(entries[key])
            slot.write(numpy.ascontiguousarray(array.T) if transposed else array)

    def arrays(self, module: torch.nn.Module) -> Iterator[tuple[str, Any]]:
        """The module's parameters and persistent values one by one, under Chainer's keys; ``module`` is the one of the
        match.
        """
        for key, (slot, transposed) in self.slots.items():
            value = slot.read()
            array = None if value is None else numpy.array(value)
            if array is not None and array.dtype.kind in "biuf":
                yield key, array.T if transposed else array


@dataclasses.dataclass
class _Links:
    """One side: keys and shapes by link or module, in the order of use."""

    shapes: dict[str, dict[str, Any]]
    order: list[str]

    def leave_out(self, key: str) -> list[str]:
        """Forgets a link or a parameter; gives the keys."""
        if key in self.shapes:
            return ["/".join(filter(None, (key, last))) for last in self.shapes.pop(key)]
        path, _, last = key.rpartition("/")
        del self.shapes[path][last]
        return [key]


def match(
    entries: Mapping[str, Any],
    calls: Sequence[str],
    model: torch.nn.Module,
    used: Sequence[str],
    table: Mapping[str, str],
) -> Names:
    """Finds the module for each link and the parameter for each key.

    Args:
        entries: Chainer's arrays by key (``conv/W``).
        calls: Paths of Chainer's links (``/conv``) in the order in which they are first called.
        model: The port.
        used: Dotted names of its modules in the order in which they are first called.
        table: By Chainer's name: a link to a module (``conv = "features.0"``), a key to a parameter
            (``"fc/W" = "head.weight"``), which ``.T`` transposes; ``[1/3]`` is the first third of its rows. ``{i}`` in
            both stands for any one name. What has no counterpart has an empty text.

    Raises:
        NamesError: Something has no counterpart, or the table names what is not there.
    """
    places = {
        name: {slot.key: slot for slot in link_slots._own_slots(module)} for name, module in model.named_modules()
    }
    places = {name: slots for name, slots in places.items() if slots}
    shapes: dict[str, dict[str, Any]] = {}
    for key, value in entries.items():
        path, _, last = key.rpartition("/")
        shapes.setdefault(path, {})[last] = numpy.shape(value)
    left = _Links(shapes, _ordered(shapes, [path.strip("/") for path in calls]))
    right = _Links(
        {name: {key: slot.shape for key, slot in slots.items()} for name, slots in places.items()},
        _ordered(places, used),
    )
    names = Names()
    _from_table(names, table, left, right, places, model)
    for path, name, how in [*_proposed(left, right)]:
        for last in left.shapes.pop(path):
            if last in places[name]:
                names.slots["/".join(filter(None, (path, last)))] = (places[name][last], False)
        del right.shapes[name]
        names.paths[name] = "/" + path
        if path != name.replace(".", "/"):
            names.how.append(f"{path or '(the model)'} = {name or '(the model)'}, by {how}")
    _check_rest(left, right)
    return names


def _ordered(known: Mapping[str, Any], used: Sequence[str]) -> list[str]:
    first = [name for name in dict.fromkeys(used) if name in known]
    return first + [name for name in known if name not in first]


def _from_table(
    names: Names,
    table: Mapping[str, str],
    left: _Links,
    right: _Links,
    places: Mapping[str, Mapping[str, Any]],
    model: torch.nn.Module,
) -> None:
    open_parts: dict[tuple[str, str], set[int]] = {}
    for key, target in _each(table, left):
        path, _, last = key.strip("/").rpartition("/")
        if not target and (key.strip("/") in left.shapes or last in left.shapes.get(path, {})):
            names.without += left.leave_out(key.strip("/"))
            names.how.append(f"{key} has no counterpart, by the table")
            continue
        if key.strip("/") in left.shapes:
            if target not in right.shapes:
                raise NamesError(f'names: {key} = "{target}": the port has no module of this name with parameters')
            path = key.strip("/")
            if not _fits(left.shapes[path], right.shapes[target]):
                raise NamesError(
                    f'names: {key} = "{target}": {_words(left.shapes[path])} and {_words(right.shapes[target])}'
                )
            for last in left.shapes.pop(path):
                if last in places[target]:
                    names.slots[f"{path}/{last}"] = (places[target][last], False)
            del right.shapes[target]
            names.paths[target] = "/" + path
        elif last in left.shapes.get(path, {}):
            _one_key(names, key, target, left, right, places, model, open_parts)
        else:
            continue  # of another model
        names.how.append(f"{key} = {target}, by the table")
    for side in (left, right):
        side.shapes = {name: shapes for name, shapes in side.shapes.items() if set(shapes) - _COUNTERS}


def _one_key(
    names: Names,
    key: str,
    target: str,
    left: _Links,
    right: _Links,
    places: Mapping[str, Mapping[str, Any]],
    model: torch.nn.Module,
    open_parts: dict[tuple[str, str], set[int]],
) -> None:
    """A parameter that the table names: a whole one, or some rows of it; it is done when all its parts are."""
    path, _, last = key.strip("/").rpartition("/")
    found = _TARGET.match(target)
    transposed = bool(found and found["transposed"])
    module, _, attribute = (found["whole"] if found else target).rpartition(".")
    own = _own_key(model, module, attribute)
    if own not in right.shapes.get(module, {}):
        raise NamesError(f'names: {key} = "{target}": the port has no parameter of this name')
    shape = left.shapes[path].pop(last)
    theirs, slot = right.shapes[module][own], places[module][own]
    if found and found["part"]:
        part, parts = int(found["part"]), int(found["parts"])
        if not theirs or not theirs[0] or not 0 < part <= parts or theirs[0] % parts:
            raise NamesError(f'names: {key} = "{target}": {_words({own: theirs})} has no such part')
        slot = _rows_of(slot, slice(theirs[0] // parts * (part - 1), theirs[0] // parts * part))
        theirs = slot.shape
        rest = open_parts.setdefault((module, own), set(range(1, parts + 1)))
        rest.discard(part)
        if not rest:
            del right.shapes[module][own]
    else:
        del right.shapes[module][own]
    if not _same(shape[::-1] if transposed else shape, theirs):
        raise NamesError(f'names: {key} = "{target}": {_words({last: shape})} and {_words({own: theirs})}')
    names.slots[key.strip("/")] = (slot, transposed)


def _rows_of(slot: Any, rows: slice) -> Any:
    """Some rows of a parameter as a slot of their own."""

    def read() -> Any:
        value = slot.read()
        return None if value is None else value[rows]

    def write(array: numpy.ndarray) -> None:
        whole = numpy.array(slot.read())
        whole[rows] = array
        slot.write(whole)

    return slot._replace(shape=(rows.stop - rows.start, *slot.shape[1:]), read=read, write=write)


def _each(table: Mapping[str, str], left: _Links) -> Iterator[tuple[str, str]]:
    """The lines of a table; one with ``{i}`` once for each link and key of the original that it fits."""
    known = [*left.shapes, *(f"{path}/{last}".strip("/") for path, keys in left.shapes.items() for last in keys)]
    for key, target in table.items():
        if "{" not in key:
            yield key, target
            continue
        pattern = re.compile(_PLACE.sub(r"(?P<\1>\\w+)", re.escape(key.strip("/"))))
        for name in known:
            found = pattern.fullmatch(name)
            if found:
                yield name, target.format(**found.groupdict())


def _own_key(model: torch.nn.Module, module: str, attribute: str) -> str:
    try:
        return link_slots._names(model.get_submodule(module)).get(attribute, attribute)
    except AttributeError:
        return attribute


def _proposed(left: _Links, right: _Links) -> Iterator[tuple[str, str, str]]:
    """Pairs of what is left, the surest first."""
    links, modules = dict(left.shapes), dict(right.shapes)

    def take(how: str, agree: Callable[[str, str], bool], unique: bool = True) -> Iterator[tuple[str, str, str]]:
        for path in [path for path in left.order if path in links]:
            fits = [
                name
                for name in right.order
                if name in modules and agree(path, name) and _fits(links[path], modules[name])
            ]
            rivals = [
                other for other in links if fits and agree(other, fits[0]) and _fits(links[other], modules[fits[0]])
            ]
            if fits and (not unique or (len(fits) == 1 and len(rivals) == 1)):
                del links[path], modules[fits[0]]
                yield path, fits[0], how

    yield from take("name", lambda path, name: path == name.replace(".", "/"))
    yield from take("its last name", lambda path, name: path.rsplit("/", 1)[-1] == name.rsplit(".", 1)[-1])
    yield from take("shape", lambda path, name: True)
    yield from take("order of use", lambda path, name: True, unique=False)


def _fits(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    keys = {*a, *b} - _COUNTERS
    return all(key in a and key in b and _same(a[key], b[key]) for key in keys)


def _same(a: Sequence[int], b: Sequence[int | None] | None) -> bool:
    return b is None or (len(a) == len(b) and all(y is None or x == y for x, y in zip(a, b, strict=True)))


def _check_rest(left: _Links, right: _Links) -> None:
    rest = [("the original", left.shapes, "/"), ("the port", right.shapes, ".")]
    if not any(shapes for _, shapes, _ in rest):
        return
    texts = []
    for side, shapes, separator in rest:
        words = [
            separator.join(filter(None, (name, key))) + f" {_shape(shape)}"
            for name, keys in shapes.items()
            for key, shape in keys.items()
            if key not in _COUNTERS
        ]
        texts.append(f"of {side}: {', '.join(words) or 'nothing'}")
    raise NamesError(
        "parameters without a counterpart, "
        + "; ".join(texts)
        + '; pyproject.toml can name them: [tool.chainer2torch.verify.names], "fc/W" = "head.weight" '
        '(".T" at the end transposes)'
    )


def _words(shapes: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} {_shape(shape)}" for key, shape in shapes.items() if key not in _COUNTERS)


def _shape(shape: Any) -> str:
    return "?" if shape is None else "x".join("?" if n is None else str(n) for n in shape) or "()"
