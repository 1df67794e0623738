"""Helpers for ``chainer.links`` and for links of a project."""
