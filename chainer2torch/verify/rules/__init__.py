"""The rules' own examples in both frameworks."""
