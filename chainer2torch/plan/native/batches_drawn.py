"""How many batches of the main iterator one update draws: an epoch has as many iterations only where it is one."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo

_NEXT = frozenset({"next", "__next__"})
_MANY = 2
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def draws_one(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether every way through ``update_core`` of an updater draws just one batch, as far as the text tells."""
    methods: dict[str, FuncInfo] = {}
    for owner in analysis.mro(cls):
        for name, method in owner.methods.items() if isinstance(owner, ClassInfo) else ():
            methods.setdefault(name, method)
    if "update_core" not in methods:
        return True
    return _Walk(methods).of(methods["update_core"].node, frozenset()) == {1}


class _Walk:
    """The numbers of batches that pieces of code may draw; more than one is ``_MANY``."""

    def __init__(self, methods: dict[str, FuncInfo]):
        self.methods = methods

    def of(self, function: ast.AST, inside: frozenset[str]) -> set[int]:
        return self._sum(ast.iter_child_nodes(function), inside)

    def _sum(self, nodes: Iterable[ast.AST], inside: frozenset[str]) -> set[int]:
        total = {0}
        for node in nodes:
            total = {min(a + b, _MANY) for a in total for b in self._count(node, inside)}
        return total

    def _count(self, node: ast.AST, inside: frozenset[str]) -> set[int]:
        if isinstance(node, (ast.If, ast.IfExp)):
            branches = [b if isinstance(b, list) else [b] for b in (node.body, node.orelse)]
            either = set().union(*(self._sum(branch, inside) for branch in branches))
            return {min(a + b, _MANY) for a in self._count(node.test, inside) for b in either}
        below = self._sum(ast.iter_child_nodes(node), inside)
        if isinstance(node, _LOOPS):
            return {0} if below == {0} else {0, _MANY}
        if not isinstance(node, ast.Call):
            return below
        return {min(a + b, _MANY) for a in below for b in self._called(node, inside)}

    def _called(self, call: ast.Call, inside: frozenset[str]) -> set[int]:
        function = call.func
        if isinstance(function, ast.Name):
            drawn = function.id == "next" and not (call.args and _of_another(call.args[0]))
            return {1} if drawn else {0}
        if not isinstance(function, ast.Attribute):
            return {0}
        if function.attr in _NEXT:
            return {0} if _of_another(function.value) else {1}
        owner = function.value
        if function.attr == "reset":
            return {_MANY}  # an epoch begins anew
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
            return {1} if function.attr == "update_core" else {0}
        own = isinstance(owner, ast.Name) and owner.id == "self"
        if not own or function.attr not in self.methods or function.attr in inside:
            return {0}
        return self.of(self.methods[function.attr].node, inside | {function.attr})


def _of_another(iterator: ast.expr) -> bool:
    """Whether an iterator is asked for by another name than `main`, so that no epoch is counted by it."""
    if isinstance(iterator, ast.Subscript):
        holder, form, name = iterator.value, "_iterators", iterator.slice
    elif isinstance(iterator, ast.Call) and iterator.args:
        holder, form, name = iterator.func, "get_iterator", iterator.args[0]
    else:
        return False
    return getattr(holder, "attr", "") == form and isinstance(name, ast.Constant) and name.value != "main"


__all__ = ["draws_one"]
