"""An optimizer that one statement makes beside its model does not get the parameters of what had the name before."""

import pytest

from tests.support.native_programs import check

PROGRAM = """
def train(model):
    BODY
    x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) / 6)
    for _ in range(3):
        loss = F.sum(net(x) ** 2)
        net.cleargrads()
        loss.backward()
        optimizer.update()
    return [loss.array]
"""
BODIES = [
    "net = Net()\n    optimizer, net = optimizers.SGD(0.01), model\n    optimizer.setup(net)",
    "optimizer, net = optimizers.MomentumSGD(0.01), model\n    optimizer.setup(net)",
    "net, optimizer = model, optimizers.Adam()\n    optimizer.setup(net)",
    "class Held:\n        net = Net()\n    held = Held()\n"
    "    held.optimizer, held.net = optimizers.SGD(0.01), model\n    held.optimizer.setup(held.net)\n"
    "    optimizer, net = held.optimizer, held.net",
    "(optimizer, rate), net = (optimizers.SGD(0.01), 3), model\n    optimizer.setup(net)",
]


@pytest.mark.parametrize("body", BODIES)
def test_the_model_of_the_same_statement_is_trained(body):
    check(PROGRAM.replace("BODY", body))
