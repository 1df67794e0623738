# ruff: noqa: UP004,UP008,UP010,UP015,UP020,UP025,UP030,UP032,C405,C408
# mypy: ignore-errors
"""Links that a model holds in a list or dictionary of its own: Chainer does not register them, so nothing trains them.

Their first values are random on each side, and are made the same here.
"""

import os

import chainer
import numpy

from . import wire


def find(model):
    """``(path of the link that holds it, attribute, place in there, link)`` of each, in a fixed order."""
    known = {id(link) for _, link in model.namedlinks()}  # a program may have a list of this name: ``links``
    found = []
    for path, holder in sorted(model.namedlinks()):
        for name in sorted(vars(holder)):
            for place, link in _items(vars(holder)[name]):
                if isinstance(link, chainer.Link) and id(link) not in known:
                    known.add(id(link))
                    found.append((path, name, place, link))
    return found


def _items(value):
    if isinstance(value, (list, tuple)):
        return list(enumerate(value))
    return sorted(value.items(), key=str) if isinstance(value, dict) else []


def draw(model, dtype):
    """Gives them weights that depend on their names alone."""
    for path, name, place, link in find(model):
        for inner, param in sorted(link.namedparams()):
            if param.data is not None:
                rng = numpy.random.RandomState(wire.seed_of("{}/{}/{}{}".format(path, name, place, inner)))
                fan_in = param.size // max(1, len(param.data)) if param.ndim > 1 else 1
                bound = min(0.8, 2 / fan_in**0.5)
                param.data = rng.uniform(-bound, bound, param.shape).astype(numpy.float32).astype(dtype)


def save(case, model, folder):
    """Writes the weights of each, and where it is held, by the names of the files."""
    files = {}
    for number, (path, name, place, link) in enumerate(find(model)):
        if any(True for _ in link.params()):
            file = "{}.held{}.weights.npz".format(case["id"], number)
            chainer.serializers.save_npz(os.path.join(folder, file), link, compression=False)
            files[file] = [path, name, place]
    return files
