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


def _sgd(params: Any, lr: float = 0.01) -> Any:
    return torch.optim.SGD(params, lr=lr)


def _corrected(params: Any, lr: float = 0.01, momentum: float = 0.9) -> Any:
    return _beginning(torch.optim.SGD(params, lr=lr, momentum=momentum))


def _adagrad(params: Any, lr: float = 0.001, eps: float = 1e-8) -> Any:
    return _beginning(torch.optim.Adagrad(params, lr=lr, eps=eps), _start_sums)


def _adadelta(params: Any, rho: float = 0.95, eps: float = 1e-6) -> Any:
    return _beginning(torch.optim.Adadelta(params, rho=rho, eps=eps))


def _rmsprop(params: Any, lr: float = 0.01, alpha: float = 0.99, eps: float = 1e-8) -> Any:
    return _beginning(torch.optim.RMSprop(params, lr=lr, alpha=alpha, eps=eps))


def _adam(params: Any, *args: Any, **options: Any) -> Any:
    return Adam(params, **adam_options(*args, **options))


def _amsgrad(params: Any, *args: Any, **options: Any) -> Any:
    return Adam(params, **{**adam_options(*args, **options), "amsgrad": True})


def _adamw(params: Any, *args: Any, weight_decay_rate: float = 0, **options: Any) -> Any:
    return AdamW(params, **adam_options(*args, **options), weight_decay_rate=weight_decay_rate)


class TorchOptimizersByName(metaclass=_Table):
    """``getattr(TorchOptimizersByName, "Adam")(model.parameters(), alpha=0.01)``. Source: chainer.optimizers."""

    MomentumSGD = MomentumSGD  # where: chosen_MomentumSGD
    NesterovAG = NesterovAG  # where: chosen_NesterovAG
    RMSpropGraves = RMSpropGraves  # where: chosen_RMSpropGraves
    SMORMS3 = SMORMS3  # where: chosen_SMORMS3
    SGD = _sgd  # where: chosen_SGD
    CorrectedMomentumSGD = _corrected  # where: chosen_CorrectedMomentumSGD
    AdaGrad = _adagrad  # where: chosen_AdaGrad
    AdaDelta = _adadelta  # where: chosen_AdaDelta
    RMSprop = _rmsprop  # where: chosen_RMSprop
    Adam = _adam  # where: chosen_Adam
    AMSGrad = _amsgrad  # where: chosen_AMSGrad
    AdamW = _adamw  # where: chosen_AdamW
