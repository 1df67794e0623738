"""``backward()`` behind a cut graph, for the model that was cleared before it and is updated behind it."""

import numpy as np
import pytest

from tests.support.native_snippets import migrated, run

GAN = """
import chainer.links as L


class Model(chainer.Chain):
    def __init__(self, n, m, scale):
        super().__init__()
        with self.init_scope():
            self.fc = L.Linear(n, m, initialW=scale, initial_bias=0.1)

    def __call__(self, x):
        return F.tanh(self.fc(x))


class Trainer:
    def __init__(self):
        self.gen, self.dis, self.enc = Model(2, 3, 0.5), Model(3, 1, 0.25), Model(3, 3, 0.3)
        self.gen_optimizer = chainer.optimizers.MomentumSGD(0.1)
        self.gen_optimizer.setup(self.gen)
        self.dis_optimizer = chainer.optimizers.MomentumSGD(0.1)
        self.dis_optimizer.setup(self.dis)
        self.enc_optimizer = chainer.optimizers.MomentumSGD(0.1)
        self.enc_optimizer.setup(self.enc)

    def loss(self, y):
        return F.sum(F.softplus(y))

    def step(self, z, x):
        y_real = self.dis(x)
        fake = self.gen(z)
        y_fake = self.dis(fake)
        loss_gen = self.loss(-y_fake)
        self.gen.cleargrads()
        loss_gen.backward()
        self.gen_optimizer.update()
        fake.unchain_backward()
        loss_dis = self.loss(y_fake)
        loss_dis += self.loss(-y_real)
        self.dis.cleargrads()
        loss_dis.backward()
        self.dis_optimizer.update()
        return loss_dis


def run(xs):
    trainer = Trainer()
    found = []
    for x in xs:
        x = chainer.Variable(x)
        found.append(trainer.step(x, F.concat([x, x[:, :1]], axis=1)))
    params = [*trainer.gen.params(), *trainer.dis.params(), *trainer.enc.params()]
    return [float(loss.array) for loss in found], [p.array.sum() for p in params]
"""
PLAIN = "loss_dis.backward(inputs=list(self.dis.parameters()))"


def _numbers(found):
    return [float(x) for part in found for x in part]


def test_only_the_model_that_learns_gets_gradients():
    theirs, ours, code = run(GAN)
    assert PLAIN in code and "backward_until" not in code, code
    np.testing.assert_allclose(_numbers(ours), _numbers(theirs), rtol=1e-5)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("y_real = self.dis(x)", "y_real = self.dis(self.enc(x))"),  # another model learns from it, too
        ("return F.sum(F.softplus(y))", "return F.sum(F.softplus(y + self.enc.fc.b[0]))"),
        (
            "        self.dis.cleargrads()\n",
            "        self.gen.cleargrads()\n        self.dis.cleargrads()\n        y = 0\n",
        ),
        ("        return loss_dis\n", "        self.gen_optimizer.update()\n        return loss_dis\n"),
        ("        self.dis_optimizer.update()\n", "        y = 0\n        self.dis_optimizer.update()\n"),
        ("fake = self.gen(z)", "fake = F.tanh(self.gen(z))"),
        (
            "        self.enc_optimizer.setup(self.enc)\n",
            "        self.enc_optimizer.setup(self.enc)\n        self.enc.disable_update()\n",
        ),
        (
            "def loss(self, y):",
            "def loss(self, y):\n        self.enc.cleared = self.enc(chainer.Variable(np.ones((1, 3), 'f')))",
        ),
    ],
)
def test_where_another_may_learn_the_helper_ends_the_graph(old, new):
    assert old in GAN
    theirs, ours, code = run(GAN.replace(old, new))
    assert PLAIN not in code, code
    np.testing.assert_allclose(_numbers(ours), _numbers(theirs), rtol=1e-5)


def test_several_in_a_row():
    source = GAN.replace(
        "        loss_dis.backward()\n", "        loss_dis.backward()\n        (self.loss(y_fake) * 2).backward()\n"
    )
    code = migrated(source).code
    assert PLAIN in code and "(self.loss(y_fake) * 2).backward(inputs=list(self.dis.parameters()))" in code, code


def test_a_tensor_whose_graph_nobody_asks_for_again_gets_no_second_name():
    source = GAN.replace(
        "        loss_dis += self.loss(-y_real)\n",
        "        loss_dis += self.loss(-y_real) + self.loss(self.dis(0.5 * fake + 0.5 * x[:, :1]))\n",
    )
    theirs, ours, code = run(source)
    assert PLAIN in code and "fake = fake.detach()" in code and "_with_graph" not in code, code
    np.testing.assert_allclose(_numbers(ours), _numbers(theirs), rtol=1e-5)
