"""Helpers for ``chainer.functions``."""
