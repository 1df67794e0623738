"""What layers of torch call the parameters and statistics of Chainer's links."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from types import MappingProxyType

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Kind, options, scalar_type
from chainer2torch.analysis.module_index import ClassInfo
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
# Python's own types of plain values
_PLAIN: Mapping[str, type] = MappingProxyType({"int": int, "float": float, "bool": bool, "str": str})

# Links with a weight and perhaps a bias, which torch calls so
_WITH_WEIGHTS = frozenset(
    f"chainer.links.{name}"
    for name in "Linear EmbedID Convolution1D Convolution2D Convolution3D ConvolutionND DilatedConvolution2D "
    "Deconvolution1D Deconvolution2D Deconvolution3D DeconvolutionND DepthwiseConvolution2D".split()
)
# Links, and what makes them, of which `W` and `b` are the names in the output, too
_KEEPING = frozenset("CaffeFunction Scale Bias PReLU Bilinear LocalConvolution2D DeformableConvolution2D".split())


# what layers are called: of convolutions, linear layers and embeddings the weights are `weight` in the output
_OF_LAYERS = re.compile(r"(conv|deconv|fc|linear|embed|proj)\w*")
_OF_NORMALIZATIONS = re.compile(r"(bn|batch_?norm|norm)[\d_]*")


def own_name(context: Context, node: ast.Attribute) -> str | None:
    """Torch's name for an attribute of some layer; None where it may be an object of one of the project's classes.

    Then the name of the layer itself may tell: ``model.conv1.W`` is the weight of a convolution.
    """
    name = _of_any(context, node)
    if name is not None:
        return name
    return _of_child(context, node) if node.attr in ("W", "b") else _of_normalization(context, node)


def _of_child(context: Context, node: ast.Attribute) -> str | None:
    """The name of `W` or `b` of what is called like a layer, where all of that name that the project makes agree."""
    child = node.value.attr if isinstance(node.value, ast.Attribute) else ""
    made = [k for k in context.analysis.once(_children).get(child, ()) if k != UNKNOWN and k != NONE]
    if any(isinstance(k, Inst) and isinstance(k.cls, str) for k in options(context.kind(node.value))):
        made = []  # a layer that has no such attribute: something else has taken its place
    layers = [k for k in made if isinstance(k, Inst) and isinstance(k.cls, str) and k.cls in _WITH_WEIGHTS]
    if len(layers) == len(made) and (made or _OF_LAYERS.fullmatch(child)):
        return _OWN_NAMES[node.attr]
    own = [k for k in made if isinstance(k, Inst) and isinstance(k.cls, ClassInfo) and node.attr in k.cls.attrs]
    if made and len(own) == len(made) or not made and _OF_NORMALIZATIONS.fullmatch(child) and _has_own(context, node):
        return node.attr
    return None


def _of_normalization(context: Context, node: ast.Attribute) -> str | None:
    """The name of ``gamma`` and the like of what is called as a normalization, unless the project has another so."""
    child = node.value.attr if isinstance(node.value, ast.Attribute) else ""
    made = [k for k in context.analysis.once(_children).get(child, ()) if k != UNKNOWN and k != NONE]
    layers = [k for k in made if isinstance(k, Inst) and isinstance(k.cls, str) and k.cls.endswith("Normalization")]
    known = len(layers) == len(made) and (made or _OF_NORMALIZATIONS.fullmatch(child))
    return _OWN_NAMES.get(node.attr) if known else None


def _has_own(context: Context, node: ast.Attribute) -> bool:
    """Whether a link of the project has a parameter of that name: no normalization of Chainer's has a `W`."""
    return any(
        node.attr in cls.attrs and context.analysis.derives(cls, "chainer.Link")
        for cls in context.analysis.classes.values()
    )


def _children(analysis: Analysis) -> Mapping[str, list[Kind]]:
    """What the links of the project have under each name."""
    found: dict[str, list[Kind]] = {}
    for cls in analysis.classes.values():
        if analysis.derives(cls, "chainer.Link"):
            for name, kind in cls.attrs.items():
                found.setdefault(name, []).extend(options(kind))
    return MappingProxyType(found)


def _of_any(context: Context, node: ast.Attribute) -> str | None:
    """The name where no object of the project's own has such an attribute."""
    if node.attr in ("W", "b") and _names_keeping(context):
        return None
    held = context.analysis.once(_of_own_objects).get(node.attr, frozenset())
    asked = context.source.parents.get(node)
    member = asked.attr if isinstance(asked, ast.Attribute) else ""
    if not all(held_type in _PLAIN and member and not hasattr(_PLAIN[held_type], member) for held_type in held):
        return None  # of numbers nobody asks `data` or `shape`: `x.W.data` is no number that a class calls W
    own = any(isinstance(k, Inst) and not _is_layer(k) for k in options(context.kind(node.value)))
    return None if own else _OWN_NAMES.get(node.attr)


def _names_keeping(context: Context) -> bool:
    """Whether a file names one of the links that keep Chainer's names: one of them may be meant."""
    return (
        any(n.id in _KEEPING for n in context.source.of(ast.Name))
        or any(n.attr in _KEEPING for n in context.source.of(ast.Attribute))
        or any(alias.name in _KEEPING for n in context.source.of(ast.ImportFrom) for alias in n.names)
    )


def _is_layer(kind: Inst) -> bool:
    return isinstance(kind.cls, str) and (kind.cls.startswith("chainer.links.") or kind.cls == "chainer.Link")


def _of_own_objects(analysis: Analysis) -> Mapping[str, frozenset[str]]:
    """The attributes of the project's classes, and the parameters of its links, that are no links.

    With the types of the plain values that they are; "" is any other.
    """
    found: dict[str, frozenset[str]] = {}

    def add(name: str, kind: Kind) -> None:
        if name in _OWN_NAMES and not all(analysis.is_link(k) for k in options(kind)):
            found[name] = found.get(name, frozenset()) | {scalar_type(k) or "" for k in options(kind)}

    for cls in analysis.classes.values():
        for name, kind in cls.attrs.items():
            add(name, kind)
    for module in analysis.project.modules.values():
        for call in module.source.of(ast.Call):
            name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
            if name in ("add_param", "add_persistent") and call.args and isinstance(call.args[0], ast.Constant):
                add(str(call.args[0].value), UNKNOWN)
            if name in ("__init__", "Link", "Chain"):
                for keyword in call.keywords:
                    if keyword.arg is not None and not analysis.is_link(analysis.kind(keyword.value)):
                        add(keyword.arg, UNKNOWN)
    return MappingProxyType(found)


__all__ = ["own_name"]
