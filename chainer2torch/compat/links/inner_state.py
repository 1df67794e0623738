"""What Chainer's links keep by name in private attributes, which a module keeps elsewhere."""

from __future__ import annotations

from typing import Any

import torch.nn as nn
from torch.nn.modules.batchnorm import _NormBase

from chainer2torch.compat.links.link_names import link_attribute, set_link_attribute
from chainer2torch.compat.links.link_slots import link_children, parameter_names

_STATISTICS = {"running_mean": "avg_mean", "running_var": "avg_var", "num_batches_tracked": "N"}


def inner_names(link: Any, kind: str) -> Any:
    """``link._children``, ``link._params`` or ``link._persistent``: names as a set, the children of a list as a list.

    Args:
        link: a module; of all else it is the attribute of that name.
        kind: ``"_children"``, ``"_params"`` or ``"_persistent"``.
    Source: chainer.Link.
    """
    if not isinstance(link, nn.Module):
        return getattr(link, kind)
    if kind == "_children":
        children = link_children(link)
        listed = isinstance(link, (nn.ModuleList, nn.Sequential))
        return [child for _, child in children] if listed else {name for name, _ in children}
    if kind == "_params":
        return {name for name, _ in parameter_names(link)}
    renamed = _STATISTICS if isinstance(link, _NormBase) else {}
    found = {renamed.get(name, name) for name, buffer in link._buffers.items() if buffer is not None}
    return found | set(vars(link).get("_chainer_persistent", ())) | ({"N"} if isinstance(link, _NormBase) else set())


class LinkDict:
    """``link.__dict__`` of a module: its parameters, arrays, children and other attributes by Chainer's names.

    Source: chainer.Link.
    """

    def __init__(self, link: nn.Module) -> None:
        self._link = link

    def __getitem__(self, name: str) -> Any:
        try:
            return link_attribute(self._link, name)
        except AttributeError:
            raise KeyError(name) from None

    def __setitem__(self, name: str, value: Any) -> None:
        set_link_attribute(self._link, name, value)

    def __contains__(self, name: str) -> bool:
        return self.get(name, self) is not self

    def get(self, name: str, default: Any = None) -> Any:
        """The attribute, or the default where there is none."""
        return link_attribute(self._link, name, default)


def inner_dict(link: Any) -> Any:
    """``link.__dict__``; of a module, whose own holds neither parameters nor children, what stands for it.

    Source: chainer.Link.
    """
    return LinkDict(link) if isinstance(link, nn.Module) else vars(link)
