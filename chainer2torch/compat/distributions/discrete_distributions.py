"""Chainer's distributions of whole numbers and of vectors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch

from chainer2torch.compat.distributions.distribution_base import ParametricDistribution


class _BernoulliLogProb(torch.autograd.Function):
    """x * logit - log(1 + exp(logit)), also for infinite logits, whose gradient is nan; x has no gradient."""

    apply: ClassVar[Callable[..., torch.Tensor]]

    @staticmethod
    def forward(ctx: Any, logit: torch.Tensor, x: torch.Tensor, binary_check: bool) -> torch.Tensor:
        y = torch.where(torch.isposinf(logit), torch.log(x), x * logit - torch.nn.functional.softplus(logit))
        y = torch.where(torch.isneginf(logit), torch.log(1 - x), y)
        invalid = (x != 0) & (x != 1) if binary_check else torch.zeros_like(x, dtype=torch.bool)
        ctx.save_for_backward(logit, x, invalid | torch.isinf(logit))
        return torch.where(invalid, -math.inf, y)

    @staticmethod
    def backward(ctx: Any, gy: torch.Tensor) -> tuple[Any, ...]:
        logit, x, undefined = ctx.saved_tensors
        return gy * torch.where(undefined, math.nan, x - torch.sigmoid(logit)), None, None


def _x_log_x(x: torch.Tensor) -> torch.Tensor:
    """x log x, which is 0 (with the gradient 0) for 0."""
    return x * torch.log(torch.where(x > 0, x, 1))


class BernoulliDistribution(ParametricDistribution):
    """0 or 1, of the probability ``p`` or of its ``logit``; samples are int64.

    With ``binary_check`` other values have probability 0.

    Raises:
        ValueError: neither or both of p and logit are given.
    Source: chainer.distributions.Bernoulli (which gives -inf where exp(-logit) is too large for its dtype).
    """

    def __init__(self, p: Any = None, logit: Any = None, binary_check: bool = False) -> None:
        if (p is None) == (logit is None):
            raise ValueError("either p or logit must be given")
        super().__init__(**({"logit": logit} if p is None else {"p": p}))
        self.binary_check = binary_check

    support = "{0, 1}"

    @property
    def params(self) -> dict[str, torch.Tensor]:
        return {"logit": self.logit}

    @property
    def p(self) -> torch.Tensor:
        """The probability of 1."""
        return self._params["p"] if "p" in self._params else torch.sigmoid(self._params["logit"])

    @property
    def logit(self) -> torch.Tensor:
        """log(p / (1 - p))."""
        return self._params["logit"] if "logit" in self._params else self.p.log() - torch.log1p(-self.p)

    @property
    def mean(self) -> torch.Tensor:
        return self.p

    @property
    def variance(self) -> torch.Tensor:
        return self.p * (1 - self.p)

    @property
    def stddev(self) -> torch.Tensor:
        return self.variance**0.5

    @property
    def entropy(self) -> torch.Tensor:
        return -_x_log_x(self.p) - _x_log_x(1 - self.p)

    def log_prob(self, x: Any) -> torch.Tensor:
        logit, x = torch.broadcast_tensors(self.logit, self._value(x).detach().to(self.logit.dtype))
        return _BernoulliLogProb.apply(logit, x, self.binary_check)

    def prob(self, x: Any) -> torch.Tensor:
        value = self._value(x)
        y = value * self.p + (1 - value) * (1 - self.p)
        return y * ((value == 0) | (value == 1)) if self.binary_check else y

    def sample_n(self, n: int) -> torch.Tensor:
        return torch.bernoulli(self.p.detach().expand(n, *self.p.shape)).long()

    def _kl(self, other: BernoulliDistribution) -> torch.Tensor:
        return (
            (self.logit - other.logit) * (self.p - 1)
            - torch.nn.functional.softplus(-self.logit)
            + torch.nn.functional.softplus(-other.logit)
        )


class CategoricalDistribution(ParametricDistribution):
    """A number of a class, of probabilities ``p`` or ``logit`` (any scale) on the last axis; samples are int64.

    Raises:
        ValueError: neither or both of p and logit are given.
    Source: chainer.distributions.Categorical.
    """

    def __init__(self, p: Any = None, *, logit: Any = None) -> None:
        if (p is None) == (logit is None):
            raise ValueError("either p or logit must be given")
        super().__init__(**({"logit": logit} if p is None else {"p": p}))

    @property
    def params(self) -> dict[str, torch.Tensor]:
        return {"p": self.p}

    @property
    def p(self) -> torch.Tensor:
        """The probabilities."""
        return self._params["p"] if "p" in self._params else self.log_p.exp()

    @property
    def log_p(self) -> torch.Tensor:
        """The logarithms of the probabilities."""
        return self._params["p"].log() if "p" in self._params else torch.log_softmax(self._params["logit"], dim=-1)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """All axes of p but the last."""
        return tuple(self._first.shape[:-1])

    @property
    def entropy(self) -> torch.Tensor:
        return -_x_log_x(self.p).sum(-1)

    def log_prob(self, x: Any) -> torch.Tensor:
        """The logarithm of the probability of classes, of the shape ``sample_shape + batch_shape``."""
        index = [self._value(x).detach().long()]
        if self.batch_shape:
            index = [*torch.meshgrid(*(torch.arange(size) for size in self.batch_shape), indexing="ij"), *index]
        return self.log_p[tuple(index)]

    def sample_n(self, n: int) -> torch.Tensor:
        drawn: torch.Tensor = torch.distributions.Categorical(self.p.detach(), validate_args=False).sample((n,))
        return drawn

    def _kl(self, other: CategoricalDistribution) -> torch.Tensor:
        return (self.p * (self.log_p - other.log_p)).sum(-1)


class OneHotCategoricalDistribution(ParametricDistribution):
    """A class as a one-hot vector, of probabilities ``p`` on the last axis; samples have no gradient.

    Source: chainer.distributions.OneHotCategorical.
    """

    def __init__(self, p: Any) -> None:
        super().__init__(p=p)

    p: torch.Tensor

    @property
    def log_p(self) -> torch.Tensor:
        """The logarithm of p."""
        return self.p.log()

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """All axes of p but the last."""
        return tuple(self.p.shape[:-1])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The number of classes."""
        return tuple(self.p.shape[-1:])

    @property
    def mean(self) -> torch.Tensor:
        return self.p

    @property
    def variance(self) -> torch.Tensor:
        return self.p * (1 - self.p)

    def log_prob(self, x: Any) -> torch.Tensor:
        return (self.log_p * self._value(x)).sum(-1)

    def sample_n(self, n: int) -> torch.Tensor:
        drawn: torch.Tensor = torch.distributions.OneHotCategorical(self.p.detach(), validate_args=False).sample((n,))
        return drawn

    def _kl(self, other: OneHotCategoricalDistribution) -> torch.Tensor:
        return (self.p * (self.log_p - other.log_p)).sum(-1)


class GeometricDistribution(ParametricDistribution):
    """The number of trials up to the first success, from 1 on; samples have the dtype of p and no gradient.

    Source: chainer.distributions.Geometric.
    """

    def __init__(self, p: Any) -> None:
        super().__init__(p=p)

    p: torch.Tensor
    support = "positive integer"

    @property
    def mean(self) -> torch.Tensor:
        return 1 / self.p

    @property
    def variance(self) -> torch.Tensor:
        return (1 - self.p) / self.p**2

    def log_prob(self, x: Any) -> torch.Tensor:
        return (self._value(x) - 1) * torch.log(1 - self.p) + self.p.log()

    def sample_n(self, n: int) -> torch.Tensor:
        failures: torch.Tensor = torch.distributions.Geometric(self.p.detach(), validate_args=False).sample((n,))
        return failures + 1

    def _kl(self, other: GeometricDistribution) -> torch.Tensor:
        return (1 / self.p - 1) * (torch.log(1 - self.p) - torch.log(1 - other.p)) + self.p.log() - other.p.log()


class PoissonDistribution(ParametricDistribution):
    """The Poisson distribution; samples are float32 and have no gradient. Source: chainer.distributions.Poisson."""

    def __init__(self, lam: Any) -> None:
        super().__init__(lam=lam)

    lam: torch.Tensor
    support = "non negative integer"

    @property
    def mean(self) -> torch.Tensor:
        return self.lam

    @property
    def variance(self) -> torch.Tensor:
        return self.lam

    def log_prob(self, x: Any) -> torch.Tensor:
        value = self._value(x).detach().to(self.lam.dtype)
        return value * self.lam.log() - torch.lgamma(value + 1) - self.lam

    def sample_n(self, n: int) -> torch.Tensor:
        return torch.poisson(self.lam.detach().expand(n, *self.lam.shape)).float()

    def _kl(self, other: PoissonDistribution) -> torch.Tensor:
        return self.lam * (self.lam.log() - other.lam.log()) - self.lam + other.lam


def _log_beta_of(alpha: torch.Tensor) -> torch.Tensor:
    return torch.lgamma(alpha).sum(-1) - torch.lgamma(alpha.sum(-1))


class DirichletDistribution(ParametricDistribution):
    """The Dirichlet distribution, ``alpha`` on the last axis; samples are float32 and have no gradient.

    Source: chainer.distributions.Dirichlet.
    """

    def __init__(self, alpha: Any) -> None:
        super().__init__(alpha=alpha)

    alpha: torch.Tensor
    support = "[0, 1]"

    @property
    def alpha0(self) -> torch.Tensor:
        """The sum of alpha."""
        return self.alpha.sum(-1)

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """All axes of alpha but the last."""
        return tuple(self.alpha.shape[:-1])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The last axis of alpha."""
        return tuple(self.alpha.shape[-1:])

    @property
    def mean(self) -> torch.Tensor:
        return self.alpha / self.alpha0.unsqueeze(-1)

    @property
    def variance(self) -> torch.Tensor:
        total = self.alpha0.unsqueeze(-1)
        return self.alpha * (total - self.alpha) / total**2 / (total + 1)

    @property
    def entropy(self) -> torch.Tensor:
        return (
            _log_beta_of(self.alpha)
            + (self.alpha0 - self.event_shape[0]) * torch.digamma(self.alpha0)
            - ((self.alpha - 1) * torch.digamma(self.alpha)).sum(-1)
        )

    def log_prob(self, x: Any) -> torch.Tensor:
        return ((self.alpha - 1) * torch.log(self._value(x))).sum(-1) - _log_beta_of(self.alpha)

    def sample_n(self, n: int) -> torch.Tensor:
        return torch.distributions.Dirichlet(self.alpha.detach(), validate_args=False).sample((n,)).float()

    def _kl(self, other: DirichletDistribution) -> torch.Tensor:
        ratio = torch.digamma(self.alpha) - torch.digamma(self.alpha0).unsqueeze(-1)
        return _log_beta_of(other.alpha) - _log_beta_of(self.alpha) + ((self.alpha - other.alpha) * ratio).sum(-1)


class MultivariateNormalDistribution(ParametricDistribution):
    """The normal distribution of vectors; ``scale_tril`` (..., d, d) is the lower factor of the covariance.

    Raises:
        ValueError: scale_tril is not given.
    Source: chainer.distributions.MultivariateNormal (whose log_prob takes float32 only).
    """

    def __init__(self, loc: Any, *, scale_tril: Any = None) -> None:
        if scale_tril is None:
            raise ValueError("scale_tril must be given")
        super().__init__(loc=loc, scale_tril=scale_tril)

    loc: torch.Tensor
    scale_tril: torch.Tensor
    support = "real"

    @property
    def d(self) -> int:
        """The length of the vectors."""
        return self.scale_tril.shape[-1]

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """All axes of loc but the last."""
        return tuple(self.loc.shape[:-1])

    @property
    def event_shape(self) -> tuple[int, ...]:
        """The last axis of loc."""
        return tuple(self.loc.shape[-1:])

    @property
    def _log_det(self) -> torch.Tensor:
        return self.scale_tril.diagonal(dim1=-2, dim2=-1).abs().log().sum(-1)

    @property
    def mean(self) -> torch.Tensor:
        return self.loc

    @property
    def covariance(self) -> torch.Tensor:
        return self.scale_tril @ self.scale_tril.mT

    @property
    def entropy(self) -> torch.Tensor:
        return self._log_det + 0.5 * math.log(2 * math.pi * math.e) * self.d

    def _whitened(self, x: torch.Tensor) -> torch.Tensor:
        """``x`` (..., d, k) divided by the factor."""
        y: torch.Tensor = torch.linalg.solve_triangular(self.scale_tril, x, upper=False)
        return y

    def log_prob(self, x: Any) -> torch.Tensor:
        square = (self._whitened((self._value(x) - self.loc).unsqueeze(-1)) ** 2).sum((-2, -1))
        return -0.5 * math.log(2 * math.pi) * self.d - self._log_det - 0.5 * square

    def sample_n(self, n: int) -> torch.Tensor:
        return self.loc + (self.scale_tril @ torch.randn_like(self._empty(n)).unsqueeze(-1)).squeeze(-1)

    def _kl(self, other: MultivariateNormalDistribution) -> torch.Tensor:
        trace = (other._whitened(self.scale_tril) ** 2).sum((-2, -1))
        square = (other._whitened((self.loc - other.loc).unsqueeze(-1)) ** 2).sum((-2, -1))
        return other._log_det - self._log_det + 0.5 * (trace + square - self.d)
