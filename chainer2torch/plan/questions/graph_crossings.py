"""Graphs that outlive a step: PyTorch frees a graph in ``backward`` and refuses one whose weights have changed since.

Chainer does neither, so that the loss of a generator may go through a discriminator that was updated a line before. A
function (or file) in which a graph through a model is made before an update of this model, and goes backward after it,
steps under such graphs.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from chainer2torch.analysis import helpers_of_steps
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.graphs import may_hold_graph
from chainer2torch.analysis.kinds import Func, Inst, Kind, Unknown, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.sent_backward import losses_of_caller
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.graph_use import is_shared_by_callers
from chainer2torch.plan.questions.kept_states import keeps_state

_STEPS = frozenset({"update", "step"})
_CLEARS = frozenset({"cleargrads", "zerograds"})
_CUTS = frozenset({"unchain_backward", "unchain"})
_KEEP = frozenset({"add", "append", "appendleft", "extend", "insert", "put", "setdefault"})  # in a list of somebody's
Graph = Mapping[str, int]  # the models that a graph goes through, and how many updates they had seen


def crossed(
    analysis: Analysis, code: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module, *, certain: bool = True
) -> frozenset[str]:
    """The optimizers, as a function or file writes them, after whose update a graph from before it goes backward.

    With ``certain``, an optimizer that steps behind ``model.cleargrads()`` and a ``backward()`` is that of this model:
    PyTorch raises where it is not. Without, it may be one of any model.
    """
    walk = _Walk(analysis, code, _cleared(code) if certain else {})
    for node in nodes_of(code):
        if isinstance(node, (ast.For, ast.AsyncFor)) and losses_of_caller(node):
            walk.handed(node.target)
    for statement in _statements(code.body):
        walk.take(statement)
    return frozenset(walk.crossed)


def crosses_anywhere(analysis: Analysis) -> bool:
    """Whether a graph outlives a step in some function or file of the program."""
    for module in analysis.project.modules.values():
        source = module.source
        if ".backward(" not in source.text and ".update(" not in source.text:
            continue
        codes = [source.tree, *source.of(ast.FunctionDef, ast.AsyncFunctionDef)]
        if any(crossed(analysis, code, certain=False) for code in codes):
            return True
    return False


def is_outlived(context: Context, function: ast.AST, optimizer: ast.expr) -> bool:
    """Whether a function steps an optimizer that it finds itself, and is called again with a part of the same graph.

    So does a loop that never cuts the state of a recurrent model.
    """
    if keeps_state(context, optimizer):
        return True
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)) or not helpers_of_steps.sent_back(function):
        return False
    is_handed = isinstance(optimizer, ast.Name) and optimizer.id in helpers_of_steps.asked(function, _STEPS)
    return not is_handed and is_shared_by_callers(context, function)


def is_last(context: Context, function: ast.AST | None, call: ast.Call) -> bool:
    """Whether nothing goes backward behind a call, and no graph leaves the function: it need not be kept any more."""
    if not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    outer = [
        node for node in context.source.ancestors(call) if context.source.enclosing(node, type(function)) is function
    ]
    if any(isinstance(node, (ast.For, ast.While, ast.Lambda)) for node in outer):
        return False
    for node in nodes_of(function):
        if isinstance(node, (ast.Attribute, ast.Subscript)) and isinstance(node.ctx, ast.Store):
            return False
        if isinstance(node, ast.Attribute) and node.attr in _KEEP:
            return False
        if isinstance(node, (ast.Yield, ast.YieldFrom, ast.Global, ast.Nonlocal)):
            return False
        if isinstance(node, ast.Return) and node.value is not None:
            return False
        if isinstance(node, ast.Call) and context.source.start(node) > context.source.start(call):
            if isinstance(node.func, ast.Attribute) and node.func.attr in (*_STEPS, "backward"):
                return False
            if any(isinstance(k, Func) for k in options(context.kind(node.func))):
                return False  # which may send something backward
    return True


class _Walk:
    """The statements of a function in their order: what graphs its names hold, and the updates so far."""

    def __init__(self, analysis: Analysis, function: ast.AST, cleared: Mapping[str, str]):
        self._analysis = analysis
        self._graphs: dict[str, Graph] = {}
        self._updates: list[tuple[str, str | None]] = []  # optimizers, and the models that they update
        self.crossed: set[str] = set()
        self._own = _bound_in(function)
        self._models = {**cleared, **_targets(analysis, function), **_set_up(function)}
        self._objects = _called_in(function) | set(self._models.values())

    def handed(self, losses: ast.expr) -> None:
        """The names of a loop hold graphs that the caller made: through which models is not known."""
        self._graphs.update({n.id: {"": 0} for n in nodes_of(losses) if isinstance(n, ast.Name)})

    def take(self, statement: ast.stmt) -> None:
        """Finds old graphs that a statement sends backward, and takes it into account for what follows."""
        for node in nodes_of(statement):
            if not isinstance(node, ast.Call):
                continue
            if self._hands_back(node):
                for arg in (*node.args, *(keyword.value for keyword in node.keywords)):
                    self._backward(arg)
                self._updates += [(optimizer, self._models.get(optimizer)) for optimizer in self._stepped(node)]
            elif not isinstance(node.func, ast.Attribute):
                continue
            elif node.func.attr in _CUTS:
                self._cut(ast.unparse(node.func.value))
            elif node.func.attr == "backward":
                self._backward(node.func.value)
            elif self._is_step(node):
                for arg in node.args:
                    self._backward(arg)
                optimizer = ast.unparse(node.func.value)
                self._updates.append((optimizer, self._models.get(optimizer)))
        if isinstance(statement, (ast.Assign, ast.AugAssign)):
            self._assign(statement)

    def _backward(self, value: ast.expr) -> None:
        for model, count in self._graph_of(value).items():
            self.crossed |= set(self._updates_of(model)[count:])

    def _hands_back(self, call: ast.Call) -> bool:
        """Whether a function of the project is called that sends something backward."""
        return any(
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
            for kind in options(self._analysis.kind(call.func))
            if isinstance(kind, Func)
            for node in nodes_of(kind.info.node)
        )

    def _stepped(self, call: ast.Call) -> list[str]:
        """The optimizers that a call hands to a function which steps them."""
        functions = [kind.info.node for kind in options(self._analysis.kind(call.func)) if isinstance(kind, Func)]
        values = [
            helpers_of_steps.handed(function, call, parameter)
            for function in functions
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
            for parameter in sorted(helpers_of_steps.asked(function, _STEPS))
        ]
        return [ast.unparse(value) for value in values if value is not None and self._is_optimizer(value)]

    def _cut(self, name: str) -> None:
        """``x.unchain_backward()``: what x was made from has no graph any more; what was made from x begins at x."""
        names = list(self._graphs)
        if name not in names:
            return
        gone = self._graphs[name]
        for other in names[: names.index(name) + 1]:
            del self._graphs[other]
        for other, graph in self._graphs.items():
            self._graphs[other] = {model: count for model, count in graph.items() if model not in gone}

    def _updates_of(self, model: str) -> list[str]:
        """The optimizers of a model's updates so far. Two models differ for sure where each has an optimizer here."""
        known = model in self._models.values()
        return [o for o, updated in self._updates if updated in (None, model) or not known]

    def _assign(self, statement: ast.Assign | ast.AugAssign) -> None:
        graph = dict(self._graph_of(statement.value)) if self._may_hold_graph(statement) else {}
        for name in _bound(statement):
            before = self._graphs.get(name, {}) if isinstance(statement, ast.AugAssign) else {}
            made = _oldest([before, graph])
            self._graphs.pop(name, None)  # in the order in which they were made
            if made:
                self._graphs[name] = made

    def _may_hold_graph(self, statement: ast.Assign | ast.AugAssign) -> bool:
        """Whether what is assigned may be computed: no model, optimizer, number or array of the host is."""
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        if all(isinstance(t, ast.Name) and t.id in self._objects for t in targets):
            return False
        return any(map(may_hold_graph, options(self._analysis.kind(statement.value))))

    def _graph_of(self, value: ast.expr) -> Graph:
        """The models that the graph of a value goes through: of the calls in it, and of the names in it."""
        shown = {inner for node in nodes_of(value) if _only_shows(node) for inner in nodes_of(node)}
        parts: list[Graph] = []
        for node in nodes_of(value):
            if node in shown:
                continue
            if isinstance(node, ast.Name):
                parts.append(self._graphs.get(node.id, {}))
            elif isinstance(node, ast.Call) and (model := self._model(node.func)):
                parts.append({model: len(self._updates_of(model))})
        return _oldest(parts)

    def _model(self, function: ast.expr) -> str:
        """What a call goes through: the link that is called, or whose method is, or a function that may call one."""
        for callee in (function, function.value if isinstance(function, ast.Attribute) else None):
            if callee is not None and any(self._analysis.is_link(k) for k in options(self._analysis.kind(callee))):
                return ast.unparse(callee)
        kinds = options(self._analysis.kind(function))
        return ast.unparse(function) if any(self._may_call_model(function, kind) for kind in kinds) else ""

    def _may_call_model(self, function: ast.expr, kind: Kind) -> bool:
        if isinstance(kind, Func):
            return self._uses_model(kind.info, set())
        return isinstance(kind, Unknown) and _root(function) in self._own

    def _uses_model(self, info: FuncInfo, seen: set[FuncInfo]) -> bool:
        """Whether a function of the project calls a link, or something that it is given and that nobody knows."""
        if info in seen:
            return False
        seen.add(info)
        own = _bound_in(info.node)
        for call in (node for node in nodes_of(info.node) if isinstance(node, ast.Call)):
            for kind in options(self._analysis.kind(call.func)):
                if self._analysis.is_link(kind) or isinstance(kind, Unknown) and _root(call.func) in own:
                    return True
                if isinstance(kind, Func) and self._uses_model(kind.info, seen):
                    return True
        return False

    def _is_step(self, node: ast.Call) -> bool:
        if not isinstance(node.func, ast.Attribute) or node.func.attr not in _STEPS:
            return False
        return self._is_optimizer(node.func.value)

    def _is_optimizer(self, value: ast.expr) -> bool:
        kinds = options(self._analysis.kind(value))
        return any(isinstance(k, Inst) and self._analysis.derives(k.cls, "chainer.Optimizer") for k in kinds)


def _root(node: ast.expr) -> str:
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _bound_in(function: ast.AST) -> frozenset[str]:
    """The names that a function has itself: its parameters and what it assigns to."""
    return frozenset(
        node.arg if isinstance(node, ast.arg) else node.id
        for node in nodes_of(function)
        if isinstance(node, ast.arg) or isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    )


def _set_up(function: ast.AST) -> dict[str, str]:
    """The models of the optimizers that a function sets up."""
    return {
        ast.unparse(node.func.value): ast.unparse(node.args[0])
        for node in nodes_of(function)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "setup"
        and len(node.args) == 1
    }


def _targets(analysis: Analysis, function: ast.AST) -> dict[str, str]:
    """The models that a function asks its optimizers for: ``gen = gen_optimizer.target``; both names are bound once."""
    stores = [node.id for node in nodes_of(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    found: dict[str, str] = {}
    for node in nodes_of(function):
        if not isinstance(node, ast.Assign) or len(node.targets) != 1:
            continue
        name, value = node.targets[0], node.value
        if not isinstance(name, ast.Name) or not isinstance(value, ast.Attribute) or value.attr != "target":
            continue
        names = [n.id for n in (name, value.value) if isinstance(n, ast.Name)]
        kinds = options(analysis.kind(value.value))
        if all(stores.count(n) < 2 for n in names) and any(
            isinstance(k, Inst) and analysis.derives(k.cls, "chainer.Optimizer") for k in kinds
        ):
            found[ast.unparse(value.value)] = name.id
    return found


def _cleared(function: ast.AST) -> dict[str, str]:
    """The models of optimizers by what is cleared for their steps: ``m.cleargrads(); loss.backward(); o.update()``."""
    found: dict[str, set[str]] = {}
    for node in nodes_of(function):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            if not isinstance(block, list):
                continue
            cleared = ""
            for call in map(_called_alone, block):
                if call is None or call.func.attr not in ("backward", *_STEPS, *_CLEARS):
                    cleared = ""
                elif call.func.attr in _CLEARS:
                    cleared = ast.unparse(call.func.value)
                elif call.func.attr in _STEPS:
                    found.setdefault(ast.unparse(call.func.value), set()).add(cleared)
                    cleared = ""
    stores = [node.id for node in nodes_of(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return {
        optimizer: model
        for optimizer, models in found.items()
        for model in models
        if len(models) == 1 and model and stores.count(model.partition(".")[0]) < 2
    }


def _called_alone(statement: ast.AST) -> Any:
    """The call that a statement is, of a method; None for any other statement."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    return call if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) else None


def _called_in(function: ast.AST) -> set[str]:
    """The names that are called as they are: functions and models."""
    calls = (node for node in nodes_of(function) if isinstance(node, ast.Call))
    return {call.func.id for call in calls if isinstance(call.func, ast.Name)}


def _oldest(graphs: list[Graph]) -> Graph:
    """Several graphs as one: of each model the fewest updates."""
    found: dict[str, int] = {}
    for graph in graphs:
        for model, count in graph.items():
            found[model] = min(count, found.get(model, count))
    return found


def _only_shows(node: ast.AST) -> bool:
    """Whether of the names in an expression only the numbers are read: ``chainer.report({'loss': loss})``."""
    if isinstance(node, ast.Attribute):
        return node.attr in ("array", "data", "dtype", "shape")
    if not isinstance(node, ast.Call):
        return False
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    return name in ("float", "len", "print", "report")


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The simple statements in the order in which they stand, bodies of loops twice: what is left meets the first."""
    for statement in body:
        inner = [part for name in ("body", "orelse", "finalbody") for part in getattr(statement, name, [])]
        if isinstance(statement, (ast.For, ast.While)):
            inner = [*inner, *inner]
        if not inner:
            yield statement
        elif not isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
            yield from _statements(inner)


def _bound(statement: ast.Assign | ast.AugAssign) -> list[str]:
    targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [n.id for target in targets for n in nodes_of(target) if isinstance(n, ast.Name)]


__all__ = ["crossed", "crosses_anywhere", "is_last", "is_outlived"]
