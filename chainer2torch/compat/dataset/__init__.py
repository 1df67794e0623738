"""Helpers for ``chainer.dataset``, ``chainer.datasets`` and ``chainer.iterators``."""
