"""A Trainer over pytorch-pfn-extras, for programs whose loop is spread over several functions or made by an updater."""

from __future__ import annotations

import inspect
import time
from typing import Any
from unittest.mock import Mock

from pytorch_pfn_extras.training import ExtensionsManager
from pytorch_pfn_extras.training.extensions import observe_value
from pytorch_pfn_extras.training.trigger import get_trigger

from chainer2torch.native.training import current_rate, observe_parts


class _Epochs:
    """An updater's epochs, where a trigger asks for their length: it fires if ``iteration % (length * period) < 1``.

    Source: chainer.training.triggers.IntervalTrigger.
    """

    def __init__(self, before: float = 0, now: float = 0, period: float = 1):
        self.before, self.now, self.period = before, now, period

    def __mul__(self, period: float) -> _Epochs:
        return _Epochs(self.before, self.now, period)

    def __rmod__(self, iteration: int) -> bool:
        return self.before // self.period == self.now // self.period

    def state_dict(self) -> dict[str, Any]:
        return dict(vars(self))

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)


class Trainer(ExtensionsManager):
    """An ExtensionsManager that counts as its updater does, and has its loop. Source: chainer.training.Trainer."""

    updater: Any = None
    _iters_per_epoch: Any = None

    def __init__(
        self,
        updater: Any,
        stop_trigger: Any = None,
        out: str = "result",
        extensions: Any = (),  # where: extensions=
    ):
        self.updater, self._iters_per_epoch = updater, _Epochs()
        optimizers, parts = updater.get_all_optimizers(), {"updater": updater, "epochs": self._iters_per_epoch}
        models = {name: optimizer.target for name, optimizer in optimizers.items()}
        stop = get_trigger(stop_trigger)
        super().__init__(models, optimizers, 0, iters_per_epoch=1, out_dir=out, stop_trigger=stop, state_objects=parts)
        observe_parts(self, updater)
        updater.connect_trainer(self)  # where: ParallelUpdater, connect_trainer
        for extension in extensions:  # where: extensions=
            self.extend(extension)

    def extend(self, extension: Any, name: Any = None, *args: Any, **options: Any) -> None:
        for key in ("name", "default_name", "__name__"):
            name = name or getattr(extension, key, None)
        super().extend(extension, name, *args, **options)

    def get_extension(self, name: str) -> Any:  # where: get_extension
        extension = super().get_extension(name)
        return getattr(extension, "_ext", extension)

    def run(self) -> None:
        epochs, self._start_time = self._iters_per_epoch, time.perf_counter()
        for entry in self._extensions.values():  # where: call_before_training
            entry.call_before_training &= self.updater.iteration == 0
        try:
            while not self.stop_trigger:
                with self.run_iteration():
                    self.updater.update()
                    epochs.before, epochs.now = epochs.now, self.updater.epoch_detail
        finally:
            self.finalize()
            self.updater.finalize()  # where: finalize

    def _finalize_extensions(self) -> None:  # where: finalize, finalizer
        for _, entry in self.extensions:
            finalize = getattr(getattr(entry.extension, "_ext", entry.extension), "finalize", None)
            if finalize is not None:
                finalize(*[self][: len(inspect.signature(finalize).parameters)])

    models = property(lambda self: self._models)  # where: call_before_training
    iteration = property(lambda self: self.updater.iteration, lambda self, value: None)
    epoch = property(lambda self: self.updater.epoch)
    epoch_detail = property(lambda self: self.updater.epoch_detail)


def get_trainer_with_mock_updater(
    stop_trigger: Any = (10, "iteration"), iter_per_epoch: int = 10, extensions: Any = None
) -> Trainer:
    """A trainer whose updater is a mock that counts and calls ``update_core()``.

    Source: chainer.testing.get_trainer_with_mock_updater.
    """
    updater = Mock(iteration=0, epoch=0, epoch_detail=0.0, is_new_epoch=True, previous_epoch_detail=None)
    updater.get_all_optimizers.return_value = {}

    def update() -> None:
        updater.update_core()
        updater.iteration, before = updater.iteration + 1, updater.epoch
        updater.epoch, updater.previous_epoch_detail = updater.iteration // iter_per_epoch, updater.epoch_detail
        updater.epoch_detail, updater.is_new_epoch = updater.iteration / iter_per_epoch, updater.epoch != before

    updater.update = update
    return Trainer(updater, stop_trigger, extensions=extensions or ())


def observe_lr(optimizer_name: str = "main", observation_key: str = "lr") -> Any:
    """An extension that reports the rate of one of the updater's optimizers.

    Source: chainer.training.extensions.observe_lr.
    """
    return observe_value(observation_key, lambda trainer: current_rate(trainer.optimizers[optimizer_name]))
