"""The short normal distribution beside Chainer's: values, gradients, samples, divergences."""

import chainer
import chainer.distributions as D
import numpy as np
import pytest
import torch

from chainer2torch.engine import migrate_source
from chainer2torch.native import normal_distribution
from chainer2torch.plan.options import Options
from chainer2torch.vendor.compat_file import build

METHODS = ("log_prob", "prob", "cdf", "icdf", "log_cdf", "survival_function", "log_survival_function")
ATTRIBUTES = ("mean", "variance", "stddev", "entropy", "scale", "log_scale", "loc")


def pair(way, dtype, shape=(3, 2)):
    rng = np.random.RandomState(3)
    loc, scale = (rng.uniform(low, high, shape).astype(dtype) for low, high in ((-1, 1), (0.5, 2)))
    given = {"scale": scale} if way == "scale" else {"log_scale": np.log(scale)}
    theirs = {name: chainer.Variable(value) for name, value in {"loc": loc, **given}.items()}
    ours = {name: torch.tensor(value, requires_grad=True) for name, value in {"loc": loc, **given}.items()}
    return D.Normal(**theirs), normal_distribution.NormalDistribution(**ours), theirs, ours


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("way", ["scale", "log_scale"])
@pytest.mark.parametrize("name", METHODS + ATTRIBUTES)
def test_values_and_gradients(name, way, dtype):
    theirs, ours, their_params, our_params = pair(way, dtype)
    rng = np.random.RandomState(0)
    x = (rng.uniform(0.01, 0.99, (4, 3, 2)) if name == "icdf" else rng.uniform(-8, 8, (4, 3, 2))).astype(dtype)
    a, b = chainer.Variable(x), torch.tensor(x, requires_grad=True)
    y = getattr(theirs, name) if name in ATTRIBUTES else getattr(theirs, name)(a)
    z = getattr(ours, name) if name in ATTRIBUTES else getattr(ours, name)(b)
    tolerance = {"rtol": 2e-4 if dtype == "f4" else 1e-9, "atol": 1e-6 if dtype == "f4" else 1e-12}
    np.testing.assert_allclose(z.detach(), y.array, **tolerance)
    assert z.dtype == b.dtype
    weight = rng.randn(*y.shape).astype(dtype)
    chainer.functions.sum(y * weight).backward()
    if z.requires_grad:
        (z * torch.tensor(weight)).sum().backward()
    for key in (name for name in our_params if name not in ("mean",)):
        expected = their_params[key].grad
        found = our_params[key].grad
        np.testing.assert_allclose(0 if found is None else found, 0 if expected is None else expected, **tolerance)


@pytest.mark.parametrize("shape", [(), 5, (4, 2)])
def test_samples(shape):
    theirs, ours, _, params = pair("log_scale", "f4", (300,))
    many = 2000
    expected, found = theirs.sample(shape), ours.sample(shape)
    assert found.shape == expected.shape and found.requires_grad and found.dtype == torch.float32
    drawn = ours.sample_n(many)
    assert drawn.shape == theirs.sample_n(many).shape == (many, 300)
    np.testing.assert_allclose(drawn.detach().mean(0), ours.loc.detach(), atol=0.3)
    np.testing.assert_allclose(drawn.detach().std(0), ours.scale.detach(), rtol=0.15)
    drawn.sum().backward()
    assert params["loc"].grad is not None and float(params["loc"].grad[0]) == many
    assert tuple(ours.batch_shape) == tuple(theirs.batch_shape) and tuple(ours.event_shape) == theirs.event_shape


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_divergences(dtype):
    first, second = pair("scale", dtype), pair("log_scale", dtype)
    other = D.Normal(second[2]["loc"] * 2, log_scale=second[2]["log_scale"] * 0.5)
    ours = normal_distribution.NormalDistribution(second[3]["loc"] * 2, log_scale=second[3]["log_scale"] * 0.5)
    expected, found = chainer.kl_divergence(first[0], other), normal_distribution.kl_divergence(first[1], ours)
    np.testing.assert_allclose(found.detach(), expected.array, rtol=1e-5, atol=1e-6)
    chainer.functions.sum(expected).backward()
    found.sum().backward()
    for theirs, own in ((first[2], first[3]), (second[2], second[3])):
        for name in theirs:
            np.testing.assert_allclose(own[name].grad, theirs[name].grad, rtol=1e-4, atol=1e-5)


def test_arguments():
    for wrong in ({"loc": 0.0}, {"loc": 0.0, "scale": 1.0, "log_scale": 0.0}):
        with pytest.raises(ValueError, match="either scale or log_scale"):
            normal_distribution.NormalDistribution(**wrong)
    made = normal_distribution.NormalDistribution(np.zeros(3, "f"), np.ones(3, "f"))
    assert made.params.keys() == {"loc", "scale"} and made.support == "real"


def test_programs_with_other_distributions_have_the_long_form():
    def code(body):
        text = f"import chainer\nimport chainer.distributions as D\n\ndef f(x, d):\n    return {body}\n"
        return migrate_source(text, options=Options(style="native")).code

    assert "compat.NormalDistribution(x, x).sample()" in code("D.Normal(x, x).sample() + d.sample()")
    short = build(["NormalDistribution", "kl_divergence"], style="native", said=["sample", ".sample"])
    assert "class NormalDistribution(torch.distributions.Normal)" in short and "ParametricDistribution" not in short
    for other in ("IndependentDistribution", "BernoulliDistribution", "register_kl", "Distribution"):
        long = build(["NormalDistribution", "kl_divergence", other], style="native", said=["sample"])
        assert "class NormalDistribution(ParametricDistribution)" in long and "faithful_" not in long
