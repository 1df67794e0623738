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
