"""What a model keeps under computed names, and a model that is made here or else loaded, meet arrays of NumPy's."""

import pytest

from chainer2torch.engine import migrate_source
from chainer2torch.plan.options import Options
from tests.support.native_snippets import run

HEAD = """
import chainer.links as L
import pickle

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.Linear(2, 3, initialW=chainer.initializers.Constant(0.4))
        self.keep('0', None)

    def keep(self, name, value):
        setattr(self, 'last' + name, value)
"""
KEPT = """
    def forward(self, x):
        for i in range(1):
            setattr(self, 'last' + str(i), F.tanh(self.l1(x)))
        return getattr(self, 'last0')

    def difference(self, y):
        return F.relu({difference})

def run(xs):
    net, y = Net(), np.full((1, 3), 0.3, 'f')
    net(chainer.Variable(xs[0]))
    return float(F.sum(net.difference(y)).array)
"""
LOADED = """
    def forward(self, state, reward):
        y = self.l1(chainer.Variable(state))
        target = np.copy(y.array)
        for i in range(len(state)):
            target[i, 0] = np.sign(reward[i])
        return y, chainer.Variable(target)

class Agent(object):
    def __init__(self, model=None):
        self.model = Net() if model is None else model
        self.optimizer = chainer.optimizers.SGD(0.1)
        self.optimizer.setup(self.model)

    def step(self):
        state = np.arange(4, dtype='f').reshape(2, 2)
        y, t = self.model(state, np.array([-2.0, 3.0], 'f'))
        {used}
        y, t = self.model(state, np.zeros(2, 'f'))
        return float(F.sum(y).array)

def agent(path):
    return Agent(pickle.load(open(path, 'rb'))) if path else Agent()

def run(xs):
    return agent('').step()
"""


@pytest.mark.parametrize("difference", ["y - getattr(self, 'last' + str(0))", "getattr(self, 'last' + str(0)) - y"])
def test_an_array_beside_what_a_model_keeps_is_a_tensor(difference: str) -> None:
    theirs, ours, _ = run(HEAD + KEPT.format(difference=difference))
    assert ours == pytest.approx(theirs, rel=1e-6)


@pytest.mark.parametrize(
    "used",
    [
        "self.optimizer.update(F.mean_squared_error, y, t)",
        "loss = F.mean_squared_error(y, t); self.model.cleargrads(); loss.backward(); self.optimizer.update()",
    ],
)
def test_a_model_that_may_be_loaded_gets_tensors(used: str) -> None:
    theirs, ours, code = run(HEAD + LOADED.format(used=used))
    assert ours == pytest.approx(theirs, rel=1e-6) and "self.model(torch.as_tensor(state)" in code


CUT = """
import chainer
import chainer.functions as F
import chainer.links as L

class Net(chainer.Chain):
    def __init__(self):
        super().__init__()
        with self.init_scope():
            self.l1 = L.LSTM(2, 3)
            self.l2 = L.Linear(3, 2)
        self.last0 = None

    def __call__(self, x):
        y = self.l1(x)
        {kept}
        return y

net = Net()
optimizer = chainer.optimizers.SGD()
optimizer.setup(net)
for x in xs:
    loss = F.sum(net(chainer.Variable(x)))
    net.cleargrads()
    loss.backward()
    loss.unchain_backward()
    optimizer.update()
"""


@pytest.mark.parametrize(
    ("kept", "marked"),
    [("setattr(self, 'last' + str(0), self.l2(y))", True), ("setattr(self, 'last' + str(0), None)", False)],
)
def test_what_a_layer_computed_behind_a_cut_and_a_model_keeps_is_for_a_person(kept: str, marked: bool) -> None:
    result = migrate_source(CUT.format(kept=kept), options=Options(style="native"))
    assert ("under computed names" in result.code) is marked
