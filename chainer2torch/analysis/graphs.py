"""Which ``backward()`` shares its graph with a later one.

Chainer keeps a graph while a variable holds it, PyTorch frees it in the first backward().

A function is read in order, with what each name was computed from. Branches are followed apart, loop bodies twice, so
that what one round leaves to the next is seen. Where the answer is in doubt the graph counts as shared: keeping one for
longer changes no number.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
from collections.abc import Callable, Iterable, Sequence

from chainer2torch.analysis import helpers_of_steps
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Class,
    Dct,
    Func,
    Inst,
    Kind,
    Lst,
    Method,
    Mod,
    Ref,
    Tensor,
    Tup,
    Union,
    options,
)
from chainer2torch.analysis.recorded_calls import called_name, calls_in, stops_recording
from chainer2torch.analysis.scopes import is_own_of_expression
from chainer2torch.analysis.sent_backward import losses_of_caller
from chainer2torch.analysis.source import Source, nodes_of

_LEAVES = frozenset({"Variable", "Parameter"})
_CALLED_BY_HELPER = "call_with"  # with which an earlier run calls a model for a batch: nothing of it has a graph
# what is a tensor stays what it is; the others are what an earlier run has made of `Variable(x)`
_SAME = frozenset({"as_variable", "as_tensor", "from_numpy", "to_gpu", "variable"})
_MOVES = frozenset({"cpu", "cuda", "to", "to_cpu", "to_device", "to_gpu"})  # methods: a link stays one, too
_NO_GRAPH = frozenset({"array", "backward", "data", "dtype", "grad", "ndim", "shape", "size", "unchain_backward"})
_GROWS = frozenset({"append", "extend", "insert"})
_GRAD = Ref("chainer.grad")
_COMPUTING = frozenset({"chainer", "chainercv", "chainermn", "chainerrl", "cupy", "torch"})  # builtins: `map`, `sum`
_OBSERVED = ("chainerrl.misc.batch_states.", "chainerrl.replay_buffer.batch_")  # they make arrays
_WITHOUT_GRAPH = (*_OBSERVED, "torch.Generator", "torch.device", "torch.load", "torch.optim.", "torch.utils.data.")


@dataclasses.dataclass(frozen=True)
class GraphUse:
    """What happens to the graph that one ``backward()`` or ``unchain_backward()`` is called on."""

    shared: bool = False  # a later backward() passes it again
    cut: bool = False  # unchain_backward() has cut it before
    kept: tuple[str, ...] = ()  # of an unchain_backward(): what holds a tensor of the cut part and is used again
    later: tuple[ast.expr, ...] = ()  # the uses of such names that may have no value yet where the graph is cut


@dataclasses.dataclass(frozen=True)
class Step:
    """One computed value: where it was computed, which backward() calls went through it, whether it was cut since."""

    made: int
    passed: frozenset[ast.Call] = frozenset()
    cut: bool = False
    by_model: bool = False  # a model or a function of Chainer's computed it, for sure


@dataclasses.dataclass(frozen=True)
class Value:
    """What is known of a name's value."""

    heads: frozenset[int] = frozenset()  # the steps that it may be the result of
    behind: frozenset[Step] = frozenset()  # these and all that they were computed from
    let_go: frozenset[ast.Call] = frozenset()  # the unchain_backward() calls that it has to heed
    bound: bool = False  # the name has a value on every way to here

    def __or__(self, other: Value) -> Value:
        return Value(
            self.heads | other.heads, self.behind | other.behind, self.let_go | other.let_go, self.bound and other.bound
        )


State = dict[str, Value]
NOTHING = Value()


def uses_of_graphs(kind: Callable[[ast.AST], Kind], source: Source, scope: ast.AST) -> dict[ast.AST, GraphUse]:
    """How the graphs are used on which a function, or the module, calls ``backward()`` and ``unchain_backward()``."""
    if isinstance(scope, ast.Lambda):
        return {}
    return _Reading(kind, source).of(scope.body)  # type: ignore[attr-defined]


class _Reading:
    """One function, read in the order in which it runs."""

    def __init__(self, kind: Callable[[ast.AST], Kind], source: Source):
        self.kind = kind
        self.source = source
        self.numbers = itertools.count()
        self.shared: set[ast.Call] = set()
        self.cut: set[ast.Call] = set()
        self.kept: dict[ast.Call, set[str]] = {}
        self.later: dict[ast.Call, list[ast.expr]] = {}
        self.held: dict[ast.Call, dict[str, bool]] = {}  # the names that a cut reached, and whether all were bound
        self.seen: set[ast.Call] = set()
        self.recording = True  # no backprop mode is on

    def of(self, body: Sequence[ast.stmt]) -> dict[ast.AST, GraphUse]:
        self._block(body, {})
        return {
            call: GraphUse(
                call in self.shared,
                call in self.cut,
                tuple(sorted(self.kept.get(call, ()))),
                tuple(self.later.get(call, ())),
            )
            for call in self.seen
        }

    # -- statements ------------------------------------------------------------------------------------------------

    def _block(self, body: Iterable[ast.stmt], state: State) -> State:
        for statement in body:
            state = self._statement(statement, state)
        return state

    def _statement(self, node: ast.stmt, state: State) -> State:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            return state
        if isinstance(node, ast.If):
            self._calls(node.test, state)
            return _either(self._block(node.body, dict(state)), self._block(node.orelse, dict(state)))
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, state)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            for item in node.items:
                self._calls(item.context_expr, state)
            outer, self.recording = self.recording, self.recording and not any(map(stops_recording, node.items))
            state = self._block(node.body, state)
            self.recording = outer
            return state
        if isinstance(node, ast.Try):
            state = _either(self._block(node.body, dict(state)), state)
            for handler in node.handlers:
                state = _either(state, self._block(handler.body, dict(state)))
            return self._block(node.finalbody, self._block(node.orelse, state))
        self._calls(node, state)
        if isinstance(node, ast.Assign):
            for target in node.targets:
                self._assign(target, node.value, state)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self._assign(node.target, node.value, state)
        elif isinstance(node, ast.AugAssign):
            name = ast.unparse(node.target)
            self._names(node.target, state)  # `loss += ...` reads what it adds to
            found = _joined(state, name, self._value(node.value, state))
            if found.behind and all(isinstance(k, Tensor) for k in options(self.kind(node.target))):
                step = Step(next(self.numbers))  # a sum is computed; a list that grows holds what it held
                found = Value(frozenset({step.made}), found.behind | {step}, bound=True)
            state[name] = found
        elif isinstance(node, ast.Return) and node.value is not None:
            self._value(node.value, state)  # what is returned is used
        return state

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, state: State) -> State:
        if name := losses_of_caller(node):
            step = Step(next(self.numbers))  # what the caller computed all of them from
            state = {name: Value(frozenset({step.made}), frozenset({step})), **state}
        for _ in range(2):
            inside = dict(state)
            if isinstance(node, ast.While):
                self._calls(node.test, inside)
            else:
                self._calls(node.iter, inside)
                self._assign_items(node.target, node.iter, inside)
            state = _either(state, self._block(node.body, inside))
        return self._block(node.orelse, state)

    def _assign_items(self, target: ast.expr, items: ast.expr, state: State) -> None:
        """The target of a loop: behind zip and enumerate each name has its own source."""
        function = items.func.id if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) else ""
        parts = target.elts if isinstance(target, ast.Tuple) else []
        if isinstance(items, ast.Call) and function == "zip" and len(items.args) == len(parts):
            for part, source in zip(parts, items.args):
                self._assign_items(part, source, state)
        elif isinstance(items, ast.Call) and function == "enumerate" and len(parts) == 2 and items.args:
            self._assign_items(parts[1], items.args[0], state)
        else:
            self._assign(target, items, state)

    # -- values ----------------------------------------------------------------------------------------------------

    def _assign(self, target: ast.expr, value: ast.expr, state: State) -> None:
        if (
            isinstance(target, (ast.Tuple, ast.List))
            and isinstance(value, (ast.Tuple, ast.List))
            and len(value.elts) == len(target.elts)
        ):
            for part, part_value in list(zip(target.elts, value.elts)):
                self._assign(part, part_value, state)
        else:
            self._bind(target, self._value(value, state), state)

    def _bind(self, target: ast.expr, value: Value, state: State) -> None:
        """The names of a target get a value, all of them the same one: `y, h = step(x, h)` is one computation.

        Each has a last step of its own all the same: where the graph of one is cut, that step of another is not.
        """
        if isinstance(target, (ast.Tuple, ast.List)):
            for part in target.elts:
                own = {Step(next(self.numbers))} if value.heads and len(target.elts) > 1 else set()
                self._bind(part, dataclasses.replace(value, behind=value.behind | own), state)
        elif isinstance(target, ast.Starred):
            self._bind(target.value, value, state)
        elif isinstance(target, ast.Subscript):
            name = ast.unparse(target.value)
            state[name] = _joined(state, name, value)
        else:
            held = value if any(may_hold_graph(k) for k in options(self.kind(target))) else NOTHING
            state[ast.unparse(target)] = dataclasses.replace(held, bound=True)

    def _value(self, node: ast.expr, state: State) -> Value:
        """What stands behind a value: all that its names hold and, if it is computed, the computation itself."""
        if (
            not self.recording
            or not any(may_hold_graph(k) for k in options(self.kind(node)))
            or called_name(node) in _LEAVES  # `chainer.Variable(x)`: nothing was computed for it
            or isinstance(node, ast.Call)
            and any(isinstance(k, Ref) and k.name.startswith(_WITHOUT_GRAPH) for k in options(self.kind(node.func)))
        ):
            return NOTHING
        if isinstance(node, ast.IfExp):
            return self._value(node.body, state) | self._value(node.orelse, state)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _MOVES:
            if not isinstance(self.kind(node.func.value), (Mod, Ref)):
                return self._value(node.func.value, state)
        if isinstance(node, ast.Call) and node.args and called_name(node) in _SAME:
            return self._value(node.args[0], state)
        found = NOTHING if called_name(node) == _CALLED_BY_HELPER else self._names(node, state)
        if not found.behind and self._comes_from_outside(node):
            return NOTHING
        if any(isinstance(n, (ast.Call, ast.BinOp, ast.UnaryOp)) for n in nodes_of(node)):
            models = any(isinstance(n, ast.Call) and self._is_model(n.func) for n in nodes_of(node))
            step = Step(next(self.numbers), by_model=models)
            return Value(frozenset({step.made}), found.behind | {step})
        return found

    def _is_model(self, function: ast.expr) -> bool:
        kinds = options(self.kind(function))
        return any(isinstance(k, Inst) or isinstance(k, Ref) and k.name.startswith("chainer.functions.") for k in kinds)

    def _comes_from_outside(self, node: ast.expr) -> bool:
        """Whether a value is what a function of another library made of values without a graph, or a part of that."""
        if isinstance(node, (ast.Subscript, ast.Attribute)):
            return self._comes_from_outside(node.value)
        if isinstance(node, ast.BinOp):
            return self._comes_from_outside(node.left) and self._comes_from_outside(node.right)
        if isinstance(node, ast.Name):
            return node.id not in self.source.open and not any(map(_may_compute, options(self.kind(node))))
        if not isinstance(node, ast.Call) or not isinstance(node.func, (ast.Name, ast.Attribute)):
            return isinstance(node, ast.Constant)
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        return self._is_foreign(node.func) and all(map(self._comes_from_outside, arguments))

    def _is_foreign(self, function: ast.Name | ast.Attribute) -> bool:
        """Whether a function is of a library that knows nothing of Chainer: `from reading import *` included."""
        kind = self.kind(function)
        if isinstance(kind, Ref):
            return kind.name.partition(".")[0] not in _COMPUTING
        return isinstance(function, ast.Name) and kind == UNKNOWN and function.id not in self.source.assigned

    def _names(self, node: ast.AST, state: State) -> Value:
        found = NOTHING
        for part in nodes_of(node):
            if isinstance(part, (ast.Name, ast.Attribute)) and state:
                name = part.id if isinstance(part, ast.Name) else ast.unparse(part)
                value = state.get(name, NOTHING)
                if value is NOTHING or is_own_of_expression(self.source, part):
                    continue
                if not asked_only(self.source, part):
                    for call in value.let_go:
                        self._uses(call, name, part)
                found |= value
        return found

    def _uses(self, call: ast.Call, name: str, part: ast.expr) -> None:
        """A name that holds what was cut is used; one that got it later, from another name, has it from there."""
        bound = self.held[call].get(name)
        if bound:
            self.kept[call].add(name)
        elif bound is not None and part not in self.later[call]:
            self.later[call].append(part)

    # -- calls -----------------------------------------------------------------------------------------------------

    def _calls(self, node: ast.AST, state: State) -> None:
        for call in calls_in(node):
            function = call.func
            if call.args and self.kind(function) == _GRAD:  # it keeps the graph, and needs all of it
                self._pass(self._names(call.args[0], state).behind)
            self._helper(call, state)
            if not isinstance(function, ast.Attribute):
                continue
            if function.attr == "backward":
                self._backward(call, self._names(function.value, state).behind, state)
            elif function.attr == "unchain_backward":
                whole = call.args[0] if call.args else function.value  # the helper of an earlier run is handed it
                self._unchain(call, self._names(whole, state).behind, state)
            elif function.attr == "update" and call.args:
                for argument in call.args[1:]:  # update(lossfun, *args): the optimizer itself keeps its graph
                    self._pass(self._names(argument, state).behind)
            elif function.attr in _GROWS:
                name = ast.unparse(function.value)
                for argument in call.args:
                    state[name] = _joined(state, name, self._value(argument, state))

    def _helper(self, call: ast.Call, state: State) -> None:
        """``update(opt, loss)``, which sends its parameter backward."""
        function = helpers_of_steps.helper(self.source, call)
        if function is None:
            return
        sent = helpers_of_steps.sent_back(function)
        handed = {
            name: helpers_of_steps.handed(function, call, name)
            for name in {*sent, *helpers_of_steps.sent_back(function, computed=True)}
        }
        for _ in range(max(sent.values(), default=1)):
            found = {name: self._names(value, state).behind for name, value in handed.items() if value is not None}
            # it may compute with models and batches, too, which have no graph
            graphs = [steps for name, steps in found.items() if name in sent or any(s.by_model for s in steps)]
            self._backward(call, frozenset().union(*graphs), state)

    def _backward(self, call: ast.Call, behind: frozenset[Step], state: State) -> None:
        self.seen.add(call)
        self._pass(behind)
        if any(step.cut for step in behind):
            self.cut.add(call)
        reached = {step.made for step in behind if not step.cut}
        _change(state, reached, lambda step: dataclasses.replace(step, passed=step.passed | {call}))

    def _pass(self, behind: frozenset[Step]) -> None:
        for step in behind:
            if not step.cut:
                self.shared |= step.passed

    def _unchain(self, call: ast.Call, behind: frozenset[Step], state: State) -> None:
        """Names that hold a tensor of the cut part let go of the graph; what was computed from them ends there."""
        self.seen.add(call)
        self.kept.setdefault(call, set())
        self.later.setdefault(call, [])
        held = self.held.setdefault(call, {})
        numbers = {step.made for step in behind}
        for name, value in state.items():
            if value.heads & numbers:
                left = value.heads - numbers
                state[name] = Value(left, value.behind if left else frozenset(), value.let_go | {call}, value.bound)
                held[name] = held.get(name, True) and value.bound
        _change(state, numbers, lambda step: dataclasses.replace(step, cut=True))


def _may_compute(kind: Kind) -> bool:
    """Whether a value has a graph for sure, or may be what computes one."""
    if isinstance(kind, Ref):
        return kind.name.partition(".")[0] in _COMPUTING
    return isinstance(kind, (Class, Func, Inst, Method)) or kind != UNKNOWN and may_hold_graph(kind)


def _change(state: State, numbers: set[int], change: Callable[[Step], Step]) -> None:
    for name, value in state.items():
        if any(step.made in numbers for step in value.behind):
            behind = frozenset(change(step) if step.made in numbers else step for step in value.behind)
            state[name] = dataclasses.replace(value, behind=behind)


def _joined(state: State, name: str, value: Value) -> Value:
    """What a name holds that gets another part: a list that grows, a sum."""
    return dataclasses.replace(state.get(name, NOTHING) | value, bound=True)


def _either(one: State, other: State) -> State:
    return {name: one.get(name, NOTHING) | other.get(name, NOTHING) for name in one.keys() | other.keys()}


def asked_only(source: Source, node: ast.AST) -> bool:
    """Whether only the numbers or the shape of a tensor are read here, or whether it is there at all."""
    parent = source.parents.get(node)
    return (
        isinstance(parent, ast.Attribute)
        and parent.attr in _NO_GRAPH
        or isinstance(parent, ast.Compare)
        and all(isinstance(op, (ast.Is, ast.IsNot)) for op in parent.ops)
    )


def may_hold_graph(kind: Kind) -> bool:
    """Whether a value may be the result of a computation that a gradient can pass."""
    if isinstance(kind, Tup):
        return any(may_hold_graph(item) for item in kind.items)
    if isinstance(kind, Union):
        return any(map(may_hold_graph, kind.ordered))
    if isinstance(kind, (Lst, Dct)):
        return may_hold_graph(kind.element)
    return kind == UNKNOWN or isinstance(kind, Tensor) and not kind.array
