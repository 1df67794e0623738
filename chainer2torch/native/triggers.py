"""Triggers that ask the updater how far the training is, as its iterator counts."""

from __future__ import annotations

from typing import Any

from pytorch_pfn_extras.training import triggers
from pytorch_pfn_extras.training.extension import Extension
from pytorch_pfn_extras.training.trigger import Trigger
from pytorch_pfn_extras.training.trigger import get_trigger as pfn_trigger


class _CrossingTrigger(Trigger):
    """Remembers where the training was when it was asked last."""

    def __init__(self, unit: str) -> None:
        if unit not in ("epoch", "iteration"):
            raise ValueError("Trigger unit must be either 'epoch' or 'iteration'.")
        self.unit, self._last = unit, 0.0

    def _passed(self, manager: Any) -> tuple[float, float]:
        last, self._last = self._last, getattr(manager.updater, "epoch_detail" if self.unit == "epoch" else "iteration")
        return last, self._last

    def state_dict(self) -> dict[str, Any]:
        return {"last": self._last}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last = state["last"]


class IntervalTrigger(_CrossingTrigger):
    """Fires when a multiple of the period is reached, in epochs or iterations.

    That of pytorch-pfn-extras takes all epochs to have the same number of iterations, where Chainer's iterators fill
    the last batch of an epoch from the next one. Source: chainer.training.triggers.IntervalTrigger.
    """

    def __init__(self, period: float, unit: str) -> None:
        super().__init__(unit)
        self.period = period

    def __call__(self, manager: Any) -> bool:
        last, now = self._passed(manager)
        return last // self.period != now // self.period

    def get_training_length(self) -> tuple[float, str]:
        return self.period, self.unit


class ManualScheduleTrigger(_CrossingTrigger):
    """Fires at given epochs or iterations. Source: chainer.training.triggers.ManualScheduleTrigger."""

    def __init__(self, points: Any, unit: str) -> None:
        super().__init__(unit)
        self.points = points if isinstance(points, list) else [points]
        self.finished = False

    def __call__(self, manager: Any) -> bool:
        last, now = self._passed(manager)
        self.finished = now >= max(self.points)
        return any(last < point <= now for point in self.points)


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
