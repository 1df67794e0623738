"""Updaters that compute the gradients of one step on several devices, in one process."""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import torch
import torch.nn as nn
from pytorch_pfn_extras import reporting

from chainer2torch.native.devices import get_device, using_device
from chainer2torch.native.training import call_with, observers
from chainer2torch.native.updaters import StandardBatchUpdater, StandardUpdater, converted


def add_gradients(model: nn.Module, other: nn.Module) -> None:
    """Adds the gradients of a copy of a model to its own. Source: chainer.Link.addgrads."""
    for param, twin in zip(model.parameters(), other.parameters()):
        if twin.grad is not None:
            grad = twin.grad.to(param.device)
            param.grad = grad if param.grad is None else param.grad + grad


class ModelCopies:
    """Splits each batch over copies of the model, each on its device, adds their gradients and updates once.

    Each copy's loss is the mean over its part, and the gradients are summed. One process works for all devices; for a
    process each, use DistributedDataParallel. Source: chainer.training.updaters.ParallelUpdater.
    """

    _optimizers: Any
    converter: Any
    loss_func: Any

    def make_copies(self, models: Any, devices: Any) -> None:
        if models is None and devices is None:
            raise ValueError("either models or devices must be specified")
        refuse_torchrun()
        places = {name: None if device is None else get_device(device) for name, device in (devices or {}).items()}
        if models is None:
            target = self._optimizers["main"].target
            others = {name: copy.deepcopy(target) for name in places if name != "main"}
            models = {"main": target, **others}
            for name, model in models.items():
                model.to(places[name])
        self._models, self._devices = models, {**dict.fromkeys(models), **places}

    def connect_trainer(self, trainer: Any) -> None:
        super().connect_trainer(trainer)  # type: ignore[misc]
        for name, model in self._models.items():
            if model is not self._optimizers["main"].target:
                trainer.reporter.add_observer(name, model)

    def step(self, batch: Any) -> None:
        losses, models = [], list(self._models.values())
        for i, (name, model) in enumerate(self._models.items()):
            part, device = batch[i :: len(models)], self._devices[name]
            with using_device(device or torch.device("cpu")):
                losses.append(call_with(self.loss_func or model, converted(self.converter, part, device)))
        for model in models:
            model.zero_grad()
        for loss in losses:
            loss.backward()
        update_copies(self._optimizers["main"], models)


class ParallelUpdater(ModelCopies, StandardUpdater):
    """Draws the batches for copies of the model. Source: chainer.training.updaters.ParallelUpdater."""

    def __init__(
        self,
        iterator: Any,
        optimizer: Any,
        converter: Any = None,
        models: Any = None,
        devices: Any = None,
        loss_func: Any = None,
        auto_new_epoch: bool = True,
    ):
        super().__init__(iterator, optimizer, converter, None, loss_func, auto_new_epoch)
        self.make_copies(models, devices)

    def update_core(self) -> None:
        iterator, optimizer = self._iterators["main"], self._optimizers["main"]
        self.step(iterator.next())
        if self.auto_new_epoch and iterator.is_new_epoch and hasattr(optimizer, "new_epoch"):
            optimizer.new_epoch()


class ParallelBatchUpdater(ModelCopies, StandardBatchUpdater):
    """Is handed the batches for copies of the model. Source: chainer.training.updaters.ParallelUpdater."""

    def __init__(
        self,
        iterator: Any,
        optimizer: Any,
        converter: Any = None,
        models: Any = None,
        devices: Any = None,
        loss_func: Any = None,
    ):
        super().__init__(iterator, optimizer, converter, None, loss_func)
        self.make_copies(models, devices)

    def update_core(self, batch: Any) -> None:
        self.step(batch)


class MultiprocessParallelUpdater(StandardUpdater):
    """Adds the gradients of the batches of several devices, each from its own iterator, and updates once.

    Only the first device reports. The optimizer's ``eps`` or rate is changed for the larger batch, as in Chainer. One
    process works for all devices. Source: chainer.training.updaters.MultiprocessParallelUpdater.
    """

    def __init__(
        self,
        iterators: Any,
        optimizer: Any,
        converter: Any = None,
        devices: Any = (),
        auto_new_epoch: bool = True,
    ):
        refuse_torchrun()
        if isinstance(devices, dict):
            devices = [devices["main"], *(device for name, device in devices.items() if name != "main")]
        self._allow_for_larger_batch(optimizer, len(devices))
        super().__init__(iterators[0], optimizer, converter, devices[0], auto_new_epoch=auto_new_epoch)
        models = [optimizer.target, *(copy.deepcopy(optimizer.target) for _ in devices[1:])]
        places = [get_device(device) for device in devices]
        self._shares = [(it, m.to(d), d) for it, m, d in zip(iterators, models, places, strict=True)]

    @staticmethod
    def _allow_for_larger_batch(optimizer: Any, count: int) -> None:
        name, group = type(optimizer).__name__.lower().removeprefix("late"), optimizer.param_groups[0]
        if name in ("adam", "adagrad", "rmsprop"):
            group["epsilon" if "epsilon" in group else "eps"] *= count
        elif name in ("rmspropgraves", "adadelta"):
            group["eps"] *= count**2
        elif "lr" in group:
            group["lr"] /= count
        elif hasattr(optimizer, "lr"):  # one of the program's own
            optimizer.lr /= count

    def update_core(self) -> None:
        optimizer = self._optimizers["main"]
        for iterator, model, device in self._shares:
            batch = converted(self.converter, iterator.next(), device)
            with using_device(device), contextlib.ExitStack() as stack:
                if model is not optimizer.target:
                    reporter = reporting.Reporter()
                    for path, part in observers(model).items():
                        reporter.add_observer(path, part)
                    stack.enter_context(reporter.scope({}))
                loss = call_with(model, batch)
            model.zero_grad()
            loss.backward()
        update_copies(optimizer, [model for _, model, _ in self._shares], buffers=False)
        if self.auto_new_epoch and self.is_new_epoch and hasattr(optimizer, "new_epoch"):
            optimizer.new_epoch()


def refuse_torchrun() -> None:
    """Raises RuntimeError where torchrun has started a process for each device.

    Source: chainer.training.updaters.ParallelUpdater.
    """
    if torch.distributed.is_torchelastic_launched():
        raise RuntimeError("one process works for all devices: start it with python instead of torchrun")


def update_copies(optimizer: Any, models: list[nn.Module], buffers: bool = True) -> None:
    """Updates the target of an optimizer with the gradients of all its copies, which get its new values.

    Source: chainer.training.updaters.ParallelUpdater.
    """
    others = [model for model in models if model is not optimizer.target]
    for model in others:
        add_gradients(optimizer.target, model)
    if hasattr(optimizer, "update"):
        optimizer.update()
    else:
        optimizer.step()
    new = optimizer.target.state_dict() if buffers else dict(optimizer.target.named_parameters())
    for model in others:
        model.load_state_dict(new, strict=buffers)
