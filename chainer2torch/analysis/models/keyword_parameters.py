"""What ``**kwargs`` of a function holds: the keywords of its visible calls that no other parameter takes.

``Updater(models=(gen, dis), iterator=it)`` with ``self.gen, self.dis = kwargs.pop("models")`` in its constructor.
"""

from __future__ import annotations

from chainer2torch.analysis.kinds import BOTTOM, NONE, UNKNOWN, Dct, Kind
from chainer2torch.analysis.module_index import FuncInfo

_MARK = "**"
ANY_KEYWORD = _MARK
_CALLED = "**()"  # a call without any keyword


def keywords_taken(func: FuncInfo, keywords: dict[str, Kind], rest: Kind | None) -> dict[str, Kind]:
    """What a call feeds into the summary of ``**kwargs``, by the names that stand for it there."""
    a = func.node.args
    own = {p.arg for p in (*a.args, *a.kwonlyargs)}
    found = {_MARK + name: kind for name, kind in keywords.items() if name not in own}
    if rest == UNKNOWN:
        found[ANY_KEYWORD] = UNKNOWN
    return found or {_CALLED: NONE}


def keywords_held(func: FuncInfo) -> Kind:
    """The kind of ``**kwargs`` in the body of a function."""
    found = {name[len(_MARK) :]: kind for name, kind in func.params.items() if name.startswith(_MARK)}
    if not found:
        return UNKNOWN if func.seeded else BOTTOM
    if "" in found:
        return UNKNOWN
    items = tuple((name, kind) for name, kind in found.items() if _MARK + name != _CALLED)
    return Dct(UNKNOWN, items)
