"""All hooks of optimizers in one place, for programs that choose one by its name."""

from __future__ import annotations

from typing import ClassVar

from chainer2torch.compat.optimizers.optimizer_hooks import (
    GradientClipping,
    GradientHardClipping,
    GradientLARS,
    GradientNoise,
    Lasso,
    WeightDecay,
)


class HooksByName:
    """Chainer's hooks as attributes: ``getattr(HooksByName, "WeightDecay")(0.1)``. Source: chainer.optimizer_hooks."""

    GradientClipping: ClassVar[type] = GradientClipping
    GradientHardClipping: ClassVar[type] = GradientHardClipping
    GradientLARS: ClassVar[type] = GradientLARS
    GradientNoise: ClassVar[type] = GradientNoise
    Lasso: ClassVar[type] = Lasso
    WeightDecay: ClassVar[type] = WeightDecay
