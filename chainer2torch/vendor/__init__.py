"""Puts the helpers that a project uses into its ``chainer_compat.py``."""
