"""What `observe_lr` asks where the Trainer stays a manager: the rate itself, if no optimizer is an Adam."""

import pytest

from chainer2torch.engine import Options, migrate_source

PROGRAM = """
import chainer
from chainer import optimizers, training
from chainer.training import extensions


def train(make_updater, model):
    optimizer = {made}
    optimizer.setup(model)
    trainer = training.Trainer(make_updater(optimizer), (1, 'epoch'))
    trainer.extend(extensions.observe_lr())
    trainer.run()
"""
MORE = {
    "an Adam beside it": "other = optimizers.Adam",
    "the module as a value": "other = getattr(optimizers, 'Adam')",
    "one of its own": "class Own(chainer.GradientMethod):\n    lr = 0.1",
    "a Momentum of its own": "class Own(optimizers.MomentumSGD):\n    lr = property(lambda self: 0.1)",
}


def migrated(made, more=""):
    return migrate_source(PROGRAM.format(made=made) + more + "\n", options=Options(style="native")).code


@pytest.mark.parametrize("made", ["optimizers.MomentumSGD(0.1)", "chainer.optimizers.SGD()", "optimizers.NesterovAG()"])
def test_the_rate_of_the_group(made):
    code = migrated(made)
    assert "trainer.optimizers['main'].param_groups[0]['lr']" in code and "current_rate" not in code


@pytest.mark.parametrize("name", MORE)
def test_a_rate_that_may_be_computed(name):
    assert "current_rate(trainer.optimizers['main'])" in migrated("optimizers.MomentumSGD(0.1)", MORE[name])


def test_nothing_is_known_where_no_optimizer_is_named():
    assert "current_rate(trainer.optimizers['main'])" in migrated("make_optimizer()")
