"""Parts of files by hand: NpzDeserializer(npz)['part/'].load(link), DictionarySerializer().save(link)."""

import io

import numpy as np
import pytest
import torch

from chainer2torch.compat.serializers.npz_parts import DictionarySerializer, NpzDeserializer
from chainer2torch.compat.serializers.serializers import load_npz
from tests.support.both_sides import both

_PROGRAM = """
import io
from chainer import serializers
from chainer.serializers import npz

class Counted(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, n)
        self.count = 0
    def serialize(self, serializer):
        super().serialize(serializer)
        self.count = serializer('count', self.count)

class Net(chainer.Chain):
    def __init__(self):
        super().__init__(a=L.Linear(2, 3), b=L.BatchNormalization(3), c=Counted(3))

class State:
    n = 0
    def serialize(self, serializer):
        self.n = serializer('n', self.n)
        self.inner = serializer['inner']('m', 2.5)

def filled(net, start):
    for i, (_, p) in enumerate(sorted(net.namedparams())):
        p.array[...] = np.arange(p.size).reshape(p.shape) + start + i
    net.c.count = start
    return net

def values(net):
    return [p.array.copy() for _, p in sorted(net.namedparams())] + [net.b.avg_mean + 0, net.c.count]

def stored(path=''):
    s = serializers.DictionarySerializer(path=path)
    s.save(filled(Net(), 5))
    return s

def saved():
    file = io.BytesIO()
    np.savez(file, **stored('updater/model:main/').target)
    file.seek(0)
    return file

def whole(file):
    net = filled(Net(), 0)
    with np.load(file) as f:
        serializers.NpzDeserializer(f, path='updater/model:main/').load(net)
    return values(net)

def parts(file):
    net = filled(Net(), 0)
    with np.load(file) as f:
        d = npz.NpzDeserializer(f)['/updater/model:main/']
        d['a'].load(net.a)
        d['c/'].load(net.c)
    return values(net)

def ignoring(file, names):
    net = filled(Net(), 0)
    with np.load(file) as f:
        serializers.NpzDeserializer(f, 'updater/model:main/', ignore_names=names).load(net)
    return values(net)

def missing(file, strict):
    net = filled(Net(), 0)
    with np.load(file) as f:
        serializers.NpzDeserializer(f, strict=strict).load(net)
    return values(net)

def any_object():
    state, other, target = State(), State(), {'old': np.zeros(1)}
    state.n = 7
    serializers.DictionarySerializer(target).save(state)
    d = chainer.serializers.NpzDeserializer(target)
    d.load(other)
    return sorted(target), other.n, other.inner, d('n', 0), sorted(stored().target)

def by_parts():
    s, net, n = serializers.DictionarySerializer(), filled(Net(), 5), State()
    s['model'].save(net)
    s['model/']['again'].save(net.a)
    s['state'].save(n)
    other = Net()
    serializers.NpzDeserializer(s.target)['model'].load(other)
    return sorted(s.target), [v.tolist() for v in values(other)[:-1]]

def never_filled():
    s = serializers.DictionarySerializer()
    s.save(L.Linear(None, 2))
    link = L.Linear(None, 2)
    serializers.NpzDeserializer(s.target).load(link)
    return sorted(s.target), link.W.array is None
"""


@pytest.fixture(scope="module")
def sides():
    return both(_PROGRAM)


def _same(ours, theirs):
    assert len(ours) == len(theirs)
    for value, expected in zip(ours, theirs, strict=True):
        np.testing.assert_array_equal(np.asarray(value), np.asarray(expected))


@pytest.mark.parametrize(
    "call",
    [
        "whole(file)",
        "parts(file)",
        "ignoring(file, 'updater/model:main/a/W')",
        "missing(file, False)",
        "ignoring(file, [lambda key: key.endswith('/b'), 'updater/model:main/c/count'])",
    ],
)
def test_parts_of_a_file(sides, call):
    files = [eval("saved()", side) for side in sides]
    for file in files:  # each side reads what the other wrote
        results = []
        for side in sides:
            file.seek(0)
            results.append(eval(call, {**side, "file": file}))
        _same(results[1], results[0])
    original = sides[0]
    untouched = original["values"](original["filled"](original["Net"](), 0))
    assert ("missing" in call) is all(np.array_equal(a, b) for a, b in zip(results[0], untouched, strict=True))


def test_a_missing_key_is_an_error(sides):
    for side in sides:
        with pytest.raises(KeyError):
            side["missing"](side["saved"](), True)


def test_objects_and_parameters_without_values(sides):
    for name in ("any_object", "by_parts", "never_filled"):
        assert sides[1][name]() == sides[0][name]()


def test_nothing_is_unpickled():
    file = io.BytesIO()
    np.savez(file, weight=np.array({"a": 1}, dtype=object), W=np.array(None), b=np.zeros(2, "f"))
    file.seek(0)
    with np.load(file) as npz:
        reader = NpzDeserializer(npz)
        assert reader("W", 3) is None
        with pytest.raises(ValueError, match="pickled"):
            reader("weight", None)
        assert torch.equal(reader("b", torch.ones(2)), torch.zeros(2))


def test_a_dictionary_is_what_load_npz_reads():
    layer = torch.nn.Linear(2, 3)
    serializer = DictionarySerializer()
    serializer["part"].entries.update(part=np.zeros(1))
    serializer.save(layer)
    file = io.BytesIO()
    np.savez(file, **serializer.target)
    file.seek(0)
    other = torch.nn.Linear(2, 3)
    load_npz(file, other, allow_extra=True)
    assert torch.equal(other.weight, layer.weight) and torch.equal(other.bias, layer.bias)
