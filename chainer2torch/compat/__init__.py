"""Helpers that are vendored into migrated projects as ``chainer_compat.py``: torch only, each with Chainer's exact meaning."""
