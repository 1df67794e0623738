"""Triggers that ask the updater how far the training is, as its iterator counts."""

from __future__ import annotations

from typing import Any

from pytorch_pfn_extras.training import triggers
from pytorch_pfn_extras.training.extension import Extension
from pytorch_pfn_extras.training.trigger import Trigger
from pytorch_pfn_extras.training.trigger import get_trigger as pfn_trigger


class IntervalTrigger(triggers.IntervalTrigger):
    """Fires when a multiple of the period is reached since it was asked last, in epochs or iterations of the updater.

    pytorch-pfn-extras counts iterations: it takes all epochs to have the same number of them, where Chainer's iterators
    fill the last batch of an epoch from the next one. Source: chainer.training.triggers.IntervalTrigger.
    """

    _last = 0.0

    def __call__(self, manager: Any) -> bool:
        last, self._last = self._last, getattr(manager, "epoch_detail" if self.unit == "epoch" else "iteration")
        return last // self.period != self._last // self.period

    def state_dict(self) -> dict[str, Any]:
        return {"last": self._last}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last = state["last"]


class ManualScheduleTrigger(IntervalTrigger):
    """Fires at given epochs or iterations. Source: chainer.training.triggers.ManualScheduleTrigger."""

    finished = False

    def __init__(self, points: Any, unit: str):
        super().__init__(1, unit)
        self.points = points if isinstance(points, list) else [points]

    def __call__(self, manager: Any) -> bool:
        last, _ = self._last, super().__call__(manager)
        self.finished = self._last >= max(self.points, default=float("inf"))
        return any(last < point <= self._last for point in self.points)

    def may_fire(self, iteration: int, epoch_length: int) -> bool:
        return True


def get_trigger(trigger: Any) -> Any:
    """A trigger of ``(period, unit)``, of a function of the trainer, of a trigger, or of None, which never fires.

    Source: chainer.training.get_trigger.
    """
    return IntervalTrigger(*trigger) if isinstance(trigger, (tuple, list)) else pfn_trigger(trigger)


def ask_the_updater(x: Any) -> None:
    """Puts an IntervalTrigger from here in the place of each that an extension or trigger has made for itself.

    Source: chainer.training.triggers.IntervalTrigger.
    """
    for name, value in list(vars(x).items()):
        if type(value) is triggers.IntervalTrigger:
            setattr(x, name, IntervalTrigger(value.period, value.unit))
        elif isinstance(value, (Extension, Trigger)):
            ask_the_updater(value)
