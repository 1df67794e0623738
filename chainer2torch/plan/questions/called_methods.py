"""Which method of a class runs when an object of it is called."""

from __future__ import annotations

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo


def called_method(analysis: Analysis, cls: str | ClassInfo) -> FuncInfo | None:
    """The project's method that runs: a `__call__` hides every `forward`, also that of a class below."""
    owners = [owner for owner in analysis.mro(cls) if isinstance(owner, ClassInfo)]
    return next((o.methods[name] for name in ("__call__", "forward") for o in owners if name in o.methods), None)


__all__ = ["called_method"]
