"""Updaters: one iteration of the training, with Chainer's protocol for custom ones (``update_core``)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from chainer2torch.compat.dataset.convert import _call_converter, concat_examples
from chainer2torch.compat.backend.devices import get_device, to_device
from chainer2torch.compat.serializers.state import SerializableState, serialize_part
from chainer2torch.compat.serializers.state_io import StateReader


class Updater(SerializableState):
    """Interface of updaters. Source: chainer.training.Updater."""

    def connect_trainer(self, trainer: Any) -> None:
        """Called by the trainer that will use this updater."""

    def finalize(self) -> None:
        """Called at the end of the training."""
        raise NotImplementedError

    def get_optimizer(self, name: str) -> Any:
        """The optimizer of a name."""
        raise NotImplementedError

    def get_all_optimizers(self) -> dict[str, Any]:
        """All optimizers by name."""
        raise NotImplementedError

    def update(self) -> None:
        """One iteration."""
        raise NotImplementedError

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the state, for snapshots."""
        raise NotImplementedError


class StandardUpdater(Updater):
    """Takes a batch, converts it, and lets the optimizer update its target with the loss.

    Args:
        iterator: the iterator of the training data, or a dict of iterators with ``'main'``.
        optimizer: the optimizer, or a dict of optimizers with ``'main'``.
        converter: function ``(batch, device)`` that gives a tensor, a tuple or a dict: the arguments of the loss.
        device: where the data go, and where the models are moved.
        loss_func: the loss; by default the target of the main optimizer.
        loss_scale: factor on the loss while gradients are computed.
        auto_new_epoch: count the epochs of the optimizers.
        input_device: where the data go, if not to ``device``.
    Source: chainer.training.updaters.StandardUpdater.
    """

    def __init__(
        self,
        iterator: Any,
        optimizer: Any,
        converter: Callable[..., Any] = concat_examples,
        device: Any = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
        *,
        input_device: Any = None,
    ) -> None:
        self._device = None if device is None else get_device(device)
        self._input_device = self._device if input_device is None else get_device(input_device)
        self._iterators: Mapping[str, Any] = iterator if isinstance(iterator, Mapping) else {"main": iterator}
        self._optimizers: Mapping[str, Any] = optimizer if isinstance(optimizer, dict) else {"main": optimizer}
        self.converter = converter
        self.loss_func = loss_func
        self.loss_scale = loss_scale
        self.iteration = 0
        self.auto_new_epoch = auto_new_epoch
        for each in self._optimizers.values():
            if self._device is not None:
                each.target.to(self._device)
            if loss_scale is not None:
                each.set_loss_scale(loss_scale)
            if auto_new_epoch:
                each.use_auto_new_epoch = True

    @property
    def device(self) -> torch.device | None:
        """Where the models are."""
        return self._device

    @property
    def input_device(self) -> torch.device | None:
        """Where the data go."""
        return self._input_device

    @property
    def epoch(self) -> int:
        """Epochs done by the main iterator."""
        epoch: int = self._iterators["main"].epoch
        return epoch

    @property
    def epoch_detail(self) -> float:
        """Epochs done, with the fraction of the current one."""
        epoch_detail: float = self._iterators["main"].epoch_detail
        return epoch_detail

    @property
    def previous_epoch_detail(self) -> float | None:
        """``epoch_detail`` before the last batch."""
        previous_epoch_detail: float | None = self._iterators["main"].previous_epoch_detail
        return previous_epoch_detail

    @property
    def is_new_epoch(self) -> bool:
        """Whether the last batch ended an epoch."""
        is_new_epoch: bool = self._iterators["main"].is_new_epoch
        return is_new_epoch

    def finalize(self) -> None:
        """Ends the iterators."""
        for iterator in self._iterators.values():
            iterator.finalize()

    def get_optimizer(self, name: str) -> Any:
        """The optimizer of a name."""
        return self._optimizers[name]

    def get_all_optimizers(self) -> dict[str, Any]:
        """All optimizers by name."""
        return dict(self._optimizers)

    def get_iterator(self, name: str) -> Any:
        """The iterator of a name."""
        return self._iterators[name]

    def update(self) -> None:
        """One iteration."""
        self.update_core()
        self.iteration += 1

    def update_core(self) -> None:
        """What an iteration does; custom updaters override it."""
        iterator = self._iterators["main"]
        optimizer = self._optimizers["main"]
        inputs = self._inputs(iterator.next())
        loss_func = self.loss_func or optimizer.target
        if isinstance(inputs, tuple):
            optimizer.update(loss_func, *inputs)
        elif isinstance(inputs, dict):
            optimizer.update(loss_func, **inputs)
        else:
            optimizer.update(loss_func, inputs)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def _inputs(self, batch: Any) -> Any:
        return to_device(self.input_device, _call_converter(self.converter, batch, self.input_device))

    def serialize(self, serializer: Any) -> None:
        """Stores or restores iterators, models, optimizers and the iteration, in the layout of Chainer's updaters."""
        for name, iterator in self._iterators.items():
            serialize_part(serializer["iterator:" + name], iterator)
        for name, optimizer in self._optimizers.items():
            # the model first: it gives lazy parameters the shape that the optimizer's state needs
            serialize_part(serializer["model:" + name], optimizer.target)
            serialize_part(serializer["optimizer:" + name], optimizer)
        iteration = serializer("iteration", self.iteration)
        self.iteration = int(iteration) if isinstance(serializer, StateReader) else self.iteration
