"""Helpers for hooks of functions and links."""
