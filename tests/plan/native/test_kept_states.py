"""Which loops go backward through the state of a recurrent model: none that cuts or resets it."""

import pytest

from tests.support.native_programs import migrated

HEAD = """
import chainer
import chainer.functions as F
import chainer.links as L


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inner = L.{layer}
            self.out = L.Linear(4, 2)

    def forward(self, x):
        return self.out(self.inner(x))

    def begin(self):
        self.inner.reset_state()


def train(rows):
    model = L.Classifier(Net())
    opt = chainer.optimizers.SGD(0.1)
    opt.setup(model)
    model.predictor.begin()
    for x, t in rows:
        {first}
        loss = model(x, t)
        model.cleargrads()
        loss.backward()
        {last}
        opt.update()
"""


@pytest.mark.parametrize(
    ("layer", "first", "last", "kept"),
    [
        ("LSTM(3, 4)", "pass", "pass", True),
        ("StatefulGRU(3, 4)", "pass", "pass", True),
        ("LSTM(3, 4)", "model.predictor.inner.reset_state()", "pass", False),
        ("LSTM(3, 4)", "model.predictor.begin()", "pass", False),  # the method resets it
        ("LSTM(3, 4)", "pass", "loss.unchain_backward()", False),
        ("Linear(3, 4)", "pass", "pass", False),
        ("StatelessLSTM(3, 4)", "pass", "pass", False),
    ],
)
def test_which_steps_keep_the_graphs_of_the_steps_before(layer, first, last, kept):
    begin = "        self.inner.reset_state()" if "State" not in layer[:5] and "Linear" not in layer else "        pass"
    source = HEAD.replace("        self.inner.reset_state()", begin).format(layer=layer, first=first, last=last)
    code = migrated(source, "").code
    assert ("retain_graph=True" in code) is kept and ("step_keeping_graphs" in code) is kept, code


UPDATED = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np
from chainer import training


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.inner = L.{layer}
            self.w = L.Linear(4, 4)
            self.out = L.Linear(4, 2)
        self.h = None

    def forward(self, x):
        {body}


def main(xs, ts):
    model = L.Classifier(Net())
    opt = chainer.optimizers.SGD(0.1)
    opt.setup(model)
    it = chainer.iterators.SerialIterator(chainer.datasets.TupleDataset(np.zeros((4, 3), 'f'), np.zeros(4, 'i')), 2)
    updater = training.StandardUpdater(it, opt)
    trainer = training.Trainer(updater, (2, 'epoch'))
    trainer.run()
"""
FORGETS = "self.inner.reset_state(); return self.out(self.inner(x))"
FIRST = "self.h = np.zeros((len(x), 4), 'f') if self.h is None else self.h"


@pytest.mark.parametrize(
    ("layer", "body", "kept"),
    [
        ("LSTM(3, 4)", "return self.out(self.inner(x))", True),
        ("StatefulGRU(3, 4)", "return self.out(self.inner(x))", True),
        ("LSTM(3, 4)", FORGETS, False),
        ("LSTM(3, 4)", "self.inner.h = self.inner.c = None; return self.out(self.inner(x))", False),
        ("Linear(3, 4)", "return self.out(self.inner(x))", False),
        ("Linear(3, 4)", "self.h = F.relu(self.inner(x)); return self.out(self.h)", False),  # set before it is read
        ("Linear(3, 4)", "self.h = self.inner(x) + (self.w(self.h) if self.h else 0); return self.out(self.h)", True),
        ("Linear(3, 4)", "self.h = self.inner(x) + self.w(self.h); return self.out(self.h)", True),
        ("Linear(3, 4)", "h = self.inner(x) + self.w(self.h); self.h = h.array; return self.out(h)", False),
        ("Linear(3, 4)", "self.h = None; self.h = self.inner(x) + self.w(self.h); return self.out(self.h)", False),
        ("Linear(3, 4)", "self.n, h = 1, self.inner(x); self.h = h if self.n else self.h; return self.out(h)", True),
    ],
)
def test_which_steps_of_an_updater_keep_the_graphs_of_the_steps_before(layer, body, kept):
    code = migrated(UPDATED.format(layer=layer, body=body), "").code
    assert ("retain_graph=True" in code) is kept and ("step_keeping_graphs" in code) is kept, code
