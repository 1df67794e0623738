"""What training with pytorch-pfn-extras needs to log the keys and values that Chainer logs."""

from __future__ import annotations

from torch import nn


def observers(model: nn.Module, name: str = "main") -> dict[str, nn.Module]:
    """A model and its parts under the names that Chainer reports them by: main, main/predictor, main/predictor/fc.

    pytorch-pfn-extras would call the last one "mainpredictor.fc". Where parts report values, write
    ``manager.reporter.add_observers("", observers(model).items())`` and ``Evaluator(loader, observers(model))``; that
    evaluator also gives each part its own mode back. Source: chainer.Reporter.
    """
    return {"/".join([name, *filter(None, path.split("."))]): part for path, part in model.named_modules()}
