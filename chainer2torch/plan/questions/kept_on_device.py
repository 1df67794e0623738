"""Arrays that a class of the project moves itself (``self.x = cuda.to_gpu(self.x)``): tensors on the CPU, too."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import NONE, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.context import Context


def is_brought_back(context: Context, value: ast.AST) -> bool:
    """``self.x = cuda.to_cpu(self.x)`` of an array that a class moves itself: it stays a tensor."""
    statement = context.source.parents.get(value)
    if not isinstance(value, ast.Call) or not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return False
    target = statement.targets[0]
    cls = own_class(context, target) if isinstance(target, ast.Attribute) else None
    return (
        isinstance(target, ast.Attribute)
        and cls is not None
        and context.reference(value.func) == "chainer.backends.cuda.to_cpu"
        and len(value.args) == 1
        and isinstance(context.kind(value.args[0]), Tensor)
        and is_kept(context, cls, target)
    )


def is_kept(context: Context, cls: ClassInfo, target: ast.Attribute) -> bool:
    """Whether an array that a class moves itself is a tensor in all that is seen of it."""
    kinds = options(context.kind(target))
    return (
        context.choices.style == "native"
        and context.analysis.is_moved(cls, target.attr)
        and all(isinstance(kind, Tensor) or kind == NONE for kind in kinds)
    )


def is_held_by_class(context: Context, node: ast.expr) -> bool:
    """``self.x``, or a part of it, of an array that its class moves itself."""
    while isinstance(node, ast.Subscript):
        node = node.value
    cls = own_class(context, node) if isinstance(node, ast.Attribute) else None
    return isinstance(node, ast.Attribute) and cls is not None and is_kept(context, cls, node)


def own_class(context: Context, target: ast.Attribute) -> ClassInfo | None:
    """The class of a method in which an attribute of ``self`` is set."""
    method = context.source.enclosing(target, ast.FunctionDef)
    first = method.args.args[:1] if isinstance(method, ast.FunctionDef) else []
    named = isinstance(target.value, ast.Name) and [one.arg for one in first] == [target.value.id]
    return context.enclosing_class(target) if named else None


__all__ = ["is_brought_back", "is_held_by_class", "is_kept", "own_class"]
