"""The distributions against chainer.distributions: values, gradients, samples, divergences."""

import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import chainer
import chainer.distributions as D
import numpy as np
import pytest
import torch

from chainer2torch.compat.distributions import (
    discrete_distributions,
    distribution_base,
    distributions,
    positive_distributions,
)
from chainer2torch.rules.table import load_rules
from tests.support.differential import ATOL, RTOL

SHAPE = (3, 2)
# the names of the parameters and their ranges; `simplex`: adds up to 1; `tril`: a lower factor
PARAMETERS: dict[str, list[dict[str, Any]]] = {
    "Bernoulli": [{"p": (0.1, 0.9)}, {"logit": (-2, 2)}],
    "Beta": [{"a": (0.5, 3), "b": (0.5, 3)}],
    "Categorical": [{"p": "simplex"}, {"logit": (-2, 2)}],
    "Cauchy": [{"loc": (-1, 1), "scale": (0.5, 2)}],
    "Chisquare": [{"k": (1, 5)}],
    "Dirichlet": [{"alpha": (0.5, 3)}],
    "Exponential": [{"lam": (0.5, 3)}],
    "Gamma": [{"k": (0.5, 3), "theta": (0.5, 3)}],
    "Geometric": [{"p": (0.2, 0.8)}],
    "Gumbel": [{"loc": (-1, 1), "scale": (0.5, 2)}],
    "Laplace": [{"loc": (-1, 1), "scale": (0.5, 2)}],
    "LogNormal": [{"mu": (-1, 1), "sigma": (0.5, 1)}],
    "MultivariateNormal": [{"loc": (-1, 1), "scale_tril": "tril"}],
    "Normal": [{"loc": (-1, 1), "scale": (0.5, 2)}, {"loc": (-1, 1), "log_scale": (-1, 1)}],
    "OneHotCategorical": [{"p": "simplex"}],
    "Pareto": [{"scale": (0.5, 1), "alpha": (1.5, 4)}, {"scale": (0.5, 1), "alpha": (0.5, 3)}],
    "Poisson": [{"lam": (0.5, 3)}],
    "Uniform": [{"low": (-2, -1), "high": (1, 2)}, {"loc": (-2, -1), "scale": (1, 2)}],
}
CASES = [(name, i) for name, ways in PARAMETERS.items() for i in range(len(ways))]
WITH_GRADIENT = {
    "Normal",
    "Laplace",
    "Gumbel",
    "Cauchy",
    "Uniform",
    "Exponential",
    "Gamma",
    "LogNormal",
    "Pareto",
    "MultivariateNormal",
}
ATTRIBUTES = ("mean", "variance", "stddev", "entropy", "mode", "covariance", "batch_shape", "event_shape", "support")
METHODS = ("log_prob", "prob", "cdf", "icdf", "log_cdf", "survival_function", "log_survival_function", "perplexity")


@pytest.fixture(autouse=True)
def chainer_for_numpy_2(monkeypatch: pytest.MonkeyPatch) -> None:
    """np.meshgrid gave a list when Chainer was written."""

    class Old:
        def __getattr__(self, name: str) -> Any:
            return getattr(np, name)

        @staticmethod
        def meshgrid(*args: Any, **kwargs: Any) -> list[Any]:
            return list(np.meshgrid(*args, **kwargs))

    from chainer.distributions import categorical

    monkeypatch.setattr(categorical, "numpy", Old())


def compat_class(name: str) -> Any:
    for room in (distributions, positive_distributions, discrete_distributions, distribution_base):
        if hasattr(room, f"{name}Distribution"):
            return getattr(room, f"{name}Distribution")
    raise LookupError(name)


def arrays(name: str, way: int, seed: int = 0, dtype: str = "f8") -> dict[str, np.ndarray]:
    rng = np.random.RandomState(seed)
    found = {}
    for key, domain in PARAMETERS[name][way].items():
        if domain == "simplex":
            value = rng.dirichlet([2.0, 2.0, 2.0, 2.0], SHAPE)
        elif domain == "tril":
            value = np.tril(rng.uniform(0.5, 1.5, (*SHAPE, SHAPE[-1])))
        else:
            value = rng.uniform(*domain, (*SHAPE, 4) if name == "Categorical" else SHAPE)
        found[key] = value.astype(dtype)
    return found


def pair(name: str, params: dict[str, np.ndarray]) -> tuple[Any, Any, dict[str, Any], dict[str, Any]]:
    """The same distribution in both frameworks, with the Variables and tensors of the parameters."""
    c_params = {k: chainer.Variable(v.copy()) for k, v in params.items()}
    t_params = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
    return getattr(D, name)(**c_params), compat_class(name)(**t_params), c_params, t_params


def drawn(name: str, params: dict[str, np.ndarray]) -> np.ndarray:
    """Values that the distribution gives (and some that it does not), of the shape (5,) + sample."""
    rng = np.random.RandomState(9)
    dtype = next(iter(params.values())).dtype
    if name == "Categorical":
        return rng.randint(0, 4, (5, *SHAPE))
    if name in ("Bernoulli", "Poisson", "Geometric"):
        return rng.randint(0, 2, (5, *SHAPE)).astype(dtype) + (name == "Geometric")
    if name == "OneHotCategorical":
        return np.eye(4, dtype=dtype)[rng.randint(0, 4, (5, *SHAPE))]
    if name == "Dirichlet":
        return rng.dirichlet([2.0, 2.0], (5, 3)).astype(dtype)
    low, high = {"Beta": (0.05, 0.95), "Normal": (-3, 3), "Uniform": (-3, 3)}.get(name, (0.1, 3))
    return rng.uniform(low, high, (5, *SHAPE)).astype(dtype)


def same(expected: Any, found: Any, what: str, dtype: str) -> None:
    if not isinstance(expected, chainer.Variable):
        assert found == expected and type(found) is type(expected), what
        return
    assert found.shape == expected.shape, what
    assert str(found.dtype).split(".")[1] == str(expected.dtype), what
    np.testing.assert_allclose(
        found.detach().numpy(), expected.array, rtol=RTOL[np.dtype(dtype)], atol=ATOL[np.dtype(dtype)], err_msg=what
    )


def same_gradients(expected: Any, found: Any, sources: list[tuple[Any, Any]], what: str, dtype: str) -> None:
    """Gradients of a weighted sum with respect to pairs of a Variable and a tensor."""
    weights = np.random.RandomState(5).uniform(0.5, 1.5, expected.shape).astype(expected.dtype)
    keep = np.isfinite(expected.array)
    weights = np.where(keep, weights, 0).astype(expected.dtype)
    c_grads = chainer.grad([expected], [c for c, _ in sources], [chainer.Variable(weights)])
    t_grads = (
        torch.autograd.grad(found, [t for _, t in sources], torch.as_tensor(weights), allow_unused=True)
        if found.requires_grad
        else [None] * len(sources)
    )
    for c, t in zip(c_grads, t_grads, strict=True):
        c_value = None if c is None or not np.any(c.array) else c.array
        t_value = None if t is None or not np.any(t.numpy()) else t.numpy()
        assert (c_value is None) == (t_value is None), what
        if c_value is not None:
            scale = 10 if dtype == "f4" else 1
            np.testing.assert_allclose(
                t_value, c_value, rtol=scale * RTOL[np.dtype(dtype)], atol=scale * ATOL[np.dtype(dtype)], err_msg=what
            )


def check(
    c_call: Any,
    t_call: Any,
    c_params: dict[str, Any],
    t_params: dict[str, Any],
    what: str,
    dtype: str,
    extra: tuple[Any, Any] | None = None,
) -> bool:
    """Compares one result and its gradients; returns whether there was one."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            expected = c_call()
        except NotImplementedError:
            with pytest.raises(NotImplementedError):
                t_call()
            return False
        found = t_call()
        same(expected, found, what, dtype)
        if isinstance(expected, chainer.Variable) and expected.creator is not None:
            sources = [(c_params[k], t_params[k]) for k in c_params] + ([extra] if extra else [])
            same_gradients(expected, found, sources, what, dtype)
    return True


COMPUTED = (
    ("Categorical", "log_p"),
    ("OneHotCategorical", "log_p"),
    ("Dirichlet", "alpha0"),
    ("MultivariateNormal", "d"),
)


def own_attributes(name: str) -> list[str]:
    """What a class of Chainer's has beside the protocol of all distributions."""
    kind = getattr(chainer.distributions, name)
    return [key for key in dir(kind) if not key.startswith("_") and not hasattr(chainer.Distribution, key)]


def test_own_attributes_have_rows() -> None:
    rows = load_rules().rows
    assert all(key in own_attributes(name) for name, key in COMPUTED)  # beside the arguments of the constructors
    for name, kind in vars(chainer.distributions).items():
        if isinstance(kind, type):
            for key in own_attributes(name):
                row = rows[f"chainer.distributions.{name}.{key}"]
                assert (row.attribute, row.state) == (True, "exact")


@pytest.mark.parametrize(("name", "way"), CASES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_attributes(name: str, way: int, dtype: str) -> None:
    params = arrays(name, way, dtype=dtype)
    there = []
    for attribute in ATTRIBUTES:
        c, t, c_params, t_params = pair(name, params)
        there.append(
            check(
                lambda: getattr(c, attribute),  # noqa: B023
                lambda: getattr(t, attribute),  # noqa: B023
                c_params,
                t_params,
                attribute,
                dtype,
            )
        )
    assert sum(there) >= 3
    for attribute in own_attributes(name):
        c, t, c_params, t_params = pair(name, params)
        assert check(
            lambda: getattr(c, attribute),  # noqa: B023
            lambda: getattr(t, attribute),  # noqa: B023
            c_params,
            t_params,
            attribute,
            dtype,
        )
    c, t, _, _ = pair(name, params)
    assert set(t.params) == set(c.params)
    assert c.xp is np and t.xp.exp(torch.ones(2)).shape == (2,)
    for key in c.params:
        same(c.params[key], t.params[key], key, dtype)
        same(getattr(c, key), getattr(t, key), key, dtype)


@pytest.mark.parametrize(("name", "way"), CASES)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("as_array", [False, True], ids=["variable", "array"])
def test_methods(name: str, way: int, dtype: str, as_array: bool) -> None:
    if name == "MultivariateNormal" and dtype == "f8":
        dtype = "f4"  # what Chainer takes
    params = arrays(name, way, dtype=dtype)
    values = drawn(name, params)
    there = []
    for method in METHODS:
        x = np.random.RandomState(3).uniform(0.05, 0.95, (5, *SHAPE)).astype(dtype) if method == "icdf" else values
        c, t, c_params, t_params = pair(name, params)
        differentiable = x.dtype.kind == "f" and not as_array
        c_x = x if as_array else chainer.Variable(x.copy())
        t_x = x if as_array else torch.tensor(x, requires_grad=differentiable)
        there.append(
            check(
                lambda: getattr(c, method)(c_x),  # noqa: B023
                lambda: getattr(t, method)(t_x),  # noqa: B023
                c_params,
                t_params,
                method,
                dtype,
                (c_x, t_x) if differentiable else None,
            )
        )
    assert sum(there) >= 1


@pytest.mark.parametrize(("name", "way"), CASES)
def test_other_ranks(monkeypatch: pytest.MonkeyPatch, name: str, way: int) -> None:
    """Axes that are counted from the wrong end are the same ones in all of the above."""
    monkeypatch.setitem(globals(), "SHAPE", (2,))
    params, others = arrays(name, way, 4, "f4"), arrays(name, way, 5, "f4")
    for method in ("log_prob", "prob", "cdf"):
        for values in (drawn(name, params), drawn(name, params)[0]):
            c, t, *both = pair(name, params)
            check(partial(getattr(c, method), values), partial(getattr(t, method), values), *both, method, "f4")
    c, t, *both = pair(name, params)
    for attribute in ("mean", "variance", "entropy", "covariance", "batch_shape", "event_shape"):
        check(partial(getattr, c, attribute), partial(getattr, t, attribute), *both, attribute, "f4")
    for shape in ((), 3, (2, 1)):
        assert t.sample(shape).shape == c.sample(shape).shape
    if (name, way) in KL:
        c2, t2, *_ = pair(name, others)
        check(lambda: chainer.kl_divergence(c, c2), lambda: distribution_base.kl_divergence(t, t2), *both, "kl", "f4")


KL = [case for case in CASES if case[0] not in ("Cauchy", "Chisquare")]


@pytest.mark.parametrize(("name", "way"), KL)
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_kl_divergence(name: str, way: int, dtype: str) -> None:
    if name == "MultivariateNormal" and dtype == "f8":
        dtype = "f4"
    c1, t1, c_params, t_params = pair(name, arrays(name, way, 0, dtype))
    c2, t2, c_others, t_others = pair(name, arrays(name, way, 1, dtype))
    c_all = {**c_params, **{f"{k}2": v for k, v in c_others.items()}}
    t_all = {**t_params, **{f"{k}2": v for k, v in t_others.items()}}
    assert check(
        lambda: chainer.kl_divergence(c1, c2),
        lambda: distribution_base.kl_divergence(t1, t2),
        c_all,
        t_all,
        "kl",
        dtype,
    )


@pytest.mark.parametrize(("name", "way"), CASES)
@pytest.mark.parametrize("sample_shape", [(), 2, (4,), (2, 3)], ids=str)
def test_shapes_of_samples(name: str, way: int, sample_shape: Any) -> None:
    c, t, _, t_params = pair(name, arrays(name, way, dtype="f4"))
    expected, found = c.sample(sample_shape), t.sample(sample_shape)
    assert found.shape == expected.shape
    assert str(found.dtype).split(".")[1] == str(expected.dtype)
    assert t.sample_n(3).shape == c.sample_n(3).shape
    assert found.requires_grad == (name in WITH_GRADIENT)


@pytest.mark.parametrize(("name", "way"), CASES)
def test_moments_of_samples(name: str, way: int) -> None:
    c, t, _, _ = pair(name, arrays(name, way, dtype="f4"))
    np.random.seed(0)
    torch.manual_seed(0)
    expected = np.asarray(c.sample_n(20000).array, dtype=np.float64)
    found = t.sample_n(20000).detach().double().numpy()
    if name in ("Cauchy", "Pareto"):  # no variance: compared where it is tame
        expected, found = np.arctan(expected), np.arctan(found)
    error = np.sqrt((expected.var(0) + found.var(0)) / 20000) + 1e-6
    assert (np.abs(expected.mean(0) - found.mean(0)) < 5 * error).all()
    # the distributions of the values themselves: the largest gap of the empirical distribution functions
    for a, b in zip(expected.reshape(20000, -1).T, found.reshape(20000, -1).T):
        points = np.concatenate([a, b])
        gap = np.searchsorted(np.sort(a), points, "right") - np.searchsorted(np.sort(b), points, "right")
        assert np.abs(gap).max() / 20000 < 0.025


@pytest.mark.parametrize(
    ("name", "params"),
    [
        ("Normal", ("loc", "scale")),
        ("Laplace", ("loc", "scale")),
        ("Gumbel", ("loc", "scale")),
        ("Cauchy", ("loc", "scale")),
        ("Uniform", ("low", "high")),
        ("Exponential", ("lam",)),
        ("Gamma", ("theta",)),
        ("LogNormal", ("mu", "sigma")),
        ("Pareto", ("scale",)),
        ("MultivariateNormal", ("loc", "scale_tril")),
    ],
)
def test_samples_have_gradients(name: str, params: tuple[str, ...]) -> None:
    """Of the same parameters as in Chainer; their means agree where the mean of the sample has a derivative."""
    c, t, c_params, t_params = pair(name, arrays(name, 0, dtype="f4"))
    np.random.seed(0)
    torch.manual_seed(0)
    n = 20000
    expected = chainer.grad(
        [chainer.functions.tanh(c.sample_n(n))], list(c_params.values()), [chainer.Variable(np.ones((n, *SHAPE), "f"))]
    )
    found = torch.autograd.grad(torch.tanh(t.sample_n(n)).sum(), list(t_params.values()), allow_unused=True)
    for key, e, f in zip(c_params, expected, found, strict=True):
        assert (e is not None) == (f is not None) == (key in params), key
        if e is not None:
            np.testing.assert_allclose(f.numpy() / n, e.array / n, atol=0.03)


def independent_cases() -> Iterator[tuple[str, int | None]]:
    for name in ("Normal", "Bernoulli", "MultivariateNormal", "Uniform"):
        yield from ((name, n) for n in (None, 1))
    yield from (("Normal", 2), ("Normal", 0))


@pytest.mark.parametrize(("name", "n"), independent_cases())
def test_independent(name: str, n: int | None) -> None:
    params = arrays(name, 0, dtype="f4")
    c_inner, t_inner, c_params, t_params = pair(name, params)
    c, t = D.Independent(c_inner, n), distribution_base.IndependentDistribution(t_inner, n)
    assert t.reinterpreted_batch_ndims == c.reinterpreted_batch_ndims
    assert t.distribution is t_inner
    for attribute in ATTRIBUTES:
        if attribute == "covariance" and c.reinterpreted_batch_ndims == 0:
            continue  # Chainer fails
        check(
            lambda: getattr(c, attribute),  # noqa: B023
            lambda: getattr(t, attribute),  # noqa: B023
            c_params,
            t_params,  # noqa: B023
            attribute,
            "f4",
        )
    x = drawn(name, params)
    for method in METHODS:
        if method == "icdf":
            for one in (c, t):
                with pytest.raises(RuntimeError):
                    one.icdf(x)
            continue
        check(
            lambda: getattr(c, method)(x),  # noqa: B023
            lambda: getattr(t, method)(x),  # noqa: B023
            c_params,
            t_params,  # noqa: B023
            method,
            "f4",
        )
    assert t.sample((4,)).shape == c.sample((4,)).shape
    other_c, other_t, _, _ = pair(name, arrays(name, 0, 1, "f4"))
    check(
        lambda: chainer.kl_divergence(c, D.Independent(other_c, n)),
        lambda: distribution_base.kl_divergence(t, distribution_base.IndependentDistribution(other_t, n)),
        c_params,
        t_params,
        "kl",
        "f4",
    )


def test_covariance_of_independent_vectors() -> None:
    params = {"loc": np.zeros((2, 3, 4), "f"), "scale_tril": np.tril(np.random.rand(2, 3, 4, 4)).astype("f")}
    c, t, c_params, t_params = pair("MultivariateNormal", params)
    for n in (1, 2):
        independent = D.Independent(c, n), distribution_base.IndependentDistribution(t, n)
        assert check(
            lambda: independent[0].covariance,  # noqa: B023
            lambda: independent[1].covariance,  # noqa: B023
            c_params,
            t_params,
            "covariance",
            "f4",
        )


def both(chainer_call: Any, compat_call: Any, error: type[Exception]) -> None:
    for call in (chainer_call, compat_call):
        with pytest.raises(error):
            call()


def test_errors() -> None:
    x = np.ones((3, 2), "f")
    refused: list[tuple[str, dict[str, Any]]] = [
        ("Normal", {"loc": x}),
        ("Normal", {"loc": x, "scale": x, "log_scale": x}),
        ("Bernoulli", {}),
        ("Bernoulli", {"p": x, "logit": x}),
        ("Categorical", {}),
        ("Categorical", {"p": x, "logit": x}),
        ("Uniform", {"low": x}),
        ("Uniform", {}),
        ("Uniform", {"low": x, "high": x, "loc": x, "scale": x}),
        ("MultivariateNormal", {"loc": x}),
    ]
    for name, arguments in refused:
        both(lambda: getattr(D, name)(**arguments), lambda: compat_class(name)(**arguments), ValueError)  # noqa: B023
    with pytest.raises(TypeError):
        compat_class("Normal")(x, other=x)
    with pytest.raises(TypeError):
        D.Normal(x, other=x)
    c, t, _, _ = pair("Normal", arrays("Normal", 0))
    both(lambda: D.Independent(c, 3), lambda: distribution_base.IndependentDistribution(t, 3), ValueError)
    other_c, other_t, _, _ = pair("Laplace", arrays("Laplace", 0))
    both(lambda: chainer.kl_divergence(c, other_c), lambda: distribution_base.kl_divergence(t, other_t), KeyError)


def test_bernoulli_at_its_ends() -> None:
    x = np.array([0, 1, 0, 1, 0.5, 0.5], "f")
    for params in (
        {"p": np.array([0, 0, 1, 1, 0.5, 0.2], "f")},
        {"logit": np.array([-np.inf, -np.inf, np.inf, np.inf, 3, -3], "f")},
    ):
        for binary_check in (False, True):
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                c_params = {k: chainer.Variable(v) for k, v in params.items()}
                t_params = {k: torch.tensor(v, requires_grad=True) for k, v in params.items()}
                c = D.Bernoulli(**c_params, binary_check=binary_check)
                t = compat_class("Bernoulli")(**t_params, binary_check=binary_check)
                expected, found = c.log_prob(x), t.log_prob(x)
                np.testing.assert_allclose(found.detach().numpy(), expected.array, rtol=1e-5)
                np.testing.assert_allclose(t.prob(x).detach().numpy(), c.prob(x).array, rtol=1e-5, atol=1e-6)
                (e,) = chainer.grad([chainer.functions.sum(expected)], list(c_params.values()))
                (f,) = torch.autograd.grad(found.sum(), list(t_params.values()))
                np.testing.assert_allclose(f.numpy(), e.array, rtol=1e-4)


def test_laplace_at_its_centre() -> None:
    for method, at in (("cdf", 0.25), ("icdf", 0.5)):
        c = D.Laplace(np.full(1, 0.25, "f"), np.full(1, 2, "f"))
        t = compat_class("Laplace")(np.full(1, 0.25, "f"), np.full(1, 2, "f"))
        c_x, t_x = chainer.Variable(np.full(1, at, "f")), torch.full((1,), at, requires_grad=True)
        expected, found = getattr(c, method)(c_x), getattr(t, method)(t_x)
        np.testing.assert_allclose(found.detach().numpy(), expected.array)
        (e,) = chainer.grad([expected], [c_x])
        (f,) = torch.autograd.grad(found, t_x)
        np.testing.assert_allclose(f.numpy(), e.array)


@pytest.mark.parametrize("api", ["chainer", "compat"])
def test_own_distribution(api: str) -> None:
    """A distribution of one's own, with a divergence of its own."""
    base, register, divergence = (
        (chainer.Distribution, chainer.register_kl, chainer.kl_divergence)
        if api == "chainer"
        else (distribution_base.Distribution, distribution_base.register_kl, distribution_base.kl_divergence)
    )

    class Constant(base):  # type: ignore[misc, valid-type]
        batch_shape = (2,)
        event_shape = ()

        def sample_n(self, n: int) -> Any:
            return np.ones((n, 2))

    class Other(base):  # type: ignore[misc, valid-type]
        pass

    class Derived(Constant):
        pass

    register(Constant, Other)(lambda a, b: "divergence")
    assert Constant().sample((4, 5)).shape == (4, 5, 2) and Constant().sample().shape == (2,)
    with pytest.raises(NotImplementedError):
        Constant().log_prob(1.0)
    with pytest.raises(NotImplementedError):
        _ = Constant().mean
    assert divergence(Constant(), Other()) == "divergence"
    for pair_of in ((Other(), Constant()), (Derived(), Other())):
        with pytest.raises(KeyError):
            divergence(*pair_of)


def test_cauchy_warns() -> None:
    x = np.ones(2, "f")
    for one in (D.Cauchy(x, x), compat_class("Cauchy")(x, x)):
        for attribute in ("mean", "variance"):
            with pytest.warns(RuntimeWarning, match="undefined"):
                getattr(one, attribute)


def test_distribution_cross_entropy() -> None:
    """Chainer's own calls the entropy, which is no function."""
    c1, t1, _, _ = pair("Normal", arrays("Normal", 0))
    c2, t2, _, _ = pair("Normal", arrays("Normal", 0, 1))
    with pytest.raises(TypeError):
        chainer.cross_entropy(c1, c2)
    expected = c1.entropy + chainer.kl_divergence(c1, c2)
    np.testing.assert_allclose(distribution_base.distribution_cross_entropy(t1, t2).detach().numpy(), expected.array)


@pytest.mark.parametrize(
    ("name", "params", "borders"),
    [
        ("Exponential", {"lam": 0.5}, [0.0, -1.0, 2.0]),
        ("Uniform", {"low": -1.0, "high": 2.0}, [-1.0, 2.0, 2.5]),
        ("Pareto", {"scale": 0.5, "alpha": 2.0}, [0.5, 0.25, 1.0]),
        *(("Gamma", {"k": k, "theta": 2.0}, [0.0, -1.0, 1.0]) for k in (0.5, 1.0, 2.0)),
        *(("Chisquare", {"k": k}, [0.0, -1.0, 1.0]) for k in (1.0, 2.0, 3.0)),
        *(("Beta", {"a": k, "b": n}, [0.0, 1.0, 0.25]) for k in (0.5, 1.0, 2.0) for n in (0.5, 1.0, 2.0)),
        *(("Beta", {"a": k, "b": 0.5}, [-1.0, 1.5, 0.75]) for k in (0.5, 2.0)),
        ("LogNormal", {"mu": 0.5, "sigma": 2.0}, [0.0, -1.0, 1.0]),
        ("Poisson", {"lam": 0.5}, [0.0, 1.0, 3.0]),
        ("Geometric", {"p": 0.25}, [1.0, 2.0, 4.0]),
        ("Laplace", {"loc": 0.5, "scale": 2.0}, [0.5, 0.25, 1.0]),
    ],
)
def test_borders_of_supports(name: str, params: dict[str, float], borders: list[float]) -> None:
    """A value on the border belongs to the support as it does in Chainer."""
    x = np.array(borders, "f")
    c, t, _, _ = pair(name, {key: np.full(3, value, "f") for key, value in params.items()})
    for method in ("log_prob", "prob", "cdf", "survival_function"):
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            try:
                expected = getattr(c, method)(x)
            except NotImplementedError:
                continue
        found = getattr(t, method)(torch.tensor(x)).detach().numpy()
        np.testing.assert_allclose(found, expected.array, rtol=1e-5, err_msg=method)
