"""Which method of a class runs when an object of it is called."""

from __future__ import annotations

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo


def called_method(analysis: Analysis, cls: str | ClassInfo) -> FuncInfo | None:
    """The project's method that runs: a `__call__` hides every `forward`, also that of a class below."""
    owners = [owner for owner in analysis.mro(cls) if isinstance(owner, ClassInfo)]
    return next((o.methods[name] for name in ("__call__", "forward") for o in owners if name in o.methods), None)


def keeping_call(analysis: Analysis) -> frozenset[ClassInfo]:
    """The classes of links whose `__call__` keeps its name, since `forward` is something else in them.

    That is so where the class, one above or one below has a `forward`: as `forward` the method of the base would be
    hidden by that of the heir which it calls. Where one of a line keeps the name, all above and below it do.
    """
    above = {cls: [c for c in analysis.mro(cls) if isinstance(c, ClassInfo)] for cls in analysis.classes.values()}
    below: dict[ClassInfo, list[ClassInfo]] = {}
    for cls, owners in above.items():
        for owner in owners:
            below.setdefault(owner, []).append(cls)
    calling = [c for c in above if "__call__" in c.methods and analysis.derives(c, "chainer.Link")]
    lines = {cls: [*above[cls], *below.get(cls, ())] for cls in calling}
    found = {c for c in calling if any("forward" in k.methods or "forward" in k.attrs for k in lines[c])}
    size = -1
    while size != len(found):
        size = len(found)
        found |= {c for c in calling if any(k in found for k in lines[c])}
    return frozenset(found)


__all__ = ["called_method", "keeping_call"]
