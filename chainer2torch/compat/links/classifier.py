"""Chainer's Classifier: a predictor with its loss and accuracy, reported under the model's name."""

from collections.abc import Callable
from typing import Any

import pytorch_pfn_extras.reporting as ppe_reporting
import torch
import torch.nn as nn
import torch.nn.functional as F

from chainer2torch.compat.links.links_base import set_unregistered


def _classifier_loss(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Chainer's softmax_cross_entropy with its defaults: the mean over labels other than -1; 0 when there are none."""
    total = F.cross_entropy(y, t.long(), ignore_index=-1, reduction="sum")
    return total / (t != -1).sum().clamp(min=1)


def _classifier_accuracy(y: torch.Tensor, t: torch.Tensor) -> torch.Tensor:
    """Chainer's accuracy with its defaults: how often the argmax over axis 1 is the label."""
    return (y.argmax(1).reshape(t.shape) == t).to(y.dtype).mean()


class Classifier(nn.Module):
    """Calls ``predictor`` on all arguments but the label, and returns ``lossfun(y, t)``.

    ``label_key`` says which argument is the label: a position (default: the last) or a keyword; a key that is not there
    raises ValueError, one of another type TypeError. After a call ``y``, ``loss`` and (while ``compute_accuracy``)
    ``accuracy`` hold the results, and pytorch-pfn-extras' reporter has got ``loss`` and ``accuracy`` of this module.
    Defaults: softmax cross entropy (labels int32 or int64, -1 ignored) and accuracy. Source: chainer.links.Classifier.
    """

    compute_accuracy = True
    lossfun: Callable[..., torch.Tensor]
    accfun: Callable[..., Any]

    def __init__(
        self,
        predictor: Any,
        lossfun: Callable[..., torch.Tensor] = _classifier_loss,
        accfun: Callable[..., Any] = _classifier_accuracy,
        label_key: Any = -1,
    ) -> None:
        if not isinstance(label_key, (int, str)):
            raise TypeError(f"label_key must be int or str, not {type(label_key).__name__}")
        super().__init__()
        set_unregistered(self, "lossfun", lossfun)
        set_unregistered(self, "accfun", accfun)
        self.y: Any = None
        self.loss: Any = None
        self.accuracy: Any = None
        self.label_key = label_key
        self.predictor = predictor

    def forward(self, *args: Any, **kwargs: Any) -> torch.Tensor:
        if isinstance(self.label_key, int):
            if not -len(args) <= self.label_key < len(args):
                raise ValueError(f"label_key {self.label_key} is beyond the {len(args)} arguments")
            rest = list(args)
            t = rest.pop(self.label_key)
            args = tuple(rest)
        else:
            if self.label_key not in kwargs:
                raise ValueError(f"there is no argument {self.label_key!r}")
            t = kwargs.pop(self.label_key)
        self.y = self.loss = self.accuracy = None  # lets go of the last graph before this one is built
        self.y = self.predictor(*args, **kwargs)
        loss = self.loss = self.lossfun(self.y, t)
        ppe_reporting.report({"loss": loss}, self)
        if self.compute_accuracy:
            self.accuracy = self.accfun(self.y, t)
            ppe_reporting.report({"accuracy": self.accuracy}, self)
        return loss
