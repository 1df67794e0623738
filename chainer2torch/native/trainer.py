"""A Trainer over pytorch-pfn-extras, for programs whose loop is spread over several functions or made by an updater."""

from __future__ import annotations

import inspect
import time
from typing import Any

from pytorch_pfn_extras.training import ExtensionsManager
from pytorch_pfn_extras.training.extensions import observe_value
from pytorch_pfn_extras.training.trigger import get_trigger

from chainer2torch.native.training import current_rate, observers
from chainer2torch.native.triggers import ask_the_updater


class Trainer(ExtensionsManager):
    """An ExtensionsManager with a loop: ``updater.update()`` and the extensions until the stop trigger fires.

    It counts as its updater does. Source: chainer.training.Trainer.
    """

    updater: Any = None
    stop_trigger: Any = None

    def __init__(self, updater: Any, stop_trigger: Any = None, out: str = "result", extensions: Any = ()):
        self.updater, optimizers = updater, updater.get_all_optimizers()
        models = {name: optimizer.target for name, optimizer in optimizers.items()}
        parts, never = {"updater": updater}, get_trigger(None)
        super().__init__(models, optimizers, 0, iters_per_epoch=1, out_dir=out, stop_trigger=never, state_objects=parts)
        self.stop_trigger = self._stop_trigger = get_trigger(stop_trigger)
        ask_the_updater(self)
        for name, model in models.items():
            for path, part in observers(model, name).items():
                self.reporter.add_observer(path, part)
        updater.connect_trainer(self)  # where: ParallelUpdater, connect_trainer
        for extension in extensions or ():
            self.extend(extension)

    def extend(self, extension: Any, name: Any = None, *args: Any, **options: Any) -> None:
        for key in ("name", "default_name", "__name__"):
            name = name or getattr(extension, key, None)
        super().extend(extension, name, *args, **options)
        ask_the_updater(next(reversed(self._extensions.values())))

    def get_extension(self, name: str) -> Any:
        extension = super().get_extension(name)
        return getattr(extension, "_ext", extension)

    def run(self, show_loop_exception_msg: bool = True) -> None:
        if self._finalized:
            raise RuntimeError("cannot run training loop multiple times")
        self._start_time = time.perf_counter()
        for entry in self._extensions.values():
            entry.call_before_training &= self.iteration == 0
        self.start_extensions()
        try:
            while not self.stop_trigger(self):
                with self.run_iteration():
                    self.updater.update()
        finally:
            self.finalize()
            self.updater.finalize()

    def _finalize_extensions(self) -> None:
        for name, _ in self.extensions:
            finalize = getattr(self.get_extension(name), "finalize", None)
            if finalize is not None:
                finalize(*[self][: len(inspect.signature(finalize).parameters)])

    def needs_model_state(self, iteration: int | None = None) -> bool:
        return True

    models = property(lambda self: self._models)
    iteration = property(lambda self: self.updater.iteration, lambda self, value: None)
    epoch = property(lambda self: self.updater.epoch)
    epoch_detail = property(lambda self: self.updater.epoch_detail)


def observe_lr(optimizer_name: str = "main", observation_key: str = "lr") -> Any:
    """An extension that reports the rate of one of the updater's optimizers.

    Source: chainer.training.extensions.observe_lr.
    """
    return observe_value(observation_key, lambda trainer: current_rate(trainer.optimizers[optimizer_name]))
