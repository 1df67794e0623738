"""The functions of a project that compute for its models: what they are given lies on a device.

``forward`` of a link and of a function of one's own, and methods of links that updaters and optimizers are given as
loss functions; other methods, and functions, where every place that names them is in such a function. Elsewhere a
value of which nothing is known may be an array of the host.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import FuncInfo

_MODELS = ("chainer.Link", "chainer.FunctionNode", "chainer.Function")
_FUNCTIONS = "chainer.functions."  # a class of a function: `convolution_2d.Convolution2DFunction`
_LOSS_FUNCTIONS = frozenset({"lossfun", "loss_func"})
_COMPUTING = frozenset({"forward", "backward"})  # `forward_cpu`, too


def called_by_models(analysis: Analysis) -> frozenset[ast.AST]:
    """These functions, nested ones among them. Ask it with ``analysis.once``."""
    infos = list(analysis.functions.values())
    named = _places(analysis, {info.name for info in infos})
    losses = _losses(analysis)
    begins: set[ast.AST] = {
        info.node
        for info in infos
        if _computes(analysis, info, info.name in named)
        or _is_loss(analysis, info, losses)
        or _is_property(analysis, info)
    }
    others: dict[ast.AST, FuncInfo] = {info.node: info for info in infos if info.node not in begins}
    found = {node for node, info in others.items() if named.get(info.name) and not info.name.startswith("__")}
    while True:
        wrong = {node for node in found if any(p not in begins and p not in found for p in named[others[node].name])}
        if not wrong:
            return frozenset(begins | _reached(begins, found, named, others))
        found -= wrong


def _computes(analysis: Analysis, info: FuncInfo, is_named: bool) -> bool:
    """``forward`` and ``backward`` of a link or a function, and private methods of theirs that nobody calls."""
    name = info.name
    is_left = name.startswith("_") and not name.startswith("__") and not is_named
    return (
        info.cls is not None
        and (name == "__call__" or name.partition("_")[0] in _COMPUTING or is_left)
        and (
            any(analysis.derives(info.cls, base) for base in _MODELS)
            or any(isinstance(base, str) and base.startswith(_FUNCTIONS) for base in analysis.mro(info.cls))
        )
    )


def _is_property(analysis: Analysis, info: FuncInfo) -> bool:
    """A property of a link, which computes with its parameters: ``W``, the weights times a norm."""
    stated = any(isinstance(d, ast.Name) and d.id == "property" for d in getattr(info.node, "decorator_list", []))
    return stated and info.cls is not None and analysis.derives(info.cls, "chainer.Link")


def _is_loss(analysis: Analysis, info: FuncInfo, losses: set[str]) -> bool:
    return info.name in losses and info.cls is not None and analysis.derives(info.cls, "chainer.Link")


def _losses(analysis: Analysis) -> set[str]:
    """The names of what goes to an updater or an optimizer as its loss function, which gets tensors."""
    found = set[str]()
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Attribute):
            parent = module.source.parents.get(node)
            if isinstance(node, ast.Attribute) and isinstance(parent, ast.keyword) and parent.arg in _LOSS_FUNCTIONS:
                found.add(node.attr)
    return found


def _places(analysis: Analysis, names: set[str]) -> dict[str, set[ast.AST | None]]:
    """The functions in which each name stands, by itself or behind a dot; None where it is no function."""
    found: dict[str, set[ast.AST | None]] = {}
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Name, ast.Attribute):
            assert isinstance(node, (ast.Name, ast.Attribute))
            name = node.attr if isinstance(node, ast.Attribute) else node.id
            if name in names:
                parent = module.source.parents.get(node)
                if isinstance(parent, ast.keyword) and parent.arg in _LOSS_FUNCTIONS:
                    continue
                called = isinstance(parent, ast.Call) and parent.func is node
                function = module.source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef) if called else None
                found.setdefault(name, set()).add(function)
    return found


def _reached(
    begins: set[ast.AST], found: set[ast.AST], named: dict[str, set[ast.AST | None]], others: dict[ast.AST, FuncInfo]
) -> set[ast.AST]:
    """Those that something calls but themselves: two that call each other only are not among them."""
    reached: set[ast.AST] = set()
    while True:
        more = {n for n in found - reached if any(p in begins or p in reached for p in named[others[n].name])}
        if not more:
            return reached
        reached |= more
