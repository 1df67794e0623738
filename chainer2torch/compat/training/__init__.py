"""Helpers for ``chainer.training``."""
