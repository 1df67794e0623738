"""Helpers for ``chainer.backend``, ``chainer.backends`` and array modules."""
