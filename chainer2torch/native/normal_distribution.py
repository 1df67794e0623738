"""The normal distribution, for programs that use no other: torch's with Chainer's arguments and members."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.distributions import Normal


class NormalDistribution(Normal):
    """torch's normal distribution, of ``scale`` or ``log_scale``; samples have gradients, ``entropy`` is an attribute.

    Source: chainer.distributions.Normal.
    """

    support: Any = "real"
    log_scale: Any = property(lambda self: self.scale.log())  # where: .log_scale
    entropy: Any = property(Normal.entropy)

    def __init__(self, loc: Any, scale: Any = None, *, log_scale: Any = None):
        if (scale is None) == (log_scale is None):
            raise ValueError("either scale or log_scale must be given")
        scale = torch.exp(torch.as_tensor(log_scale)) if scale is None else torch.as_tensor(scale)
        super().__init__(torch.as_tensor(loc), scale, validate_args=False)

    @property
    def params(self) -> dict[str, Tensor]:  # where: .params
        """The parameters by their names."""
        return {"loc": self.loc, "scale": self.scale}

    def sample(self, sample_shape: Any = ()) -> Tensor:
        """Draws of the shape ``sample_shape`` (a tuple or a number) ``+ batch_shape``."""
        return self.rsample(torch.Size((sample_shape,) if isinstance(sample_shape, int) else sample_shape))

    def sample_n(self, n: int) -> Tensor:
        return self.rsample(torch.Size((n,)))

    def prob(self, x: Any) -> Tensor:
        return self.log_prob(x).exp()

    def _z(self, x: Any) -> Tensor:
        return (torch.as_tensor(x) - self.loc) / self.scale

    def cdf(self, x: Any) -> Tensor:
        return torch.special.ndtr(self._z(x))  # type: ignore[no-any-return]

    def icdf(self, x: Any) -> Tensor:
        return self.loc + self.scale * torch.special.ndtri(torch.as_tensor(x))  # type: ignore[no-any-return]

    def log_cdf(self, x: Any) -> Tensor:
        return torch.special.log_ndtr(self._z(x))  # type: ignore[no-any-return]

    def survival_function(self, x: Any) -> Tensor:
        return torch.special.ndtr(-self._z(x))  # type: ignore[no-any-return]

    def log_survival_function(self, x: Any) -> Tensor:
        return torch.special.log_ndtr(-self._z(x))  # type: ignore[no-any-return]

    def log_prob(self, x: Any) -> Tensor:
        return super().log_prob(torch.as_tensor(x))  # type: ignore[no-any-return, no-untyped-call]


def kl_divergence(dist1: Any, dist2: Any) -> Tensor:
    """The divergence KL(dist1 || dist2), of the shape of the batch. Source: chainer.kl_divergence."""
    return torch.distributions.kl_divergence(dist1, dist2)
