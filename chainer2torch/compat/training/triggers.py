"""Triggers with Chainer's meaning: they fire when a count is crossed, also when they are not asked at every iteration.

They are pytorch-pfn-extras triggers; its own count iterations from the length of a DataLoader, these ask the updater.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pytorch_pfn_extras.training import triggers as ppe_triggers
from pytorch_pfn_extras.training.trigger import Trigger

from chainer2torch.compat.serializers.state import SerializableState
from chainer2torch.compat.serializers.state_io import StateReader
from chainer2torch.compat.training.summary import serialize_summary


class _ChainerTrigger(Trigger, SerializableState):
    """Base of the triggers: state in Chainer's layout."""

    def __call__(self, manager: Any) -> bool:
        """Whether the time has come."""
        raise NotImplementedError

    def may_fire(self, iteration: int, epoch_length: int) -> bool:
        """What pytorch-pfn-extras asks ahead of time; unknown, so yes."""
        return True

    def state_dict(self) -> dict[str, Any]:
        """The state as ``{key: array}``."""
        return self._chainer_entries()

    def load_state_dict(self, to_load: Any) -> None:
        """Restores what :meth:`state_dict` gave."""
        self._load_chainer_entries(to_load)


class _NeverTrigger(_ChainerTrigger):
    def __call__(self, manager: Any) -> bool:
        return False


class _FunctionTrigger(_ChainerTrigger):
    """A function of the trainer, or the user's own trigger object."""

    def __init__(self, function: Callable[[Any], bool]) -> None:
        self.function = function

    def __call__(self, manager: Any) -> bool:
        return bool(self.function(manager))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "function":
            raise AttributeError(name)
        return getattr(self.function, name)

    def serialize(self, serializer: Any) -> None:
        if hasattr(self.function, "serialize"):
            self.function.serialize(serializer)


def get_trigger(trigger: Any) -> Any:
    """A trigger from a ``(period, unit)`` tuple, a function of the trainer, a trigger, or None (which never fires).

    Source: chainer.training.get_trigger.
    """
    if isinstance(trigger, Trigger):
        return trigger
    if trigger is None:
        return _NeverTrigger()
    return _FunctionTrigger(trigger) if callable(trigger) else IntervalTrigger(*trigger)


def _check_unit(unit: str) -> None:
    if unit not in ("epoch", "iteration"):
        raise ValueError("Trigger unit must be either 'epoch' or 'iteration'.")


class _CrossingTrigger(_ChainerTrigger):
    """Remembers where the updater stood when it was asked last."""

    def __init__(self, unit: str) -> None:
        _check_unit(unit)
        self.unit = unit
        self._previous_iteration = 0
        self._previous_epoch_detail = 0.0

    def _advance(self, updater: Any) -> tuple[float, float]:
        """The previous and the current position in this trigger's unit."""
        if self.unit == "epoch":
            now = updater.epoch_detail
            before = self._previous_epoch_detail
            if before < 0:  # the state came from a file that lacks it
                before = updater.previous_epoch_detail
        else:
            now = updater.iteration
            before = self._previous_iteration
            if before < 0:
                before = now - 1
        self._previous_iteration = updater.iteration
        if hasattr(updater, "epoch_detail"):
            self._previous_epoch_detail = updater.epoch_detail
        return before, now

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the last position; a file without it gives a guess."""
        try:
            self._previous_iteration = serializer("previous_iteration", self._previous_iteration)
        except KeyError:
            self._previous_iteration = -1
        try:
            self._previous_epoch_detail = serializer("previous_epoch_detail", self._previous_epoch_detail)
        except KeyError:
            self._previous_epoch_detail = -1.0


class IntervalTrigger(_CrossingTrigger):
    """Fires every ``period`` epochs or iterations. Source: chainer.training.triggers.IntervalTrigger.

    Raises:
        ValueError: ``unit`` is neither ``'epoch'`` nor ``'iteration'``.
    """

    def __init__(self, period: float, unit: str) -> None:
        super().__init__(unit)
        self.period = period
        self.count: float = 0

    def __call__(self, manager: Any) -> bool:
        """Whether a multiple of the period was reached since the last call."""
        before, now = self._advance(manager.updater)
        if self.unit == "epoch":
            self.count = now // self.period
        return before // self.period != now // self.period

    def get_training_length(self) -> tuple[float, str]:
        """``(period, unit)``, for progress bars."""
        return self.period, self.unit

    def __str__(self) -> str:
        return f"{type(self).__name__}({self.period}, '{self.unit}')"


class ManualScheduleTrigger(_CrossingTrigger):
    """Fires at the given epochs or iterations. Source: chainer.training.triggers.ManualScheduleTrigger.

    Raises:
        ValueError: ``unit`` is neither ``'epoch'`` nor ``'iteration'``.
    """

    def __init__(self, points: float | Sequence[float], unit: str) -> None:
        super().__init__(unit)
        self.points: Any = points if isinstance(points, list) else [points]
        self.finished = False
        self._finished_is_unknown = False

    def __call__(self, manager: Any) -> bool:
        """Whether one of the points was reached since the last call."""
        before, now = self._advance(manager.updater)
        fire = any(before < point <= now for point in self.points)
        if (fire or self._finished_is_unknown) and now >= max(self.points):
            self.finished = True
        self._finished_is_unknown = False
        return fire

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the last position and whether all points are over."""
        super().serialize(serializer)
        try:
            self.finished = serializer("finished", self.finished)
        except KeyError:
            self.finished = False
            self._finished_is_unknown = True


class OnceTrigger(_ChainerTrigger):
    """Fires at the first call, and with ``call_on_resume`` at the first after a resume.

    Source: chainer.training.triggers.OnceTrigger.
    """

    def __init__(self, call_on_resume: bool = False) -> None:
        self._flag_first = True
        self._flag_resumed = call_on_resume

    @property
    def finished(self) -> bool:
        """Whether it will not fire any more."""
        return not (self._flag_first or self._flag_resumed)

    def __call__(self, manager: Any) -> bool:
        """Whether it is the first call."""
        fire = not self.finished
        self._flag_first = self._flag_resumed = False
        return fire

    def serialize(self, serializer: Any) -> None:
        """Stores or restores whether it fired."""
        try:
            self._flag_first = serializer("_flag_first", self._flag_first)
        except KeyError:
            self._flag_first = False


class TimeTrigger(_ChainerTrigger):
    """Fires every ``period`` seconds of training. Source: chainer.training.triggers.TimeTrigger."""

    def __init__(self, period: float) -> None:
        self._period = period
        self._next_time = period

    def __call__(self, manager: Any) -> bool:
        """Whether the period is over."""
        if self._next_time >= manager.elapsed_time:
            return False
        self._next_time += self._period
        return True

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the time of the next call."""
        self._next_time = float(serializer("next_time", self._next_time))


class BestValueTrigger(ppe_triggers.BestValueTrigger, _ChainerTrigger):
    """Fires when the mean of an observed value over the last interval is better than ever before.

    Args:
        key: the observed value.
        compare: function ``(best, new)`` that says whether the new one is better.
        trigger: the interval.
    Raises:
        KeyError: when the interval is over and the value was never observed in it.
    Source: chainer.training.triggers.BestValueTrigger.
    """

    def __init__(self, key: str, compare: Callable[[float, float], bool], trigger: Any = (1, "epoch")) -> None:
        super().__init__(key, compare, get_trigger(trigger))

    may_fire = _ChainerTrigger.may_fire
    state_dict = _ChainerTrigger.state_dict
    load_state_dict = _ChainerTrigger.load_state_dict

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the best value and the running mean."""
        self._interval_trigger.serialize(serializer["interval_trigger"])  # type: ignore[attr-defined]
        serialize_summary(serializer["summary"], self._summary)
        best = serializer("best_value", self._best_value)
        self._best_value = best if best is None or not isinstance(serializer, StateReader) else float(best)


class MaxValueTrigger(BestValueTrigger):
    """Fires when a value is larger than ever before. Source: chainer.training.triggers.MaxValueTrigger."""

    def __init__(self, key: str, trigger: Any = (1, "epoch")) -> None:
        super().__init__(key, lambda best, new: new > best, trigger)


class MinValueTrigger(BestValueTrigger):
    """Fires when a value is smaller than ever before. Source: chainer.training.triggers.MinValueTrigger."""

    def __init__(self, key: str, trigger: Any = (1, "epoch")) -> None:
        super().__init__(key, lambda best, new: new < best, trigger)


class EarlyStoppingTrigger(ppe_triggers.EarlyStoppingTrigger, _ChainerTrigger):
    """Fires when a value has not improved for ``patience`` checks, or at ``max_trigger``.

    Args:
        check_trigger: when to look at the value.
        monitor: the observed value.
        patience: checks without improvement (3 by default); ``patients`` is Chainer's older name.
        mode: ``'max'``, ``'min'`` or ``'auto'`` (by the name: accuracies grow).
        verbose: print what happens.
        max_trigger: the latest end.
    Source: chainer.training.triggers.EarlyStoppingTrigger.
    """

    def __init__(
        self,
        check_trigger: Any = (1, "epoch"),
        monitor: str = "main/loss",
        patience: int | None = None,
        mode: str = "auto",
        verbose: bool = False,
        max_trigger: Any = (100, "epoch"),
        *,
        patients: int | None = None,
    ) -> None:
        if patience is not None and patients is not None:
            raise TypeError(
                "Both 'patience' and 'patients' arguments are specified. 'patients' is an alias of the "
                "former. Specify only 'patience'."
            )
        waits = next((value for value in (patients, patience) if value is not None), 3)
        super().__init__(get_trigger(check_trigger), monitor, waits, mode, verbose)
        self._max_trigger = get_trigger(max_trigger)

    may_fire = _ChainerTrigger.may_fire
    state_dict = _ChainerTrigger.state_dict
    load_state_dict = _ChainerTrigger.load_state_dict
