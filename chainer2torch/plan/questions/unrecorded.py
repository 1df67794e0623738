"""Functions of version 1 that record no graph: all Variables that they make are volatile.

What is computed from such a Variable has no graph, and Chainer refuses to mix it with what has one. So nothing in the
function has a graph, as under ``@torch.no_grad()``, and the Variables may be plain tensors. That is said of a function
that runs no training itself, nor do the functions of the project that it calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Func, Inst, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.xp_uses import called

_VARIABLES = frozenset({"chainer.Variable", "chainer.variable.Variable"})
_ON = frozenset({"on", "ON"})
_TRAINER = "chainer.training.Trainer"
_PLACE = 1  # of ``volatile`` among the arguments in version 1
_TRAINING = frozenset(
    {"backward", "cleargrads", "grad", "unchain_backward", "update", "zero_grads", "zerograds", "requires_grad"}
)
# methods that keep what they are given
_KEEPING = frozenset({"append", "extend", "set_state"})


def unrecorded(context: Context, call: ast.Call) -> ast.FunctionDef | None:
    """The function around a volatile Variable that records no graph; None: it may, or the Variable is none."""
    function = context.source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
    if context.choices.style != "native" or not isinstance(function, ast.FunctionDef) or not _is_on(call):
        return None
    return function if context.ask(_records_nothing, function) and not context.analysis.once(asks_for_flags) else None


def _records_nothing(context: Context, function: ast.FunctionDef) -> bool:
    if context.skipped.node(function) or any(_is_property(d) for d in function.decorator_list):
        return False
    body = [node for statement in function.body for node in nodes_of(statement)]
    if any(isinstance(n, (ast.Yield, ast.YieldFrom, ast.FunctionDef, ast.Lambda)) for n in body):
        return False
    made = [n for n in body if isinstance(n, ast.Call) and context.reference(n.func) in _VARIABLES]
    if not all(map(_is_on, made)) or any(_escapes(context, n, body) for n in made):
        return False
    return not _trains(context.analysis, body)


def _is_property(decorator: ast.expr) -> bool:
    """Whether a decorator wants the function itself: ``@x.setter``, ``@property``."""
    return isinstance(decorator, ast.Attribute) or isinstance(decorator, ast.Name) and decorator.id == "property"


def is_made_volatile(context: Context, call: ast.Call) -> bool:
    """``chainer.Variable(x, volatile='on')``."""
    return context.reference(call.func) in _VARIABLES and _is_on(call)


def _is_on(call: ast.Call) -> bool:
    flag = next((k.value for k in call.keywords if k.arg == "volatile"), None)
    if flag is None and len(call.args) > _PLACE:
        flag = call.args[_PLACE]
    return isinstance(flag, ast.Constant) and (flag.value is True or flag.value in _ON)


def _escapes(context: Context, call: ast.Call, body: list[ast.AST]) -> bool:
    """Whether a Variable itself leaves its function: what is computed from it elsewhere has no graph, either."""
    parent = context.source.parents.get(call)
    if isinstance(parent, ast.Call) and isinstance(parent.func, ast.Attribute) and parent.func.attr in _KEEPING:
        return True
    statement = context.source.statement(call)
    if isinstance(parent, (ast.Return, ast.Tuple, ast.List)) and isinstance(statement, ast.Return):
        return True
    if not isinstance(parent, ast.Assign):
        return False
    names = {target.id for target in parent.targets if isinstance(target, ast.Name)}
    return len(names) < len(parent.targets) or any(_hands_on(n, names) for n in body)


def _hands_on(node: ast.AST, names: set[str]) -> bool:
    """Whether a statement returns one of the names, or puts it into an attribute or an element."""
    if isinstance(node, ast.Return) and node.value is not None or isinstance(node, ast.Assign):
        outside = isinstance(node, ast.Return) or any(not isinstance(t, ast.Name) for t in node.targets)
        parts = node.value.elts if isinstance(node.value, (ast.Tuple, ast.List)) else [node.value]
        return outside and any(isinstance(part, ast.Name) and part.id in names for part in parts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _KEEPING:
        return any(isinstance(a, ast.Name) and a.id in names for a in node.args)
    return False


def _trains(analysis: Analysis, body: list[ast.AST]) -> bool:
    """Whether statements go back through a graph, or functions of the project that they lead to do so."""
    seen: set[FuncInfo] = set()
    waiting = [body]
    while waiting:
        nodes = waiting.pop()
        if any(isinstance(n, ast.Attribute) and (n.attr in _TRAINING or _runs(analysis, n)) for n in nodes):
            return True
        found = {info for node in nodes if isinstance(node, ast.Call) for info in _callees(analysis, node)} - seen
        seen |= found
        waiting += [nodes_of(info.node) for info in found]
    return False


def _runs(analysis: Analysis, node: ast.Attribute) -> bool:
    """``trainer.run``, where the trainer is one of Chainer's, or nothing is known of it: the steps are its own."""
    kinds = options(analysis.kind(node.value)) if node.attr == "run" else ()
    return any(k == UNKNOWN or isinstance(k, Inst) and analysis.derives(k.cls, _TRAINER) for k in kinds)


def _callees(analysis: Analysis, call: ast.Call) -> Iterator[FuncInfo]:
    """The functions of the project that a call may run: its own, and those that it hands on."""
    for node in (call.func, *call.args, *(k.value for k in call.keywords)):
        for kind in options(analysis.kind(node)):
            info = called(analysis, kind) if node is call.func or isinstance(kind, Func) else None
            if info is not None:
                yield info


def asks_for_flags(analysis: Analysis) -> bool:
    """Whether a file of the project asks a Variable whether it is volatile."""
    return any(
        node.attr == "volatile" and isinstance(node.ctx, ast.Load)
        for module in analysis.project.modules.values()
        if "volatile" in module.source.text
        for node in module.source.of(ast.Attribute)
    )


__all__ = ["asks_for_flags", "unrecorded"]
