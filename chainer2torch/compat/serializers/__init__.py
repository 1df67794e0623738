"""Helpers for ``chainer.serializers``."""
