"""Helpers for ``chainermn``."""
