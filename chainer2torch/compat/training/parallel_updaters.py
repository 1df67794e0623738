"""One training over several devices, each with its own share of the data: as processes of a job, or in one process."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
import torch.distributed as dist
from pytorch_pfn_extras import reporting

from chainer2torch.compat.dataset.convert import _call_converter, concat_examples
from chainer2torch.compat.links.copies import deepcopy
from chainer2torch.compat.backend.devices import get_device, to_device, using_device
from chainer2torch.compat.links.link_tree import addgrads, copyparams
from chainer2torch.compat.distributed.process_group import launched_rank
from chainer2torch.compat.training.trainer import add_model_observers
from chainer2torch.compat.training.training_job import TrainingJob, call_with
from chainer2torch.compat.training.updaters import StandardUpdater


class ParallelUpdater(StandardUpdater):
    """Splits each batch over several devices, sums the gradients of the parts, and updates once.

    Started with ``torchrun --nproc_per_node N script.py``, where N is the number of devices, every process works for
    one of them, under DistributedDataParallel: with the part of the first process's batch that is its own. The first
    process has the device ``'main'``, all extensions and the update; the others get the values of its model. Started
    with ``python script.py``, one process works for all devices. Parts, gradients and updates are the same.

    Args:
        models: the copies by name, with ``'main'``; None makes them from the optimizer's target.
        devices: device of each copy, with ``'main'``.
    Raises:
        ValueError: neither ``models`` nor ``devices`` is given, or their number is not that of the processes.
        KeyError: ``devices`` has no ``'main'``.
        RuntimeError: several processes, and a class of your own overrides ``update_core``, or there is a ``loss_func``
            (which uses one model for all parts, one after the other) and the model has persistent values.
    Source: chainer.training.updaters.ParallelUpdater. Each copy's loss is the mean over its part, and the gradients
    are summed, as there.
    """

    def __init__(
        self,
        iterator: Any,
        optimizer: Any,
        converter: Callable[..., Any] = concat_examples,
        models: dict[str, torch.nn.Module] | None = None,
        devices: dict[str, Any] | None = None,
        loss_func: Callable[..., Any] | None = None,
        loss_scale: float | None = None,
        auto_new_epoch: bool = True,
    ) -> None:
        super().__init__(
            iterator, optimizer, converter, loss_func=loss_func, loss_scale=loss_scale, auto_new_epoch=auto_new_epoch
        )
        target = self.get_optimizer("main").target
        if models is None and devices is None:
            raise ValueError("either models or devices must be specified")
        self._devices: Mapping[str, Any] = devices or dict.fromkeys(models or ())
        if models is None and "main" not in self._devices:
            raise KeyError("'devices' must contain a 'main' key.")
        names = list(models or ["main", *(name for name in self._devices if name != "main")])
        rank, processes = _place_in_job(len(names))
        self._job: TrainingJob | None = None
        if processes > 1:
            _refuse_own_update(self, ParallelUpdater)
            main_name = next(name for name in names if models is None or models[name] is target)
            by_rank = sorted(names, key=lambda name: name != main_name)
            self._first_examples = [names.index(name) for name in by_rank]
            self._name = by_rank[rank]
            self._model = target.to(self._device_of(self._name)) if models is None else models[self._name]
            if loss_func is not None:
                _refuse_persistent(target)
            self._job = TrainingJob(target, self._model, loss_func, with_buffers=True)
            self._job.share_values(*([target] if models is None else models.values()))
            return
        if models is None:
            models = {name: target if name == "main" else deepcopy(target).to(self._device_of(name)) for name in names}
            target.to(self._device_of("main"))
        self._models = models

    def _device_of(self, name: str) -> torch.device | None:
        return None if self._devices[name] is None else get_device(self._devices[name])

    def connect_trainer(self, trainer: Any) -> None:
        """Lets the copies report under their names."""
        if self._job is not None:
            self._job.connect_trainer(trainer)
            if self._job.rank > 0 and self.loss_func is None:  # which uses the main model in every process
                trainer.reporter.add_observer(self._name, self._model)
            return
        for name, model in self._models.items():
            if model is not self.get_optimizer("main").target:
                trainer.reporter.add_observer(name, model)

    def update_core(self) -> None:
        """One iteration over all copies."""
        iterator, optimizer = self.get_iterator("main"), self.get_optimizer("main")
        batch = iterator.next()
        if self._job is not None:
            self._update_in_job(self._job, batch)
        else:
            self._update_alone(batch)
        if self.auto_new_epoch and iterator.is_new_epoch:
            optimizer.new_epoch(auto=True)

    def _update_in_job(self, job: TrainingJob, batch: Any) -> None:
        part = job.scatter([batch[first :: job.size] for first in self._first_examples])
        device = self._device_of(self._name)
        inputs = to_device(device, _call_converter(self.converter, part, device))
        with using_device(-1 if device is None else device):
            job.compute_gradients(inputs, self.loss_scale)
        _say_scaled(self.get_optimizer("main"), self.loss_scale)
        job.report(sorted(range(job.size), key=self._first_examples.__getitem__))
        job.update(self.get_optimizer("main"))

    def _update_alone(self, batch: Any) -> None:
        optimizer = self.get_optimizer("main")
        for model in self._models.values():
            model.zero_grad()
        losses = []
        for i, (name, model) in enumerate(self._models.items()):
            device = self._device_of(name)
            inputs = to_device(device, _call_converter(self.converter, batch[i :: len(self._models)], device))
            with using_device(-1 if device is None else device):
                losses.append(call_with(self.loss_func or model, inputs))
        for model in self._models.values():
            model.zero_grad()
        for loss in losses:
            (loss if self.loss_scale is None else loss * self.loss_scale).backward()
        others = [model for model in self._models.values() if model is not optimizer.target]
        for model in others:
            addgrads(optimizer.target, model)
        _say_scaled(optimizer, self.loss_scale)
        optimizer.update()
        for model in others:
            copyparams(model, optimizer.target)


class MultiprocessParallelUpdater(StandardUpdater):
    """Sums the gradients of the batches of several devices, and updates once.

    Started with ``torchrun --nproc_per_node N script.py``, where N is the number of devices, every process works for
    one of them, under DistributedDataParallel. As Chainer's workers, those after the first one have no extensions and
    do not update: they get the parameters. Started with ``python script.py``, one process works for the devices one
    after the other, with the same result.

    Args:
        iterators: iterator of the share of each device.
        optimizer: the optimizer. Its ``eps`` or learning rate is changed for the larger batch, with a warning.
        converter: function ``(batch, device)`` that gives the arguments of the loss.
        devices: list of devices, or dict with ``'main'``, which comes first.
        auto_new_epoch: count the epochs of the optimizer.
    Raises:
        ValueError: numbers of iterators, devices and processes, or lengths of data sets, do not fit.
        RuntimeError: several processes, and a class of your own overrides ``update_core``.
    Source: chainer.training.updaters.MultiprocessParallelUpdater.
    """

    def __init__(
        self,
        iterators: Sequence[Any],
        optimizer: Any,
        converter: Callable[..., Any] = concat_examples,
        devices: Sequence[Any] | Mapping[str, Any] | None = None,
        auto_new_epoch: bool = True,
    ) -> None:
        places = _devices_in_order(devices)
        if len(iterators) != len(places):
            raise ValueError(f"{len(iterators)} iterators do not fit {len(places)} devices")
        if len({len(iterator.dataset) for iterator in iterators}) > 1:
            raise ValueError("the data sets of the iterators must have the same length")
        rank, processes = _place_in_job(len(places))
        _allow_for_larger_batch(optimizer, len(places))
        super().__init__(iterators[rank], optimizer, converter, auto_new_epoch=auto_new_epoch)
        model = optimizer.target.to(places[rank])
        self._job: TrainingJob | None = None
        self._shares = [(iterators[rank], places[rank], model)]
        if processes > 1:
            _refuse_own_update(self, MultiprocessParallelUpdater)
            self._job = TrainingJob(model, model, None, with_buffers=False)
            self._job.share_values(model)
        else:
            self._shares += [
                (iterator, place, deepcopy(model).to(place))
                for iterator, place in zip(iterators[1:], places[1:], strict=True)
            ]

    def connect_trainer(self, trainer: Any) -> None:
        """Keeps extensions to the first process: the others would write the same files."""
        if self._job is not None:
            self._job.connect_trainer(trainer)

    def update_core(self) -> None:
        """One iteration over all devices."""
        optimizer = self.get_optimizer("main")
        main = optimizer.target
        for iterator, device, model in self._shares:
            inputs = to_device(device, _call_converter(self.converter, iterator.next(), device))
            if self._job is not None:
                self._job.compute_gradients(inputs)
                self._job.report()
                continue
            loss = call_with(model, inputs) if model is main else _unreported_loss(model, inputs)
            model.zero_grad()
            loss.backward()
        if self._job is not None:
            self._job.update(optimizer)
        else:
            others = [model for _, _, model in self._shares[1:]]
            for model in others:
                addgrads(main, model)
            optimizer.update()
            for model in others:
                copyparams(model, main, copy_persistent=False)
        if self.auto_new_epoch and self.is_new_epoch:
            optimizer.new_epoch(auto=True)


def one_device(devices: Sequence[Any] | Mapping[str, Any]) -> Any:
    """The same list or dict of devices with the first of them (``'main'``) for all: the shares of a batch then follow
    each other there, and the learning is that of several devices."""
    if isinstance(devices, Mapping):
        return dict.fromkeys(devices, devices["main"])
    return [devices[0]] * len(devices)


def _place_in_job(devices: int) -> tuple[int, int]:
    """Rank and number of processes, which is 1 or that of the devices."""
    rank, processes = (dist.get_rank(), dist.get_world_size()) if dist.is_initialized() else launched_rank()
    if processes not in (1, devices):
        raise ValueError(
            f"{devices} devices need as many processes (torchrun --nproc_per_node {devices}) or one, not {processes}"
        )
    return rank, processes


def _say_scaled(optimizer: Any, loss_scale: float | None) -> None:
    """Tells an optimizer by what it has to divide; those that cannot get gradients as they are."""
    if loss_scale is not None or hasattr(optimizer, "_gradients_are_scaled"):
        optimizer._gradients_are_scaled(loss_scale)


def _refuse_own_update(updater: StandardUpdater, base: type[StandardUpdater]) -> None:
    if type(updater).update_core is not base.update_core:
        raise RuntimeError(
            f"{type(updater).__name__} has an update_core of its own, which works for all devices in "
            "one process: start it with python instead of torchrun"
        )


def _refuse_persistent(model: torch.nn.Module) -> None:
    if any(True for _ in model.buffers()) or any(vars(part).get("_chainer_persistent") for part in model.modules()):
        raise RuntimeError(
            "loss_func uses one model for all parts of a batch, one after the other, and its persistent "
            "values, such as running means, see all of them: start the program with python instead of "
            "torchrun"
        )


def _devices_in_order(devices: Sequence[Any] | Mapping[str, Any] | None) -> list[torch.device]:
    if isinstance(devices, Mapping):
        devices = [devices["main"], *(device for name, device in devices.items() if name != "main")]
    if not isinstance(devices, (list, tuple)) or any(device is None for device in devices):
        raise ValueError(f"devices must be a dict, list or tuple of devices, not {devices!r}")
    return [get_device(device) for device in devices]


def _allow_for_larger_batch(optimizer: Any, count: int) -> None:
    """Chainer's correction: the gradients are summed, and each of them is a mean over its own batch."""
    kind = type(optimizer).__name__.removeprefix("faithful_").removeprefix("Late")  # names of the native style
    if kind in ("Adam", "AdaGrad", "RMSprop"):
        changed, value = "eps", optimizer.eps * count
    elif kind in ("RMSpropGraves", "AdaDelta"):
        changed, value = "eps", optimizer.eps * count**2
    elif hasattr(optimizer, "lr"):
        changed, value = "lr", optimizer.lr / count
    else:
        return
    setattr(optimizer, changed, value)
    warnings.warn(f"optimizer.{changed} is changed to {value} by MultiprocessParallelUpdater for new batch size.")


def _unreported_loss(model: torch.nn.Module, inputs: Any) -> torch.Tensor:
    reporter = reporting.Reporter()
    add_model_observers(reporter, "main", model)
    with reporter.scope({}):
        loss: torch.Tensor = call_with(model, inputs)
        return loss
