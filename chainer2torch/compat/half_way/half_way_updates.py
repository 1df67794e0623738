"""Updaters of your own under Chainer's training while the models are torch's: ``chainer2torch migrate --only`` puts
these between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn as nn

from chainer2torch.compat.dataset.convert import _call_converter
from chainer2torch.compat.backend.devices import get_device
from chainer2torch.compat.half_way.half_way_links import asarray, astensor


def as_chainer_loss(function: Any, arrays: bool = False) -> Any:
    """A function that gives a loss, for ``optimizer.update`` of an optimizer of Chainer's; None is None.

    A loss that is a tensor is differentiated by torch; its graph stays, as in Chainer: another loss may share it.

    Args:
        arrays: hand arrays that the function gets to it as tensors.
    """
    if function is None:
        return None

    def lossfun(*args: Any, **kwargs: Any) -> Any:
        if arrays:
            args, kwargs = astensor(args), astensor(kwargs)
        loss = function(*args, **kwargs)
        return _TensorLoss(loss) if isinstance(loss, torch.Tensor) else loss

    return lossfun


class _TensorLoss:
    """What Chainer's optimizers ask of a loss."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor

    def backward(
        self, retain_grad: bool = False, enable_double_backprop: bool = False, loss_scale: float | None = None
    ) -> None:
        """Adds the gradients, multiplied by the scale, to the parameters'; the optimizer takes the scale out again."""
        scaled = self.tensor if loss_scale is None else self.tensor * loss_scale
        scaled.backward(retain_graph=True)


def as_torch_converter(converter: Callable[..., Any]) -> Callable[..., Any]:
    """A converter of either side that gives tensors; it takes the devices of either side."""

    def convert(batch: Any, device: Any = None, *args: Any, **kwargs: Any) -> Any:
        import chainer

        if (
            isinstance(converter, chainer.dataset.Converter)
            or converter is chainer.dataset.concat_examples
            or args
            or kwargs
        ):
            return astensor(converter(batch, device, *args, **kwargs))
        return astensor(_call_converter(converter, batch, _torch_device(device)))

    return convert


def _torch_device(device: Any) -> torch.device | None:
    """A device of either side, or the number of a GPU (-1: the CPU), as torch's."""
    name = device.name if type(device).__module__.startswith("chainer.") else device
    return None if name is None else get_device(name)


def as_chainer_report(report: Callable[..., Any]) -> Callable[..., Any]:
    """``chainer.report`` for code that reports tensors, or names a torch module: the values arrive as arrays.

    Raises KeyError for a module that no optimizer of Chainer's has as its target.
    """

    def reports(values: Any, observer: Any = None) -> Any:
        if isinstance(observer, nn.Module):
            link = observer.__dict__.get("_as_chainer_link")
            if link is None:
                raise KeyError(f"{type(observer).__name__} is not the target of an optimizer: nothing names its values")
            observer = link
        return report(
            {
                key: asarray(value.detach()) if isinstance(value, torch.Tensor) else value
                for key, value in values.items()
            },
            observer,
        )

    return reports
