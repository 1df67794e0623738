"""Extensions that change a hyperparameter of an optimizer while the training goes on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from chainer2torch.compat.training.extension_base import Extension


class _Shift(Extension):
    """What they share: the optimizer, the number of calls, and the value to go back to after a resume.

    Classes that derive from them use Chainer's names: ``_get_optimizer``, ``_update_value``, ``_t`` and the settings.
    """

    def __init__(self, attr: str, optimizer: Any) -> None:
        self._attr = attr
        self._optimizer = optimizer
        self._t = 0
        self._last_value: Any = None

    def _get_optimizer(self, trainer: Any) -> Any:
        return self._optimizer or trainer.updater.get_optimizer("main")

    def _update_value(self, optimizer: Any, value: float) -> None:
        setattr(optimizer, self._attr, value)
        self._last_value = value

    def _value(self) -> float:
        """The value after ``self._t`` calls."""
        raise NotImplementedError

    def __call__(self, trainer: Any) -> None:
        """Sets the next value."""
        self._t += 1
        self._update_value(self._get_optimizer(trainer), self._value())

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the number of calls and the value."""
        self._t = serializer("_t", self._t)
        last = serializer("_last_value", self._last_value)
        self._last_value = last if last is None else float(last)


class _ShiftFromStart(_Shift):
    """Those that start from ``init``, or from the optimizer's own value."""

    def __init__(self, attr: str, init: float | None, target: float | None, optimizer: Any) -> None:
        super().__init__(attr, optimizer)
        self._init: Any = init
        self._target = target

    def initialize(self, trainer: Any) -> None:
        """Sets the first value, or the last one after a resume."""
        if self._init is None:
            self._init = getattr(self._get_optimizer(trainer), self._attr)
        self._update_value(self._get_optimizer(trainer), self._init if self._last_value is None else self._last_value)

    def _stop_at_target(self, value: float, grows: bool) -> float:
        if self._target is not None and (value / self._target > 1 if grows else value / self._target < 1):
            return self._target
        return value


class ExponentialShift(_ShiftFromStart):
    """Multiplies with ``rate`` at each call, until ``target``. Source: chainer.training.extensions.ExponentialShift.

    Raises:
        ValueError: the rate is negative.
    """

    def __init__(
        self, attr: str, rate: float, init: float | None = None, target: float | None = None, optimizer: Any = None
    ) -> None:
        if rate < 0:
            raise ValueError("ExponentialShift does not support negative rate")
        super().__init__(attr, init, target, optimizer)
        self._rate = rate

    def _value(self) -> float:
        return self._stop_at_target(self._init * self._rate**self._t, self._rate > 1)


class InverseShift(_ShiftFromStart):
    """``init * (1 + gamma * t) ** -power``. Source: chainer.training.extensions.InverseShift.

    Raises:
        ValueError: ``gamma`` is negative.
    """

    def __init__(
        self,
        attr: str,
        gamma: float,
        power: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Any = None,
    ) -> None:
        if gamma < 0:
            raise ValueError("InverseShift does not support negative gamma")
        super().__init__(attr, init, target, optimizer)
        self._gamma = gamma
        self._power = power

    def _value(self) -> float:
        return self._stop_at_target(self._init * (1 + self._gamma * self._t) ** -self._power, self._power < 0)


class StepShift(_ShiftFromStart):
    """Multiplies with ``gamma`` every ``step`` calls. Source: chainer.training.extensions.StepShift."""

    def __init__(
        self,
        attr: str,
        gamma: float,
        step: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Any = None,
    ) -> None:
        super().__init__(attr, init, target, optimizer)
        self._gamma = gamma
        self._step = step

    def _value(self) -> float:
        return self._stop_at_target(self._init * self._gamma ** math.floor(self._t / self._step), self._gamma > 1)


class PolynomialShift(_ShiftFromStart):
    """``init * (1 - t / max_count) ** rate``. Source: chainer.training.extensions.PolynomialShift."""

    def __init__(
        self,
        attr: str,
        rate: float,
        max_count: float,
        init: float | None = None,
        target: float | None = None,
        optimizer: Any = None,
    ) -> None:
        super().__init__(attr, init, target, optimizer)
        self._rate = rate
        self._max_count = max_count

    def _value(self) -> float:
        value: float = self._init * max(1 - self._t / self._max_count, 0) ** self._rate
        if self._target is not None and (self._target / value > 1 if self._rate > 0 else self._target / value < 1):
            return self._target
        return value


class LinearShift(_Shift):
    """Goes from one value to another between two numbers of calls. Source: chainer.training.extensions.LinearShift."""

    def __init__(
        self, attr: str, value_range: Sequence[float], time_range: Sequence[float], optimizer: Any = None
    ) -> None:
        super().__init__(attr, optimizer)
        self._value_range = value_range
        self._time_range = time_range

    def initialize(self, trainer: Any) -> None:
        """Sets the first value, or the last one after a resume."""
        value = self._value() if self._last_value is None else self._last_value
        self._update_value(self._get_optimizer(trainer), value)

    def _value(self) -> float:
        (start, end), (first, last) = self._time_range, self._value_range
        if self._t <= start:
            return first
        if self._t >= end:
            return last
        return first + (self._t - start) / (end - start) * (last - first)


class MultistepShift(_Shift):
    """Multiplies with ``gamma`` at each of the given calls. Source: chainer.training.extensions.MultistepShift."""

    def __init__(
        self, attr: str, gamma: float, step_value: Sequence[float], init: float | None, optimizer: Any = None
    ) -> None:
        super().__init__(attr, optimizer)
        self._gamma = gamma
        self._step_value = step_value
        self._init: Any = init  # a float from `initialize` on
        self._current_step = 0

    def initialize(self, trainer: Any) -> None:
        """Sets the first value."""
        if self._init is None:
            self._init = getattr(self._get_optimizer(trainer), self._attr)
        else:
            setattr(self._get_optimizer(trainer), self._attr, self._init)

    def _value(self) -> float:
        if self._current_step < len(self._step_value) and self._t >= self._step_value[self._current_step]:
            self._current_step += 1
        value: float = self._init * self._gamma**self._current_step
        return value

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the number of calls and of steps."""
        self._t = serializer("_t", self._t)
        self._current_step = serializer("_current_step", self._current_step)


class WarmupShift(_Shift):
    """Goes linearly from ``warmup_start`` to ``init`` in ``warmup_iter`` calls, and then leaves the value alone.

    Source: chainer.training.extensions.WarmupShift.
    """

    def __init__(
        self, attr: str, warmup_start: float | None, warmup_iter: int, init: float, optimizer: Any = None
    ) -> None:
        super().__init__(attr, optimizer)
        self._warmup_start: Any = warmup_start
        self._warmup_iter = warmup_iter
        self._init = init

    def initialize(self, trainer: Any) -> None:
        """Sets the first value."""
        if self._warmup_start is None:
            self._warmup_start = getattr(self._get_optimizer(trainer), self._attr)
        else:
            setattr(self._get_optimizer(trainer), self._attr, self._warmup_start)

    def __call__(self, trainer: Any) -> None:
        """Sets the next value while the warm-up lasts."""
        self._t += 1
        if self._t <= self._warmup_iter:
            left = self._warmup_iter - self._t
            value = (self._t * self._init + left * self._warmup_start) / self._warmup_iter
            setattr(self._get_optimizer(trainer), self._attr, value)

    def serialize(self, serializer: Any) -> None:
        """Stores or restores the number of calls."""
        self._t = serializer("_t", self._t)
