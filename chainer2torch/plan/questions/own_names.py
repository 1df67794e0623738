"""What layers of torch call the parameters and statistics of Chainer's links."""

from __future__ import annotations

import ast
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.context import Context

_OWN_NAMES = MappingProxyType(
    {
        "W": "weight",
        "b": "bias",
        "gamma": "weight",
        "beta": "bias",
        "avg_mean": "running_mean",
        "avg_var": "running_var",
    }
)


def own_name(context: Context, link: ast.expr, attribute: str) -> str | None:
    """Torch's name for an attribute of some layer; None where it may be an object of one of the project's classes."""
    if attribute in context.analysis.once(_of_own_objects):
        return None
    own = any(isinstance(k, Inst) and not _is_layer(k) for k in options(context.kind(link)))
    return None if own else _OWN_NAMES.get(attribute)


def _is_layer(kind: Inst) -> bool:
    return isinstance(kind.cls, str) and (kind.cls.startswith("chainer.links.") or kind.cls == "chainer.Link")


def _of_own_objects(analysis: Analysis) -> frozenset[str]:
    """The attributes of the project's classes, and the parameters of its links, that are no links."""
    found = {
        name
        for cls in analysis.classes.values()
        for name, kind in cls.attrs.items()
        if not all(analysis.is_link(k) for k in options(kind))
    }
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name in ("add_param", "add_persistent") and call.args and isinstance(call.args[0], ast.Constant):
                found.add(str(call.args[0].value))
            if name in ("__init__", "Link", "Chain"):
                found |= {k.arg for k in call.keywords if k.arg and not analysis.is_link(analysis.kind(k.value))}
    return frozenset(found & _OWN_NAMES.keys())


__all__ = ["own_name"]
