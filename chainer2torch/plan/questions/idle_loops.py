"""Loops that may have no round, by what is written there: ``range(depth - 1)``, ``zip(sizes, sizes[1:])``.

What is counted by a plain name has rounds, unless the program itself gives it a zero.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Const, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import Source, nodes_of

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SMALLER = (ast.Sub, ast.FloorDiv, ast.Mod, ast.Div)
_WRAPPERS = frozenset({"enumerate", "list", "reversed", "sorted", "tuple", "zip"})


def may_have_no_round(analysis: Analysis, node: ast.AST) -> bool:
    """Whether all that registers layers in a node, or the node itself, stands in such loops."""
    module = next((m for m in analysis.project.modules.values() if node in m.source.parents), None)
    if module is None:
        return False
    loops = _Loops(analysis, module.source)
    if isinstance(node, ast.With):
        return all(isinstance(part, ast.For) and loops.is_idle(part.iter, part) for part in node.body)
    if isinstance(node, ast.Call):  # super().__init__(*layers)
        return not node.keywords and all(loops.is_idle_list(one, node) for one in node.args if not _is_name(one))
    around = module.source.enclosing(node, ast.For, *_FUNCTIONS)
    return isinstance(around, ast.For) and loops.is_idle(around.iter, around)


class _Loops:
    def __init__(self, analysis: Analysis, source: Source):
        self._analysis = analysis
        self._source = source

    def is_idle(self, items: ast.expr, place: ast.AST) -> bool:
        """Whether what a loop goes over may be empty."""
        if isinstance(items, ast.Subscript):
            return isinstance(items.slice, ast.Slice)
        if not isinstance(items, ast.Call) or not isinstance(items.func, ast.Name):
            return False
        if items.func.id in _WRAPPERS:
            return any(self.is_idle(one, place) for one in items.args)
        return items.func.id in ("range", "xrange") and any(self._may_be_zero(one, place) for one in items.args[-1:])

    def is_idle_list(self, value: ast.expr, place: ast.AST) -> bool:
        """``*[L.Linear(3, 3) for i in range(n - 1)]``, or the name of such a list."""
        if isinstance(value, ast.Starred):
            return self.is_idle_list(value.value, place)
        if isinstance(value, (ast.ListComp, ast.GeneratorExp)):
            return any(part.ifs or self.is_idle(part.iter, place) for part in value.generators)
        function = self._source.enclosing(place, *_FUNCTIONS)
        if not isinstance(value, ast.Name) or function is None:
            return False
        made = [n for n in nodes_of(function) if isinstance(n, ast.Assign) and ast.unparse(n.targets[0]) == value.id]
        grown = [n for n in nodes_of(function) if _grows(n, value.id)]
        return (
            bool(made) and all(self._is_idle_start(n.value, place) for n in made) and all(map(self._is_inside, grown))
        )

    def _is_idle_start(self, value: ast.expr, place: ast.AST) -> bool:
        return isinstance(value, ast.List) and not value.elts or self.is_idle_list(value, place)

    def _is_inside(self, node: ast.AST) -> bool:
        around = self._source.enclosing(node, ast.For, *_FUNCTIONS)
        return isinstance(around, ast.For) and self.is_idle(around.iter, around)

    def _may_be_zero(self, number: ast.expr, place: ast.AST) -> bool:
        if isinstance(number, ast.BinOp):
            return isinstance(number.op, _SMALLER)
        kinds = options(self._analysis.kind(number))
        if any(isinstance(kind, Const) and kind.value == 0 for kind in kinds):
            return True
        function = self._source.enclosing(place, *_FUNCTIONS)
        own = [info for info in self._analysis.functions.values() if info.node is function]
        name = number.id if isinstance(number, ast.Name) else ""
        return any(self._is_given_zero(info, name) for info in own)

    def _is_given_zero(self, info: FuncInfo, name: str) -> bool:
        """Whether a parameter is 0 by default, or a call of the function says 0."""
        arguments = info.node.args
        names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
        defaults = dict(zip(reversed(names), reversed(arguments.defaults)))
        if name not in names:
            return False
        if name in defaults and _is_zero(defaults[name]):
            return True
        at = names.index(name) - (info.cls is not None)
        calls = (call for module in self._analysis.project.modules.values() for call in module.source.of(ast.Call))
        return any(
            isinstance(kind, Class) and kind.info is info.cls and _is_zero(_given(call, at, name))
            for call in calls
            if isinstance(call, ast.Call)
            for kind in options(self._analysis.kind(call.func))
        )


def _given(call: ast.Call, at: int, name: str) -> ast.expr | None:
    named = [keyword.value for keyword in call.keywords if keyword.arg == name]
    return named[0] if named else call.args[at] if at < len(call.args) else None


def _is_zero(value: ast.expr | None) -> bool:
    return isinstance(value, ast.Constant) and value.value == 0 and not isinstance(value.value, bool)


def _is_name(value: ast.expr) -> bool:
    return isinstance(value, ast.Name)


def _grows(node: ast.AST, name: str) -> bool:
    """``layers.append``, ``layers += [...]``."""
    if isinstance(node, ast.AugAssign):
        return ast.unparse(node.target) == name
    return isinstance(node, ast.Attribute) and ast.unparse(node.value) == name


__all__ = ["may_have_no_round"]
