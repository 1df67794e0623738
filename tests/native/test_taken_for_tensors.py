"""Arrays of the host that are handed to methods whose parameters are taken for tensors."""

import numpy as np
import pytest

from tests.support.native_snippets import run

PROGRAM = """
class Base(chainer.Chain):
    def extract(self, x, layer):
        return {call}.array

    def trained(self, step, x):
        return step(self, x)


class Model(Base):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = chainer.links.Linear(2, 3, initialW=np.arange(6, dtype='f').reshape(3, 2))
            self.b = chainer.links.Linear(3, 1, initialW=np.ones((1, 3), 'f'))

    def forward(self, x, until=None):
        h = F.tanh(self.a(x))
        return h if until == 'a' else self.b(h)


class Twice(Model):
    def forward(self, x, until=None):
        return super().forward(x, until) * 2


def run(xs):
    found = []
    for cls in (Model, Twice):
        model = cls()
        x = np.ones((4, 2), 'f')
        found += [model.extract(x, 'a'), model.extract(x, None), eval('model')(chainer.Variable(x)).array]
    return found
"""


@pytest.mark.parametrize(
    "call", ["self.forward(x, until=layer)", "self.forward(x, layer)", "self.forward(x=x, until=layer)"]
)
def test_a_base_calls_what_its_heirs_have(call: str) -> None:
    theirs, ours, code = run(PROGRAM.format(call=call))
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(b), a, rtol=1e-6)
    assert "torch.as_tensor(x)" in code


EITHER = """
class Model(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = chainer.links.Linear(2, 3, initialW=np.arange(6, dtype='f').reshape(3, 2))

    def forward(self, x):
        return F.tanh(self.a(x))

    def aside(self, x):
        return self.forward(x)

    def loss(self, x):
        return F.sum(self.forward(x)) / x.shape[0]


class Updater(chainer.training.StandardUpdater):
    def update_core(self):
        batch = self.converter(self.get_iterator('main').next(), self.device)
        self.get_optimizer('main').update(self.get_optimizer('main').target.loss, batch)
        self.get_optimizer('main').target.loss(batch)


def run(xs):
    model = Model()
    x = np.ones((4, 2), 'f')
    return [model.loss(x).array, model.loss(chainer.Variable(x)).array, eval('model')(chainer.Variable(x)).array]
"""


def test_what_is_an_array_of_the_host_on_some_ways_alone() -> None:
    theirs, ours, code = run(EITHER)
    for a, b in zip(theirs, ours, strict=True):
        np.testing.assert_allclose(np.asarray(b), a, rtol=1e-6)
    assert "self.forward(torch.as_tensor(x))) / x.shape[0]" in code
