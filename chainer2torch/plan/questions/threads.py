"""What runs in threads of the program: Chainer's modes are of each thread, a module has one for all of them."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.source import within
from chainer2torch.plan.context import Context

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_THREADS = frozenset({"Thread", "Timer"})  # of `threading`: `Thread(target=f)`
_POOLS = frozenset({"ThreadPool", "ThreadPoolExecutor"})
_HANDED = frozenset({"apply", "apply_async", "imap", "imap_unordered", "map", "map_async", "starmap", "submit"})


def runs_in_thread(context: Context, node: ast.AST) -> bool:
    """Whether a place is in a function that a thread of the program may call, as far as names say."""
    function = context.source.enclosing(node, *_FUNCTIONS)
    return isinstance(function, _FUNCTIONS) and function.name in context.analysis.once(_called_in_threads)


def _called_in_threads(analysis: Analysis) -> frozenset[str]:
    """The names of all functions that threads begin with, and of those that these call."""
    trees = [module.source for module in analysis.project.modules.values()]
    begun: set[str] = set()
    for source in trees:
        pools = any(_called(call) in _POOLS for call in source.of(ast.Call))
        for call in source.of(ast.Call):
            if _called(call) in _THREADS:
                begun.update(_name(k.value) for k in call.keywords if k.arg in ("target", "function"))
                begun.update(map(_name, call.args[1:2]))
            elif pools and isinstance(call.func, ast.Attribute) and call.func.attr in _HANDED:
                begun.update(map(_name, call.args[:1]))
        for cls in source.of(ast.ClassDef):
            if any(_name(base) == "Thread" for base in cls.bases):
                begun.add("run")
    begun.discard("")
    if not begun:
        return frozenset()
    calls: dict[str, set[str]] = {}
    for source in trees:
        for function in source.of(*_FUNCTIONS):
            calls.setdefault(function.name, set()).update(map(_called, within(function).of(ast.Call)))
    todo = list(begun)
    while todo:
        new = calls.get(todo.pop(), set()) - begun
        begun |= new
        todo += new
    return frozenset(begun)


def _called(call: ast.Call) -> str:
    return _name(call.func)


def _name(node: ast.expr) -> str:
    """The last part of a dotted name."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
