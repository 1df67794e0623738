"""Fixers of our own for fissix, which loads them by the names of their modules."""
