"""A project's models in both frameworks."""
