"""Helpers for ``chainer.optimizers``."""
