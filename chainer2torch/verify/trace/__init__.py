"""One run of the original program: what its functions, call sites and classes were given, and what follows from it."""

from __future__ import annotations

from chainer2torch.verify.trace.record import TraceError, entries, hints, read, run_trace
from chainer2torch.verify.trace.use import migrate_with_trace

__all__ = ["TraceError", "entries", "hints", "migrate_with_trace", "read", "run_trace"]
