"""Evaluation as a block."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch.nn as nn


@contextlib.contextmanager
def evaluating(*models: nn.Module) -> Iterator[None]:
    """``with evaluating(model):`` is ``model.eval()``, and afterwards every module is in the mode that it had before.

    Gradients go on: that is torch.no_grad(). Source: chainer.using_config("train", False).
    """
    before = [(module, module.training) for model in models for module in model.modules()]
    for model in models:
        model.eval()
    try:
        yield
    finally:
        for module, training in before:
            module.training = training
