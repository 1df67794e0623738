"""Links with a serialize() of their own: the same files as in Chainer, and the same values back.

They ask a serializer in both ways: by ``serializer(key, value)`` (its ``__call__``) and ``serializer[name]``
(``__getitem__``).
"""

import io

import numpy as np
import pytest
import torch
import torch.nn as nn

from chainer2torch import weights
from chainer2torch.compat.links.link_serialize import serialize_link
from chainer2torch.compat.serializers.serializers import load_npz, save_npz
from tests.support.both_sides import both

_MODELS = """
import io

class Average(chainer.Chain):
    def __init__(self, n):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(n, n)
        self.count = 0
        self.mean = np.zeros(n, 'f')
        self.best = None
        self.tag = 'x'
        self.h = self.xp.zeros(n, dtype='f')

    def serialize(self, serializer):
        super(Average, self).serialize(serializer)
        self.count = serializer('count', self.count)
        self.mean = serializer('mean', self.mean)
        self.best = serializer('best', self.best)
        self.tag = serializer('tag', self.tag)
        self.h = serializer('state/h', self.h)
        part = serializer['part']
        self.rate = part('rate', 0.5)

    def forward(self, x):
        self.count += 1
        y = self.l(x)
        self.h = self.h + F.mean(y, axis=0).array
        self.mean = 0.9 * self.mean + 0.1 * np.ones(3, 'f')
        if self.count > 1:
            self.best = 3.5
        return y

class More(Average):
    def __init__(self, n):
        super().__init__(n)
        self.k = 1.5

    def serialize(self, serializer):
        super().serialize(serializer)
        self.k = serializer('k', self.k)

class Bag(chainer.ChainList):
    def serialize(self, serializer):
        super().serialize(serializer)
        self.n = serializer('n', len(self))

class Conv(L.Convolution2D):
    def serialize(self, serializer):
        super().serialize(serializer['inner'])

class Only(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 3)
        self.left_out = 3

    def serialize(self, serializer):
        self.l.serialize(serializer['part'])

def make():
    return chainer.Chain(a=Average(3), m=More(3), b=Bag(L.Linear(2, 2), More(2)), c=Conv(1, 2, 3),
                         n=L.NStepLSTM(1, 2, 3, 0.0), o=Only())

def used(x):
    net = make()
    net.a(x), net.a(x), net.m(x)
    net.m.k = 7.5
    net.m.tag = 'long'
    file = io.BytesIO()
    chainer.serializers.save_npz(file, net)
    return file

def loaded(file):
    net = make()
    file.seek(0)
    chainer.serializers.load_npz(file, net)
    return net

def part(file):
    net = More(3)
    file.seek(0)
    chainer.serializers.load_npz(file, net, path='m/')
    return net
"""
X = np.random.RandomState(0).randn(2, 3).astype("f")


def _numbers(net):
    return {
        f"{name}.{key}": getattr(link, key)
        for name, link in (("a", net.a), ("m", net.m))
        for key in ("count", "mean", "best", "tag", "h", "rate")
    } | {"k": net.m.k, "n": net.b.n}


def _entries(file):
    file.seek(0)
    with np.load(file, allow_pickle=True) as stored:
        return {key: stored[key] for key in stored.files}


def _same(ours, theirs):
    assert ours.keys() == theirs.keys()
    for key, value in theirs.items():
        value = ours[key], value
        assert all(v is None for v in value) or np.array_equal(*(np.asarray(v) for v in value)), key


def test_files_of_both_sides_are_the_same():
    original, migrated = both(_MODELS)
    theirs = original["used"](X)
    ours = io.BytesIO()
    save_npz(ours, migrated["loaded"](theirs))
    _same(_entries(ours), _entries(theirs))
    keys = {"a/count", "a/state/h", "m/part/rate", "m/k", "b/n", "b/1/k", "c/inner/W", "o/part/W"}
    assert keys <= _entries(ours).keys()
    assert "o/l/W" not in _entries(ours)
    _same(_numbers(migrated["loaded"](theirs)), _numbers(original["loaded"](theirs)))
    assert isinstance(migrated["loaded"](theirs).a.h, torch.Tensor)
    # and back: Chainer reads what PyTorch wrote
    _same(_numbers(original["loaded"](ours)), _numbers(original["loaded"](theirs)))
    np.testing.assert_array_equal(migrated["part"](theirs).l.weight.detach(), original["part"](theirs).l.W.array)
    assert migrated["part"](theirs).k == 7.5
    assert "compat.serialize_link(self, serializer)" in migrated["__code__"]


def test_own_files():
    _, migrated = both(_MODELS)
    file = migrated["used"](torch.as_tensor(X))
    net = migrated["loaded"](file)
    assert (net.a.count, net.m.count, net.a.best, net.m.best, net.m.tag) == (2, 1, 3.5, None, "long")


_TRAINED = """
import os
from chainer import training
from chainer.training import extensions

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(3, 2, initialW=0.1)
        self.seen = 0
        self.mean = np.zeros(3, 'f')

    def serialize(self, serializer):
        super().serialize(serializer)
        self.seen = serializer('seen', self.seen)
        self.mean = serializer('mean', self.mean)

    def forward(self, x, t):
        self.seen += len(x)
        self.mean = self.mean * 0.5 + np.full(3, self.seen, 'f')
        return F.softmax_cross_entropy(self.l(x), t)

def trainer(model, out, n):
    data = [(np.arange(3, dtype='f') * i, np.int32(i % 2)) for i in range(6)]
    iterator = chainer.iterators.SerialIterator(data, 2, shuffle=False)
    optimizer = chainer.optimizers.Adam().setup(model)
    result = training.Trainer(training.StandardUpdater(iterator, optimizer), (n, 'iteration'), out=out)
    result.extend(extensions.snapshot(filename='saved'), trigger=(2, 'iteration'))
    return result

def run(out):
    trainer(Net(), out, 2).run()
    model = Net()
    resumed = trainer(model, out, 4)
    chainer.serializers.load_npz(os.path.join(out, 'saved'), resumed)
    before = model.seen, model.mean.copy()
    resumed.run()
    return [*before, model.seen, model.mean]
"""


def test_snapshots_of_a_trainer(tmp_path):
    original, migrated = both(_TRAINED)
    values = {}
    for name, side in (("chainer", original), ("torch", migrated)):
        (tmp_path / name).mkdir()
        values[name] = side["run"](str(tmp_path / name))
    assert [np.asarray(v).tolist() for v in values["torch"]] == [np.asarray(v).tolist() for v in values["chainer"]]
    assert values["torch"][0] == 4 and values["torch"][2] == 8


class _Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LazyLinear(2)
        self.n, self.mean = 3, np.ones(2, "f")

    def serialize(self, serializer):
        serialize_link(self, serializer)
        self.n = serializer("n", self.n)
        self.mean = serializer("mean", self.mean)


@pytest.mark.parametrize(
    "change, error, said",
    [
        ({"n": None}, KeyError, "n is not in the file"),
        ({"mean": np.ones(3, "f")}, ValueError, "mean has shape"),
        ({"n": np.ones(2)}, ValueError, "n has shape"),
        ({"more": np.ones(2)}, ValueError, "more is in the file"),
    ],
)
def test_bad_files_change_nothing(tmp_path, change, error, said):
    module = _Counting()
    module.l(torch.zeros(1, 3))
    entries = {
        "l/W": np.zeros((2, 3), "f"),
        "l/b": np.zeros(2, "f"),
        "n": np.int64(8),
        "mean": np.zeros(2, "f"),
        **change,
    }
    np.savez(tmp_path / "file.npz", **{key: value for key, value in entries.items() if value is not None})
    before = module.l.weight.detach().clone()
    with pytest.raises(error, match=said):
        load_npz(str(tmp_path / "file.npz"), module)
    assert module.n == 3 and module.mean.tolist() == [1, 1] and torch.equal(module.l.weight, before)


def test_lazy_layers_and_ignored_keys(tmp_path):
    module = _Counting()
    np.savez(
        tmp_path / "file.npz",
        **{"l/W": np.ones((2, 3), "f"), "l/b": np.zeros(2, "f"), "n": np.int64(8), "mean": np.zeros(2, "f")},
    )
    load_npz(str(tmp_path / "file.npz"), module, ignore_names="n")
    assert module.n == 3 and module.mean.tolist() == [0, 0] and module.l.weight.tolist() == [[1] * 3] * 2


def test_formats_without_a_place_for_such_values(tmp_path):
    module = _Counting()
    module.l(torch.zeros(1, 3))
    with pytest.raises(weights.WeightsError, match="n is saved by a serialize\\(\\) of the model"):
        weights.write(module, tmp_path / "w.pt")
    assert not list(tmp_path.iterdir())
    assert weights.write(module, tmp_path / "w.npz") == ["l/W", "l/b", "mean", "n"]


_BRANCHES = """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l = L.Linear(2, 2)
        self.words = ['a', 'b']
        self.old = 0

    def serialize(self, serializer):
        super().serialize(serializer)
        if isinstance(serializer, chainer.Serializer):
            serializer('words', ','.join(self.words))
        else:
            self.words = serializer('words', '').split(',')
            self.old = serializer('old', 1)

def run(path):
    net, other = Net(), Net()
    net.words = ['x', 'y', 'z']
    chainer.serializers.save_npz(path, net)
    chainer.serializers.load_npz(path, other, strict=False)
    return other.words, other.old
"""


def test_saving_and_loading_ask_for_other_keys(tmp_path):
    original, migrated = both(_BRANCHES)
    found = [side["run"](str(tmp_path / f"{i}.npz")) for i, side in enumerate((original, migrated))]
    assert found[0] == found[1] == (["x", "y", "z"], 1)
    net = migrated["Net"]()
    entries = {"l/W": np.zeros((2, 2), "f"), "l/b": np.zeros(2, "f"), "words": "q", "old": np.int64(7)}
    np.savez(tmp_path / "old.npz", **entries)
    with pytest.raises(ValueError, match="old is in the file"):
        load_npz(str(tmp_path / "old.npz"), net)
    load_npz(str(tmp_path / "old.npz"), net, allow_extra=True)
    assert (net.words, net.old) == (["q"], 7)
