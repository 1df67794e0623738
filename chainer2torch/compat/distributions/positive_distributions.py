"""Chainer's distributions of positive numbers and of parts of one."""

from __future__ import annotations

import math
from typing import Any

import torch

from chainer2torch.compat.distributions.distribution_base import ParametricDistribution


def _log_beta(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return torch.lgamma(a) + torch.lgamma(b) - torch.lgamma(a + b)


class BetaDistribution(ParametricDistribution):
    """The beta distribution; samples have no gradient. Source: chainer.distributions.Beta."""

    def __init__(self, a: Any, b: Any) -> None:
        super().__init__(a=a, b=b)

    a: torch.Tensor
    b: torch.Tensor
    support = "[0, 1]"

    @property
    def mean(self) -> torch.Tensor:
        return self.a / (self.a + self.b)

    @property
    def variance(self) -> torch.Tensor:
        total = self.a + self.b
        return self.a * self.b / total**2 / (total + 1)

    @property
    def entropy(self) -> torch.Tensor:
        total = self.a + self.b
        return (
            _log_beta(self.a, self.b)
            - (self.a - 1) * torch.digamma(self.a)
            - (self.b - 1) * torch.digamma(self.b)
            + (total - 2) * torch.digamma(total)
        )

    def log_prob(self, x: Any) -> torch.Tensor:
        x = self._value(x)
        inside = (self.a - 1) * torch.log(x) + (self.b - 1) * torch.log(1 - x) - _log_beta(self.a, self.b)
        return torch.where((x >= 0) & (x <= 1), inside, -math.inf)

    def sample_n(self, n: int) -> torch.Tensor:
        return torch.distributions.Beta(self.a, self.b, validate_args=False).sample((n,))

    def _kl(self, other: BetaDistribution) -> torch.Tensor:
        total, other_total = self.a + self.b, other.a + other.b
        return (
            _log_beta(other.a, other.b)
            - _log_beta(self.a, self.b)
            + (self.a - other.a) * torch.digamma(self.a)
            + (self.b - other.b) * torch.digamma(self.b)
            + (other_total - total) * torch.digamma(total)
        )


class ChisquareDistribution(ParametricDistribution):
    """The chi-square distribution; samples have no gradient. Source: chainer.distributions.Chisquare."""

    def __init__(self, k: Any) -> None:
        super().__init__(k=k)

    k: torch.Tensor
    support = "positive"

    @property
    def mean(self) -> torch.Tensor:
        return self.k

    @property
    def variance(self) -> torch.Tensor:
        return 2 * self.k

    @property
    def entropy(self) -> torch.Tensor:
        half = 0.5 * self.k
        return half + math.log(2) + torch.lgamma(half) + (1 - half) * torch.digamma(half)

    def log_prob(self, x: Any) -> torch.Tensor:
        value, half = self._value(x), 0.5 * self.k
        return -torch.lgamma(half) - half * math.log(2) + (half - 1) * torch.log(value) - 0.5 * value

    def sample_n(self, n: int) -> torch.Tensor:
        return torch.distributions.Chi2(self.k, validate_args=False).sample((n,))


class ExponentialDistribution(ParametricDistribution):
    """The exponential distribution of rate ``lam``. Source: chainer.distributions.Exponential."""

    def __init__(self, lam: Any) -> None:
        super().__init__(lam=lam)

    lam: torch.Tensor
    support = "positive"

    @property
    def mean(self) -> torch.Tensor:
        return 1 / self.lam

    @property
    def variance(self) -> torch.Tensor:
        return self.mean**2

    @property
    def entropy(self) -> torch.Tensor:
        return 1 - self.lam.log()

    def cdf(self, x: Any) -> torch.Tensor:
        return -torch.expm1(-self.lam * self._value(x))

    def icdf(self, x: Any) -> torch.Tensor:
        return -1 / self.lam * torch.log1p(-self._value(x))

    def log_prob(self, x: Any) -> torch.Tensor:
        x = self._value(x)
        return torch.where(x >= 0, self.lam.log() - self.lam * x, -math.inf)

    def sample_n(self, n: int) -> torch.Tensor:
        return self._empty(n).exponential_() / self.lam

    def _kl(self, other: ExponentialDistribution) -> torch.Tensor:
        return self.lam.log() - other.lam.log() + other.lam / self.lam - 1


class GammaDistribution(ParametricDistribution):
    """The gamma distribution of shape ``k`` and scale ``theta``; samples have a gradient for theta only.

    Source: chainer.distributions.Gamma.
    """

    def __init__(self, k: Any, theta: Any) -> None:
        super().__init__(k=k, theta=theta)

    k: torch.Tensor
    theta: torch.Tensor
    support = "positive"

    @property
    def mean(self) -> torch.Tensor:
        return self.k * self.theta

    @property
    def variance(self) -> torch.Tensor:
        return self.mean * self.theta

    @property
    def entropy(self) -> torch.Tensor:
        return self.k + self.theta.log() + torch.lgamma(self.k) + (1 - self.k) * torch.digamma(self.k)

    def log_prob(self, x: Any) -> torch.Tensor:
        x = self._value(x)
        inside = -torch.lgamma(self.k) - self.k * self.theta.log() + (self.k - 1) * torch.log(x) - x / self.theta
        return torch.where(x >= 0, inside, -math.inf)

    def sample_n(self, n: int) -> torch.Tensor:
        unit = torch.distributions.Gamma(self.k, torch.ones_like(self.k), validate_args=False)
        return self.theta * unit.sample((n,))

    def _kl(self, other: GammaDistribution) -> torch.Tensor:
        return (
            (self.k - other.k) * torch.digamma(self.k)
            - (torch.lgamma(self.k) - torch.lgamma(other.k))
            + other.k * (other.theta.log() - self.theta.log())
            + self.k * (self.theta / other.theta - 1)
        )


class ParetoDistribution(ParametricDistribution):
    """The Pareto distribution from ``scale`` on; samples have a gradient for scale only.

    Source: chainer.distributions.Pareto.
    """

    def __init__(self, scale: Any, alpha: Any) -> None:
        super().__init__(scale=scale, alpha=alpha)

    scale: torch.Tensor
    alpha: torch.Tensor
    support = "[scale, inf]"

    @property
    def mean(self) -> torch.Tensor:
        return torch.where(self.alpha > 1, self.alpha * self.scale / (self.alpha - 1), math.inf)

    @property
    def variance(self) -> torch.Tensor:
        finite = self.scale**2 * self.alpha / (self.alpha - 1) ** 2 / (self.alpha - 2)
        return torch.where(self.alpha > 2, finite, math.inf)

    @property
    def entropy(self) -> torch.Tensor:
        return -self.alpha.log() + self.scale.log() + 1 / self.alpha + 1

    def log_prob(self, x: Any) -> torch.Tensor:
        x = self._value(x)
        inside = self.alpha.log() + self.alpha * self.scale.log() - (self.alpha + 1) * torch.log(x)
        return torch.where(x >= self.scale, inside, -math.inf)

    def sample_n(self, n: int) -> torch.Tensor:
        return self.scale * torch.exp(self._empty(n).exponential_() / self.alpha.detach())

    def _kl(self, other: ParetoDistribution) -> torch.Tensor:
        finite = (
            other.alpha * (self.scale.log() - other.scale.log())
            + self.alpha.log()
            - other.alpha.log()
            + (other.alpha - self.alpha) / self.alpha
        )
        return torch.where(self.scale >= other.scale, finite, math.inf)
