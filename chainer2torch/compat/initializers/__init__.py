"""Helpers for ``chainer.initializers``."""
