"""Names under which a file registers layers, wherever the object that has them comes from."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.plan.context import Context

_REGISTER = ("__init__", "add_link")
_NAMING = ("add_link", "setattr")  # they take a name and a layer


def may_be_a_layer(context: Context, node: ast.expr) -> bool:
    """Whether an attribute has the name of a layer of Chainer's: ``c.n`` beside ``Chain(n=L.BatchNormalization(8))``
    or ``layers['n'] = L.BatchNormalization(8)``. ``self[name]`` may be any of those that have computed names.
    """
    if isinstance(node, ast.Attribute):
        return node.attr in context.ask(_names, context.source.tree)
    if (name := _looked_up(node)) is None:
        return False
    if isinstance(name, ast.Constant):
        return _text(name) in context.ask(_names, context.source.tree)
    start = _start(name)
    return context.ask(_has_computed, context.source.tree) or (
        bool(start) and any(each.startswith(start) for each in context.ask(_names, context.source.tree))
    )


def _start(name: ast.expr) -> str:
    """What a computed name begins with: ``'bn{}'.format(i)``, ``'bn%d' % i``, ``'bn' + str(i)``, ``f'bn{i}'``."""
    if isinstance(name, ast.Call) and isinstance(name.func, ast.Attribute) and name.func.attr == "format":
        return _text(name.func.value).partition("{")[0]
    if isinstance(name, ast.BinOp):
        return _text(name.left).partition("%")[0]
    return _text(name.values[0]) if isinstance(name, ast.JoinedStr) and name.values else ""


def _looked_up(node: ast.expr) -> ast.expr | None:
    """The name by which ``self[name]`` and ``getattr(self, name)`` take something."""
    if isinstance(node, ast.Subscript):
        return node.slice
    is_getattr = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "getattr"
    return node.args[1] if isinstance(node, ast.Call) and is_getattr and len(node.args) > 1 else None


def _has_computed(context: Context, tree: ast.Module) -> bool:
    """Whether the file registers a layer under a computed name: ``layers['b%d' % i] = L.BatchNormalization(8)``."""
    stored = [
        (target.slice, node.value)
        for node in context.source.of(ast.Assign)
        for target in node.targets
        if isinstance(target, ast.Subscript)
    ]
    calls = [node for node in context.source.of(ast.Call) if ast.unparse(node.func).endswith(_NAMING)]
    stored += [(call.args[-2], call.args[-1]) for call in calls if len(call.args) > 1]
    return any(not isinstance(name, ast.Constant) and _is_a_layer(context, value) for name, value in stored)


def _names(context: Context, tree: ast.Module) -> frozenset[str]:
    layers = {name for name, value in _named(context) if _is_a_layer(context, value)}
    return frozenset(layers - set(_given(context)) if layers else ())


def _given(context: Context) -> Iterator[str]:
    """Names under which something else may be registered: what a caller gives takes the mode as it did."""
    for call in context.source.of(ast.Call):
        if isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTER:
            yield from (k.arg for k in call.keywords if k.arg is not None and not _is_a_layer(context, k.value))
    for assignment in context.source.of(ast.Assign):
        if not _is_a_layer(context, assignment.value):
            yield from (target.attr for target in assignment.targets if isinstance(target, ast.Attribute))


def _named(context: Context) -> Iterator[tuple[str, ast.expr]]:
    for node in context.source.of(ast.keyword, ast.Dict, ast.Assign):
        if isinstance(node, ast.keyword) and node.arg is not None:
            yield node.arg, node.value
        elif isinstance(node, ast.Dict):
            pairs = zip(node.keys, node.values, strict=True)
            yield from ((name, value) for key, value in pairs if (name := _text(key)))
        elif isinstance(node, ast.Assign):
            keys = [target.slice for target in node.targets if isinstance(target, ast.Subscript)]
            yield from ((name, node.value) for key in keys if (name := _text(key)))


def _text(node: ast.expr | None) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""


def _is_a_layer(context: Context, value: ast.expr) -> bool:
    return any(
        isinstance(kind, Inst) and isinstance(kind.cls, str) and context.analysis.is_link(kind)
        for kind in options(context.kind(value))
    )
