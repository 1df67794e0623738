"""Helpers that are vendored into migrated projects as ``chainer_compat.py``, each with Chainer's exact meaning."""
