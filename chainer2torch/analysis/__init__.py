"""Name and kind analysis of a whole project, on Python's own ``ast``; nothing of the project is imported or run."""
