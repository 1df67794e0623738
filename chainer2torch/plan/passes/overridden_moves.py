"""Links with a ``to_gpu`` of their own: PyTorch moves a module without asking those inside."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part

_METHODS = ("to_gpu", "to_cpu")
_BASES = frozenset({"chainer.Link", "chainer.Chain"})
_MESSAGE = "a module that contains this one moves it without calling this method; what it moves can be a buffer instead"


def run(context: Context) -> Decisions:
    """The class on Link or Chain below such a link derives from a module that calls the methods; others are marked."""
    decisions = Decisions(context)
    roots, left = context.analysis.once(_roots)
    for cls in roots:
        base = _base(context.analysis, cls) if cls.module is context.module else None
        if base is not None:
            with decisions.provided(taken=((Part.EDIT, base),)):
                decisions.replace(base, "compat.MovedModule", {})
    for method in left:
        if method in context.analysis.functions and context.analysis.functions[method].module is context.module:
            decisions.mark(method, None, f"chainer.Link.{method.name}", "review", _MESSAGE, "C2T200")
    return decisions


def _roots(analysis: Analysis) -> tuple[list[ClassInfo], list[ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The classes of the project that such links come from, and the methods of those that have no such class."""
    roots: dict[ClassInfo, None] = {}
    left = []
    for cls in analysis.classes.values():
        own = [
            node
            for name in _METHODS
            if name in cls.methods and not isinstance(node := cls.methods[name].node, ast.Lambda)
        ]
        if own and analysis.derives(cls, "chainer.Link"):
            found = [c for c in analysis.mro(cls) if isinstance(c, ClassInfo) and _base(analysis, c) is not None]
            roots.update(dict.fromkeys(found))
            left += [] if found else own[:1]
    return list(roots), left


def _base(analysis: Analysis, cls: ClassInfo) -> ast.expr | None:
    return next((b for b in cls.node.bases if isinstance(k := analysis.kind(b), Ref) and k.name in _BASES), None)
