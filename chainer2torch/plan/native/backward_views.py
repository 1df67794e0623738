"""Views of host arrays that run backwards, handed to where nobody sees that they do.

PyTorch makes no tensor of an array with a negative stride. Where such a view (``x[::-1]``) meets PyTorch itself, it is
copied there. Where it goes through a parameter, a list or a table first, it is copied when it is handed over: to a
function that has to do with PyTorch, and does not write into what it gets, as that may be meant for the array behind
the view.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import Func, HostArray, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_arrays import runs_backwards
from chainer2torch.plan.parts.host_values import wrap

_DEPTH = 3
_LIBRARIES = frozenset({"chainer", "chainermn", "chainerrl"})  # ChainerCV's transforms go on with NumPy
_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)


def run(context: Context) -> Decisions:
    """The copies of a file that has a slice with a negative step, or a function of NumPy's that turns arrays round."""
    decisions = Decisions(context)
    for node in dict.fromkeys((*_arguments(context), *_items(context))):
        if _is_of_host(context, node) and runs_backwards(context, node):
            wrap(context, decisions, node, "value.copy()")
    return decisions


def _is_of_host(context: Context, node: ast.expr) -> bool:
    return all(isinstance(kind, HostArray) for kind in options(context.kind(node)))


def _arguments(context: Context) -> Iterator[ast.expr]:
    """What functions of the project are handed; the element that a list is given."""
    for call in context.source.of(ast.Call):
        given = [value for value in (*call.args, *(k.value for k in call.keywords)) if _is_of_host(context, value)]
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "insert"):
            yield from call.args[-1:]
        elif given and all(_only_reads(context, kind) for kind in options(context.kind(call.func))):
            yield from given


def _only_reads(context: Context, callee: Kind) -> bool:
    """Whether a function of the project's has to do with PyTorch, and writes into nothing that it is handed."""
    if isinstance(callee, Inst) and isinstance(callee.cls, ClassInfo):
        callee = context.analysis.class_attribute(callee.cls, "__call__", callee)
    if not isinstance(callee, Func):
        return False
    function = callee.info.node
    if not _meets_torch(context, callee.info):
        return False
    if isinstance(function, ast.Lambda):
        return True
    names = {one.arg for one in nodes_of(function.args) if isinstance(one, ast.arg)}
    return not any(_writes(node) & names for node in nodes_of(function))


def _meets_torch(context: Context, function: FuncInfo, depth: int = 0) -> bool:
    """Whether a function, or one that it calls, names something of Chainer's, or calls an object that it was handed."""
    handed = {one.arg for one in nodes_of(function.node.args) if isinstance(one, ast.arg)}
    for node in nodes_of(function.node):
        kind = context.kind(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        if isinstance(kind, Ref) and kind.name.partition(".")[0] in _LIBRARIES:
            return True
        if isinstance(node, ast.Call) and any(
            isinstance(callee, Func)
            and callee.info is not function
            and depth < _DEPTH
            and _meets_torch(context, callee.info, depth + 1)
            or context.analysis.is_link(callee)
            or isinstance(node.func, ast.Name)
            and node.func.id in handed
            for callee in options(context.kind(node.func))
        ):
            return True
    return False


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
    if not context.beside_chainer:
        return
    for display in context.source.of(*_DISPLAYS):
        user = context.source.parents.get(display)
        while isinstance(user, (ast.List, ast.Tuple)):  # `np.array([(y, x), (h, w)])`
            user = context.source.parents.get(user)
        if isinstance(user, ast.Call) and isinstance(context.kind(user.func), Ref):
            continue
        if isinstance(user, (ast.For, ast.Compare, ast.Subscript, ast.Return, ast.Assert)):
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
