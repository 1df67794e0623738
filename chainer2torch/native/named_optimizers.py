"""torch optimizers by Chainer's names and with Chainer's arguments, for programs whose settings name them."""

from __future__ import annotations

from typing import Any

import torch

from chainer2torch.native.late_optimizers import _start_sums, _Table
from chainer2torch.native.optimizers import (
    SMORMS3,
    Adam,
    AdamW,
    MomentumSGD,
    NesterovAG,
    RMSpropGraves,
    adam_options,
    fill_missing_gradients,
)


def _beginning(optimizer: Any, hook: Any = fill_missing_gradients) -> Any:
    """An optimizer of torch.optim with what Chainer's does in front of each step."""
    optimizer.register_step_pre_hook(hook)
    return optimizer


class TorchOptimizersByName(metaclass=_Table):
    """``getattr(TorchOptimizersByName, "Adam")(model.parameters(), alpha=0.01)``. Source: chainer.optimizers."""

    MomentumSGD = MomentumSGD  # where: chosen_MomentumSGD
    NesterovAG = NesterovAG  # where: chosen_NesterovAG
    RMSpropGraves = RMSpropGraves  # where: chosen_RMSpropGraves
    SMORMS3 = SMORMS3  # where: chosen_SMORMS3

    @staticmethod
    def SGD(params: Any, lr: float = 0.01) -> Any:  # where: chosen_SGD
        return torch.optim.SGD(params, lr=lr)

    @staticmethod
    def CorrectedMomentumSGD(
        params: Any, lr: float = 0.01, momentum: float = 0.9
    ) -> Any:  # where: chosen_CorrectedMomentumSGD
        return _beginning(torch.optim.SGD(params, lr=lr, momentum=momentum))

    @staticmethod
    def AdaGrad(params: Any, lr: float = 0.001, eps: float = 1e-8) -> Any:  # where: chosen_AdaGrad
        return _beginning(torch.optim.Adagrad(params, lr=lr, eps=eps), _start_sums)

    @staticmethod
    def AdaDelta(params: Any, rho: float = 0.95, eps: float = 1e-6) -> Any:  # where: chosen_AdaDelta
        return _beginning(torch.optim.Adadelta(params, rho=rho, eps=eps))

    @staticmethod
    def RMSprop(params: Any, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8) -> Any:  # where: chosen_RMSprop
        return _beginning(torch.optim.RMSprop(params, lr=lr, alpha=alpha, eps=eps))

    @staticmethod
    def Adam(params: Any, *args: Any, **options: Any) -> Any:  # where: chosen_Adam
        return Adam(params, **adam_options(*args, **options))

    @staticmethod
    def AMSGrad(params: Any, *args: Any, **options: Any) -> Any:  # where: chosen_AMSGrad
        return Adam(params, **{**adam_options(*args, **options), "amsgrad": True})

    @staticmethod
    def AdamW(params: Any, *args: Any, weight_decay_rate: float = 0, **options: Any) -> Any:  # where: chosen_AdamW
        return AdamW(params, **adam_options(*args, **options), weight_decay_rate=weight_decay_rate)
