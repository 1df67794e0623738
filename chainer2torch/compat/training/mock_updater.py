"""A trainer for tests of extensions: its updater only counts."""

from __future__ import annotations

import unittest.mock
from collections.abc import Iterable
from typing import Any

from chainer2torch.compat.training.trainer import Trainer


def get_trainer_with_mock_updater(
    stop_trigger: Any = (10, "iteration"), iter_per_epoch: int = 10, extensions: Iterable[Any] | None = None
) -> Trainer:
    """A trainer whose updater is a mock that counts iterations and epochs and calls ``update_core()``.

    Source: chainer.testing.get_trainer_with_mock_updater.
    """
    updater = unittest.mock.Mock()
    updater.get_all_optimizers.return_value = {}
    updater.iteration = updater.epoch = 0
    updater.epoch_detail = 0.0
    updater.is_new_epoch = True
    updater.previous_epoch_detail = None

    def update() -> None:
        updater.update_core()
        before = updater.iteration
        updater.iteration += 1
        updater.epoch = updater.iteration // iter_per_epoch
        updater.epoch_detail = updater.iteration / iter_per_epoch
        updater.is_new_epoch = before // iter_per_epoch != updater.epoch
        updater.previous_epoch_detail = before / iter_per_epoch

    updater.update = update
    return Trainer(updater, stop_trigger, extensions=extensions)
