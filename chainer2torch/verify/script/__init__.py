"""Training scripts in both frameworks, in lockstep."""
