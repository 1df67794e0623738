"""One training over several devices, each with its own share of the data: as processes of a job, or in one process."""
from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from pytorch_pfn_extras import reporting

from chainer2torch.compat.communicators import create_communicator
from chainer2torch.compat.convert import _call_converter, concat_examples
from chainer2torch.compat.devices import _send, get_device
from chainer2torch.compat.process_group import launched_rank
from chainer2torch.compat.trainer import add_model_observers
from chainer2torch.compat.updaters import StandardUpdater, _add_gradients, _copy_parameters


class MultiprocessParallelUpdater(StandardUpdater):
    """Sums the gradients of the batches of several devices, and updates once.

    Started with ``torchrun --nproc_per_node N script.py``, where N is the number of devices, every process works for
    one of them. As Chainer's workers, those after the first one have no extensions and do not update: they get the
    parameters. Started with ``python script.py``, one process works for the devices one after the other, with the same
    result.

    Args:
        iterators: iterator of the share of each device.
        optimizer: the optimizer. Its ``eps`` or learning rate is changed for the larger batch, with a warning.
        converter: function ``(batch, device)`` that gives the arguments of the loss.
        devices: list of devices, or dict with ``'main'``, which comes first.
        auto_new_epoch: count the epochs of the optimizer.
    Raises:
        ValueError: numbers of iterators, devices and processes, or lengths of data sets, do not fit.
    Source: chainer.training.updaters.MultiprocessParallelUpdater.
    """

    def __init__(self, iterators: Sequence[Any], optimizer: Any, converter: Callable[..., Any] = concat_examples,
                 devices: Sequence[Any] | Mapping[str, Any] | None = None, auto_new_epoch: bool = True) -> None:
        places = _devices_in_order(devices)
        rank, processes = launched_rank()
        if len(iterators) != len(places):
            raise ValueError(f"{len(iterators)} iterators do not fit {len(places)} devices")
        if len({len(iterator.dataset) for iterator in iterators}) > 1:
            raise ValueError("the data sets of the iterators must have the same length")
        if processes not in (1, len(places)):
            raise ValueError(f"{len(places)} devices need as many processes (torchrun --nproc_per_node {len(places)}) "
                             f"or one, not {processes}")
        _allow_for_larger_batch(optimizer, len(places))
        mine = rank if processes > 1 else 0
        super().__init__(iterators[mine], optimizer, converter, auto_new_epoch=auto_new_epoch)
        model = optimizer.target.to(places[mine])
        self._comm = None
        self._shares = [(iterators[mine], places[mine], model)]
        if processes > 1:
            self._comm = create_communicator("pure_nccl" if places[mine].type == "cuda" else "naive")
            self._comm.bcast_data(model)
        else:
            self._shares += [(iterator, place, copy.deepcopy(model).to(place))
                             for iterator, place in zip(iterators[1:], places[1:], strict=True)]

    def connect_trainer(self, trainer: Any) -> None:
        """Keeps extensions to the first process: the others would write the same files."""
        if self._comm is not None and self._comm.rank > 0:
            trainer.extend = _no_extension

    def update_core(self) -> None:
        """One iteration over all devices."""
        optimizer = self.get_optimizer("main")
        main = optimizer.target
        for iterator, device, model in self._shares:
            inputs = _send(_call_converter(self.converter, iterator.next(), device), device)
            loss = _loss(model, inputs) if model is main else _unreported_loss(model, inputs)
            model.zero_grad()
            loss.backward()
        if self._comm is not None:
            grads = self._comm.gradients(main, zero_fill=True)
            for grad, mean in zip(grads, self._comm.start_mean(grads)(), strict=True):
                grad.copy_(mean.mul_(self._comm.size))
        others = [model for _, _, model in self._shares if model is not main]
        _add_gradients(main, others)
        if self._comm is None or self._comm.rank == 0:
            optimizer.update()
        if self._comm is not None:
            self._comm.bcast_data(main)
        for model in others:
            _copy_parameters(main, model)
        if self.auto_new_epoch and self.is_new_epoch:
            optimizer.new_epoch(auto=True)


def one_device(devices: Sequence[Any] | Mapping[str, Any]) -> Any:
    """The same list or dict of devices with the first of them (``'main'``) for all: the shares of a batch then follow
    each other there, and the learning is that of several devices."""
    if isinstance(devices, Mapping):
        return dict.fromkeys(devices, devices["main"])
    return [devices[0]] * len(devices)


def _no_extension(*args: Any, **kwargs: Any) -> None:
    """``trainer.extend`` of a process that has no extensions."""


def _devices_in_order(devices: Sequence[Any] | Mapping[str, Any] | None) -> list[torch.device]:
    if isinstance(devices, Mapping):
        devices = [devices["main"], *(device for name, device in devices.items() if name != "main")]
    if not isinstance(devices, (list, tuple)) or any(device is None for device in devices):
        raise ValueError(f"devices must be a dict, list or tuple of devices, not {devices!r}")
    return [get_device(device) for device in devices]


def _allow_for_larger_batch(optimizer: Any, count: int) -> None:
    """Chainer's correction: the gradients are summed, and each of them is a mean over its own batch."""
    kind = type(optimizer).__name__
    if kind in ("Adam", "AdaGrad", "RMSprop"):
        changed, value = "eps", optimizer.eps * count
    elif kind in ("RMSpropGraves", "AdaDelta"):
        changed, value = "eps", optimizer.eps * count ** 2
    elif hasattr(optimizer, "lr"):
        changed, value = "lr", optimizer.lr / count
    else:
        return
    setattr(optimizer, changed, value)
    warnings.warn(f"optimizer.{changed} is changed to {value} by MultiprocessParallelUpdater for new batch size.")


def _loss(model: torch.nn.Module, inputs: Any) -> torch.Tensor:
    if isinstance(inputs, tuple):
        return model(*inputs)
    return model(**inputs) if isinstance(inputs, dict) else model(inputs)


def _unreported_loss(model: torch.nn.Module, inputs: Any) -> torch.Tensor:
    reporter = reporting.Reporter()
    add_model_observers(reporter, "main", model)
    with reporter.scope({}):
        return _loss(model, inputs)
