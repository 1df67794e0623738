"""Functions of version 1 whose Variables are all volatile: plain tensors under ``@torch.no_grad()``."""

import sys
import types
from unittest import mock

import numpy as np
import pytest
import torch

from tests.support.native_snippets import migrated

MODEL = """
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(l=L.Linear(3, 2))

    def __call__(self, x):
        return F.relu(self.l(x))

    def predict(self, data):
        x = chainer.Variable(data, volatile={flag})
        {more}
        return self(x)
"""


@pytest.mark.parametrize("flag", ["True", "'on'", "'ON'"])
def test_a_function_without_a_graph(flag):
    code = migrated(MODEL.format(flag=flag, more="self.last = x.data")).code
    assert "    @torch.no_grad()\n    def predict(self, data):\n        x = torch.as_tensor(data)" in code
    program: dict = {}
    with mock.patch.dict(sys.modules, chainer_compat=types.ModuleType("chainer_compat")):
        exec(compile(code, "<migrated>", "exec"), program)
    net, x = program["Net"](), np.ones((2, 3), "f")
    y = net.predict(x)
    assert not y.requires_grad and net(torch.from_numpy(x)).requires_grad
    np.testing.assert_array_equal(y.numpy(), net(torch.from_numpy(x)).detach().numpy())


@pytest.mark.parametrize(
    ("flag", "more"),
    [
        ("not train", "pass"),  # known when the program runs
        ("'off'", "pass"),
        ("True", "y = chainer.Variable(data)"),  # a graph beside it
        ("True", "self.l(x).backward()"),
        ("True", "train(x)"),  # also where another function does so
        ("True", "yield x"),  # it would end with the first value
        ("True", "print(x.volatile)"),
        # the Variable leaves the function, and what follows has no graph
        ("True", "self.state = x"),
        ("True", "self.lstm.set_state(x)"),
        ("True", "self.state = chainer.Variable(data, volatile='on')"),
        ("True", "if data is None: return x, 1"),
    ],
)
def test_others_keep_the_flag(flag, more):
    text = "train = False\n" + MODEL.format(flag=flag, more=more)
    text += "\n\ndef train(x):\n    go(x)\n\n\ndef go(x):\n    F.sum(x).backward()\n"
    assert "no_grad" not in migrated(text).code


TRAINED = """
from chainer import training


class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__(l=chainer.links.Linear(3, 2))

    def __call__(self, x):
        return F.sum(self.l(x))


def go(run):
    run()


{before}


def main(rows):
    net = Net()
    opt = chainer.optimizers.SGD()
    opt.setup(net)
    updater = training.StandardUpdater(chainer.iterators.SerialIterator(rows, 2), opt)
    trainer = training.Trainer(updater, (1, 'epoch'))
    {runs}
    y = net(chainer.Variable(np.ones((1, 3), 'f'), volatile={flag}))
    print(y.data)
"""


@pytest.mark.parametrize("flag", ["True", "'on'"])
@pytest.mark.parametrize(
    ("before", "runs"),
    [
        ("", "trainer.run()"),
        ("", "go(trainer.run)"),
        ("def steps(trainer):\n    trainer.run()", "steps(trainer)"),
        ("def step():\n    F.sum(Net()(np.ones((1, 3), 'f'))).backward()", "go(step)"),
        ("def make(updater):\n    return make_trainer(updater)", "make(updater).run()"),
    ],
)
def test_a_function_that_trains_by_another_object_records_its_graphs(flag, before, runs):
    assert "no_grad" not in migrated(TRAINED.format(flag=flag, before=before, runs=runs)).code
    assert "no_grad" in migrated(TRAINED.format(flag=flag, before=before, runs="pass")).code


def test_decorators_stay_above():
    text = MODEL.format(flag="True", more="pass").replace(
        "    def predict(self", "    @staticmethod\n    def predict(self"
    )
    assert "    @staticmethod\n    @torch.no_grad()\n    def predict(self" in migrated(text).code
    text = text.replace("@staticmethod", "@property")
    assert "no_grad" not in migrated(text).code
