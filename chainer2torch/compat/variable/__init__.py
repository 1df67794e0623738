"""Helpers for ``chainer.Variable``, its modes and its gradients."""
