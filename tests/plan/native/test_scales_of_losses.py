"""Updaters that copy Chainer's have its argument ``loss_scale``; where nobody gives one, optimizers are short."""

import pytest

from tests.support import native_programs

UPDATER = """
class Steps(object):
    def __init__(self, optimizers, loss_scale=None):
        self.optimizers = optimizers
        if TEST:
            for optimizer in self.optimizers.values():
                optimizer.set_loss_scale(loss_scale)

    def update(self, x):
        for optimizer in self.optimizers.values():
            model = optimizer.target
            loss = F.sum(model(x) ** 2)
            model.cleargrads()
            loss.backward()
            optimizer.update()
        return loss


def train(model):
    optimizer = optimizers.MomentumSGD(0.01)
    optimizer.setup(model)
    steps = Steps({'main': optimizer}MORE)
    x = np.arange(6, dtype='f').reshape(2, 3)
    return [steps.update(x).array for _ in range(3)]
"""


def test_no_scale_is_given():
    program = UPDATER.replace("TEST", "loss_scale is not None").replace("MORE", "")
    code = native_programs.check(program)
    assert "GradientMethod" not in code and "faithful" not in code


@pytest.mark.parametrize(
    ("test", "more"), [("loss_scale is not None", ", loss_scale=4.0"), ("optimizers", ""), ("loss_scale != 0", "")]
)
def test_a_scale_may_be_given(test, more):
    result = native_programs.migrated(UPDATER.replace("TEST", test).replace("MORE", more))
    assert any("MomentumSGD" in name and "Late" not in name for name in result.helpers), result.code
