"""Helpers for ChainerCV."""
