"""Helpers for projects of which only a part is migrated."""
