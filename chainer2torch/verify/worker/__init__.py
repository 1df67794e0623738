"""What runs in the two worker processes. Written for Python 3.6: they start under any interpreter."""
