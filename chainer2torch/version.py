"""The version of the package. It has a module of its own, below all others, because generated files state it."""

__version__ = "0.1.0"
