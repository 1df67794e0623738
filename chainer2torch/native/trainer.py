"""A Trainer over pytorch-pfn-extras, for programs whose loop is spread over several functions or made by an updater."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from typing import Any

from pytorch_pfn_extras.training import ExtensionsManager

from chainer2torch.native.states import load_state_of, state_of
from chainer2torch.native.training import observers, start_clock
from chainer2torch.native.triggers import ask_the_updater, get_trigger


class Trainer(ExtensionsManager):
    """An ExtensionsManager with a loop: ``updater.update()`` and the extensions until the stop trigger fires.

    It counts as its updater does. Source: chainer.training.Trainer.
    """

    updater: Any = None
    stop_trigger: Any = None

    def __init__(
        self, updater: Any, stop_trigger: Any = None, out: str = "result", extensions: Iterable[Any] = ()
    ) -> None:
        self.updater = updater
        optimizers = updater.get_all_optimizers()
        models = {name: optimizer.target for name, optimizer in optimizers.items()}
        super().__init__(models, optimizers, 0, iters_per_epoch=1, out_dir=out, stop_trigger=lambda manager: False)
        self.stop_trigger = get_trigger(stop_trigger)
        ask_the_updater(self)
        for name, model in models.items():
            self.reporter.add_observers("", observers(model, name).items())
        updater.connect_trainer(self)
        for extension in extensions or ():
            self.extend(extension)

    def extend(self, extension: Any, name: Any = None, trigger: Any = None, priority: Any = None, **options: Any) -> None:
        names = [name, *(getattr(extension, key, None) for key in ("name", "default_name", "__name__"))]
        super().extend(extension, next(filter(None, names), None), trigger, priority, **options)
        entry = next(reversed(self._extensions.values()))
        ask_the_updater(entry)

    def get_extension(self, name: str) -> Any:
        return _unwrapped(super().get_extension(name))

    def run(self, show_loop_exception_msg: bool = True) -> None:
        if self._finalized:
            raise RuntimeError("cannot run training loop multiple times")
        start_clock(self)
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
        for _, entry in self.extensions:
            finalize = getattr(_unwrapped(entry.extension), "finalize", None)
            if finalize is not None:
                finalize(*[self][: len(inspect.signature(finalize).parameters)])

    def needs_model_state(self, iteration: int | None = None) -> bool:
        return True

    @property
    def models(self) -> Any:
        return self._models

    @property
    def iteration(self) -> int:
        return self.updater.iteration

    @iteration.setter
    def iteration(self, value: int) -> None:
        pass

    @property
    def epoch(self) -> int:
        return self.updater.epoch

    @property
    def epoch_detail(self) -> float:
        return self.updater.epoch_detail

    def state_dict(self) -> dict[str, Any]:
        own = {name: self.get_extension(name) for name in self._extensions}
        own = {name: state_of(extension) for name, extension in own.items() if hasattr(extension, "serialize")}
        return {**super().state_dict(), "updater": state_of(self.updater), "own": own}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        load_state_of(self.updater, state["updater"])
        for name, own in state["own"].items():
            load_state_of(self.get_extension(name), own)


def _unwrapped(extension: Any) -> Any:
    return getattr(extension, "_ext", extension)
