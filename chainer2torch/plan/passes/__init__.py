"""Passes: each asks the context and gives decisions, one concern a file; plan/pipeline.py lists them."""
