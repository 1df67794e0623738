"""Whether a training function, or the model that it makes, says itself on which devices the parts are."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from chainer2torch.analysis.kinds import Class, HostArray, Ref, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.programs import Program, function_of

_MOVES = frozenset({"to_gpu", "to_device", "to_chx", "to_intel64"})


def places_itself(context: Context, program: Program) -> bool:
    """Whether the function that trains sends a model to a device, or a class of links that it names its parts.

    Chainer's updaters leave on its GPU what is on one: parts on several devices stay there.
    """
    scope = function_of(context, program.call) or context.source.tree
    return _sends(context, [scope]) or any(
        context.analysis.derives(cls, "chainer.Link") and _sends(context, _other_methods(cls))
        for cls in _classes(context, scope)
    )


def _sends(context: Context, nodes: Iterable[ast.AST]) -> bool:
    """Whether something is sent to a device that may be a link: neither an array nor by a function of a module."""
    return any(
        isinstance(n, ast.Attribute)
        and n.attr in _MOVES
        and not all(isinstance(k, (Ref, Tensor, HostArray)) for k in options(context.analysis.kind(n.value)))
        for node in nodes
        for n in nodes_of(node)
    )


def _other_methods(cls: ClassInfo) -> list[ast.AST]:
    """The methods but for those that send the whole: ``def to_gpu(self): super().to_gpu()``."""
    return [node for node in cls.node.body if not (isinstance(node, ast.FunctionDef) and node.name in _MOVES)]


def _classes(context: Context, scope: ast.AST) -> list[ClassInfo]:
    """The classes that a function names, and those that their bodies name."""
    found: dict[ClassInfo, None] = {}
    left = [scope]
    while left:
        for node in nodes_of(left.pop()):
            if isinstance(node, (ast.Name, ast.Attribute)):
                for kind in options(context.analysis.kind(node)):
                    if isinstance(kind, Class) and isinstance(kind.info, ClassInfo) and kind.info not in found:
                        found[kind.info] = None
                        left.append(kind.info.node)
    return [*found]
