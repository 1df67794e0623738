"""A function that sends several losses backward, one after the other: they may be computed from one graph."""

import pytest

from tests.support.native_snippets import migrated, run

PROGRAM = """
import chainer.links as L


def send(losses, optimizers):
    LOOP
        optimizers[name].target.cleargrads()
        loss.backward()
        optimizers[name].update()


def run(xs):
    gen, dis = L.Linear(3, 3, initialW=np.eye(3, dtype='f')), L.Linear(3, 1, initialW=np.ones((1, 3), 'f'))
    optimizers = {'gen': chainer.optimizers.SGD(), 'dis': chainer.optimizers.SGD()}
    optimizers['gen'].setup(gen)
    optimizers['dis'].setup(dis)
    for _ in range(2):
        y = dis(gen(chainer.Variable(np.ones((4, 3), 'f'))))
        send({'gen': F.mean(F.softplus(-y)), 'dis': F.mean(F.softplus(y))}, optimizers)
    return float(F.sum(gen.W).array), float(F.sum(dis.W).array)
"""
LOOPS = ["for name, loss in losses.items():", "for name, loss in zip(losses, losses.values()):"]


@pytest.mark.parametrize("loop", LOOPS)
def test_they_share_a_graph(loop: str) -> None:
    theirs, ours, _ = run(PROGRAM.replace("LOOP", loop))
    assert ours == pytest.approx(theirs)


def test_one_of_the_updater_too() -> None:
    program = """
class Updater(chainer.training.StandardUpdater):
    def send(self, losses):
        for name, loss in losses.items():
            self._optimizers[name].target.cleargrads()
            loss.backward()
            self._optimizers[name].update()
"""
    assert "loss.backward(retain_graph=True)" in migrated(program).code


def test_a_loss_of_each_round_keeps_none() -> None:
    program = """
import chainer.links as L
model = L.Linear(3, 3)
optimizer = chainer.optimizers.SGD().setup(model)


def train(data):
    for x in data:
        loss = F.sum(model(x))
        model.cleargrads()
        loss.backward()
        optimizer.update()
"""
    assert "retain_graph" not in migrated(program).code
