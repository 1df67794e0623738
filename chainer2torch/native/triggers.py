"""Triggers that fire at other times than those of pytorch-pfn-extras."""

from __future__ import annotations

from typing import Any

from pytorch_pfn_extras.training import triggers


class ManualScheduleTrigger(triggers.ManualScheduleTrigger):
    """Fires at the first iteration that reaches a point; pytorch-pfn-extras rounds points down to an iteration.

    Source: chainer.training.triggers.ManualScheduleTrigger.
    """

    _last = 0.0

    def __call__(self, manager: Any) -> bool:
        points: Any = self.points
        last, self._last = self._last, manager.epoch_detail if self.unit == "epoch" else manager.iteration
        return any(last < point <= self._last for point in points)

    def may_fire(self, iteration: int, epoch_length: int) -> bool:
        return True

    def state_dict(self) -> dict[str, Any]:
        return {"last": self._last}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._last = state["last"]
