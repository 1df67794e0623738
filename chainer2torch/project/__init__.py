"""Files of a project: which there are, how they are read and written, what belongs together."""
