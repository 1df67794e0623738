"""Bases of models behind decorators, with announced properties, registries and activations that are attributes."""

import numpy as np
import pytest

from tests.support.native_programs import both

PROGRAM = """
import abc
import six

REGISTRY = {{}}


def register(name):
    def deco(cls):
        REGISTRY[name] = cls
        return cls
    return deco


{head}
    @abc.abstractproperty
    def width(self):
        pass

    @abc.abstractmethod
    def features(self, x):
        pass

    def forward(self, x, t=None):
        y = self.head(self.features(x)) * self.width
        return y if t is None else F.softmax_cross_entropy(y, t, class_weight=self.weight)


@register('rows')
class Rows(Base):
    activation = staticmethod(F.tanh)
    width = 3

    def __init__(self, weight=None):
        super(Rows, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(6, 4, initialW=np.arange(24, dtype='f').reshape(4, 6) / 30)
            self.head = L.Linear(4, 3, initialW=np.arange(12, dtype='f').reshape(3, 4) / 9)
        if weight is not None:
            self.weight = np.asarray(weight, dtype=np.float32)
        else:
            self.weight = weight

    def features(self, x):
        return self.activation(self.fc(x.reshape(len(x), -1)))


def run(options):
    model = REGISTRY['rows'](**options)
    x, t = np.arange(12, dtype='f').reshape(2, 2, 3) / 7, np.array([0, 2], 'i')
    return model(np.zeros((1, 6), 'f')).array.sum(), model(x).array, model(x, t).array
"""
HEADS = [
    "@six.add_metaclass(abc.ABCMeta)\nclass Base(chainer.Chain):",
    "class Base(six.with_metaclass(abc.ABCMeta, chainer.Chain)):",
    "class Base(chainer.Chain, metaclass=abc.ABCMeta):",
]


@pytest.mark.parametrize("options", [{}, {"weight": [0.2, 1.0, 3.0]}])
@pytest.mark.parametrize("head", HEADS)
def test_a_model_whose_base_leaves_everything_to_it(head: str, options: dict[str, object]) -> None:
    theirs, ours, code = both(PROGRAM.format(head=head))
    assert "TODO" not in code, code
    for expected, found in zip(theirs["run"](options), ours["run"](options), strict=True):
        np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-5)
