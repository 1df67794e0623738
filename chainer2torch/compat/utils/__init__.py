"""Helpers for ``chainer.utils``."""
