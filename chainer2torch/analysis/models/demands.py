"""What a value must be because the program uses it so: anything else would have raised in Chainer.

A map that goes into a two-dimensional convolution has four axes, and only Chainer's variables have an ``array``.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Inst, Kind, Ref
from chainer2torch.analysis.source import Source

_BY_AXES = {3: "1D", 4: "2D", 5: "3D"}
_LINKS: Mapping[str, int] = {
    **{f"chainer.links.Convolution{name}": rank for rank, name in _BY_AXES.items()},
    **{f"chainer.links.Deconvolution{name}": rank for rank, name in _BY_AXES.items()},
    "chainer.links.DepthwiseConvolution2D": 4,
    "chainer.links.DilatedConvolution2D": 4,
}
_FUNCTIONS: Mapping[str, int] = {
    f"chainer.functions.{name}_{n}d": rank
    for rank, n in ((3, 1), (4, 2), (5, 3))
    for name in ("average_pooling", "convolution", "deconvolution", "max_pooling", "unpooling")
}
_MODULES = frozenset({"np", "numpy", "xp", "cupy", "cp"})
_NAMING = ("namedtuple", "setattr", "make_dataclass", "NamedTuple")


def rank_demanded(callee: Kind) -> int | None:
    """The rank that the first argument of a call must have."""
    if isinstance(callee, Inst) and isinstance(callee.cls, str):
        return _LINKS.get(callee.cls)
    return _FUNCTIONS.get(callee.name) if isinstance(callee, Ref) else None


def only_of_variables(facts: Facts, source: Source, node: ast.Attribute) -> bool:
    """Whether ``x.array`` of an unknown x can only be a Variable's: no class of the project has such a member.

    A comparison with None is left out: it asks whether a parameter has a shape yet.
    """
    parent = source.parents.get(node)
    return (
        node.attr == "array"
        and isinstance(node.ctx, ast.Load)
        and not (isinstance(node.value, ast.Name) and node.value.id in _MODULES)
        and not (isinstance(parent, ast.Call) and parent.func is node)
        and not isinstance(parent, ast.Compare)
        and not facts.once(_has_own_array)
    )


def _has_own_array(facts: Facts) -> bool:
    """Whether a class of the project has a member that is called ``array``."""
    return any(_makes_array(node) for module in facts.project.modules.values() for node in module.source.nodes)


def _makes_array(node: ast.AST) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == "array" and isinstance(node.ctx, ast.Store) and getattr(node.value, "id", "") == "self"
    if isinstance(node, ast.ClassDef):
        return any(
            getattr(part, "name", "") == "array"
            or isinstance(part, (ast.Assign, ast.AnnAssign))
            and any(
                isinstance(n, ast.Name) and n.id == "array" and isinstance(n.ctx, ast.Store) for n in ast.walk(part)
            )
            for part in node.body
        )
    if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(_NAMING):
        texts = [n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        return any("array" in re.findall(r"\w+", text) for text in texts)
    return False
