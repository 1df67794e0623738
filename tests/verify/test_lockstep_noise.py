"""What a script draws at random is the same on both sides: noise inside layers, samples, crops in loader processes."""

import pytest

from chainer2torch.verify.script.verify_script import verify_script
from tests.support import model_batch

HEAD = """
import copy
import random

import chainer
import chainer.distributions as D
import chainer.functions as F
import chainer.links as L
import numpy as np


def train(model, batches, loss_of):
    optimizer = chainer.optimizers.SGD(0.1)
    optimizer.setup(model)
    for batch in batches:
        loss = loss_of(batch)
        model.cleargrads()
        loss.backward()
        optimizer.update()

"""
SCRIPTS = {
    # sequences of equal lengths, which the frameworks sort in different orders
    "dropout inside recurrent layers": """
class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.lstm = L.NStepLSTM(3, 4, 5, 0.5)
            self.gru = L.NStepGRU(3, 4, 5, 0.5)
            self.tanh = L.NStepRNNTanh(3, 4, 5, 0.5)
            self.bilstm = L.NStepBiLSTM(3, 4, 5, 0.5)
            self.bigru = L.NStepBiGRU(3, 4, 5, 0.5)
            self.birelu = L.NStepBiRNNReLU(3, 4, 5, 0.5)

    def forward(self, xs):
        found = [self.lstm(None, None, xs)[-1], self.gru(None, xs)[-1], self.tanh(None, xs)[-1],
                 self.bilstm(None, None, xs)[-1], self.bigru(None, xs)[-1], self.birelu(None, xs)[-1]]
        return F.concat([F.concat(ys, axis=0) for ys in found])


rng = np.random.RandomState(0)
xs = [chainer.Variable(rng.randn(n, 4).astype("f")) for n in [3, 5, 2, 5, 3, 3, 1, 5, 2, 4, 3, 2, 5, 5, 4, 4, 2, 3, 1]]
model = Net()
weight = np.arange(45, dtype="f")
train(model, range(4), lambda batch: F.mean(
    model(xs) ** 2 * F.broadcast_to(chainer.Variable(weight), (sum(map(len, xs)), 45))))
""",
    "samples of distributions": """
model = L.Linear(4, 3)
x = chainer.Variable(np.random.RandomState(0).randn(6, 4).astype("f"))


def loss_of(batch):
    h = model(x)
    scale = F.exp(h * 0)
    z = D.Normal(h, scale).sample(2) * D.LogNormal(h, scale).sample(2)
    return F.mean(F.tanh(z * D.Uniform(loc=h, scale=scale).sample(2)))


train(model, range(4), loss_of)
""",
    # torch.distributions, which the native style uses, draws with functions of its own
    "samples of torch's own distributions": """
class Encoder(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.loc = L.Linear(4, 3)
            self.scale = L.Linear(4, 3)

    def forward(self, x):
        return D.Independent(D.Normal(self.loc(x), log_scale=self.scale(x)))


class Loss(chainer.Chain):
    def __init__(self, encoder):
        super().__init__()
        with self.init_scope():
            self.encoder = encoder

    def forward(self, x):
        q = self.encoder(x)
        z = q.sample(2)
        return F.mean(F.tanh(z)) - F.mean(q.log_prob(z))


model = Loss(Encoder())
x = np.random.RandomState(0).randn(6, 4).astype("f")
train(model, range(4), lambda batch: model(x))
""",
    "a network that was copied": """
model = L.Linear(4, 3)
target = copy.deepcopy(model)
x = chainer.Variable(np.random.RandomState(0).randn(6, 4).astype("f"))
train(model, range(4), lambda batch: F.mean_squared_error(model(x), target(x) * 2))
""",
    "generators that are seeded from the clock": """
model = L.Linear(4, 3)


def loss_of(batch):
    np.random.seed()
    random.seed(None)
    return F.mean(model(chainer.Variable(np.random.randn(2, 4).astype("f"))) ** 2) * random.random()


train(model, range(4), loss_of)
""",
    "crops in a process that reads ahead, over epochs": """
class Crops(chainer.dataset.DatasetMixin):
    def __init__(self):
        self.data = np.random.RandomState(0).randn(7, 9).astype("f")

    def __len__(self):
        return len(self.data)

    def get_example(self, i):
        start = random.randint(0, 5)
        return self.data[i, start:start + 4] + np.random.rand()


it = chainer.iterators.MultiprocessIterator(Crops(), 3, n_processes=1, n_prefetch=3)
model = L.Linear(None, 2)


def loss_of(batch):
    return F.mean(F.dropout(model(chainer.Variable(np.stack(it.next()).astype("f"))), 0.5) ** 2)


train(model, range(7), loss_of)
it.finalize()
""",
}
CASES = dict(SCRIPTS)
CASES["crops in threads that read ahead"] = CASES["crops in a process that reads ahead, over epochs"].replace(
    "MultiprocessIterator(Crops(), 3, n_processes=1, n_prefetch=3)", "MultithreadIterator(Crops(), 3, n_threads=2)"
)


@pytest.mark.parametrize("name", CASES)
def test_the_same_numbers(tmp_path, name):
    text = HEAD + CASES[name]
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "train.py").write_text(text, encoding="utf-8")
    style = "native" if "torch's own" in name else "faithful"
    out = model_batch.migrated_tree(tmp_path / "src", tmp_path / "out", style=style)
    report = verify_script(tmp_path / "src", out, ["train.py"], timeout=100)
    assert report.exit_code == 0 and report.first_difference is None, "\n".join(report.lines())
    assert len([step for step in report.steps if step.name == "loss"]) >= 4
