"""The optimizers of native output that get their model later, beside Chainer's: numbers, hooks, settings, states."""

import copy
import io
import pickle

import chainer
import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.native import late_hooks, late_optimizers

SHAPES = {"a": (3, 4), "b": (5,), "scalar": (), "sometimes": (2, 2), "never": (3,)}
CASES = [
    ("SGD", {}),
    ("SGD", {"lr": 0.3}),
    ("CorrectedMomentumSGD", {"lr": 0.2, "momentum": 0.5}),
    ("MomentumSGD", {}),
    ("MomentumSGD", {"lr": 0.2, "momentum": 0.5}),
    ("NesterovAG", {"lr": 0.1, "momentum": 0.8}),
    ("AdaGrad", {}),
    ("AdaGrad", {"lr": 0.1, "eps": 1e-2}),
    ("AdaDelta", {"rho": 0.9, "eps": 1e-3}),
    ("RMSprop", {"lr": 0.1, "alpha": 0.9, "eps": 1e-2}),
    ("RMSpropGraves", {}),
    ("RMSpropGraves", {"lr": 0.01, "alpha": 0.9, "momentum": 0.7, "eps": 1e-2}),
    ("SMORMS3", {"lr": 0.1, "eps": 1e-8}),
    ("Adam", {}),
    ("Adam", {"alpha": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-2}),
    ("Adam", {"amsgrad": True, "eps": 1e-2}),
    ("AMSGrad", {"alpha": 0.1, "beta2": 0.5}),
    ("AdamW", {"alpha": 0.01, "weight_decay_rate": 0.01}),
]
H = chainer.optimizer_hooks
HOOKS = {
    "WeightDecay": (0.3,),
    "Lasso": (0.1,),
    "GradientClipping": (2.0,),
    "GradientHardClipping": (-0.5, 0.2),
    "GradientLARS": (2.0, 0.1, 1e-2),
}


class Theirs(chainer.Chain):
    def __init__(self, values):
        super().__init__()
        with self.init_scope():
            for name, value in values.items():
                setattr(self, name, chainer.Parameter(value.copy()))


class Ours(nn.Module):
    def __init__(self, values):
        super().__init__()
        for name, value in values.items():
            setattr(self, name, nn.Parameter(torch.tensor(value)))


def models(dtype="float64"):
    rng = np.random.RandomState(0)
    values = {name: np.asarray(rng.randn(*shape), dtype=dtype) for name, shape in SHAPES.items()}
    return Theirs(values), Ours(values)


def both(name, options):
    return getattr(chainer.optimizers, name)(**options), getattr(late_optimizers, "Late" + name)(**options)


def set_gradients(theirs, ours, rng, step):
    """Random gradients plus the parameters themselves; some are missing sometimes."""
    theirs.cleargrads()
    ours.zero_grad()
    for name in SHAPES:
        if name != "never" and not (name == "sometimes" and step % 3):
            param = getattr(theirs, name)
            noise = np.asarray(rng.randn(*param.shape), dtype=param.dtype)
            param.grad = np.asarray(noise + param.array)
            getattr(ours, name).grad = torch.as_tensor(noise) + getattr(ours, name).detach()


def difference(theirs, ours):
    pairs = [(getattr(theirs, name).array, getattr(ours, name).detach().numpy()) for name in SHAPES]
    return max(float(np.max(np.abs(a - b))) for a, b in pairs)


def run(name, options, *, hooks=(), own_hooks=(), dtype="float64", steps=200, changes=None):
    theirs, ours = models(dtype)
    optimizer, late = both(name, options)
    optimizer.setup(theirs)
    late.setup(ours)
    for hook, own in zip(hooks, own_hooks):
        optimizer.add_hook(hook)
        late.add_hook(own)
    rng = np.random.RandomState(1)
    for step in range(steps):
        set_gradients(theirs, ours, rng, step)
        optimizer.update()
        late.update()
        for setting in changes or ():
            factor = 0.5 if step == 100 else 1.001
            for each in (optimizer, late):
                setattr(each, setting, getattr(each, setting) * factor)
    assert np.abs(ours.a.detach().numpy() - models(dtype)[0].a.array).max() > 1e-3, "nothing moved"
    assert late.t == optimizer.t == steps
    return difference(theirs, ours)


@pytest.mark.parametrize("name, options", CASES)
def test_equal_over_200_steps(name, options):
    assert run(name, options) < 1e-12
    assert run(name, options, dtype="float32") < 2e-5


@pytest.mark.parametrize(
    "name, changes",
    [
        ("SGD", ["lr"]), ("CorrectedMomentumSGD", ["lr"]), ("MomentumSGD", ["lr"]), ("NesterovAG", ["lr"]),
        ("AdaGrad", ["lr", "eps"]),
        ("AdaDelta", ["eps"]), ("RMSprop", ["lr", "eps"]), ("RMSpropGraves", ["lr", "eps"]), ("SMORMS3", ["lr"]),
        ("Adam", ["alpha", "eps"]), ("AMSGrad", ["alpha"]), ("AdamW", ["alpha", "weight_decay_rate"]),
    ],
)  # fmt: skip
def test_equal_with_settings_that_change(name, changes):
    options = {"weight_decay_rate": 0.01} if name == "AdamW" else {"eps": 1e-2} if "eps" in changes else {}
    assert run(name, options, changes=changes) < 1e-12


@pytest.mark.parametrize("name", [*HOOKS, "all of them"])
@pytest.mark.parametrize("optimizer", ["SGD", "MomentumSGD", "Adam", "AdamW"])
def test_hooks(optimizer, name):
    options = {"weight_decay_rate": 0.01} if optimizer == "AdamW" else {}
    chosen = list(HOOKS) if name == "all of them" else [name]
    theirs = [getattr(H, each)(*HOOKS[each]) for each in chosen]
    ours = [getattr(late_hooks, each)(*HOOKS[each]) for each in chosen]
    for dtype, tolerance in (("float64", 1e-12), ("float32", 1e-4)):
        assert run(optimizer, options, hooks=theirs, own_hooks=ours, dtype=dtype, steps=50) < tolerance


class HalveTheirs:
    name, call_for_each_param, timing = "Halve", True, "post"

    def __call__(self, rule, param):
        param.data *= 0.5 / rule.t


class HalveOurs(HalveTheirs):
    def __call__(self, rule, param):
        param.data *= 0.5 / rule.t


class Signs:
    """A hook of a project that walks over the parameters itself."""

    name = "Signs"

    def __init__(self, sign):
        self.sign = sign

    def __call__(self, opt):
        for param in opt.target.params() if hasattr(opt.target, "params") else opt.target.parameters():
            param.grad = self.sign(param.grad)


def test_hooks_of_ones_own_before_and_after_the_step():
    theirs, ours = [Signs(lambda g: np.asarray(np.sign(g))), HalveTheirs()], [Signs(torch.sign), HalveOurs()]
    assert run("MomentumSGD", {}, hooks=theirs, own_hooks=ours, steps=20) < 1e-12


def test_noise_has_chainers_size():
    class Hooked:
        t = 7

    param = nn.Parameter(torch.zeros(40000))
    param.grad = torch.ones(40000)
    late_hooks.GradientNoise(0.3)(Hooked, param)
    assert param.grad.std().item() == pytest.approx((0.3 / 8**0.55) ** 0.5, rel=0.02)
    assert param.grad.mean().item() == pytest.approx(1, abs=0.02)


def test_hooks_have_names():
    optimizer = late_optimizers.LateSGD(1.0).setup(models()[1])
    optimizer.add_hook(late_hooks.WeightDecay(0.1))
    optimizer.add_hook(late_hooks.WeightDecay(0.1), "another")
    optimizer.remove_hook("WeightDecay")
    before = optimizer.target.a.detach().clone()
    optimizer.update()
    torch.testing.assert_close(optimizer.target.a.detach(), before * 0.9)


@pytest.mark.parametrize("name, options", CASES)
def test_settings_are_chainers(name, options):
    theirs, ours = both(name, options)
    settings = {key for key in theirs.hyperparam.get_dict() if key not in (
        "eta", "amsgrad", "adabound", "final_lr", "gamma", "eps_inside_sqrt"
    )} - ({"weight_decay_rate"} if name != "AdamW" else set())  # fmt: skip
    for key in settings:
        assert getattr(ours, key) == getattr(theirs, key)
        setattr(ours, key, getattr(ours, key) * 0.5)
        assert getattr(ours, key) == getattr(theirs, key) * 0.5
    ours.setup(models()[1])
    assert all(getattr(ours, key) == getattr(theirs, key) * 0.5 for key in settings)


def test_corrected_rate_of_adam():
    theirs, ours = both("Adam", {"alpha": 0.2, "beta1": 0.8})
    for optimizer, model in zip((theirs, ours), models()):
        optimizer.setup(model)
        optimizer.update()
        optimizer.update()
    assert ours.lr == pytest.approx(theirs.lr, rel=1e-15)
    with pytest.raises(ValueError):  # Chainer: RuntimeError, too early to ask
        print(late_optimizers.LateAdam().lr)


def linear(dtype="float64"):
    np.random.seed(0)
    link = chainer.links.Linear(3, 2)
    module = nn.Linear(3, 2)
    with torch.no_grad():
        module.weight.copy_(torch.from_numpy(link.W.array))
        module.bias.copy_(torch.from_numpy(link.b.array))
    return link, module


@pytest.mark.parametrize("name", ["SGD", "Adam", "MomentumSGD"])
def test_update_with_a_loss_function(name):
    link, module = linear()
    theirs, ours = both(name, {})
    theirs.setup(link)
    ours.setup(module)
    rng = np.random.RandomState(0)
    for step in range(20):
        x = rng.randn(4, 3).astype("f")
        theirs.update(lambda x, scale: scale * chainer.functions.sum(link(x) ** 2), x, scale=0.5 + step)
        ours.update(lambda x, scale: scale * (module(x) ** 2).sum(), torch.from_numpy(x), scale=0.5 + step)
    np.testing.assert_allclose(module.weight.detach().numpy(), link.W.array, rtol=1e-4, atol=1e-6)


def test_a_model_as_loss_function_takes_arrays():
    class Loss(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(3, 2)

        def forward(self, x):
            return self.layer(x).sum()

    model = Loss()
    optimizer = late_optimizers.LateSGD(1.0).setup(model)
    before = model.layer.weight.detach().clone()
    optimizer.update(model, np.ones((4, 3), "f"))
    torch.testing.assert_close(model.layer.weight.detach(), before - 4)


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_two_losses_of_one_graph_one_after_the_other(name):
    """As in DCGAN's updater: the second goes back through parameters that the first has changed."""
    gen, dis = linear()[0], chainer.links.Linear(2, 1)
    rng = np.random.RandomState(0)
    weights = [rng.randn(2, 3), rng.randn(1, 2)]
    ours = [nn.Linear(3, 2, bias=False).double(), nn.Linear(2, 1, bias=False).double()]
    gen, dis = (chainer.links.Linear(None, len(w), nobias=True, initialW=w) for w in weights)
    for module, w in zip(ours, weights):
        module.weight.data.copy_(torch.from_numpy(w))
    optimizers = [both(name, {}) for _ in range(2)]
    x = rng.randn(5, 3)
    with chainer.using_config("dtype", np.float64):
        for link in (gen, dis):
            link(np.zeros((1, 3 if link is gen else 2)))
        for pair, link, module in zip(optimizers, (gen, dis), ours):
            pair[0].setup(link)
            pair[1].setup(module)
        for _ in range(5):
            y = dis(gen(chainer.Variable(x)))
            optimizers[0][0].update(lambda y: chainer.functions.sum(y**2), y)
            optimizers[1][0].update(lambda y: chainer.functions.sum((y - 1) ** 2), y)
            z = ours[1](ours[0](torch.from_numpy(x)))
            optimizers[0][1].update(lambda z: (z**2).sum(), z)
            optimizers[1][1].update(lambda z: ((z - 1) ** 2).sum(), z)
    np.testing.assert_allclose(ours[0].weight.detach().numpy(), gen.W.array, rtol=1e-12)
    np.testing.assert_allclose(ours[1].weight.detach().numpy(), dis.W.array, rtol=1e-12)


@pytest.mark.parametrize("name, options", CASES)
def test_a_saved_state_goes_on_as_if_nothing_had_happened(name, options):
    def train(optimizer, first, last):
        for step in range(first, last):
            for i, param in enumerate(optimizer.target.parameters()):
                param.grad = torch.sin(param.detach() * (step + 1) + i)
            optimizer.update()
        optimizer.new_epoch()

    make = getattr(late_optimizers, "Late" + name)
    whole, first = make(**options).setup(models()[1]), make(**options).setup(models()[1])
    train(whole, 0, 4)
    train(whole, 4, 8)
    train(first, 0, 4)
    file = io.BytesIO()
    torch.save(first.state_dict(), file)
    file.seek(0)
    second = make().setup(copy.deepcopy(first.target))
    second.load_state_dict(torch.load(file, weights_only=True))
    copied = copy.deepcopy(first)
    read = pickle.loads(pickle.dumps(first))
    for optimizer in (second, copied, read):
        train(optimizer, 4, 8)
        assert (optimizer.t, optimizer.epoch) == (8, 2)
        for a, b in zip(whole.target.parameters(), optimizer.target.parameters()):
            assert torch.equal(a, b)


def test_setup_begins_anew():
    optimizer = late_optimizers.LateAdam(0.5).setup(models()[1])
    optimizer.add_hook(late_hooks.WeightDecay(0.1))
    optimizer.update()
    optimizer.new_epoch()
    fresh = late_optimizers.LateAdam(0.5).setup(models()[1])
    optimizer.setup(models()[1])
    assert (optimizer.t, optimizer.epoch) == (0, 0)
    for each in (optimizer, fresh):
        each.target.a.grad = torch.ones(3, 4).double()
        each.update()
    assert torch.equal(optimizer.target.a, fresh.target.a)


def test_an_update_without_a_model_raises():
    with pytest.raises(AttributeError):
        late_optimizers.LateSGD().update()


def test_a_layer_that_gets_its_shape_later_is_trained():
    model = nn.LazyLinear(2)
    optimizer = late_optimizers.LateMomentumSGD(0.1).setup(model)
    optimizer.add_hook(late_hooks.WeightDecay(0.1))
    optimizer.update(lambda x: model(x).sum(), torch.ones(4, 3))
    before = model.weight.detach().clone()
    optimizer.update(lambda x: model(x).sum(), torch.ones(4, 3))
    assert not torch.equal(model.weight, before)


def test_by_name():
    assert isinstance(late_optimizers.OptimizersByName.SGD(0.5), torch.optim.SGD)
    names = [name for name in vars(late_optimizers.OptimizersByName) if not name.startswith("_")]
    for name in names:
        made = getattr(late_optimizers.OptimizersByName, name)()
        assert type(made).__name__ == "Late" + name


def test_step_of_libraries_on_torch_calls_the_hooks_and_counts():
    """An agent of PFRL calls ``step()`` and knows nothing of ``update()``."""
    steps, updates = (late_optimizers.LateAdamW(0.1, weight_decay_rate=0.1).setup(models()[1]) for _ in range(2))
    for optimizer in (steps, updates):
        optimizer.add_hook(late_hooks.WeightDecay(0.3))
        optimizer.add_hook(HalveOurs())
        for _ in range(3):
            optimizer.target.a.grad = torch.ones(3, 4).double()
            (optimizer.step if optimizer is steps else optimizer.update)()
    assert steps.t == updates.t == 3
    assert all(torch.equal(a, b) for a, b in zip(steps.target.parameters(), updates.target.parameters()))
    assert not torch.equal(steps.target.a, models()[1].a)
