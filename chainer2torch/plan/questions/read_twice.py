"""Whether an expression may be written twice: reading it a second time gives the same, and does nothing."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.argument_guards import is_path
from chainer2torch.plan.context import Context

_COMPUTING = ("__getattr__", "__getattribute__", "__getitem__")


def may_be_read_twice(context: Context, node: ast.expr) -> bool:
    """Whether it is a path (``self.score``, ``out[idx]``) on which nothing is computed.

    A property may draw noise, and a data set of the program's own gives a picture that it has cropped at random. Of a
    value that nobody knows, each property of the project counts that has the name.
    """
    if not is_path(node):
        return False
    computed = context.analysis.once(_properties)
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and part.attr in computed:
            return False
        if isinstance(part, (ast.Attribute, ast.Subscript)):
            owners = [kind.cls for kind in options(context.kind(part.value)) if isinstance(kind, Inst)]
            if any(_computes(context.analysis, cls) for cls in owners):
                return False
    return True


def _properties(analysis: Analysis) -> frozenset[str]:
    return frozenset(
        name for cls in analysis.classes.values() for name, method in cls.methods.items() if method.is_property
    )


def _computes(analysis: Analysis, cls: ClassInfo | str) -> bool:
    """Whether a class of the project says itself what its attributes or items are."""
    classes = analysis.mro(cls) if isinstance(cls, ClassInfo) else ()
    return any(isinstance(one, ClassInfo) and one.methods.keys() & set(_COMPUTING) for one in classes)


__all__ = ["may_be_read_twice"]
