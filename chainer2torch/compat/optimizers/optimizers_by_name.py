"""All optimizers in one place, for programs that choose one by its name."""

from __future__ import annotations

from typing import ClassVar

from chainer2torch.compat.optimizers.adam import AdaBound, Adam, AdamW, AMSBound, AMSGrad
from chainer2torch.compat.optimizers.optimizer_base import GradientMethod
from chainer2torch.compat.optimizers.optimizers import (
    MSVAG,
    SGD,
    SMORMS3,
    AdaDelta,
    AdaGrad,
    CorrectedMomentumSGD,
    MomentumSGD,
    NesterovAG,
    RMSprop,
    RMSpropGraves,
)


class OptimizersByName:
    """Chainer's optimizers as attributes: ``getattr(OptimizersByName, "Adam")(alpha=0.01)``.

    Another name is an AttributeError. Source: the module chainer.optimizers.
    """

    AMSBound: ClassVar[type[GradientMethod]] = AMSBound
    AMSGrad: ClassVar[type[GradientMethod]] = AMSGrad
    AdaBound: ClassVar[type[GradientMethod]] = AdaBound
    AdaDelta: ClassVar[type[GradientMethod]] = AdaDelta
    AdaGrad: ClassVar[type[GradientMethod]] = AdaGrad
    Adam: ClassVar[type[GradientMethod]] = Adam
    AdamW: ClassVar[type[GradientMethod]] = AdamW
    CorrectedMomentumSGD: ClassVar[type[GradientMethod]] = CorrectedMomentumSGD
    MSVAG: ClassVar[type[GradientMethod]] = MSVAG
    MomentumSGD: ClassVar[type[GradientMethod]] = MomentumSGD
    NesterovAG: ClassVar[type[GradientMethod]] = NesterovAG
    RMSprop: ClassVar[type[GradientMethod]] = RMSprop
    RMSpropGraves: ClassVar[type[GradientMethod]] = RMSpropGraves
    SGD: ClassVar[type[GradientMethod]] = SGD
    SMORMS3: ClassVar[type[GradientMethod]] = SMORMS3
