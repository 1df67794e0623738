"""Views of host arrays that run backwards, handed to where nobody sees that they do.

PyTorch makes no tensor of an array with a negative stride. Where such a view (``x[::-1]``) meets PyTorch itself, it is
copied there. Where it goes through a parameter, a list or a table first, it is copied when it is handed over; but not
to a function that writes into what it gets, as that may be meant for the array behind the view.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Func, HostArray, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import runs_backwards
from chainer2torch.plan.parts.host_values import wrap

_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def run(context: Context) -> Decisions:
    """The copies of a file that has a slice with a negative step, or a function of NumPy's that turns arrays round."""
    decisions = Decisions(context)
    for node in dict.fromkeys((*_arguments(context), *_items(context))):
        kinds = options(context.kind(node))
        if all(isinstance(kind, HostArray) for kind in kinds) and runs_backwards(context, node):
            wrap(context, decisions, node, "value.copy()")
    return decisions


def _arguments(context: Context) -> Iterator[ast.expr]:
    """What functions of the project are handed; the element that a list is given."""
    for call in context.source.of(ast.Call):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "insert"):
            yield from call.args[-1:]
        elif all(_only_reads(context, kind) for kind in options(context.kind(call.func))):
            yield from given


def _only_reads(context: Context, callee: Kind) -> bool:
    """Whether a function of the project's writes into nothing that it is handed."""
    if isinstance(callee, Inst) and isinstance(callee.cls, ClassInfo):
        callee = context.analysis.class_attribute(callee.cls, "__call__", callee)
    if not isinstance(callee, Func):
        return False
    function = callee.info.node
    if isinstance(function, ast.Lambda):
        return True
    names = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)}
    return not any(_writes(node) & names for node in nodes_of(function))


def _writes(node: ast.AST) -> set[str]:
    """The names of what a statement writes into: ``x[i] = 1``, ``x += 1``, ``x.sort()``."""
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = [target for target in node.targets if isinstance(target, ast.Subscript)]
    elif isinstance(node, ast.AugAssign):
        targets = [node.target]
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        targets = [node.value.func]
    return {base.id for target in targets if isinstance(base := _base(target), ast.Name)}


def _base(node: ast.expr) -> ast.expr:
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return node


def _items(context: Context) -> Iterator[ast.expr]:
    """The items of lists and tables that are kept, or handed to the project; libraries read theirs on the spot."""
    for display in context.source.of(*_DISPLAYS):
        user = context.source.parents.get(display)
        if isinstance(user, ast.Call) and isinstance(context.kind(user.func), Ref):
            continue
        if isinstance(user, (ast.For, ast.Compare, ast.Subscript, ast.Return)):
            continue
        if isinstance(getattr(display, "ctx", None), ast.Store):
            continue
        if isinstance(display, ast.Dict):
            yield from display.values
        elif isinstance(display, ast.DictComp):
            yield display.value
        elif isinstance(display, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
            yield display.elt
        else:
            yield from display.elts  # type: ignore[attr-defined]
