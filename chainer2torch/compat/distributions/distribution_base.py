"""Chainer's protocol of distributions: what every one of them has, independent ones, divergences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from chainer2torch.compat.backend.array_module import array_module
from chainer2torch.compat.functions.math_reduce import prod
from chainer2torch.compat.variable.parameters import as_variable


class Distribution:
    """Base of distributions. Samples have the shape ``sample_shape + batch_shape + event_shape``.

    Entropy, mean and the like are attributes. What a distribution does not define raises NotImplementedError.
    Source: chainer.Distribution.
    """

    def _undefined(self, what: str) -> NotImplementedError:
        return NotImplementedError(f"{type(self).__name__} defines no {what}")

    @property
    def params(self) -> dict[str, torch.Tensor]:
        """The parameters by their names."""
        raise self._undefined("params")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the independent draws that belong to one sample."""
        raise self._undefined("batch_shape")

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The shape of one draw."""
        raise self._undefined("event_shape")

    @property
    def support(self) -> str:
        """The possible values, in words."""
        raise self._undefined("support")

    @property
    def xp(self) -> Any:
        """The array module of the parameters."""
        return array_module(*self.params.values())

    @property
    def mean(self) -> torch.Tensor:
        """The mean."""
        raise self._undefined("mean")

    @property
    def mode(self) -> torch.Tensor:
        """The most likely value."""
        raise self._undefined("mode")

    @property
    def variance(self) -> torch.Tensor:
        """The variance."""
        raise self._undefined("variance")

    @property
    def stddev(self) -> torch.Tensor:
        """The standard deviation."""
        raise self._undefined("stddev")

    @property
    def covariance(self) -> torch.Tensor:
        """The covariance of the elements of one draw."""
        raise self._undefined("covariance")

    @property
    def entropy(self) -> torch.Tensor:
        """The entropy."""
        raise self._undefined("entropy")

    def cdf(self, x: Any) -> torch.Tensor:
        """The probability of values up to ``x``."""
        raise self._undefined("cdf")

    def icdf(self, x: Any) -> torch.Tensor:
        """The inverse of :meth:`cdf`."""
        raise self._undefined("icdf")

    def log_cdf(self, x: Any) -> torch.Tensor:
        """The logarithm of :meth:`cdf`."""
        raise self._undefined("log_cdf")

    def log_prob(self, x: Any) -> torch.Tensor:
        """The logarithm of the probability (density) of ``x``."""
        raise self._undefined("log_prob")

    def prob(self, x: Any) -> torch.Tensor:
        """The probability (density) of ``x``."""
        raise self._undefined("prob")

    def log_survival_function(self, x: Any) -> torch.Tensor:
        """The logarithm of :meth:`survival_function`."""
        raise self._undefined("log_survival_function")

    def survival_function(self, x: Any) -> torch.Tensor:
        """The probability of values above ``x``."""
        raise self._undefined("survival_function")

    def perplexity(self, x: Any) -> torch.Tensor:
        """The perplexity."""
        raise self._undefined("perplexity")

    def sample(self, sample_shape: Any = ()) -> torch.Tensor:
        """Random draws, of the shape ``sample_shape`` (a tuple or a number) ``+ batch_shape + event_shape``."""
        if isinstance(sample_shape, int):
            sample_shape = (sample_shape,)
        shape = (*sample_shape, *self.batch_shape, *self.event_shape)
        return self.sample_n(int(np.prod(sample_shape))).reshape(shape)

    def sample_n(self, n: int) -> torch.Tensor:
        """``n`` samples, of the shape ``(n,) + batch_shape + event_shape``."""
        raise self._undefined("sample_n")


class ParametricDistribution(Distribution):
    """A distribution whose parameters have the shape of the batch; they are attributes, too."""

    def __init__(self, **params: Any) -> None:
        self._params = {name: as_variable(value) for name, value in params.items()}
        vars(self).update({k: v for k, v in self._params.items() if not hasattr(type(self), k)})

    @property
    def params(self) -> dict[str, torch.Tensor]:
        """The parameters by their names."""
        return dict(self._params)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """The shape of the first parameter."""
        return tuple(self._first.shape)

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Draws are numbers."""
        return ()

    @property
    def _first(self) -> torch.Tensor:
        return next(iter(self._params.values()))

    def _value(self, x: Any) -> torch.Tensor:
        """``x`` as a tensor: numbers get the dtype of the parameters."""
        if isinstance(x, (torch.Tensor, np.ndarray)):
            return torch.as_tensor(x, device=self._first.device)
        return torch.as_tensor(x, dtype=self._first.dtype, device=self._first.device)

    def _empty(self, n: int) -> torch.Tensor:
        """A tensor for ``n`` samples, to be filled with random numbers."""
        return self._first.new_empty((n, *self._first.shape))


class IndependentDistribution(Distribution):
    """The last ``reinterpreted_batch_ndims`` axes of a distribution's batch belong to the draws.

    By default all but the first. Source: chainer.distributions.Independent.

    Raises:
        ValueError: the batch has fewer axes.
    """

    def __init__(self, distribution: Distribution, reinterpreted_batch_ndims: int | None = None) -> None:
        n_axes = len(distribution.batch_shape)
        if reinterpreted_batch_ndims is None:
            reinterpreted_batch_ndims = max(0, n_axes - 1)
        elif reinterpreted_batch_ndims > n_axes:
            raise ValueError(f"reinterpreted_batch_ndims is {reinterpreted_batch_ndims}, the batch has {n_axes} axes")
        self.distribution = distribution
        self.reinterpreted_batch_ndims = reinterpreted_batch_ndims

    @property
    def params(self) -> dict[str, torch.Tensor]:
        """Those of the distribution."""
        return self.distribution.params

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """What is left of the distribution's."""
        shape = self.distribution.batch_shape
        return shape[: len(shape) - self.reinterpreted_batch_ndims]

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The axes that were taken from the batch, and the distribution's."""
        return self.distribution.batch_shape[len(self.batch_shape) :] + self.distribution.event_shape

    @property
    def support(self) -> str:
        """The possible values, in words."""
        return self.distribution.support

    @property
    def mean(self) -> torch.Tensor:
        """The mean."""
        return self.distribution.mean

    @property
    def mode(self) -> torch.Tensor:
        """The most likely value."""
        return self.distribution.mode

    @property
    def variance(self) -> torch.Tensor:
        """The variance."""
        return self.distribution.variance

    @property
    def stddev(self) -> torch.Tensor:
        """The standard deviation."""
        return self.distribution.stddev

    @property
    def covariance(self) -> torch.Tensor:
        """The distribution's covariances in blocks, zero elsewhere: ``batch_shape + (size, size)``."""
        inner = self.distribution.covariance
        count = int(np.prod(self.distribution.batch_shape[len(self.batch_shape) :]))
        size = int(np.prod(self.distribution.event_shape))
        blocks = inner.reshape(*self.batch_shape, count, size, 1, size)
        mask = torch.eye(count, dtype=inner.dtype, device=inner.device).reshape(count, 1, count, 1)
        return (blocks * mask).reshape(*self.batch_shape, count * size, count * size)

    @property
    def entropy(self) -> torch.Tensor:
        """The entropy."""
        return self._sum(self.distribution.entropy)

    def cdf(self, x: Any) -> torch.Tensor:
        """The probability of values up to ``x``."""
        return self._product(self.distribution.cdf(x))

    def icdf(self, x: Any) -> torch.Tensor:
        """Raises RuntimeError: the cumulative distribution of several values has no inverse."""
        raise RuntimeError("the cumulative distribution of several values has no inverse")

    def log_cdf(self, x: Any) -> torch.Tensor:
        """The logarithm of :meth:`cdf`."""
        return self._sum(self.distribution.log_cdf(x))

    def log_prob(self, x: Any) -> torch.Tensor:
        """The logarithm of the probability (density) of ``x``."""
        return self._sum(self.distribution.log_prob(x))

    def prob(self, x: Any) -> torch.Tensor:
        """The probability (density) of ``x``."""
        return self._product(self.distribution.prob(x))

    def log_survival_function(self, x: Any) -> torch.Tensor:
        """The sum of the distribution's."""
        return self._sum(self.distribution.log_survival_function(x))

    def survival_function(self, x: Any) -> torch.Tensor:
        """The product of the distribution's."""
        return self._product(self.distribution.survival_function(x))

    def perplexity(self, x: Any) -> torch.Tensor:
        """The product of the distribution's."""
        return self._product(self.distribution.perplexity(x))

    def sample_n(self, n: int) -> torch.Tensor:
        """``n`` samples."""
        return self.distribution.sample_n(n)

    def _axes(self) -> tuple[int, ...]:
        return tuple(range(-self.reinterpreted_batch_ndims, 0))

    def _sum(self, values: torch.Tensor) -> torch.Tensor:
        return values.sum(self._axes()) if self._axes() else values

    def _product(self, values: torch.Tensor) -> torch.Tensor:
        return prod(values, self._axes()) if self._axes() else values

    def _kl(self, other: IndependentDistribution) -> torch.Tensor:
        if self.event_shape != other.event_shape:
            raise ValueError(f"event shapes do not match: {self.event_shape}, {other.event_shape}")
        inner, own = self.distribution.event_shape, self.event_shape
        if inner != other.distribution.event_shape:
            raise NotImplementedError("the distributions that are made independent have other event shapes")
        axes = tuple(range(len(inner) - len(own), 0))
        divergence = kl_divergence(self.distribution, other.distribution)
        return divergence.sum(axes) if axes else divergence


def register_kl(Dist1: type, Dist2: type) -> Callable[[Callable[[Any, Any], torch.Tensor]], None]:
    """Decorator: the function computes the divergence of a ``Dist1`` from a ``Dist2``. Source: chainer.register_kl."""

    def register(kl: Callable[[Any, Any], torch.Tensor]) -> None:
        known = vars(Dist1).get("_registered_kl", {})
        setattr(Dist1, "_registered_kl", {**known, Dist2: kl})  # noqa: B010 (mypy knows no such attribute)

    return register


def kl_divergence(dist1: Any, dist2: Any) -> torch.Tensor:
    """The Kullback-Leibler divergence KL(dist1 || dist2), of the shape of the batch.

    Raises:
        KeyError: it is known for two distributions of the same class, and for what :func:`register_kl` names.
    Source: chainer.kl_divergence.
    """
    divergence: Callable[..., torch.Tensor] | None
    divergence = vars(type(dist1)).get("_registered_kl", {}).get(type(dist2))
    if divergence is None and type(dist1) is type(dist2):
        divergence = vars(type(dist1)).get("_kl")
    if divergence is None:
        raise KeyError((type(dist1), type(dist2)))
    return divergence(dist1, dist2)


def distribution_cross_entropy(dist1: Any, dist2: Any) -> torch.Tensor:
    """The entropy of ``dist1`` plus its divergence from ``dist2``. Source: chainer.cross_entropy."""
    y: torch.Tensor = dist1.entropy + kl_divergence(dist1, dist2)
    return y
