"""Compares what two workers computed, and tells rounding from a difference of meaning."""
