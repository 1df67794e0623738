"""Everything random in lockstep: both frameworks get the same masks and noise, so train mode compares exactly."""

import pytest

from chainer2torch.verify.models.verify_models import ModelEntry, verify_models
from chainer2torch.verify.judge.outcome import PASSED
from chainer2torch.verify.script.verify_script import verify_script
from tests.support import model_batch

HEAD = """
import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L
import numpy as np


class Stack(chainer.Chain):
    def __init__(self, kind, dropout):
        super(Stack, self).__init__()
        with self.init_scope():
            if kind == "lstm":
                self.rnn = L.NStepLSTM(3, 4, 5, dropout)
            else:
                self.rnn = L.NStepBiLSTM(2, 4, 5, dropout)

    def forward(self, xs):
        hy, cy, ys = self.rnn(None, None, xs)
        return F.dropout(hy, 0.2), cy, F.concat(ys, axis=0)


class Gated(chainer.Chain):
    def __init__(self):
        super(Gated, self).__init__()
        with self.init_scope():
            self.gru = L.NStepGRU(2, 4, 4, 0.4)
            self.bi = L.NStepBiGRU(2, 4, 4, 0.4)
            self.tanh = L.NStepRNNTanh(2, 8, 4, 0.4)
            self.relu = L.NStepBiRNNReLU(2, 4, 4, 0.4)

    def forward(self, xs):
        _, ys = self.gru(None, xs)
        _, ys = self.bi(None, ys)
        _, ys = self.tanh(None, ys)
        hy, ys = self.relu(None, ys)
        return hy, F.concat(ys, axis=0)


class Noises(chainer.Chain):
    def __init__(self):
        super(Noises, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(4, 4)
            self.drop = L.SimplifiedDropconnect(4, 4, 0.3)

    def forward(self, x):
        h = self.fc(F.dropout(x, 0.3))
        h = F.rrelu(h) + F.gaussian(h, h * 0.1)
        h = F.zoneout(h, self.drop(h), 0.4)
        h = h * np.random.uniform(0.5, 1.5, (1, 4)).astype("f")
        return F.gumbel_softmax(h, 0.5), F.dropout(h, 0.0), F.dropout(h, 0.5)


class Samples(chainer.Chain):
    def __init__(self):
        super(Samples, self).__init__()
        with self.init_scope():
            self.fc = L.Linear(4, 4)

    def forward(self, x):
        h = self.fc(x)
        one = F.exp(0.1 * h)
        return (D.Normal(h, one).sample(), D.LogNormal(h * 0.1, one).sample(), D.Uniform(low=h, high=h + one).sample(3),
                D.Exponential(one).sample(), D.Cauchy(h, one).sample(), D.Gumbel(h, one).sample(),
                F.dropout(h, 0.5), np.random.rand(3))


class Sampled(chainer.Chain):
    def __init__(self):
        super(Sampled, self).__init__()
        with self.init_scope():
            self.negative = L.NegativeSampling(4, [3, 2, 5, 1, 4], 2)
            self.black = L.BlackOut(4, [3, 2, 5, 1, 4], 3)

    def forward(self, x, t):
        return self.negative(F.dropout(x, 0.2), t) + self.black(x, t)
"""
SEQUENCES = {"xs": ["f32[3,4]", "f32[5,4]", "f32[3,4]", "f32[1,4]", "f32[5,4]"]}
MODELS = {
    "lstm": ("Stack", ["lstm", 0.3], SEQUENCES),
    "two directions": ("Stack", ["bi", 0.3], SEQUENCES),
    "no dropout": ("Stack", ["lstm", 0.0], SEQUENCES),
    "gated": ("Gated", [], SEQUENCES),
    "noises": ("Noises", [], {"x": "f32[6,4]"}),
    "samples": ("Samples", [], {"x": "f32[6,4]"}),
    "sampled": ("Sampled", [], {"x": "f32[6,4]", "t": "i32[6]<5"}),
}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("noise")
    model_batch.migrated(folder, HEAD)
    (folder / "original" / "pyproject.toml").write_text("")
    # One class several times: the arguments tell the entries apart.
    entries = {
        name: ModelEntry(f"net:{cls}", args, {}, inputs, ["train"]) for name, (cls, args, inputs) in MODELS.items()
    }
    report = verify_models(folder / "original", folder / "out", entries=list(entries.values()), steps=2, timeout=200)
    assert report.problems == []
    return {name: [o for o in report.outcomes if o.pair.chainer == entry.text()] for name, entry in entries.items()}


@pytest.mark.parametrize("name", MODELS)
def test_train_mode_is_equal_number_by_number(results, name):
    assert len(results[name]) == 2
    for outcome in results[name]:
        assert outcome.status == PASSED and outcome.compared > 5, (outcome.pair.label, outcome.reasons)


SCRIPT = """
import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L
import numpy as np


model = L.Linear(3, 2)
optimizer = chainer.optimizers.SGD(0.1)
optimizer.setup(model)
for i in range(4):
    h = F.dropout(model(np.random.rand(5, 3).astype("f")), 0.3)
    noise = DRAW
    loss = F.sum(F.sigmoid(h) * noise)
    model.cleargrads()
    loss.backward()
    optimizer.update()
"""


@pytest.mark.parametrize(
    "draw, equal",
    [
        ("D.Independent(D.Normal(np.zeros((5, 2), 'f'), np.ones((5, 2), 'f'))).sample()", True),
        ("D.Gamma(np.ones((5, 2), 'f'), np.ones((5, 2), 'f')).sample()", False),
    ],
)
def test_samples_in_a_script(tmp_path, draw, equal):
    """What each framework draws in its own way is named, and does not disturb the batches of the script."""
    model_batch.migrated(tmp_path, SCRIPT.replace("DRAW", draw))
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=200, float64=False)
    text = "\n".join(report.lines())
    assert report.ok == equal, text
    assert ("samples of Gamma are drawn in another way" in text) != equal
    assert "samples of Independent" not in text


BPTT = (
    HEAD.partition("class Stack")[0]
    + '''class Cell(chainer.Chain):
    """A cell whose state the training loop holds: the steps before the cut are let go there."""

    def __init__(self):
        super(Cell, self).__init__()
        with self.init_scope():
            self.x = L.Linear(3, 8)
            self.h = L.Linear(2, 8, nobias=True)
            self.out = L.Linear(2, 3)

    def forward(self, state, x):
        c, h = F.lstm(state[0], self.x(x) + self.h(state[1]))
        return (c, h), self.out(F.dropout(h, 0.3))


model = Cell()
optimizer = chainer.optimizers.MomentumSGD(0.1, 0.8).setup(model)
optimizer.add_hook(chainer.optimizer_hooks.GradientNoise(0.1))
state = np.zeros((4, 2), "f"), np.zeros((4, 2), "f")
total = 0
for t in range(20):
    x = np.random.rand(4, 3).astype("f")
    state, y = model((chainer.as_variable(state[0]), chainer.as_variable(state[1])), x)
    total += F.mean_squared_error(y, x)
    if t % 5 == 4:
        model.cleargrads()
        total.backward()
        total.unchain_backward()
        optimizer.update()
        total = 0
'''
)


def test_noise_of_the_gradients_and_a_state_that_the_loop_holds(tmp_path):
    model_batch.migrated(tmp_path, BPTT)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=200, float64=False)
    text = "\n".join(report.lines())
    assert report.ok and "EQUAL: 4 values" in text, text


STATIC = """
import chainer
import chainer.functions as F
import chainer.links as L
import numpy as np


class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(3, 6)
            self.l2 = L.Linear(6, 2)

    @chainer.static_graph
    def forward(self, x):
        return self.l2(F.dropout(F.sigmoid(self.l1(F.dropout(x, 0.2))), 0.4))


model = Net()
optimizer = chainer.optimizers.MomentumSGD(0.1)
optimizer.setup(model)
for i in range(6):
    loss = F.sum(model(np.random.rand(5, 3).astype("f")) ** 2)
    model.cleargrads()
    loss.backward()
    optimizer.update()
"""


def test_a_static_graph_draws_new_masks_here(tmp_path):
    """Chainer repeats its first masks there, which PyTorch does not; all else can be compared, and that is said."""
    model_batch.migrated(tmp_path, STATIC)
    report = verify_script(tmp_path / "original", tmp_path / "out", ["net.py"], timeout=200, float64=False)
    text = "\n".join(report.lines())
    assert report.ok and "EQUAL: 6 values" in text, text
    assert "the first mask of each dropout" in text
