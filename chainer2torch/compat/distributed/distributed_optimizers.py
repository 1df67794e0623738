"""Optimizers that average the gradients of all processes before each update."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.nn.parameter import is_lazy

from chainer2torch.compat.distributed.communicators import Communicator


def create_multi_node_optimizer(
    actual_optimizer: Any, communicator: Communicator, double_buffering: bool = False, zero_fill: bool = True
) -> MultiNodeOptimizer:
    """An optimizer whose ``update`` averages the gradients of all processes first.

    Args:
        double_buffering: exchange gradients in the background, and update with those of the iteration before
            (``'pure_nccl'`` only).
        zero_fill: a parameter without a gradient takes part with zeros; otherwise all processes must have gradients
            for the same parameters.
    Raises:
        ValueError: ``double_buffering`` with another communicator.
    Source: chainermn.create_multi_node_optimizer.
    """
    if not double_buffering:
        return MultiNodeOptimizer(actual_optimizer, communicator, zero_fill)
    if communicator.name != "pure_nccl":
        raise ValueError("This communicator does not support double buffering.")
    return DoubleBufferingOptimizer(actual_optimizer, communicator, zero_fill)


class MultiNodeOptimizer:
    """What :func:`create_multi_node_optimizer` makes; every other attribute is that of the actual optimizer.

    The first ``update``, and each one before which the model got new parameters, does not update: it gives all
    processes the parameters of rank 0.
    """

    actual_optimizer: Any
    communicator: Communicator
    zero_fill: bool
    _known_params: list[tuple[str, bool]]

    def __init__(self, actual_optimizer: Any, communicator: Communicator, zero_fill: bool) -> None:
        vars(self).update(
            actual_optimizer=actual_optimizer, communicator=communicator, zero_fill=zero_fill, _known_params=[]
        )

    def setup(self, link: torch.nn.Module) -> MultiNodeOptimizer:
        """Takes the parameters of a module."""
        self.actual_optimizer.setup(link)
        return self

    def update(self, lossfun: Any = None, *args: Any, **kwds: Any) -> None:
        """One update by the mean of the gradients; with ``lossfun`` the gradients are computed first."""
        if lossfun is not None:
            self.actual_optimizer.compute_gradients(lossfun, *args, **kwds)
        if self._has_new_parameters():
            self.communicator.bcast_data(self.target)
        else:
            self.communicator.multi_node_mean_grad(self.target, self.zero_fill)
            self.actual_optimizer.update()

    def _has_new_parameters(self) -> bool:
        known = self._known_params
        vars(self)["_known_params"] = sorted((name, is_lazy(param)) for name, param in self.target.named_parameters())
        return self._known_params != known

    def __getattr__(self, name: str) -> Any:
        if name == "actual_optimizer":  # not there yet, or while copying
            raise AttributeError(name)
        return getattr(self.actual_optimizer, name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(self.actual_optimizer, name, value)


class DoubleBufferingOptimizer(MultiNodeOptimizer):
    """Exchanges the gradients of one iteration while the next one computes its own: updates are one iteration late."""

    _pending: Callable[[], list[torch.Tensor]] | None  # waits for the means of the last iteration's gradients

    def update(self, lossfun: Any = None, *args: Any, **kwds: Any) -> None:
        """One update by the mean of the gradients of the iteration before; the first two iterations do not update."""
        if lossfun is not None:
            self.actual_optimizer.compute_gradients(lossfun, *args, **kwds)
        if self._has_new_parameters():
            self.communicator.bcast_data(self.target)
            vars(self)["_pending"] = None
            return
        previous = self._pending
        grads = self.communicator.gradients(self.target, self.zero_fill)
        vars(self)["_pending"] = self.communicator.start_mean(grads)
        if previous is not None:
            for grad, mean in zip(grads, previous(), strict=True):
                grad.copy_(mean)
            self.actual_optimizer.update()
