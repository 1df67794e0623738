"""What training with pytorch-pfn-extras needs to log the keys and values that Chainer logs."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import torch
import torch.nn.functional as F
from pytorch_pfn_extras import reporting
from pytorch_pfn_extras.training import ExtensionsManager
import torch.nn as nn


def observers(model: nn.Module, name: str = "main") -> dict[str, nn.Module]:
    """A model and its parts under the names that Chainer reports them by: main, main/predictor, main/predictor/fc.

    pytorch-pfn-extras would call the last one "mainpredictor.fc". Where parts report values, write
    ``manager.reporter.add_observers("", observers(model).items())`` and ``Evaluator(loader, observers(model))``; that
    evaluator also gives each part its own mode back. Source: chainer.Reporter.
    """
    return {"/".join([name, *filter(None, path.split("."))]): part for path, part in model.named_modules()}


def observe_parts(manager: Any, updater: Any) -> None:
    """Lets the parts of what an updater trains report under Chainer's names. Source: chainer.training.Trainer."""
    for name, optimizer in updater.get_all_optimizers().items():
        manager.reporter.add_observers("", observers(optimizer.target, name).items())


class _Iterations(Fraction):
    def __rtruediv__(self, iteration: Any) -> Any:
        return float(super().__rtruediv__(iteration))  # epoch_detail is formatted as a float


def iterations_per_epoch(updater: Any, draws: int = 1) -> Any:
    """How many iterations an epoch has: a fraction where an iterator fills the last batch from the next epoch.

    ``draws`` is how many batches an iteration takes. Source: chainer.iterators.SerialIterator.
    """
    iterator = updater.get_iterator("main")
    loader = getattr(iterator, "loader", None)
    batches = Fraction(len(iterator.dataset), iterator.batch_size) if loader is None else len(loader)
    if draws > max(batches, 1):
        raise ValueError("an update draws more batches than an epoch has")
    return batches if loader is not None and draws == 1 else _Iterations(batches, draws)


def iterations_of(loader: Any, draws: int) -> Any:
    """How many iterations an epoch has that takes ``draws`` batches of a DataLoader in each: a fraction.

    Source: chainer.iterators.SerialIterator.
    """
    if draws > max(len(loader), 1):
        raise ValueError("an update draws more batches than an epoch has")
    return _Iterations(len(loader), draws)


class Epochs:
    """The epochs of an updater, where a manager asks for the iterations of one: only the updater's iterator knows.

    It asks for ``iteration // epochs``, ``iteration / epochs``, and if ``iteration % (epochs * period) < 1``: whether
    such a period has ended with the last update. Source: chainer.training.triggers.IntervalTrigger.
    """

    def __init__(self, updater: Any, period: float = 1) -> None:
        self.updater, self.period = updater, period

    def __lt__(self, number: int) -> bool:
        return False

    def __mul__(self, period: float) -> Epochs:
        return Epochs(self.updater, period)

    def __rfloordiv__(self, iteration: int) -> Any:
        return self.updater.epoch

    def __rtruediv__(self, iteration: int) -> Any:
        return self.updater.epoch_detail

    def __rmod__(self, iteration: int) -> bool:
        before, now = self.updater._detail_before // self.period, self.updater.epoch_detail // self.period
        return bool(before == now)


def manager_state(manager: Any) -> dict[str, Any]:
    """``manager.state_dict()`` in any extension; models are handed to those only that say ``needs_model_state``.

    Source: chainer.serializers.save_npz.
    """
    manager._model_available = True
    return dict(manager.state_dict())


class TrainingManager(ExtensionsManager):
    """An ExtensionsManager for what an updater trains; it knows the updater. Source: chainer.training.Trainer.

    ``draws`` is how many batches an iteration takes; ``own_clock``: only the updater knows how many an epoch has.
    """

    updater: Any = None

    def __init__(
        self,
        updater: Any,
        max_epochs: Any = None,
        iters_per_epoch: Any = None,
        draws: int = 1,  # where: draws=
        own_clock: bool = False,  # where: own_clock=
        **options: Any,
    ) -> None:
        if draws != 1:  # where: draws=
            iters_per_epoch = iterations_per_epoch(updater, draws)
        if own_clock:  # where: own_clock=
            iters_per_epoch = Epochs(updater)
        self.updater, optimizers = updater, updater.get_all_optimizers()
        models = {name: optimizer.target for name, optimizer in optimizers.items()}
        state = {"updater": updater} if hasattr(updater, "state_dict") else {}
        epoch = iters_per_epoch or iterations_per_epoch(updater)
        super().__init__(models, optimizers, max_epochs, iters_per_epoch=epoch, state_objects=state, **options)
        for name, model in models.items():
            for path, part in model.named_modules():  # as Chainer names them: main/predictor/fc
                self.reporter.add_observer("/".join([name, *filter(None, path.split("."))]), part)


def _cross_entropy(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    total = F.cross_entropy(y, t.long(), ignore_index=-1, reduction="sum")
    return total / (t != -1).sum().clamp(min=1)


def _accuracy(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    return (y.argmax(dim=1) == t).to(y.dtype).mean()


class Classifier(nn.Module):
    """A model with its loss and accuracy, which it reports; the last argument is the label, and -1 does not count.

    Source: chainer.links.Classifier.
    """

    compute_accuracy = True  # where: compute_accuracy
    accuracy: Any = None  # where: compute_accuracy
    lossfun: Callable[..., Any]
    accfun: Callable[..., Any]

    def __init__(
        self, predictor: nn.Module, lossfun: Callable[..., Any] = _cross_entropy, accfun: Callable[..., Any] = _accuracy
    ) -> None:
        super().__init__()
        self.predictor = predictor
        self.__dict__.update(lossfun=lossfun, accfun=accfun)  # what is no part of the model is not registered

    def forward(self, *args: Any) -> Any:
        *x, t = args
        self.y = self.predictor(*x)
        self.loss = loss = self.lossfun(self.y, t)
        reporting.report({"loss": loss.detach()}, self)
        if not self.compute_accuracy:  # where: compute_accuracy
            return loss
        self.accuracy = self.accfun(self.y, t)
        reporting.report({"accuracy": self.accuracy}, self)
        return loss


def call_with(function: Callable[..., Any], batch: Any) -> Any:
    """Calls a function with the parts of a batch: those of a tuple by position, those of a dict by name.

    Source: chainer.training.updaters.StandardUpdater.
    """
    if isinstance(batch, tuple):
        return function(*batch)
    return function(**batch) if isinstance(batch, dict) else function(batch)


def call_with_parts(function: Callable[..., Any], batch: Any) -> Any:
    """Calls a function with the parts of a batch of a DataLoader, whose collation gives a list for a tuple.

    Source: chainer.training.updaters.StandardUpdater.
    """
    return call_with(function, tuple(batch) if isinstance(batch, list) else batch)


def start_clock(manager: Any) -> None:
    """Lets extensions that run before training ask for ``elapsed_time``; else it begins with the first iteration.

    Source: chainer.training.Trainer.
    """
    manager._start_time = time.perf_counter()


def corrected_rate(optimizer: torch.optim.Optimizer) -> float:
    """The rate of Adam with the bias correction of the last step. Source: chainer.optimizers.Adam.lr."""
    group = optimizer.param_groups[0]
    steps = [float(optimizer.state[p]["step"]) for p in group["params"] if "step" in optimizer.state[p]]
    if not steps:
        return 0.0
    first, second = (1 - beta ** steps[0] for beta in group["betas"])
    rate: float = group["lr"] * second**0.5 / first
    return rate


def current_rate(optimizer: Any) -> float:
    """The rate that Chainer calls ``lr``: of Adam the corrected one. Source: chainer.training.extensions.observe_lr."""
    if hasattr(optimizer, "lr"):
        return float(optimizer.lr)
    group = optimizer.param_groups[0]
    return corrected_rate(optimizer) if "betas" in group else float(group["lr"])


def set_rate(optimizer: torch.optim.Optimizer, value: float) -> None:
    """Sets what Chainer calls ``lr``; Adam's is computed, AdaDelta has none. Source: chainer.optimizers.SGD."""
    if "betas" in optimizer.defaults or "rho" in optimizer.defaults:
        raise AttributeError(f"{type(optimizer).__name__} has no rate `lr`")
    for group in optimizer.param_groups:
        group["lr"] = value
