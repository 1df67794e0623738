"""Extensions that change a hyperparameter of an optimizer while the training goes on."""

from __future__ import annotations

import math
from typing import Any

from pytorch_pfn_extras.training.extension import Extension

from chainer2torch.native.settings import set_setting, setting


class _Shift(Extension):
    """Gives ``optimizer.attr`` the value of ``_value()``, which knows the number of calls ``_t``."""

    def __init__(self, attr: str, init: Any, target: Any, optimizer: Any) -> None:
        self._attr, self._init, self._target, self._optimizer = attr, init, target, optimizer
        self._t, self._last_value = 0, None

    def initialize(self, trainer: Any) -> None:
        self._optimizer = self._optimizer or trainer.optimizers["main"]
        if self._init is None:
            self._init = setting(self._optimizer, self._attr)
        self._set(self._init if self._last_value is None else self._last_value)

    def __call__(self, trainer: Any) -> None:
        self._t += 1
        self._set(self._value())

    def _set(self, value: Any) -> None:
        set_setting(self._optimizer, self._attr, value)
        self._last_value = value

    def _until_target(self, value: float, grows: bool) -> Any:
        if self._target is None:
            return value
        return self._target if (value / self._target > 1 if grows else value / self._target < 1) else value

    def state_dict(self) -> dict[str, Any]:
        return {"t": self._t, "last_value": self._last_value}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._t, self._last_value = state["t"], state["last_value"]


class ExponentialShift(_Shift):
    """Multiplies with ``rate`` at each call, until ``target``. Source: chainer.training.extensions.ExponentialShift."""

    def __init__(self, attr: str, rate: float, init: Any = None, target: Any = None, optimizer: Any = None) -> None:
        if rate < 0:
            raise ValueError("ExponentialShift does not support negative rate")
        super().__init__(attr, init, target, optimizer)
        self._rate = rate

    def _value(self) -> Any:
        return self._until_target(self._init * self._rate**self._t, self._rate > 1)


class InverseShift(_Shift):
    """``init * (1 + gamma * t) ** -power``. Source: chainer.training.extensions.InverseShift."""

    def __init__(
        self, attr: str, gamma: float, power: float, init: Any = None, target: Any = None, optimizer: Any = None
    ) -> None:
        if gamma < 0:
            raise ValueError("InverseShift does not support negative gamma")
        super().__init__(attr, init, target, optimizer)
        self._gamma, self._power = gamma, power

    def _value(self) -> Any:
        return self._until_target(self._init * (1 + self._gamma * self._t) ** -self._power, self._power < 0)


class StepShift(_Shift):
    """Multiplies with ``gamma`` every ``step`` calls. Source: chainer.training.extensions.StepShift."""

    def __init__(
        self, attr: str, gamma: float, step: float, init: Any = None, target: Any = None, optimizer: Any = None
    ) -> None:
        super().__init__(attr, init, target, optimizer)
        self._gamma, self._step = gamma, step

    def _value(self) -> Any:
        return self._until_target(self._init * self._gamma ** math.floor(self._t / self._step), self._gamma > 1)


class PolynomialShift(_Shift):
    """``init * (1 - t / max_count) ** rate``. Source: chainer.training.extensions.PolynomialShift."""

    def __init__(
        self, attr: str, rate: float, max_count: float, init: Any = None, target: Any = None, optimizer: Any = None
    ) -> None:
        super().__init__(attr, init, target, optimizer)
        self._rate, self._max_count = rate, max_count

    def _value(self) -> Any:
        value = self._init * max(1 - self._t / self._max_count, 0) ** self._rate
        if self._target is not None and (self._target / value > 1 if self._rate > 0 else self._target / value < 1):
            return self._target
        return value


class LinearShift(_Shift):
    """From one value to another between two numbers of calls. Source: chainer.training.extensions.LinearShift."""

    def __init__(self, attr: str, value_range: Any, time_range: Any, optimizer: Any = None) -> None:
        super().__init__(attr, value_range[0], None, optimizer)
        self._value_range, self._time_range = value_range, time_range

    def initialize(self, trainer: Any) -> None:
        self._init = self._value()
        super().initialize(trainer)

    def _value(self) -> Any:
        (start, end), (first, last) = self._time_range, self._value_range
        if self._t <= start:
            return first
        return last if self._t >= end else first + (self._t - start) / (end - start) * (last - first)


class MultistepShift(_Shift):
    """Multiplies with ``gamma`` at each of the given calls. Source: chainer.training.extensions.MultistepShift."""

    _current_step = 0

    def __init__(self, attr: str, gamma: float, step_value: Any, init: Any, optimizer: Any = None) -> None:
        super().__init__(attr, init, None, optimizer)
        self._gamma, self._step_value = gamma, step_value

    def initialize(self, trainer: Any) -> None:
        self._last_value = None  # as in Chainer, also after a resume
        super().initialize(trainer)

    def _value(self) -> Any:
        if self._current_step < len(self._step_value) and self._t >= self._step_value[self._current_step]:
            self._current_step += 1
        return self._init * self._gamma**self._current_step

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "current_step": self._current_step}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        super().load_state_dict(state)
        self._current_step = state["current_step"]


class WarmupShift(_Shift):
    """Linearly from ``warmup_start`` to ``init`` in ``warmup_iter`` calls; then the value is left alone.

    Source: chainer.training.extensions.WarmupShift.
    """

    def __init__(self, attr: str, warmup_start: Any, warmup_iter: int, init: float, optimizer: Any = None) -> None:
        super().__init__(attr, warmup_start, None, optimizer)
        self._warmup_iter, self._end = warmup_iter, init

    def initialize(self, trainer: Any) -> None:
        self._last_value = None  # as in Chainer, also after a resume
        super().initialize(trainer)

    def __call__(self, trainer: Any) -> None:
        if self._t < self._warmup_iter:
            super().__call__(trainer)

    def _value(self) -> Any:
        return (self._t * self._end + (self._warmup_iter - self._t) * self._init) / self._warmup_iter
