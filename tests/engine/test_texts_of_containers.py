"""What is printed of dictionaries, tuples and lists that hold arrays: NumPy's text, at any depth."""

import collections

import numpy as np
import pytest
import torch

from chainer2torch.compat.backend.dispatch import shown
from tests.support.both_sides import both

# what a function prints of y, the array of a Variable of 2 x 3 numbers
PRINTED = {
    "a dictionary": "res = {'loss': y.array[0], 'n': 3}\n    print(res, str(res), '%s' % res)",
    "a dictionary by keywords": "res = dict(loss=y.array[0])\n    print('{}'.format(res), f'{res}')",
    "a dictionary that is filled": "res = {}\n    res['a'] = y.array[1]\n    print(res)",
    "the result of a function": "print(stats(y))",
    "a tuple with a text": "pair = (y.array[0], 'a')\n    print(pair)",
    "a list of pairs": "found = []\n    for v in y.array:\n        found.append((1, v))\n    print(found, found[-1])",
    "a batch": "print(concat_examples([(v, 1) for v in y.array]), concat_examples(unknown(y)))",
    "a batch of a DictDataset": "rows = DictDataset(a=np.eye(2, dtype='f'), b=np.arange(2))\n"
    "    print(sorted(concat_examples([rows[0], rows[1]]).items()), concat_examples([rows[0]]))",
    "nested": "res = {'a': [y.array[0], {'b': (1, y.array[1])}]}\n    print(res)",
    "arrays alone": "both = [y.array[0], y.array[1]]\n    print(both)",
    "an attribute": "log = Log()\n    log.add(y)\n    print(log.kept)",
    "a part of a comprehension": "print([v.shape for v in y][:1])",
    "elements": "print([v.max() for v in y.array], (y.array[0, 1], 'a'), {'m': y.array.mean()})",
    "elements of a list": "print(list(y.array[0]), sorted(y.array[1]), list(zip('ab', y.array[:, 0])))",
    "elements that are kept": "kept = []\n    for v in y.array:\n        kept.append(v.sum())\n    print(kept)",
    "an array without axes": "print([F.sum(y).array], F.sum(y).array)",
    "the shape that a function gives": "s = size_of(y)\n    print(s, size_of(y), '%s' % (s,), sizes(y))",
    "groups": "import itertools\n    for k, g in itertools.groupby(y.array, len):\n        print(k, list(g))",
}
DEFINED = """
from chainer.dataset import concat_examples
from chainer.datasets import DictDataset


def unknown(y):
    return list(filter(None, [(np.ones(2, 'f'), i) for i in range(2)]))


def stats(y):
    return {'m': y.array[0], 's': y.array.shape}


def size_of(y):
    return y.shape


def sizes(y):
    return y.shape, y.array.shape[1:], 3


class Log:
    def __init__(self):
        self.kept = {}

    def add(self, y):
        self.kept['last'] = y.array[0]


"""


@pytest.mark.parametrize("name", PRINTED)
def test_containers_are_printed_as_they_were(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    run = "f(F.relu(chainer.Variable(np.arange(6, dtype='f').reshape(2, 3))))\n"
    both(f"{DEFINED}def f(y):\n    {PRINTED[name]}\n\n\n{run}")
    text = capsys.readouterr().out
    half = text[: len(text) // 2]
    assert half and text == half * 2


def test_shown() -> None:
    x = torch.arange(2)
    assert repr(shown({"a": (x, [x]), "b": 1})) == "{'a': (array([0, 1]), [array([0, 1])]), 'b': 1}"
    assert type(shown([x[0]])[0]) is np.int64
    assert shown(x.shape) == (2,) and type(shown(x.shape)) is tuple
    counted = collections.defaultdict(list, a=[x])
    assert type(shown(counted)) is collections.defaultdict and repr(counted["a"][0]) == repr(x)
