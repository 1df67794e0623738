"""Parameters with settings of their own, as groups of an optimizer of torch.optim; run beside Chainer."""

import pytest

from chainer2torch.engine import Options, migrate_source
from tests.support.native_programs import HEAD, check

LOOP = """
def train(model):
    losses = []
    optimizer = optimizers.{make}
    {first}
    optimizer.setup(model)
    {hook}
    for p in model.params():
        if p.name == 'b':
            p.update_rule = {rule}
    {then}
    for i in range(12):
        x = chainer.Variable(np.arange(6, dtype='f').reshape(2, 3) / 6 - i / 8)
        y = model(x) if i % 3 == 1 else model.l2(F.tile(x[:, :2], (1, 2)))
        loss = F.mean(y ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
        if i == 5:
            optimizer.lr *= 0.5
        losses.append(float(loss.array))
    return losses + [float(F.sum(p * p).array) for p in model.params()]
"""
MOMENTUM = "chainer.optimizers.momentum_sgd.MomentumSGDRule(lr=optimizer.lr * 2, momentum=0)"
H = "optimizer.add_hook(chainer.optimizer_hooks."


def program(make="MomentumSGD(lr=0.1)", rule=MOMENTUM, first="pass", hook="pass", then="pass"):
    return LOOP.format(make=make, rule=rule, first=first, hook=hook, then=then)


@pytest.mark.parametrize("first", ["pass", "text = repr(optimizer)"])
@pytest.mark.parametrize(
    ("hook", "then"),
    [
        (f"{H}WeightDecay(0.1))", "model.l1.disable_update()"),
        ("pass", f"{H}WeightDecay(0.1))"),
        (f"{H}GradientClipping(0.05))", f"{H}WeightDecay(0.1))"),
        (f"{H}WeightDecay(0.1))", f"{H}GradientClipping(0.05))\n    model.l1.disable_update()"),
    ],
)
def test_rates_of_single_parameters(first, hook, then):
    code = check(program(first=first, hook=hook, then=then), rtol=1e-4)
    assert "compat.own_settings(optimizer, p, lr=optimizer.param_groups[0]['lr'] * 2, momentum=0)" in code
    assert "faithful" not in code and ("Late" in code) == (first != "pass")


def test_the_rule_of_plain_sgd_and_defaults():
    code = check(program("SGD(0.1)", "chainer.optimizers.sgd.SGDRule(lr=0.3)"), rtol=1e-4)
    assert "compat.own_settings(optimizer, p, lr=0.3)" in code and "torch.optim.SGD(" in code
    rule = "chainer.optimizers.momentum_sgd.MomentumSGDRule(momentum=0.5)"
    assert "(optimizer, p, lr=0.01, momentum=0.5)" in check(program(rule=rule), rtol=1e-4)


@pytest.mark.parametrize(
    ("make", "rule", "hook"),
    [
        ("SGD(0.1)", MOMENTUM, "pass"),  # another formula
        ("MomentumSGD(0.1)", "chainer.optimizers.momentum_sgd.MomentumSGDRule(optimizer.hyperparam)", "pass"),
        ("MomentumSGD(0.1)", MOMENTUM, "model.l1.disable_update()"),  # which the new rule undoes
        ("MomentumSGD(0.1)", MOMENTUM, "text = 'ExponentialShift'"),  # a schedule changes all groups
        ("MomentumSGD(0.1)", MOMENTUM, "optimizer.setup(model)"),
    ],
)
def test_what_is_no_group(make, rule, hook):
    code = migrate_source(HEAD + program(make, rule, hook=hook), options=Options(style="native")).code
    assert "own_settings" not in code and "update_rule" in code


BETAS = """
class Trained(object):
    def __init__(self, model):
        self.opt = optimizers.Adam(0.01)
        self.opt.setup(model)

    def step(self, model, x, beta):
        self.opt.beta1 = beta
        self.opt.alpha *= 0.9
        self.opt.update(lambda: F.mean(model(x) ** 2))
        return self.opt.beta1


def train(model):
    plan = [0.9, 0.9, 0.5, 0.1]
    x = np.arange(6, dtype='f').reshape(2, 3) / 6
    optimizer = optimizers.Adam(0.01)
    optimizer.setup(model)
    for i in range(8):
        optimizer.beta1 = plan[i // 2]
        if i == 5: optimizer.hyperparam.beta2 = min(0.9, optimizer.beta2)
        loss = F.mean(model(x) ** 2)
        model.cleargrads()
        loss.backward()
        optimizer.update()
    trained = Trained(model)
    betas = [trained.step(model, x, beta) for beta in plan]
    return betas + [float(F.sum(p * p).array) for p in model.params()]
"""


def test_one_of_a_pair_of_settings_is_set():
    code = check(BETAS)
    assert "optimizer.param_groups[0]['betas'] = (plan[i // 2], optimizer.param_groups[0]['betas'][1])" in code
    assert "Late" not in code
