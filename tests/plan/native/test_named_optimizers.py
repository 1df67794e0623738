"""Optimizers that a program chooses by their names, in native style, beside Chainer's."""

import pytest

from tests.support.native_programs import check

PROGRAM = """
def make(name, args, model):
    {make}
    optimizer.setup(model)
    {hook}
    return optimizer


def train(model):
    losses, rng = [], np.random.RandomState(0)
    for name, args in {choices}:
        optimizer = make(name, args, model)
        for i in range(3):
            x = chainer.Variable(rng.randn(5, 3).astype('f'))
            loss = F.sum(model(x) ** 2)
            model.cleargrads()
            loss.backward()
            optimizer.update()
            losses.append(float(loss.array))
        {behind}
    return losses
"""
EVERY = """[
    ('SGD', {'lr': 0.05}), ('MomentumSGD', {'lr': 0.02, 'momentum': 0.5}), ('CorrectedMomentumSGD', {'lr': 0.02}),
    ('NesterovAG', {'lr': 0.02}), ('AdaGrad', {'lr': 0.02}), ('AdaDelta', {'rho': 0.9}), ('RMSprop', {'lr': 0.01}),
    ('RMSpropGraves', {'lr': 0.001}), ('SMORMS3', {}), ('Adam', {'alpha': 0.01, 'eps': 1e-2}),
    ('AMSGrad', {'alpha': 0.01, 'beta2': 0.9}), ('AdamW', {'alpha': 0.01, 'weight_decay_rate': 0.01}),
]"""
IN_ONE = "optimizer = getattr(optimizers, name)(**args)"
IN_TWO = "Optimizer = getattr(chainer.optimizers, name)\n    optimizer = Optimizer(**args)"
HOOK = "optimizer.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))"


@pytest.mark.parametrize(("make", "hook"), [(IN_ONE, "pass"), (IN_TWO, HOOK)])
def test_every_class_has_its_name(make, hook):
    code = check(PROGRAM.format(make=make, hook=hook, choices=EVERY, behind="pass"), rtol=1e-4)
    assert "getattr(compat.TorchOptimizersByName, name)" in code and "Late" not in code and "setup" not in code
    assert "(model.parameters(), **args)" in code and "optimizer.step()" in code


RATES = """if name != 'AdaDelta':
            losses.append(float(optimizer.lr))
        if name == 'SGD':
            optimizer.lr = optimizer.lr * 0.5
            optimizer.update()"""


def test_a_rate_is_asked_for_and_set():
    choices = "[('SGD', [0.05]), ('Adam', [0.01]), ('MomentumSGD', [0.02, 0.8])]"
    text = PROGRAM.format(make=IN_ONE.replace("**", "*"), hook="pass", choices=choices, behind=RATES)
    code = check(text, rtol=1e-4)
    assert "losses.append(float(compat.current_rate(optimizer)))" in code
    assert "compat.set_rate(optimizer, compat.current_rate(optimizer) * 0.5)" in code


BEFORE = """
def train(model):
    losses, rng = [], np.random.RandomState(0)
    for name in ('AdaGrad', 'Adam'):
        optimizer = getattr(optimizers, name)(0.1)
        model = Net()
        for param in model.params():
            param.array[...] = 0.5
        optimizer.setup(model)
        for i in range(3):
            x = chainer.Variable(rng.randn(5, 3).astype('f'))
            optimizer.update(lambda: F.sum(model(x) ** 2))
            losses.append(float(F.sum(model.l1.W).array))
    return losses
"""


def test_a_model_that_is_made_behind_its_optimizer():
    code = check(BEFORE, rtol=1e-4)
    assert "getattr(compat.TorchOptimizersByName, name)" in code and "Late" not in code


@pytest.mark.parametrize(
    "make",
    [
        "Optimizer = getattr(optimizers, name)\n    print(Optimizer)\n    optimizer = Optimizer(**args)",
        "Optimizer = getattr(optimizers, name) if args else optimizers.SGD\n    optimizer = Optimizer(**args)",
        "optimizer = getattr(optimizers, name)(**args)\n    print(vars(optimizer))",
    ],
)
def test_what_goes_elsewhere_keeps_its_form(make):
    choices = "[('SGD', {'lr': 0.05}), ('Adam', {'alpha': 0.01})]"
    code = check(PROGRAM.format(make=make, hook="pass", choices=choices, behind="pass"), rtol=1e-4)
    assert "getattr(compat.OptimizersByName, name)" in code and "optimizer.setup(model)" in code


HOOKS = """for kind, options in {'GradientClipping': (0.5,), 'Lasso': (0.01,), 'WeightDecay': (0.1,)}.items():
        hook = getattr(chainer.optimizer_hooks, kind)
        optimizer.add_hook(hook(*options))"""


@pytest.mark.parametrize("module", ["optimizer_hooks", "optimizer"])
def test_hooks_have_names(module):
    choices = "[('SGD', {'lr': 0.05}), ('Adam', {'alpha': 0.01}), ('MomentumSGD', {'lr': 0.01})]"
    hooks = HOOKS.replace("optimizer_hooks", module)
    code = check(PROGRAM.format(make=IN_ONE, hook=hooks, choices=choices, behind="pass"), rtol=1e-4)
    assert "hook = getattr(compat.HooksByName, kind)" in code and "compat.add_hook(optimizer, hook(*options))" in code
    assert "(model.parameters(), **args)" in code and "Late" not in code


def test_tables_of_long_optimizers_and_hooks_have_their_names():
    """A setting that no short optimizer has keeps Chainer's own form of all."""
    make = "optimizer = getattr(optimizers, name)(**args)\n    print(vars(optimizer))"
    choices = "[('Adam', {'alpha': 0.01, 'eta': 0.5}), ('SGD', {'lr': 0.05})]"
    code = check(PROGRAM.format(make=make, hook=HOOKS, choices=choices, behind="pass"), rtol=1e-4)
    assert "compat.faithful_OptimizersByName" in code and "compat.faithful_HooksByName" in code
