"""Helpers for ``chainer.testing`` and ``chainer.gradient_check``."""
