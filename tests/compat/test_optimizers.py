"""Optimizers and hooks against Chainer's: parameters after ten steps, with an unused parameter and changing rates."""

import copy
import io
import math
import pickle

import chainer
import numpy as np
import pytest
import torch

from chainer2torch.compat.optimizers import optimizer_base, optimizer_hooks, update_rule
from chainer2torch.compat.optimizers.optimizers_by_name import OptimizersByName as optimizers
from chainer2torch.compat.variable.variables import backward

SHAPES = {"a": (3, 4), "b": (5,), "unused": (2, 2), "scalar": ()}

OPTIMIZERS = {
    "SGD": [{}, {"lr": 0.3}],
    "MomentumSGD": [{}, {"lr": 0.2, "momentum": 0.5}],
    "CorrectedMomentumSGD": [{}, {"lr": 0.2, "momentum": 0.5}],
    "NesterovAG": [{}, {"lr": 0.1, "momentum": 0.8}],
    "RMSprop": [{}, {"lr": 0.1, "alpha": 0.9, "eps": 1e-2}, {"eps": 1e-2, "eps_inside_sqrt": True}],
    "RMSpropGraves": [{}, {"lr": 0.01, "alpha": 0.9, "momentum": 0.7, "eps": 1e-2}],
    "SMORMS3": [{}, {"lr": 0.1, "eps": 1e-8}],
    "AdaGrad": [{}, {"lr": 0.1, "eps": 1e-2}],
    "AdaDelta": [{}, {"rho": 0.9, "eps": 1e-3}],
    "MSVAG": [{}, {"lr": 0.2, "beta": 0.8, "eta": 0.5, "weight_decay_rate": 0.01}],
    "Adam": [
        {},
        {"alpha": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-2, "eta": 0.5, "weight_decay_rate": 0.01},
        {"amsgrad": True, "eps": 1e-2},
        {"adabound": True},
        {"eps": 0.0},
    ],
    "AdamW": [{}, {"weight_decay_rate": 0.1}],
    "AMSGrad": [{}, {"alpha": 0.1, "beta2": 0.5}],
    "AdaBound": [{}, {"alpha": 0.1, "final_lr": 0.01, "gamma": 0.5}],
    "AMSBound": [{}, {"alpha": 0.1, "final_lr": 0.01, "gamma": 0.5, "beta2": 0.5}],
}
CASES = [(name, options) for name, variants in OPTIMIZERS.items() for options in variants]
RATES = {"AdaDelta": "rho", **dict.fromkeys(("Adam", "AdamW", "AMSGrad", "AdaBound", "AMSBound"), "alpha")}


class Theirs(chainer.Chain):
    def __init__(self, values):
        super().__init__()
        with self.init_scope():
            for name, value in values.items():
                setattr(self, name, chainer.Parameter(value.copy()))


class Ours(torch.nn.Module):
    def __init__(self, values):
        super().__init__()
        for name, value in values.items():
            setattr(self, name, torch.nn.Parameter(torch.tensor(value)))


def models(dtype="float64"):
    rng = np.random.RandomState(0)
    values = {name: np.asarray(rng.randn(*shape), dtype=dtype) for name, shape in SHAPES.items()}
    return Theirs(values), Ours(values)


def set_gradients(theirs, ours, rng, dtype="float64"):
    theirs.cleargrads()
    ours.zero_grad()
    for name, shape in SHAPES.items():
        grad = np.asarray(rng.randn(*shape), dtype=dtype)
        if name != "unused":
            getattr(theirs, name).grad = grad
            getattr(ours, name).grad = torch.tensor(grad)


def check(theirs, ours, rtol=1e-9):
    for name in SHAPES:
        np.testing.assert_allclose(
            getattr(ours, name).detach().numpy(), getattr(theirs, name).array, rtol=rtol, atol=rtol
        )


def train(optimizer, reference, theirs, ours, steps=10, change=None, dtype="float64"):
    rng = np.random.RandomState(1)
    for step in range(steps):
        set_gradients(theirs, ours, rng, dtype)
        reference.update()
        optimizer.update()
        if change is not None and step == steps // 2:
            change(reference)
            change(optimizer)


def hooks_of(module, order):
    hooks = [module.WeightDecay(0.1), module.GradientClipping(1.0)]
    return hooks if order == "decay first" else hooks[::-1]


def changed_rate(name):
    attribute = RATES.get(name, "lr")

    def change(optimizer):
        setattr(optimizer, attribute, getattr(optimizer, attribute) * 0.5)

    return change


@pytest.mark.parametrize("name, options", CASES)
@pytest.mark.parametrize("hooks", [None, "decay first", "clipping first"])
@pytest.mark.parametrize("dtype, rtol", [("float64", 1e-9), ("float32", 1e-4)])
def test_ten_steps(name, options, hooks, dtype, rtol):
    theirs, ours = models(dtype)
    reference = getattr(chainer.optimizers, name)(**options).setup(theirs)
    optimizer = getattr(optimizers, name)(**options).setup(ours)
    if hooks is not None:
        for hook in hooks_of(chainer.optimizer_hooks, hooks):
            reference.add_hook(hook)
        for hook in hooks_of(optimizer_hooks, hooks):
            optimizer.add_hook(hook)
    train(optimizer, reference, theirs, ours, change=changed_rate(name), dtype=dtype)
    check(theirs, ours, rtol)
    assert optimizer.t == reference.t == 10
    if hooks is not None:
        before = models(dtype)[1].unused
        assert not torch.equal(ours.unused, before)  # the unused parameter is decayed


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_defaults_and_argument_order(name):
    import inspect

    theirs = inspect.signature(getattr(chainer.optimizers, name).__init__)
    ours = inspect.signature(getattr(optimizers, name).__init__)
    described = [
        [(p.name, p.default) for p in signature.parameters.values() if p.name != "params"]
        for signature in (theirs, ours)
    ]
    assert described[0] == described[1]
    reference, optimizer = getattr(chainer.optimizers, name)(), getattr(optimizers, name)()
    for attribute, _ in described[0][1:]:
        assert getattr(optimizer, attribute) == getattr(reference, attribute)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("backwards", [False, True])
def test_all_hooks_together_in_both_orders(name, backwards):
    """Ten steps with every hook that draws no numbers, on a model with an unused parameter, the rate halved once."""

    def hooks(m):
        made = [
            m.WeightDecay(0.1),
            m.Lasso(0.01),
            m.GradientClipping(0.5),
            m.GradientHardClipping(-0.2, 0.1),
            m.GradientLARS(threshold=0.1, weight_decay=0.1),
        ]
        return made[::-1] if backwards else made

    theirs, ours = models()
    reference, optimizer = getattr(chainer.optimizers, name)(), getattr(optimizers, name)()
    for o, m, module in ((reference, theirs, chainer.optimizer_hooks), (optimizer, ours, optimizer_hooks)):
        o.setup(m)
        for hook in hooks(module):
            o.add_hook(hook)
    train(optimizer, reference, theirs, ours, change=changed_rate(name))
    check(theirs, ours)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: m.WeightDecay(0.1),
        lambda m: m.Lasso(0.1),
        lambda m: m.GradientClipping(0.5),
        lambda m: m.GradientClipping(1e6),
        lambda m: m.GradientHardClipping(-0.1, 0.2),
        lambda m: m.GradientLARS(),
        lambda m: m.GradientLARS(threshold=1.5, weight_decay=0.1, eps=1e-3),
        lambda m: m.GradientNoise(0.1, lambda xp, shape, dtype, hook, rule: xp.full(shape, hook.eta * rule.t, dtype)),
    ],
    ids=range(8),
)
def test_hooks(make):
    theirs, ours = models()
    reference = chainer.optimizers.MomentumSGD().setup(theirs)
    optimizer = optimizers.MomentumSGD().setup(ours)
    reference.add_hook(make(chainer.optimizer_hooks))
    optimizer.add_hook(make(optimizer_hooks))
    train(optimizer, reference, theirs, ours)
    check(theirs, ours)


def test_clipping_of_zero_gradients():
    theirs, ours = models()
    pairs = (
        (chainer.optimizers.SGD().setup(theirs), chainer.optimizer_hooks),
        (optimizers.SGD().setup(ours), optimizer_hooks),
    )
    with np.errstate(divide="ignore"):
        for optimizer, module in pairs:
            optimizer.add_hook(module.GradientClipping(1.0))
            optimizer.target.cleargrads() if optimizer.target is theirs else ours.zero_grad()
            optimizer.update()
    check(theirs, ours)


def test_noise_has_the_deviation_of_chainer():
    module = torch.nn.Linear(200, 200, bias=False)
    optimizer = optimizers.SGD(lr=0.0).setup(module)
    optimizer.t = 3
    optimizer.add_hook(optimizer_hooks.GradientNoise(0.5))
    torch.manual_seed(0)
    optimizer.update()
    expected = math.sqrt(0.5 / (1 + 3) ** 0.55)
    assert abs(module.weight.grad.std().item() / expected - 1) < 0.02
    assert abs(module.weight.grad.mean().item()) < 0.02


def test_user_hooks_run_in_order_before_and_after():
    def log(calls, text):
        def hook(optimizer):
            calls.append((text, optimizer.t))

        hook.name = text
        return hook

    logs = []
    for optimizer, model in ((chainer.optimizers.SGD(), models()[0]), (optimizers.SGD(), models()[1])):
        calls = []
        optimizer.setup(model)
        optimizer.add_hook(log(calls, "one"))
        optimizer.add_hook(log(calls, "last"), timing="post")
        optimizer.add_hook(log(calls, "two"))
        optimizer.update()
        optimizer.remove_hook("one")
        optimizer.update()
        logs.append(calls)
        with pytest.raises(KeyError):
            optimizer.add_hook(log(calls, "two"))
        with pytest.raises(TypeError):
            optimizer.add_hook(3)
        with pytest.raises(ValueError):
            optimizer.add_hook(log(calls, "x"), timing="never")
    assert logs[0] == logs[1]


def test_update_with_a_loss_function():
    x = np.random.RandomState(3).randn(6, 4)
    with chainer.using_config("dtype", np.float64):
        link = chainer.links.Linear(4, 2, initialW=x[:2])
    linear = torch.nn.Linear(4, 2).double()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(x[:2]))
        linear.bias.zero_()
    reference = chainer.optimizers.Adam().setup(link)
    optimizer = optimizers.Adam().setup(linear)
    for _ in range(5):
        reference.update(lambda x: chainer.functions.sum(link(x) ** 2), x)
        optimizer.update(lambda x: (linear(x) ** 2).sum(), torch.tensor(x))
        assert optimizer.alpha_t == pytest.approx(reference.alpha_t, rel=1e-12)
    np.testing.assert_allclose(linear.weight.detach().numpy(), link.W.array, rtol=1e-9)
    np.testing.assert_allclose(linear.weight.grad.numpy(), link.W.grad, rtol=1e-6)  # gradients are kept


def test_a_loss_that_hangs_on_nothing_leaves_the_hooks_their_work():
    link, linear = chainer.links.Linear(3, 2), torch.nn.Linear(3, 2)
    linear.load_state_dict({"weight": torch.tensor(link.W.array), "bias": torch.tensor(link.b.array)})
    reference, optimizer = chainer.optimizers.SGD(0.5), optimizers.SGD(0.5)
    reference.setup(link).add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
    optimizer.setup(linear).add_hook(optimizer_hooks.WeightDecay(0.1))
    reference.update(lambda: chainer.Variable(np.asarray(0.0)))
    optimizer.update(lambda: torch.as_tensor(np.asarray(0.0)))
    np.testing.assert_allclose(linear.weight.detach(), link.W.array, rtol=1e-6)


def test_two_optimizers_share_a_graph():
    """As in a GAN: the second loss is differentiated through weights that the first update has changed."""
    x = np.random.RandomState(3).randn(6, 4)
    with chainer.using_config("dtype", np.float64):
        links = [chainer.links.Linear(4, 4, initialW=x[:4]), chainer.links.Linear(4, 1, initialW=x[:1])]
    linears = [torch.nn.Linear(4, 4).double(), torch.nn.Linear(4, 1).double()]
    with torch.no_grad():
        for linear, values in zip(linears, (x[:4], x[:1]), strict=True):
            linear.weight.copy_(torch.tensor(values))
            linear.bias.zero_()
    for models, module, value, total in (
        (links, chainer.optimizers, chainer.Variable(x), chainer.functions.sum),
        (linears, optimizers, torch.tensor(x), torch.sum),
    ):
        generator, critic = (module.Adam(alpha=0.1).setup(model) for model in models)
        for _ in range(3):
            y = models[1](models[0](value) ** 2)
            critic.update(lambda y, total=total: total(y * y), y)
            generator.update(lambda y, total=total: -total(y), y)
    for link, linear in zip(links, linears, strict=True):
        np.testing.assert_allclose(linear.weight.detach().numpy(), link.W.array, rtol=1e-9)


@pytest.mark.parametrize("name", ["SGD", "MomentumSGD", "Adam", "AMSBound", "MSVAG"])
def test_settings_of_one_parameter(name):
    attribute = RATES.get(name, "lr")
    theirs, ours = models()
    reference = getattr(chainer.optimizers, name)().setup(theirs)
    optimizer = getattr(optimizers, name)().setup(ours)
    for model in (theirs, ours):
        setattr(model.a.update_rule.hyperparam, attribute, 0.05)
        model.b.update_rule.enabled = False
        model.scalar.update_rule.add_hook(lambda rule, param: param.grad.__imul__(2.0), name="double")
    train(optimizer, reference, theirs, ours, steps=4)
    check(theirs, ours)
    for model in (theirs, ours):
        model.b.update_rule.enabled = True
    train(optimizer, reference, theirs, ours, steps=3, change=changed_rate(name))
    check(theirs, ours)
    assert ours.b.update_rule.t == theirs.b.update_rule.t == 3
    assert ours.a.update_rule.t == theirs.a.update_rule.t == 7


@pytest.mark.parametrize(
    "zeros_like",
    [torch.zeros_like, lambda data: np.zeros_like(data.numpy()), lambda data: np.zeros(data.shape, np.float64)],
)
def test_own_update_rule(zeros_like):
    def classes(base, rule_base, zeros):
        class Rule(rule_base):
            def init_state(self, param):
                self.state["s"] = zeros(param.data)

            def update_core(self, param):
                self.state["s"] += param.grad
                param.data -= self.hyperparam.rate * self.state["s"]

        class Method(base):
            def __init__(self, rate):
                super().__init__()
                self.hyperparam.rate = rate

            def create_update_rule(self):
                return Rule(self.hyperparam)

        return Method

    theirs, ours = models()
    reference = classes(chainer.GradientMethod, chainer.UpdateRule, np.zeros_like)(0.1).setup(theirs)
    optimizer = classes(optimizer_base.GradientMethod, update_rule.UpdateRule, zeros_like)(0.1).setup(ours)
    train(optimizer, reference, theirs, ours, change=lambda o: setattr(o.hyperparam, "rate", 0.01))
    check(theirs, ours)


def test_arrays_in_the_state_of_an_own_rule_become_tensors():
    class Rule(update_rule.UpdateRule):
        def init_state(self, param):
            self.state.update({"kept": made, "number": 3}, name="a")
            self.state.setdefault("other", made)
            self.state.setdefault("other", None)

    made = np.ones((2, 2))
    state = Rule()._initial_state(torch.nn.Parameter(torch.zeros(2, 2)))
    assert isinstance(state["kept"], torch.Tensor) and isinstance(state["other"], torch.Tensor)
    assert state["kept"].dtype == torch.float64 and (state["number"], state["name"]) == (3, "a")
    assert bool((state["kept"] == 1).all())
    made[:] = 0  # it stays the same memory, as in Chainer
    assert bool((state["kept"] == 0).all())


def test_loss_scaling():
    x = np.random.RandomState(3).randn(6, 4)
    with chainer.using_config("dtype", np.float64):
        link = chainer.links.Linear(4, 2, nobias=True, initialW=x[:2])
    linear = torch.nn.Linear(4, 2, bias=False).double()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(x[:2]))
    reference = chainer.optimizers.MomentumSGD().setup(link)
    optimizer = optimizers.MomentumSGD().setup(linear)
    reference.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
    optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))
    for o in (reference, optimizer):
        o.loss_scaling(interval=2)
    for _ in range(4):
        reference.update(lambda x: chainer.functions.sum(link(x) ** 2), x)
        optimizer.update(lambda x: (linear(x) ** 2).sum(), torch.tensor(x))
    assert optimizer._loss_scale == reference._loss_scale == 16
    np.testing.assert_allclose(linear.weight.detach().numpy(), link.W.array, rtol=1e-9)
    before = linear.weight.detach().clone()
    with pytest.warns(UserWarning, match="Non finite"):
        optimizer.update(lambda x: (linear(x) * float("inf")).sum(), torch.tensor(x))
    assert torch.equal(linear.weight, before) and optimizer._loss_scale == 8


@pytest.mark.parametrize("decay", [None, "of all", "of one"])
@pytest.mark.parametrize("of_optimizer, of_backward", [(8.0, None), (None, 16.0), (8.0, 16.0)])
def test_gradients_are_divided_by_what_scaled_them(of_optimizer, of_backward, decay):
    """As in Chainer the optimizer's scale is that of ``update(lossfun)``; a backward() of one's own has its own."""
    x = np.random.RandomState(3).randn(6, 4)
    with chainer.using_config("dtype", np.float64):
        link = chainer.links.Linear(4, 2, nobias=True, initialW=x[:2])
    linear = torch.nn.Linear(4, 2, bias=False).double()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(x[:2]))
    reference, optimizer = chainer.optimizers.SGD(0.1).setup(link), optimizers.SGD(0.1).setup(linear)
    if of_optimizer is not None:
        reference.set_loss_scale(of_optimizer)
        optimizer.set_loss_scale(of_optimizer)
    if decay == "of all":  # weight decay comes before the division, with the same scale
        reference.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
        optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))
    elif decay == "of one":
        link.W.update_rule.add_hook(chainer.optimizer_hooks.WeightDecay(0.1))
        linear.weight.update_rule.add_hook(optimizer_hooks.WeightDecay(0.1))
    for _ in range(3):
        link.cleargrads()
        linear.zero_grad()
        chainer.functions.sum(link(x) ** 2).backward(loss_scale=of_backward)
        backward((linear(torch.tensor(x)) ** 2).sum(), loss_scale=of_backward)
        reference.update()
        optimizer.update()
        reference.update(lambda x: chainer.functions.sum(link(x) ** 2), x)
        optimizer.update(lambda x: (linear(x) ** 2).sum(), torch.tensor(x))
        np.testing.assert_allclose(linear.weight.detach().numpy(), link.W.array, rtol=1e-9)


def test_new_epoch():
    for optimizer in (chainer.optimizers.SGD(), optimizers.SGD()):
        optimizer.new_epoch()
        with pytest.raises(RuntimeError):
            optimizer.new_epoch(auto=True)
        optimizer.use_auto_new_epoch = True
        optimizer.new_epoch(auto=True)
        with pytest.raises(RuntimeError):
            optimizer.new_epoch()
        assert optimizer.epoch == 2


def test_lazy_parameters():
    model = torch.nn.Sequential(torch.nn.LazyLinear(3), torch.nn.Linear(3, 2))
    optimizer = optimizers.Adam().setup(model)
    optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))
    optimizer.add_hook(optimizer_hooks.GradientClipping(1))
    optimizer.update()
    model(torch.ones(2, 4)).sum().backward()
    before = model[0].weight.detach().clone()
    optimizer.update()
    assert not torch.equal(model[0].weight, before)
    assert optimizer.t == 2


def test_errors():
    with pytest.raises(TypeError, match="link"):
        optimizers.SGD().setup(3)
    for call in (lambda o: o.update(), lambda o: o.add_hook(optimizer_hooks.WeightDecay(1)), lambda o: o.step()):
        with pytest.raises(RuntimeError, match="not set up"):
            call(optimizers.Adam())
    with pytest.raises(RuntimeError, match="learning rate"):
        optimizers.Adam().setup(models()[1]).alpha_t  # noqa: B018
    half = torch.nn.Linear(2, 2).half()
    for optimizer, name in ((optimizers.RMSprop(), "RMSprop"), (optimizers.Adam(eps=1e-9), "Adam")):
        with pytest.raises(ValueError, match="eps of " + name):
            optimizer.setup(half).update()


def test_frozen_parameters_stay():
    model = models()[1]
    model.a.requires_grad_(False)
    before = model.a.clone()
    optimizer = optimizers.Adam().setup(model)
    optimizer.add_hook(optimizer_hooks.WeightDecay(0.1))
    optimizer.update()
    assert torch.equal(model.a, before)


def test_as_an_optimizer_of_torch():
    """Parameters in the constructor, groups, a scheduler, a closure, state_dict, pickle."""
    model = models()[1]
    optimizer = optimizers.Adam(alpha=0.1, params=[{"params": [model.a]}, {"params": [model.b], "lr": 0.01}])
    assert isinstance(optimizer, torch.optim.Optimizer)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    loss = optimizer.step(lambda: (model.a.sum() ** 2 + model.b.sum()).backward())
    assert loss is None
    scheduler.step()
    assert optimizer.alpha == 0.05 and optimizer.param_groups[1]["lr"] == 0.005
    stream = io.BytesIO()
    torch.save(optimizer.state_dict(), stream)
    stream.seek(0)
    model2 = copy.deepcopy(model)
    other = optimizers.Adam(params=[{"params": [model2.a]}, {"params": [model2.b]}])
    other.load_state_dict(torch.load(stream, weights_only=True))
    for m in (model, model2):
        m.zero_grad()
        (m.a.sum() ** 2 + m.b.sum()).backward()
    optimizer.step()
    other.step()
    assert torch.equal(model.a, model2.a) and torch.equal(model.b, model2.b) and other.t == 2
    assert "alpha=0.05" in repr(optimizer)
    assert pickle.loads(pickle.dumps(model)).a.update_rule is None


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_half_precision_with_a_float32_copy(name):
    """float16 parameters are updated through float32 copies; the copies agree, too."""
    theirs, ours = models("float16")
    reference, optimizer = getattr(chainer.optimizers, name)(), getattr(optimizers, name)()
    for o, m in ((reference, theirs), (optimizer, ours)):
        o.use_fp32_update()
        o.setup(m)
    train(optimizer, reference, theirs, ours, change=changed_rate(name), dtype="float16")
    check(theirs, ours, 1e-3)
    for key in SHAPES:
        copy, expected = optimizer.state[getattr(ours, key)]["fp32_param"], getattr(theirs, key).update_rule._fp32_param
        assert copy.dtype == torch.float32 and expected.array.dtype == np.float32
        np.testing.assert_allclose(copy.numpy(), expected.array, rtol=2e-5, atol=1e-6)


def test_all_optimizers_by_name():
    theirs = {
        name
        for name, value in vars(chainer.optimizers).items()
        if isinstance(value, type) and issubclass(value, chainer.GradientMethod)
    }
    ours = {name: value for name, value in vars(optimizers).items() if not name.startswith("_")}
    assert set(ours) == theirs == set(OPTIMIZERS)
    assert all(value.__name__ == name for name, value in ours.items())


def test_adams_rate_has_one_name():
    """Chainer calls it alpha; a setting ``lr`` is one that no update reads, and is not there before."""
    mine = optimizers.Adam(alpha=0.01).setup(torch.nn.Linear(2, 2))
    theirs = chainer.optimizers.Adam(alpha=0.01).setup(chainer.links.Linear(2, 2))
    for optimizer in (mine, theirs):
        assert not hasattr(optimizer.hyperparam, "lr")
        optimizer.hyperparam.lr = 0.5
        assert (optimizer.hyperparam.lr, optimizer.hyperparam.alpha, optimizer.alpha) == (0.5, 0.01, 0.01)
    assert mine.param_groups[0]["lr"] == 0.01


@pytest.mark.parametrize("name", ["Adam", "MomentumSGD", "SMORMS3"])
def test_the_optimizer_that_was_set_up_last_has_the_rules_of_a_shared_link(name):
    """Chainer keeps one rule for each parameter; it counts the updates of whichever optimizer calls it."""
    link, module = chainer.links.Linear(3, 2), torch.nn.Linear(3, 2)
    link.W.array[...] = np.arange(6).reshape(2, 3)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(link.W.array.copy()))
        module.bias.zero_()
    olds = [getattr(chainer.optimizers, name)(0.1).setup(link) for _ in range(2)]
    news = [getattr(optimizers, name)(0.1).setup(module) for _ in range(2)]
    x = np.array([[1, 2, 3], [0.5, -1, 2]], "f")
    for i, which in enumerate((1, 0, 0, 1, 0, 1)):
        if i == 4:
            olds[0].setup(link)
            news[0].setup(module)
        if i == 2:
            link.b.update_rule.enabled = module.bias.update_rule.enabled = False
        link.cleargrads()
        chainer.functions.sum(link(x) ** 2).backward()
        olds[which].update()
        module.zero_grad()
        (module(torch.from_numpy(x)) ** 2).sum().backward()
        news[which].update()
        np.testing.assert_allclose(module.weight.detach().numpy(), link.W.array, rtol=1e-5, atol=1e-5, err_msg=str(i))
        np.testing.assert_allclose(module.bias.detach().numpy(), link.b.array, rtol=1e-5, atol=1e-5, err_msg=str(i))
        assert module.weight.update_rule.t == link.W.update_rule.t
        assert module.bias.update_rule.t == link.b.update_rule.t
        assert [o.t for o in news] == [o.t for o in olds]
