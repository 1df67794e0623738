"""Chainer's distributions of real numbers, with its names, arguments and attributes."""

from __future__ import annotations

import math
import warnings
from typing import Any

import torch

from chainer2torch.compat.distributions.distribution_base import ParametricDistribution

_EULER = 0.5772156649015329
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


class NormalDistribution(ParametricDistribution):
    """The normal distribution, of ``scale`` or of ``log_scale``.

    Raises:
        ValueError: neither or both are given.
    Source: chainer.distributions.Normal.
    """

    def __init__(self, loc: Any, scale: Any = None, *, log_scale: Any = None) -> None:
        if (scale is None) == (log_scale is None):
            raise ValueError("either scale or log_scale must be given")
        super().__init__(loc=loc, **({"log_scale": log_scale} if scale is None else {"scale": scale}))

    loc: torch.Tensor
    support = "real"

    @property
    def params(self) -> dict[str, torch.Tensor]:
        return {"loc": self.loc, "scale": self.scale}

    @property
    def scale(self) -> torch.Tensor:
        """The standard deviation."""
        return self._params["scale"] if "scale" in self._params else self._params["log_scale"].exp()

    @property
    def log_scale(self) -> torch.Tensor:
        """The logarithm of the standard deviation."""
        return self._params["log_scale"] if "log_scale" in self._params else self._params["scale"].log()

    @property
    def mean(self) -> torch.Tensor:
        return self.loc

    @property
    def stddev(self) -> torch.Tensor:
        return self.scale

    @property
    def variance(self) -> torch.Tensor:
        return self.scale**2

    @property
    def entropy(self) -> torch.Tensor:
        return self.log_scale + (0.5 + _HALF_LOG_2PI)

    def _z(self, x: Any) -> torch.Tensor:
        return (self._value(x) - self.loc) / self.scale

    def cdf(self, x: Any) -> torch.Tensor:
        y: torch.Tensor = torch.special.ndtr(self._z(x))
        return y

    def icdf(self, x: Any) -> torch.Tensor:
        z: torch.Tensor = torch.special.ndtri(self._value(x))
        return self.loc + self.scale * z

    def log_cdf(self, x: Any) -> torch.Tensor:
        y: torch.Tensor = torch.special.log_ndtr(self._z(x))
        return y

    def log_prob(self, x: Any) -> torch.Tensor:
        return -_HALF_LOG_2PI - self.log_scale - 0.5 * (self._value(x) - self.loc) ** 2 / self.variance

    def prob(self, x: Any) -> torch.Tensor:
        density = torch.exp(-0.5 * (self._value(x) - self.loc) ** 2 / self.variance)
        return 1 / math.sqrt(2 * math.pi) / self.scale * density

    def log_survival_function(self, x: Any) -> torch.Tensor:
        y: torch.Tensor = torch.special.log_ndtr(-self._z(x))
        return y

    def survival_function(self, x: Any) -> torch.Tensor:
        y: torch.Tensor = torch.special.ndtr(-self._z(x))
        return y

    def sample_n(self, n: int) -> torch.Tensor:
        return self.loc + self.scale * torch.randn_like(self._empty(n))

    def _kl(self, other: NormalDistribution) -> torch.Tensor:
        return (
            other.log_scale
            - self.log_scale
            + 0.5 * (self.variance + (self.loc - other.loc) ** 2) / other.variance
            - 0.5
        )


class LogNormalDistribution(ParametricDistribution):
    """exp of a normal variable. Source: chainer.distributions.LogNormal."""

    def __init__(self, mu: Any, sigma: Any) -> None:
        super().__init__(mu=mu, sigma=sigma)

    mu: torch.Tensor
    sigma: torch.Tensor
    support = "positive"

    @property
    def mean(self) -> torch.Tensor:
        return torch.exp(self.mu + 0.5 * self.sigma**2)

    @property
    def variance(self) -> torch.Tensor:
        return torch.exp(2 * self.mu + self.sigma**2) * (torch.exp(self.sigma**2) - 1)

    @property
    def entropy(self) -> torch.Tensor:
        return (0.5 + _HALF_LOG_2PI) + self.sigma.log() + self.mu

    def log_prob(self, x: Any) -> torch.Tensor:
        log_x = torch.log(self._value(x))
        return -_HALF_LOG_2PI - self.sigma.log() - log_x - 0.5 * (log_x - self.mu) ** 2 / self.sigma**2

    def sample_n(self, n: int) -> torch.Tensor:
        return torch.exp(self.mu + self.sigma * torch.randn_like(self._empty(n)))

    def _kl(self, other: LogNormalDistribution) -> torch.Tensor:
        return (
            0.5 * ((self.mu - other.mu) ** 2 + self.sigma**2) / other.sigma**2
            - 0.5
            + other.sigma.log()
            - self.sigma.log()
        )


class LaplaceDistribution(ParametricDistribution):
    """The Laplace distribution. Source: chainer.distributions.Laplace."""

    def __init__(self, loc: Any, scale: Any) -> None:
        super().__init__(loc=loc, scale=scale)

    loc: torch.Tensor
    scale: torch.Tensor
    support = "real"

    @property
    def mean(self) -> torch.Tensor:
        return self.loc

    @property
    def mode(self) -> torch.Tensor:
        return self.loc

    @property
    def stddev(self) -> torch.Tensor:
        return math.sqrt(2) * self.scale

    @property
    def variance(self) -> torch.Tensor:
        return 2 * self.scale**2

    @property
    def entropy(self) -> torch.Tensor:
        return 1 + torch.log(2 * self.scale)

    def cdf(self, x: Any) -> torch.Tensor:
        z = (self._value(x) - self.loc) / self.scale
        # each side by itself: the gradient at the centre is 1/2, that of abs() would be 0
        return torch.where(z < 0, 0.5 * torch.exp(z.clamp(max=0)), 1 - 0.5 * torch.exp(-z.clamp(min=0)))

    def icdf(self, x: Any) -> torch.Tensor:
        x = self._value(x)
        below = torch.log1p(-(1 - 2 * x.clamp(max=0.5)))
        return self.loc + self.scale * torch.where(x < 0.5, below, -torch.log1p(-(2 * x.clamp(min=0.5) - 1)))

    def log_prob(self, x: Any) -> torch.Tensor:
        return -torch.log(2 * self.scale) - torch.abs(self._value(x) - self.loc) / self.scale

    def prob(self, x: Any) -> torch.Tensor:
        return 0.5 / self.scale * torch.exp(-torch.abs(self._value(x) - self.loc) / self.scale)

    def sample_n(self, n: int) -> torch.Tensor:
        signed = torch.copysign(self._empty(n).exponential_(), self._empty(n).uniform_(-1, 1))
        return self.loc + self.scale * signed

    def _kl(self, other: LaplaceDistribution) -> torch.Tensor:
        gap = torch.abs(self.loc - other.loc)
        return (
            other.scale.log()
            - self.scale.log()
            + gap / other.scale
            + self.scale / other.scale * torch.exp(-gap / self.scale)
            - 1
        )


class CauchyDistribution(ParametricDistribution):
    """The Cauchy distribution; mean and variance are nan, with a warning. Source: chainer.distributions.Cauchy."""

    def __init__(self, loc: Any, scale: Any) -> None:
        super().__init__(loc=loc, scale=scale)

    loc: torch.Tensor
    scale: torch.Tensor
    support = "real"

    def _nan(self, what: str) -> torch.Tensor:
        warnings.warn(f"{what} of the Cauchy distribution is undefined.", RuntimeWarning, stacklevel=3)
        return torch.full_like(self.loc.detach(), math.nan)

    @property
    def mean(self) -> torch.Tensor:
        return self._nan("Mean")

    @property
    def variance(self) -> torch.Tensor:
        return self._nan("Variance")

    @property
    def entropy(self) -> torch.Tensor:
        return torch.log(4 * math.pi * self.scale)

    def cdf(self, x: Any) -> torch.Tensor:
        return torch.atan((self._value(x) - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, x: Any) -> torch.Tensor:
        return self.loc + self.scale * torch.tan((self._value(x) - 0.5) * math.pi)

    def log_prob(self, x: Any) -> torch.Tensor:
        return -math.log(math.pi) + self.scale.log() - torch.log((self._value(x) - self.loc) ** 2 + self.scale**2)

    def sample_n(self, n: int) -> torch.Tensor:
        return self.scale * self._empty(n).cauchy_() + self.loc


class GumbelDistribution(ParametricDistribution):
    """The Gumbel distribution. Source: chainer.distributions.Gumbel."""

    def __init__(self, loc: Any, scale: Any) -> None:
        super().__init__(loc=loc, scale=scale)

    loc: torch.Tensor
    scale: torch.Tensor
    support = "real"

    @property
    def mean(self) -> torch.Tensor:
        return self.loc + _EULER * self.scale

    @property
    def variance(self) -> torch.Tensor:
        return math.pi**2 / 6 * self.scale**2

    @property
    def entropy(self) -> torch.Tensor:
        return self.scale.log() + (_EULER + 1)

    def log_prob(self, x: Any) -> torch.Tensor:
        z = (self._value(x) - self.loc) / self.scale
        return -self.scale.log() - z - torch.exp(-z)

    def sample_n(self, n: int) -> torch.Tensor:
        return self.loc - self.scale * torch.log(self._empty(n).exponential_())

    def _kl(self, other: GumbelDistribution) -> torch.Tensor:
        ratio = self.scale / other.scale
        shifted = torch.exp((other.loc - self.loc) / other.scale + torch.lgamma(ratio + 1))
        return (
            other.scale.log()
            - self.scale.log()
            + _EULER * (ratio - 1)
            + shifted
            - 1
            + (self.loc - other.loc) / other.scale
        )


class UniformDistribution(ParametricDistribution):
    """The uniform distribution, from ``low`` to ``high`` or of ``loc`` and ``scale`` (its width).

    Raises:
        ValueError: neither or both pairs are given.
    Source: chainer.distributions.Uniform.
    """

    def __init__(self, *, low: Any = None, high: Any = None, loc: Any = None, scale: Any = None) -> None:
        by_bounds = low is not None and high is not None
        if by_bounds == (loc is not None and scale is not None):
            raise ValueError("either low and high or loc and scale must be given")
        super().__init__(**({"low": low, "high": high} if by_bounds else {"loc": loc, "scale": scale}))

    support = "[low, high]"

    @property
    def low(self) -> torch.Tensor:
        """The lower bound."""
        return self._first

    @property
    def high(self) -> torch.Tensor:
        """The upper bound."""
        return self._params["high"] if "high" in self._params else self.loc + self.scale

    @property
    def loc(self) -> torch.Tensor:
        """The lower bound."""
        return self._first

    @property
    def scale(self) -> torch.Tensor:
        """The width."""
        return self._params["scale"] if "scale" in self._params else self.high - self.low

    @property
    def mean(self) -> torch.Tensor:
        return (self.high + self.low) / 2

    @property
    def variance(self) -> torch.Tensor:
        return self.scale**2 / 12

    @property
    def stddev(self) -> torch.Tensor:
        return torch.sqrt(self.variance)

    @property
    def entropy(self) -> torch.Tensor:
        return self.scale.log()

    def cdf(self, x: Any) -> torch.Tensor:
        return torch.clamp((self._value(x) - self.loc) / self.scale, 0, 1)

    def icdf(self, x: Any) -> torch.Tensor:
        return self._value(x) * self.scale + self.loc

    def log_prob(self, x: Any) -> torch.Tensor:
        x = self._value(x)
        return torch.where((x >= self.low) & (x <= self.high), -self.scale.log(), -math.inf)

    def sample_n(self, n: int) -> torch.Tensor:
        return self.icdf(torch.rand_like(self._empty(n)))

    def _kl(self, other: UniformDistribution) -> torch.Tensor:
        outside = (self.high > other.high) | (self.low < other.low)
        return torch.where(outside, math.inf, torch.log(other.high - other.low) - torch.log(self.high - self.low))
