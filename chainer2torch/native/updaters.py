"""Updaters: what one iteration of a training is."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader

from chainer2torch.native.data import Batches, collate, endless
from chainer2torch.native.devices import get_device, to_device
from chainer2torch.native.graphs import keeps_graphs
from chainer2torch.native.optimizers import step_keeping_graphs
from chainer2torch.native.states import Saved, Serializer
from chainer2torch.native.training import call_with


class Converter:
    """The base of converters that get a torch.device; functions get its number. Source: chainer.dataset.Converter."""

    takes_device = True

    def __call__(self, batch: Any, device: Any) -> Any:
        raise NotImplementedError


def converter() -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator for converters that want a torch.device (or None). Source: chainer.dataset.converter."""

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def convert(batch: Any, device: Any = None) -> Any:
            return function(batch, None if device is None else get_device(device))

        convert.takes_device = True  # type: ignore[attr-defined]
        return convert

    return decorate


def converted(converter: Callable[..., Any], batch: list[Any], device: Any) -> Any:
    """A list of examples as the arguments of a loss, on a device; plain functions get the number of a GPU, or -1.

    Source: chainer.training.updaters.StandardUpdater.
    """
    if converter is collate:
        return collate(batch, device)
    own = device is None or getattr(converter, "takes_device", False)
    return to_device(device, converter(batch, device if own else -1 if device.type == "cpu" else device.index))


def update_by(optimizer: Any, function: Callable[..., Any], batch: Any) -> Any:
    """One step by the loss that a function gives for a batch; optimizers of torch.optim have no ``update``.

    Source: chainer.Optimizer.update.
    """
    if hasattr(optimizer, "update"):  # where: own_steps
        return call_with(functools.partial(optimizer.update, function), batch)
    loss = call_with(function, batch)
    optimizer.zero_grad()
    if keeps_graphs(function):  # where: helper.LSTM, helper.GRU, helper.StatefulGRU, reset_state, .h
        loss.backward(retain_graph=True)
        return step_keeping_graphs(optimizer)
    loss.backward()
    (optimizer.update if hasattr(optimizer, "update") else optimizer.step)()


class UpdaterBase(Saved):
    """The base of updaters that make everything themselves; ``serialize`` says what is saved.

    Source: chainer.training.Updater.
    """

    def connect_trainer(self, trainer: Any) -> None:
        pass

    def finalize(self) -> None:
        pass


class BatchUpdater:
    """The base of updaters that say in ``update_core`` what one step on a list of examples is.

    Source: chainer.training.updaters.StandardUpdater.
    """

    loss_scale = None  # where: loss_scale

    def __init__(self, iterator: Any, optimizer: Any, converter: Any = None, device: Any = None):
        self._iterators = dict(iterator) if isinstance(iterator, dict) else {"main": iterator}
        self._optimizers = optimizer if isinstance(optimizer, dict) else {"main": optimizer}
        if isinstance(device, int):  # where: device_numbers, !device_names
            device = torch.device("cuda", device) if device >= 0 else torch.device("cpu")
        if isinstance(device, (int, str)):  # where: device_names
            device = get_device(device)
        self.device = device
        self.converter = converter or collate  # where: .converter
        self.input_device = self._device = self.device  # where: input_device, _device
        for each in self._optimizers.values():
            if device is not None and getattr(each, "target", None) is not None:
                each.target.to(device)

    def get_iterator(self, name: str) -> Any:
        return self._iterators[name]

    def next_batch(self, name: str = "main") -> Any:  # where: next_batch
        if name != "main" and self._iterators[name] is self._iterators["main"]:
            raise ValueError("the main iterator has another name: its batches are counted")
        batches: dict[int, Any] = self.__dict__.setdefault("_batches", {})  # of an `__init__` of its own, too
        return next(batches.setdefault(id(self._iterators[name]), endless(self._iterators[name])))

    def get_optimizer(self, name: str) -> Any:
        return self._optimizers[name]

    def get_all_optimizers(self) -> dict[str, Any]:
        return dict(self._optimizers)

    def connect_trainer(self, trainer: Any) -> None:
        self._manager = trainer

    iteration: Any = property(lambda self: self._manager.iteration)  # where: connect_trainer
    epoch: Any = property(lambda self: self._manager.epoch)  # where: connect_trainer
    epoch_detail: Any = property(lambda self: self._manager.epoch_detail)  # where: connect_trainer


class IteratorUpdater(BatchUpdater):
    """The base of updaters that draw the batches themselves, of iterators that give lists of examples.

    Source: chainer.training.updaters.StandardUpdater.
    """

    iteration = 0
    _detail_before: Any = 0  # where: helper.Epochs

    def update(self) -> None:
        self._detail_before = self.epoch_detail  # where: helper.Epochs
        self.update_core()  # type: ignore[attr-defined]
        self.iteration += 1

    epoch = property(lambda self: self._iterators["main"].epoch)  # where: epoch
    is_new_epoch = property(lambda self: self._iterators["main"].is_new_epoch)  # where: is_new_epoch
    epoch_detail = property(lambda self: self._iterators["main"].epoch_detail)  # where: epoch_detail

    previous_epoch_detail = property(
        lambda self: self._iterators["main"].previous_epoch_detail
    )  # where: previous_epoch_detail

    def finalize(self) -> None:
        for iterator in self._iterators.values():
            iterator.finalize()

    def serialize(self, serializer: Any) -> None:  # where: updater_saves
        pass

    def state_dict(self) -> dict[str, Any]:
        state = {"iteration": self.iteration, **{key: it.state_dict() for key, it in self._iterators.items()}}
        state["before"] = self._detail_before  # where: helper.Epochs
        self.serialize(Serializer(state, loads=False))  # where: updater_saves
        return state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.iteration = state["iteration"]
        self._detail_before = state["before"]  # where: helper.Epochs
        for key, iterator in self._iterators.items():
            iterator.load_state_dict(state[key])
        self.serialize(Serializer(state, loads=True))  # where: updater_saves


class Updater(IteratorUpdater):
    """The same, also of loaders of such lists. Source: chainer.training.updaters.StandardUpdater."""

    def __init__(  # where: DataLoader
        self, iterator: Any, optimizer: Any, converter: Any = None, device: Any = None
    ):
        super().__init__(iterator, optimizer, converter, device)
        # a loader under two names is one iterator
        drawn = {id(each): Batches(each) for each in self._iterators.values() if isinstance(each, DataLoader)}
        self._iterators = {name: drawn.get(id(each), each) for name, each in self._iterators.items()}


class StandardBatchUpdater(BatchUpdater):
    """One step on a batch that is handed over; the loss is by default what the model gives.

    Source: chainer.training.updaters.StandardUpdater.
    """

    auto_new_epoch = True  # where: auto_new_epoch

    def __init__(  # where: loss_func, input_device, options_by_position
        self,
        iterator: Any,
        optimizer: Any,
        converter: Any = None,
        device: Any = None,
        loss_func: Any = None,
        input_device: Any = None,  # where: input_device
    ):
        super().__init__(iterator, optimizer, converter, device)
        if input_device is not None:  # where: input_device
            self.input_device = get_device(input_device)
        self.loss_func = loss_func  # where: loss_func

    def update_core(self, batch: Any) -> None:
        optimizer = self._optimizers["main"]
        function: Any = getattr(optimizer, "target", None)
        function = self.loss_func or function  # where: loss_func
        device = self.device
        device = self.input_device  # where: input_device
        convert = self.converter
        convert = functools.partial(converted, convert)  # where: own_converters
        update_by(optimizer, function, convert(batch, device))


class StandardUpdater(Updater):
    """A step on the next batch: ``optimizer.update(loss_func, *batch)``; the loss is by default what the model gives.

    Source: chainer.training.updaters.StandardUpdater.
    """

    def __init__(  # where: loss_func, auto_new_epoch, input_device, options_by_position
        self,
        iterator: Any,
        optimizer: Any,
        converter: Any = None,
        device: Any = None,
        loss_func: Any = None,
        auto_new_epoch: bool = True,
        input_device: Any = None,  # where: input_device
    ):
        super().__init__(iterator, optimizer, converter, device)
        if input_device is not None:  # where: input_device
            self.input_device = get_device(input_device)
        self.loss_func = loss_func  # where: loss_func
        self.auto_new_epoch = auto_new_epoch  # where: auto_new_epoch

    def update_core(self) -> None:
        iterator, optimizer = self._iterators["main"], self._optimizers["main"]
        function: Any = getattr(optimizer, "target", None)
        function = self.loss_func or function  # where: loss_func
        device = self.device
        device = self.input_device  # where: input_device
        convert = self.converter
        convert = functools.partial(converted, convert)  # where: own_converters
        update_by(optimizer, function, convert(iterator.next(), device))
        if not self.auto_new_epoch:  # where: auto_new_epoch
            return
        if iterator.is_new_epoch and hasattr(optimizer, "new_epoch"):  # where: .epoch, new_epoch
            optimizer.new_epoch()
