"""Helpers for ``chainer.distributions``."""
