"""The optimizers of native output beside Chainer's: 200 steps, changing rates, gradients that are sometimes missing.

The table in docs/native-helpers.md is made of CASES: whether torch.optim is equal as it is, or a helper is.
"""

import copy
import io
import math

import chainer
import numpy as np
import pytest
import torch
from torch import nn

from chainer2torch.native import gradients, late_optimizers
from chainer2torch.native import optimizers as own

SHAPES = {"a": (3, 4), "b": (5,), "c": (2, 3, 2, 2), "scalar": (), "sometimes": (2, 2), "never": (3,)}
SGD = torch.optim.SGD
# Chainer's optimizer, its options; the PyTorch class, its options
PLAIN = [
    ("SGD", {}, SGD, {"lr": 0.01}),
    ("SGD", {"lr": 0.3}, SGD, {"lr": 0.3}),
    ("CorrectedMomentumSGD", {}, SGD, {"lr": 0.01, "momentum": 0.9}),
    ("CorrectedMomentumSGD", {"lr": 0.2, "momentum": 0.5}, SGD, {"lr": 0.2, "momentum": 0.5}),
    ("AdaGrad", {}, torch.optim.Adagrad, {"lr": 0.001, "eps": 1e-8}),
    ("AdaGrad", {"lr": 0.1, "eps": 1e-2}, torch.optim.Adagrad, {"lr": 0.1, "eps": 1e-2}),
    ("AdaDelta", {}, torch.optim.Adadelta, {"rho": 0.95}),
    ("AdaDelta", {"rho": 0.9, "eps": 1e-3}, torch.optim.Adadelta, {"eps": 1e-3}),
    ("RMSprop", {}, torch.optim.RMSprop, {}),
    ("RMSprop", {"lr": 0.1, "alpha": 0.9, "eps": 1e-2}, torch.optim.RMSprop, {"lr": 0.1, "alpha": 0.9, "eps": 1e-2}),
]
# equal to torch.optim as long as the rate does not change
CONSTANT = [
    ("MomentumSGD", {}, SGD, {"lr": 0.01, "momentum": 0.9}),
    ("MomentumSGD", {"lr": 0.2, "momentum": 0.5}, SGD, {"lr": 0.2, "momentum": 0.5}),
]

HELPERS = [
    ("MomentumSGD", {}, own.MomentumSGD, {}),
    ("MomentumSGD", {"lr": 0.2, "momentum": 0.5}, own.MomentumSGD, {"lr": 0.2, "momentum": 0.5}),
    ("AdaGrad", {}, own.AdaGrad, {}),
    ("AdaGrad", {"lr": 0.1, "eps": 1e-2}, own.AdaGrad, "same"),
    ("NesterovAG", {}, own.NesterovAG, {}),
    ("NesterovAG", {"lr": 0.1, "momentum": 0.8}, own.NesterovAG, {"lr": 0.1, "momentum": 0.8}),
    ("RMSprop", {"eps_inside_sqrt": True}, own.RMSpropInside, {}),
    ("RMSprop", {"eps": 1e-2, "alpha": 0.9, "eps_inside_sqrt": True}, own.RMSpropInside, {"eps": 1e-2, "alpha": 0.9}),
    ("RMSpropGraves", {}, own.RMSpropGraves, {}),
    ("RMSpropGraves", {"lr": 0.01, "alpha": 0.9, "momentum": 0.7, "eps": 1e-2}, own.RMSpropGraves, "same"),
    ("SMORMS3", {}, own.SMORMS3, {}),
    ("SMORMS3", {"lr": 0.1, "eps": 1e-8}, own.SMORMS3, "same"),
    ("MSVAG", {}, own.MSVAG, {}),
    (
        "MSVAG",
        {"lr": 0.2, "beta": 0.8, "eta": 0.5, "weight_decay_rate": 0.01},
        own.MSVAG,
        {"lr": 0.1, "beta": 0.8, "weight_decay_rate": 0.005},
    ),
    ("Adam", {}, own.Adam, {}),
    (
        "Adam",
        {"alpha": 0.1, "beta1": 0.8, "beta2": 0.95, "eps": 1e-2},
        own.Adam,
        {"lr": 0.1, "betas": (0.8, 0.95), "eps": 1e-2},
    ),
    ("Adam", {"eta": 0.5}, own.Adam, {"lr": 0.0005}),
    ("Adam", {"amsgrad": True, "eps": 1e-2}, own.Adam, {"amsgrad": True, "eps": 1e-2}),
    ("Adam", {"eps": 0.0}, torch.optim.Adam, {"eps": 0.0}),
    ("AMSGrad", {"alpha": 0.1, "beta2": 0.5}, own.Adam, {"lr": 0.1, "betas": (0.9, 0.5), "amsgrad": True}),
    ("AdamW", {}, own.AdamW, {}),
    ("AdamW", {"alpha": 0.01, "weight_decay_rate": 0.01}, own.AdamW, {"lr": 0.01, "weight_decay_rate": 0.01}),
    ("AdamW", {"eta": 0.5, "weight_decay_rate": 0.01}, own.AdamW, {"lr": 0.0005, "weight_decay_rate": 0.005}),
    ("AdaBound", {}, own.AdaBound, {}),
    (
        "AdaBound",
        {"alpha": 0.1, "final_lr": 0.01, "gamma": 0.5},
        own.AdaBound,
        {"lr": 0.1, "final_lr": 0.01, "gamma": 0.5},
    ),
    ("AdaBound", {"eta": 0.5}, own.AdaBound, {"eta": 0.5}),
    ("AMSBound", {"alpha": 0.1, "beta2": 0.5}, own.AdaBound, {"lr": 0.1, "betas": (0.9, 0.5), "amsgrad": True}),
    (
        "Adam",
        {"adabound": True, "weight_decay_rate": 0.01, "eta": 0.5},
        own.AdaBound,
        {"weight_decay_rate": 0.01, "eta": 0.5},
    ),
]
# plain torch.optim is not equal to these: what the helpers are for
UNEQUAL = [
    ("MomentumSGD", {}, SGD, {"lr": 0.01, "momentum": 0.9}, 1e-3),
    ("NesterovAG", {}, SGD, {"lr": 0.01, "momentum": 0.9, "nesterov": True}, 1e-3),
    ("Adam", {"eps": 1e-2}, torch.optim.Adam, {"eps": 1e-2}, 1e-3),
    ("RMSprop", {"eps": 1e-2, "eps_inside_sqrt": True}, torch.optim.RMSprop, {"eps": 1e-2}, 1e-3),
    ("RMSpropGraves", {"lr": 0.01, "alpha": 0.95, "momentum": 0.9, "eps": 1e-4}, torch.optim.RMSprop,
     {"lr": 0.01, "alpha": 0.95, "momentum": 0.9, "eps": 1e-4, "centered": True}, 1e-3),
    ("AdamW", {"alpha": 0.01, "weight_decay_rate": 0.01}, torch.optim.AdamW, {"lr": 0.01, "weight_decay": 1.0}, 1e-3),
]  # fmt: skip


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


def set_gradients(theirs, ours, rng, step, dtype="float64", missing=True):
    """Random gradients plus the parameters themselves, so that an error of one step shows in the next."""
    theirs.cleargrads()
    ours.zero_grad()
    for name in SHAPES:
        if missing and (name == "never" or (name == "sometimes" and step % 3)):
            continue
        param = getattr(theirs, name)
        noise = np.asarray(rng.randn(*param.shape), dtype=dtype)
        param.grad = np.asarray(noise + param.array)
        getattr(ours, name).grad = torch.as_tensor(noise) + getattr(ours, name).detach()


def difference(theirs, ours):
    """The largest one; values that are not a number must be so on both sides."""
    pairs = [(getattr(theirs, name).array, getattr(ours, name).detach().numpy()) for name in SHAPES]
    assert all((np.isnan(a) == np.isnan(b)).all() for a, b in pairs)
    return max(float(np.max(np.abs(np.nan_to_num(a) - np.nan_to_num(b)))) for a, b in pairs)


def run(
    name, options, build, native, *, changing=True, dtype="float64", steps=200, missing=True, hooks=(), before=None
):
    """The largest difference of any parameter after 200 steps, between Chainer and PyTorch."""
    theirs, ours = models(dtype)
    optimizer = getattr(chainer.optimizers, name)(**options)
    optimizer.setup(theirs)
    for hook in hooks:
        optimizer.add_hook(hook)
    other = build(ours.parameters(), **(options if native == "same" else native))
    if missing and type(other).__module__.startswith("torch."):
        other.register_step_pre_hook(own.fill_missing_gradients)
    rng = np.random.RandomState(1)
    rate = "alpha" if hasattr(optimizer, "alpha") and not name.startswith("RMS") else "lr"
    for step in range(steps):
        set_gradients(theirs, ours, rng, step, dtype, missing)
        if before:
            before(ours, step)
        optimizer.update()
        other.step()
        if changing and name != "AdaDelta":
            factor = 0.5 if step == 100 else 1.01
            setattr(optimizer, rate, getattr(optimizer, rate) * factor)
            for group in other.param_groups:
                group["lr"] *= factor
    assert np.abs(ours.a.detach().numpy() - models(dtype)[0].a.array).max() > 1e-3, "nothing moved"
    return difference(theirs, ours)


@pytest.mark.parametrize("name, options, build, native", PLAIN + HELPERS)
def test_equal_over_200_steps_with_changing_rates(name, options, build, native):
    assert run(name, options, build, native) < 1e-12


@pytest.mark.parametrize("name, options, build, native", PLAIN + HELPERS + CONSTANT)
def test_equal_over_200_steps_at_a_constant_rate(name, options, build, native):
    assert run(name, options, build, native, changing=False) < 1e-12
    assert run(name, options, build, native, changing=False, dtype="float32") < 2e-5


@pytest.mark.parametrize("name, options, build, native, at_least", UNEQUAL)
def test_plain_torch_is_not_equal_where_a_helper_is_written(name, options, build, native, at_least):
    assert run(name, options, build, native) > at_least


@pytest.mark.parametrize("name, options, build, native", [PLAIN[2], CONSTANT[0], PLAIN[4], PLAIN[6], PLAIN[8]])
def test_plain_torch_needs_every_gradient_or_the_hook(name, options, build, native):
    theirs, ours = models()
    optimizer = getattr(chainer.optimizers, name)(**options).setup(theirs)
    other = build(ours.parameters(), **native)
    rng = np.random.RandomState(1)
    for step in range(10):
        set_gradients(theirs, ours, rng, step)
        optimizer.update()
        other.step()
    same = name in ("AdaGrad",)  # a gradient of zero changes nothing there
    assert (difference(theirs, ours) < 1e-12) == same
    assert run(name, options, build, native, changing=False, missing=False) < 1e-12


@pytest.mark.parametrize("name, options, build, native", PLAIN + HELPERS)
def test_weight_decay_as_the_last_hook_is_an_argument(name, options, build, native):
    native = dict(options if native == "same" else native, weight_decay=0.1)
    if build is own.AdamW:  # the decoupled decay comes first here, last in Chainer
        with pytest.raises(ValueError, match="not both"):
            run(name, options, build, native)
        return
    assert run(name, options, build, native, hooks=[chainer.optimizer_hooks.WeightDecay(0.1)], steps=50) < 1e-12


def clip(model, step):
    own.fill_missing_gradients(torch.optim.SGD(model.parameters()))
    gradients.clip_gradients(model.parameters(), 2.0)


def decay_then_clip(model, step):
    gradients.decay_weights(model.parameters(), 0.3)
    gradients.clip_gradients(model.parameters(), 2.0)


H = chainer.optimizer_hooks
HOOKS = {
    "clip": ([H.GradientClipping(2.0)], clip, {}),
    "clip, not reached": (
        [H.GradientClipping(200.0)],
        lambda m, _: gradients.clip_gradients(m.parameters(), 200.0),
        {},
    ),
    "clip then decay": ([H.GradientClipping(2.0), H.WeightDecay(0.3)], clip, {"weight_decay": 0.3}),
    "decay then clip": ([H.WeightDecay(0.3), H.GradientClipping(2.0)], decay_then_clip, {}),
    "hard": ([H.GradientHardClipping(-0.5, 0.5)], lambda m, _: nn.utils.clip_grad_value_(m.parameters(), 0.5), {}),
    "hard, two bounds": (
        [H.GradientHardClipping(-0.5, 0.2)],
        lambda m, _: gradients.clip_gradient_values(m.parameters(), -0.5, 0.2),
        {},
    ),
    "lasso": ([H.Lasso(0.1)], lambda m, _: gradients.add_lasso(m.parameters(), 0.1), {}),
    "lars": ([H.GradientLARS()], lambda m, _: gradients.scale_gradients_by_layer(m.parameters()), {}),
    "lars with decay": (
        [H.GradientLARS(threshold=2.0, weight_decay=0.1, eps=1e-2)],
        lambda m, _: gradients.scale_gradients_by_layer(m.parameters(), 2.0, 0.1, 1e-2),
        {},
    ),
}


@pytest.mark.parametrize("dtype, tolerance", [("float64", 1e-12), ("float32", 1e-4)])
@pytest.mark.parametrize("case", HOOKS)
def test_hooks(case, dtype, tolerance):
    hooks, before, options = HOOKS[case]
    for name, build in (("SGD", SGD), ("Adam", own.Adam)):
        native = dict({"lr": 0.01} if name == "SGD" else {}, **options)
        found = run(
            name, {}, build, native, hooks=hooks, before=before, dtype=dtype, missing=case.startswith("clip"), steps=50
        )
        assert found < tolerance, name


@pytest.mark.parametrize("hook", [H.WeightDecay(0.3), H.GradientLARS(threshold=0.1, weight_decay=0.1)])
def test_hooks_of_adamw_see_what_has_not_decayed_yet(hook):
    options = {"alpha": 0.01, "weight_decay_rate": 0.1}

    def build(params, **given):
        optimizer = own.AdamW(params, lr=0.01, weight_decay_rate=0.1, **given)
        if isinstance(hook, H.WeightDecay):
            gradients.before_step(optimizer, gradients.decay_weights, 0.3)
        else:
            gradients.before_step(optimizer, gradients.scale_gradients_by_layer, 0.1, 0.1, 1e-9)
        return optimizer

    assert run("AdamW", options, build, {}, hooks=[hook], steps=50) < 1e-12


def test_clip_grad_norm_differs_by_1e_6_over_the_norm():
    """torch divides by norm + 1e-6: a bounded difference, `close`; the helper where it must be equal."""
    found = run(
        "SGD",
        {},
        SGD,
        {"lr": 0.01},
        hooks=[H.GradientClipping(2.0)],
        before=lambda m, _: nn.utils.clip_grad_norm_(m.parameters(), 2.0),
        missing=False,
        changing=False,
        steps=1,
    )
    assert 1e-10 < found < 0.01 * 2.0 * 1e-6
    param = nn.Parameter(torch.zeros(4, dtype=torch.float64))
    for norm, threshold in ((1e-4, 1e-5), (3.0, 2.0), (1e3, 5.0)):
        param.grad = torch.full((4,), norm / 2, dtype=torch.float64)
        nn.utils.clip_grad_norm_([param], threshold)
        relative = 1 - param.grad.norm().item() / threshold
        assert relative == pytest.approx(1e-6 / (norm + 1e-6), rel=1e-3)


def test_gradient_of_zero_and_nan_is_clipped_as_in_chainer():
    for value in (0.0, float("nan")):
        theirs = Theirs({"a": np.ones(3)})
        theirs.a.grad = np.full(3, value)
        optimizer = chainer.optimizers.SGD().setup(theirs)
        with np.errstate(divide="ignore"):
            H.GradientClipping(1.0)(optimizer)
        param = nn.Parameter(torch.ones(3, dtype=torch.float64))
        param.grad = torch.full((3,), value, dtype=torch.float64)
        gradients.clip_gradients([param], 1.0)
        np.testing.assert_array_equal(param.grad.numpy(), theirs.a.grad)


@pytest.mark.parametrize("step", [0, 1, 50])
def test_gradient_noise_has_chainers_size(step):
    param = nn.Parameter(torch.zeros(40000))
    param.grad = torch.ones(40000)
    gradients.add_gradient_noise([param], 0.3, step)
    theirs = chainer.Parameter(np.zeros(40000, "f"))
    theirs.grad = np.ones(40000, "f")
    theirs.update_rule = chainer.optimizers.SGD().create_update_rule()
    theirs.update_rule.t = step
    H.GradientNoise(0.3)(theirs.update_rule, theirs)
    assert param.grad.std().item() == pytest.approx(theirs.grad.std(), rel=0.02)
    assert param.grad.mean().item() == pytest.approx(theirs.grad.mean(), abs=0.02)


def test_noise_counts_updates_from_zero():
    seen = []
    theirs, _ = models()
    optimizer = chainer.optimizers.SGD().setup(theirs)
    optimizer.add_hook(
        H.GradientNoise(0.1, lambda xp, shape, dtype, hook, rule: seen.append(rule.t) or xp.zeros(shape))
    )
    for _ in range(3):
        optimizer.update()
    assert sorted(set(seen)) == [0, 1, 2]


@pytest.mark.parametrize(
    "build",
    [lambda p: own.Adam(p, amsgrad=True), lambda p: own.AdamW(p, weight_decay_rate=0.01), own.MSVAG, own.AdaBound,
     own.SMORMS3, own.MomentumSGD, own.RMSpropGraves],
)  # fmt: skip
def test_a_saved_state_goes_on_as_if_nothing_had_happened(build):
    """state_dict, torch.save, load_state_dict, deepcopy and schedulers work as with any optimizer of torch."""
    torch.manual_seed(0)
    model = nn.Linear(3, 2)
    optimizer = build(model.parameters())
    x = torch.randn(5, 3)

    def go(model, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
        return model.weight.detach().clone()

    go(model, optimizer, 5)
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, file)
    expected = go(model, optimizer, 5)
    file.seek(0)
    state = torch.load(file)
    second = nn.Linear(3, 2)
    second.load_state_dict(state["model"])
    resumed = build(second.parameters())
    resumed.load_state_dict(state["optimizer"])
    torch.testing.assert_close(go(second, resumed, 5), expected, rtol=0, atol=0)


def test_a_frozen_parameter_stands_still_and_a_lazy_one_waits():
    layer = nn.LazyLinear(2)
    frozen = nn.Parameter(torch.ones(2), requires_grad=False)
    for build in (own.Adam, own.AdamW, own.MomentumSGD):
        optimizer = build([*layer.parameters(), frozen])
        optimizer.step()
        assert torch.equal(frozen, torch.ones(2))


def test_groups_keep_their_own_options_and_a_closure_gives_its_loss():
    params = [nn.Parameter(torch.ones(2, dtype=torch.float64)) for _ in range(2)]
    optimizer = own.Adam([{"params": [params[0]], "eps": 0.1}, {"params": [params[1]], "lr": 0.5}])

    def closure():
        optimizer.zero_grad()
        loss = sum(param.square().sum() for param in params)
        loss.backward()
        return loss

    assert optimizer.step(closure).item() == 4.0
    step = 0.001 * math.sqrt(1 - 0.999) / (1 - 0.9) * 0.2 / (2 * math.sqrt(1 - 0.999) + 0.1)
    assert params[0][0].item() == pytest.approx(1 - step, abs=1e-12)
    assert params[1][0].item() == pytest.approx(0.5, abs=1e-6)
    assert own.NesterovAG(params).step(closure).item() != 4.0
    copy.deepcopy(optimizer).step(closure)


@pytest.mark.parametrize(
    "name, options, build, native",
    [case for case in PLAIN + CONSTANT + HELPERS if not case[1] or case[0] in ("AdamW", "RMSprop")],
)
def test_a_model_learns_the_same(name, options, build, native):
    """60 batches of a small classifier: the losses, not only the updates for given gradients."""
    rng = np.random.RandomState(0)
    x, t = rng.randn(60, 20, 6), rng.randint(0, 3, (60, 20)).astype("i")
    with chainer.using_config("dtype", np.float64):
        theirs = chainer.Sequential(chainer.links.Linear(6, 16), chainer.functions.relu, chainer.links.Linear(16, 3))
    ours = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3)).double()
    with torch.no_grad():
        for link, layer in ((theirs[0], ours[0]), (theirs[2], ours[2])):
            layer.weight.copy_(torch.tensor(link.W.array))
            layer.bias.copy_(torch.tensor(link.b.array))
    optimizer = getattr(chainer.optimizers, name)(**options).setup(theirs)
    optimizer.add_hook(chainer.optimizer_hooks.GradientClipping(1.0))
    other = build(ours.parameters(), **native)
    losses = []
    for batch, labels in zip(x, t):
        loss = chainer.functions.softmax_cross_entropy(theirs(batch), labels)
        theirs.cleargrads()
        loss.backward()
        optimizer.update()
        other.zero_grad()
        our_loss = nn.functional.cross_entropy(ours(torch.tensor(batch)), torch.tensor(labels).long())
        our_loss.backward()
        gradients.clip_gradients(ours.parameters(), 1.0)
        other.step()
        losses.append((float(loss.array), our_loss.item()))
    np.testing.assert_allclose(*np.array(losses).T, rtol=1e-9)
    assert len({loss for loss, _ in losses}) == 60


def test_betas_may_be_whole_numbers():
    """Options of a command line often have 0 for a first beta, which torch.optim refuses."""
    layer = nn.Linear(2, 2)
    assert own.Adam(layer.parameters(), betas=(0, 0.9)).param_groups[0]["betas"] == (0.0, 0.9)
    assert late_optimizers.LateAdam(0.001, 0, 0.9).param_groups[0]["betas"] == (0.0, 0.9)


def test_settings_by_their_place_end_before_eta():
    """Chainer's fifth is ``eta``, not ``amsgrad``: it is refused, and not taken for another one."""
    assert own.adam_options(0.1, 0.8, 0.9, 1e-4)["eps"] == 1e-4
    with pytest.raises(TypeError):
        own.adam_options(0.1, 0.8, 0.9, 1e-4, 1.0)
