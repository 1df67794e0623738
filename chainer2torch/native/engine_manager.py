"""An Ignite engine that trains as long as a trigger of Chainer's kind says."""

from __future__ import annotations

import sys
from typing import Any

from ignite.engine import Engine, Events
from pytorch_pfn_extras.training import IgniteExtensionsManager
from pytorch_pfn_extras.training.trigger import get_trigger


class EngineManager(IgniteExtensionsManager):
    """An IgniteExtensionsManager that stops its engine by a trigger, asked before each iteration.

    An epoch has ``iters_per_epoch`` iterations, or those of the engine. Source: chainer.training.Trainer.
    """

    updater: Any = None  # where: updater

    def __init__(
        self,
        engine: Engine,
        models: Any,
        optimizers: Any,
        max_epochs: int = sys.maxsize,
        *,
        stop_trigger: Any = None,
        iters_per_epoch: Any = None,  # where: iters_per_epoch
        **options: Any,
    ):
        self._iterations = iters_per_epoch  # where: iters_per_epoch
        super().__init__(engine, models, optimizers, max_epochs, **options)
        if max_epochs == sys.maxsize:
            self._stop_trigger = get_trigger(stop_trigger)
            engine.add_event_handler(Events.GET_BATCH_STARTED, self._ask)
        engine.add_event_handler(Events.EXCEPTION_RAISED, self._fail)  # where: on_error, snapshot_on_error
        if iters_per_epoch is not None:  # where: iters_per_epoch
            self._prepare_for_training(0, 0, iters_per_epoch)

    def _prepare_for_training(self, iteration: int, execution: int, length: int) -> None:  # where: iters_per_epoch
        super()._prepare_for_training(iteration, execution, self._iterations or length)

    def _ask(self, engine: Engine) -> None:
        if self._stop_trigger(self):
            engine.terminate()

    def _fail(self, engine: Engine, error: Exception) -> None:  # where: on_error, snapshot_on_error
        self._run_on_error(error)
        raise error


__all__ = ["EngineManager"]
