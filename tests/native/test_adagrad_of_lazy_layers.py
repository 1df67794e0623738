"""AdaGrad of layers without a shape: torch.optim.Adagrad asks each parameter for its shape when it is made."""

import numpy as np
import pytest

from tests.support.native_programs import both

PROGRAM = """
class Net(chainer.Chain):
    def __init__(self):
        super(Net, self).__init__()
        with self.init_scope():
            self.a = L.Linear({size}, 4, initialW=0.3)
            self.b = L.Linear(4, 2, initialW=0.2)

    def forward(self, x):
        return self.b(F.tanh(self.a(x)))


def run():
    model = Net()
    optimizer = chainer.optimizers.AdaGrad({options})
    optimizer.setup(model)
    {hook}
    for i in range(5):
        optimizer.lr *= 0.9
        x = np.random.RandomState(i).rand(4, 5).astype('f')
        model.cleargrads()
        loss = F.sum(model(x) ** 2)
        loss.backward()
        optimizer.update()
    return loss.array
"""


@pytest.mark.parametrize("options", ["", "0.1", "lr=0.1, eps=0.01"])
@pytest.mark.parametrize("hook", ["", "optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))"])
@pytest.mark.parametrize(("size", "name"), [("None", "compat.AdaGrad("), ("5", "torch.optim.Adagrad(")])
def test_it_learns_the_same(size: str, name: str, hook: str, options: str) -> None:
    theirs, ours, code = both(PROGRAM.format(size=size, hook=hook, options=options))
    assert name in code, code
    np.testing.assert_allclose(ours["run"]().item(), theirs["run"](), rtol=1e-5)
