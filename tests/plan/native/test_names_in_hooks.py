"""A hook that asks for a parameter's name: in the native style the optimizer, which it is given as its rule, tells."""

import pytest
import torch

from chainer2torch.native import links
from tests.support import native_programs

SOURCE = """
class Decay(object):
    name = 'Decay'
    call_for_each_param = True

    def __init__(self, rate):
        self.rate = rate

    def __call__(self, rule, param):
        if param.name not in ('b', 'beta'):
            param.grad += self.rate * param.data


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.a = L.Linear(3, 4, initialW=np.arange(12, dtype='f').reshape(4, 3) / 12)
            self.n = L.LayerNormalization(4)
            self.z = L.Linear(4, 2, initialW=0.25)

    def forward(self, x):
        return self.z(self.n(self.a(x)))


def train(model):
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    optimizer.add_hook(Decay(0.5))
    for i in range(3):
        x = np.arange(12, dtype='f').reshape(4, 3) ** 2 / 50 + i
        model.cleargrads()
        loss = F.sum(model(chainer.Variable(x)) ** 2)
        loss.backward()
        optimizer.update()
    return [float(abs(p.array).sum()) for _, p in sorted(model.namedparams())]
"""


LATE = SOURCE.replace(
    "        loss.backward()\n        optimizer.update()", "        optimizer.update(lambda: loss)"
).replace("optimizer.add_hook", "optimizer.use_auto_new_epoch = True\n    optimizer.add_hook")


def test_an_optimizer_of_chainers_interface_has_told():
    code = native_programs.check(LATE, head=native_programs.HEAD.split("class ")[0])
    assert "optimizer.setup(model)" in code and "compat.name_in_hook(rule, param)" in code


def test_the_hook_knows_biases():
    code = native_programs.check(SOURCE, head=native_programs.HEAD.split("class ")[0])
    assert "compat.name_in_hook(rule, param)" in code and "TODO" not in code


def test_a_parameter_of_two_names_has_none():
    """A tied weight that an optimizer of Chainer's interface knows under two names: none is taken for the other."""
    param = torch.nn.Parameter(torch.zeros(2))
    param._chainer_names = {1: "W", 2: "b"}
    with pytest.raises(AttributeError, match="several modules"):
        links.name_in_hook(None, param)
    param._chainer_names = {1: "W", 2: "W"}
    assert links.name_in_hook(None, param) == "W"
