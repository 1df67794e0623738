# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
"""Links that a model holds and does not register: as a plain attribute, in a list or dictionary, in an object of the
program. Chainer knows nothing of them, so nothing trains them.

Their first values are random on each side, and are made the same here. Where one is held is told in steps, each a pair:
``link`` with the path of a registered link, ``attr`` with a name, ``item`` with a place.
"""

import os
import sys

import chainer
import numpy

from . import wire

# Objects, lists and dictionaries inside of each other.
_DEPTH = 4


def find(model):
    """``(steps to the link, link)`` of each, in a fixed order."""
    known = {id(link) for _, link in model.namedlinks()}  # a program may have a list of this name: ``links``
    found = []
    for path, holder in sorted(model.namedlinks()):
        _search(holder, [["link", path]], known, found, _DEPTH)
    return found


def _search(value, steps, known, found, depth):
    """Adds what ``value`` holds, which is reached by ``steps``."""
    for step, item in _items(value) if depth else ():
        if isinstance(item, chainer.Link):
            if id(item) in known:
                continue
            found.append((steps + [step], item))
            inner = sorted(item.namedlinks())
            known.update(id(link) for _, link in inner)
            for path, link in inner:
                _search(link, steps + [step, ["link", path]], known, found, depth - 1)
        elif id(item) not in known and _holds(item):
            known.add(id(item))  # two objects may know each other
            _search(item, steps + [step], known, found, depth - 1)


def _items(value):
    if isinstance(value, (list, tuple)):
        return [(["item", i], item) for i, item in enumerate(value)]
    if isinstance(value, dict):
        named = [key for key in value if isinstance(key, (str, int)) and not isinstance(key, bool)]
        return [(["item", key], value[key]) for key in sorted(named, key=str)]
    return [(["attr", name], item) for name, item in sorted(vars(value).items())]


def _holds(value):
    """Whether there may be links in it: a list, a table, or an object of a class of the program."""
    if isinstance(value, (list, tuple, dict)):
        return True
    if isinstance(value, (type, chainer.Variable)) or not hasattr(value, "__dict__"):
        return False
    path = getattr(sys.modules.get(type(value).__module__), "__file__", None) or ""
    return os.path.abspath(path).startswith(os.getcwd() + os.sep)


def shapes(model):
    """The shapes of their parameters, by name, once the model has run: many have none before that."""
    return {
        _name(steps, inner): param.shape
        for steps, link in find(model)
        for inner, param in link.namedparams()
        if param.data is not None
    }


def _name(steps, inner):
    return "/".join(str(step) for _, step in steps) + inner


def draw(model, dtype, known):
    """Gives them weights that depend on their names alone; ``known`` are the shapes of those that have none yet."""
    for steps, link in find(model):
        for inner, param in sorted(link.namedparams()):
            name = _name(steps, inner)
            if param.data is None and name in known:
                param.initialize(known[name])
            if param.data is not None:
                rng = numpy.random.RandomState(wire.seed_of(name))
                fan_in = param.size // max(1, len(param.data)) if param.ndim > 1 else 1
                bound = min(0.8, 2 / fan_in**0.5)
                param.data = rng.uniform(-bound, bound, param.shape).astype(numpy.float32).astype(dtype)


def save(case, model, folder):
    """Writes the weights of each, and where it is held, by the names of the files."""
    files = {}
    for number, (steps, link) in enumerate(find(model)):
        if any(True for _ in link.params()):
            file = "{}.held{}.weights.npz".format(case["id"], number)
            chainer.serializers.save_npz(os.path.join(folder, file), link, compression=False)
            files[file] = steps
    return files
