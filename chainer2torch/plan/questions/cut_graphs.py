"""What ``loss.unchain_backward()`` becomes in plain PyTorch, where the function around it shows what it is for.

A graph of PyTorch goes when nothing holds it, so the call itself is not needed. What matters is who goes on with a
tensor of the cut part: a name of the function, which is detached; the state of a model, which is detached where it is
kept; or a later ``backward()``, which stops at the cut.
"""

from __future__ import annotations

import ast
import collections
import dataclasses
import posixpath
from typing import TypeGuard

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.graphs import GraphUse, asked_only, may_hold_graph, uses_of_graphs
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Lst, Tensor, options, scalar_type
from chainer2torch.analysis.models.xp_modules import EITHER, XP
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.source import Source, nodes_of, within
from chainer2torch.analysis.values import dataclass
from chainer2torch.plan.questions.held_texts import holds_texts
from chainer2torch.plan.questions.put_away import FILLING, is_put_away

CUTS = "unchain_backward"
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WITH_STATE = frozenset({"LSTM", "StatefulGRU", "StatefulMGU", "StatefulPeepholeLSTM", "StatefulZoneoutLSTM"})


@dataclass(frozen=True)
class Cut:
    """One call that is understood: ``models`` hold a state, ``kept`` are the names that are used again."""

    models: tuple[ast.expr, ...]
    kept: tuple[str, ...]
    renamed: frozenset[str] = frozenset()  # those of them whose tensor with its graph is needed once more


@dataclass(frozen=True)
class Cuts:
    """All such calls of a project; ``stops`` are the names at which a ``backward()`` behind a cut ends."""

    understood: dict[ast.Call, Cut]
    stops: dict[ast.Call, tuple[str, ...]]
    long: frozenset[str]  # the files for which a call is left that needs the long helpers


def cuts(analysis: Analysis) -> Cuts:
    """What becomes of every ``unchain_backward()`` of the project."""
    understood: dict[ast.Call, Cut] = {}
    stops: dict[ast.Call, tuple[str, ...]] = {}
    long: set[str] = set()
    for files in programs(analysis):
        if not any(CUTS in module.source.text for module in files):
            continue
        state = _has_state(analysis, files)
        complete = True
        for module in files:
            for scope, calls in _calls(module.source).items():
                reading = _Function(analysis, module.source, scope, state)
                found = [(call, reading.cut(call)) for call in calls]
                if all(cut is not None for _, cut in found) and reading.all_stops(calls):
                    renamed = frozenset(reading.renamed)
                    for call, cut in found:
                        assert cut is not None
                        understood[call] = dataclasses.replace(cut, renamed=renamed & set(cut.kept))
                    stops.update(reading.stops)
                else:
                    complete = complete and not any(reading.may_be_variable(call) for call in calls)
        if not complete:
            long |= {module.path for module in files}
    return Cuts(understood, stops, frozenset(long))


def _calls(source: Source) -> dict[ast.AST, list[ast.Call]]:
    """The calls of a file, by the functions that they stand in."""
    scopes: dict[ast.AST, list[ast.Call]] = {}
    if CUTS in source.text:
        for call in source.of(ast.Call):
            if isinstance(call.func, ast.Attribute) and call.func.attr == CUTS:
                scopes.setdefault(source.enclosing(call, *_FUNCTIONS) or source.tree, []).append(call)
    return scopes


def programs(analysis: Analysis) -> list[list[ModuleInfo]]:
    """The files of a project in groups between which nothing is imported: a graph does not pass from one to another."""
    modules = list(analysis.project.modules.values())
    by_stem: dict[str, list[ModuleInfo]] = {}
    for module in modules:
        stem = posixpath.basename(module.path).removesuffix(".py")
        by_stem.setdefault(posixpath.basename(module.directory) if stem == "__init__" else stem, []).append(module)
    group = {module: module for module in modules}

    def first(module: ModuleInfo) -> ModuleInfo:
        while group[module] is not module:
            module = group[module]
        return module

    for module in modules:
        for stem in _imported(module.source) & by_stem.keys():
            near = [other for other in by_stem[stem] if other.directory == module.directory]
            for other in near or by_stem[stem]:
                group[first(other)] = first(module)
    found: dict[ModuleInfo, list[ModuleInfo]] = {}
    for module in modules:
        found.setdefault(first(module), []).append(module)
    return list(found.values())


def _imported(source: Source) -> set[str]:
    """All parts of the names that a file imports: whichever of them may be a file."""
    names: list[str] = []
    for node in source.of(ast.Import):
        names += [alias.name for alias in node.names]
    for start in source.of(ast.ImportFrom):
        names += [start.module or "", *(alias.name for alias in start.names)]
    return {part for name in names for part in name.split(".")}


class _Function:
    """One function in which graphs are cut."""

    def __init__(self, analysis: Analysis, source: Source, scope: ast.AST, state: bool):
        self.analysis, self.source, self.scope, self.state = analysis, source, scope, state
        self.uses = uses_of_graphs(analysis.kind, source, scope)
        self.stops: dict[ast.Call, tuple[str, ...]] = {}
        self.renamed: set[str] = set()  # the names whose tensors a later backward() still has to know

    def may_be_variable(self, call: ast.Call) -> bool:
        """Whether the call may be Chainer's: `model.unchain_backward()` may be a method of the program's."""
        return any(not isinstance(k, Inst) for k in options(self.analysis.kind(call.func.value)))  # type: ignore[attr-defined]

    def cut(self, call: ast.Call) -> Cut | None:
        """What becomes of one call; None if that is not understood."""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        use = self.uses.get(call)
        if (
            use is None
            or use.later
            or not isinstance(receiver, ast.Name)
            or not isinstance(self.source.parents.get(call), ast.Expr)
            or not self._is_computed(receiver)
            or self._updates_behind(call)
            or is_put_away(self.scope, receiver.id, call)
        ):
            return None
        names = tuple(n for n in use.kept if not self._holds_no_graph(n))
        if any(receiver.id in group and set(names) & group - {receiver.id} for group in self._unpacked()):
            return None  # whether the cut reaches what came with it is not seen
        kinds = {name: self._kinds(name) for name in names}
        if any(not self._is_tensor(name, found, receiver.id) for name, found in kinds.items()):
            return None
        models = self._models(call) if self.state else ()
        if self.state and not models:
            return None
        return Cut(models, names)

    def all_stops(self, calls: list[ast.Call]) -> bool:
        """Whether every backward() behind a cut knows where it ends."""
        kept = {name for call in calls for name in self.uses.get(call, GraphUse()).kept}
        renamed = {_receiver(call) for call in calls} & kept  # the tensor itself goes on under this name, detached
        for backward, use in self.uses.items():
            if not use.cut or not isinstance(backward, ast.Call):
                continue
            before = [c for c in calls if c.lineno < backward.lineno]
            names = [_receiver(call) for call in before]
            if not names or backward.args or backward.keywords:
                return False
            self.stops[backward] = tuple(dict.fromkeys(made(name) if name in renamed else name for name in names))
        self.renamed = renamed if self.stops else set()
        return True

    def _unpacked(self) -> list[set[str]]:
        """The names that get the values of one call: ``fake, score = self.run()``."""
        assigned = [node for node in nodes_of(self.scope) if isinstance(node, ast.Assign)]
        targets = [t for node in assigned if isinstance(node.value, ast.Call) for t in node.targets]
        return [{n.id for n in t.elts if isinstance(n, ast.Name)} for t in targets if isinstance(t, ast.Tuple)]

    def _updates_behind(self, call: ast.Call) -> bool:
        """Whether ``optimizer.update(lossfun, ...)`` goes backward behind a cut: where that ends is not seen here."""
        return any(
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "update"
            and len(node.args) > 1
            and node.lineno > call.lineno
            for node in nodes_of(self.scope)
        )

    def _is_computed(self, receiver: ast.Name) -> bool:
        """Whether a name gets its value in this function: what a caller holds is not seen here."""
        targets = [t for node in nodes_of(self.scope) if isinstance(node, ast.Assign) for t in node.targets]
        names = {n.id for target in targets for n in nodes_of(target) if isinstance(n, ast.Name)}
        arguments = self.scope.args if isinstance(self.scope, _FUNCTIONS) else None
        given = {a.arg for a in nodes_of(arguments) if isinstance(a, ast.arg)} if arguments is not None else set()
        return receiver.id in names - given

    def _kinds(self, name: str) -> list[Kind]:
        for node in nodes_of(self.scope):
            if isinstance(node, ast.Name) and node.id == name:
                return [
                    k
                    for n in nodes_of(self.scope)
                    if isinstance(n, ast.Name) and n.id == name
                    for k in options(self.analysis.kind(n))
                ]
        return []

    def _holds_no_graph(self, name: str) -> bool:
        """Whether a value that nobody knows is a number, texts, or a model that keeps nothing, as it is used."""
        return self._is_number(name) or self._is_model_without_state(name) or self._is_text(name)

    def _is_text(self, name: str) -> bool:
        kinds = self._kinds(name)
        unknown = all(k == UNKNOWN or isinstance(k, Lst) and k.element == UNKNOWN for k in kinds)
        return unknown and holds_texts(self.scope, name)

    def _is_number(self, name: str) -> bool:
        """Whether a value that nobody knows is a number: Python's own functions of numbers take no Variable."""
        calls = [node for node in nodes_of(self.scope) if isinstance(node, ast.Call)]
        return name in [ast.unparse(a) for c in calls if ast.unparse(c.func).startswith("math.") for a in c.args]

    def _is_model_without_state(self, name: str) -> bool:
        """Whether a value that nobody knows is called, as no Variable is; no link keeps anything, nothing goes back."""
        if self.state or any(kind != UNKNOWN for kind in self._kinds(name)):
            return False
        calls = [node.func for node in nodes_of(self.scope) if isinstance(node, ast.Call)]
        backward = any(isinstance(f, ast.Attribute) and f.attr in ("backward", "update") for f in calls)
        return not backward and any(isinstance(f, ast.Name) and f.id == name for f in calls)

    def _is_tensor(self, name: str, kinds: list[Kind], receiver: str) -> bool:
        if name == receiver or bool(kinds) and all(isinstance(k, Tensor) for k in kinds):
            return True
        numbers = all(isinstance(k, Tensor) or scalar_type(k) in ("int", "float") for k in kinds)
        return numbers and self._is_summed(name)

    def _is_summed(self, name: str) -> bool:
        """``loss = 0`` and ``loss += F.mean_squared_error(x, t)`` in a loop: of no rounds, a number has no detach()."""
        for node in nodes_of(self.scope):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and node.target.id == name:
                around: ast.AST | None = self.source.parents.get(node)
                while isinstance(around, (ast.For, ast.With)):
                    around = self.source.parents.get(around)
                if around is self.scope and all(isinstance(k, Tensor) for k in options(self.analysis.kind(node.value))):
                    return True
        return False

    def _models(self, call: ast.Call) -> tuple[ast.expr, ...]:
        """The links that compute the loss: those that are called before the cut, or whose methods are, or are named.

        What is a part of another of them is left out.
        """
        before = [
            node
            for node in nodes_of(self.scope)
            if getattr(node, "lineno", call.lineno) < call.lineno and not self._is_of_inner_function(node)
        ]
        callees = [node.func for node in before if isinstance(node, ast.Call)]
        objects = [callee.value for callee in callees if isinstance(callee, ast.Attribute)]
        for nodes in (callees, objects, before):
            found = {ast.unparse(node): node for node in nodes if self._is_link(node)}
            if found:
                break
        own = sorted(text for text in found if not any(text.startswith(f"{other}.") for other in found))
        return tuple(found[text] for text in own if text != "self")

    def _is_of_inner_function(self, node: ast.AST) -> bool:
        """Whether an expression begins with a name of a function inside of this one, which is not seen here."""
        root = node
        while isinstance(root, (ast.Call, ast.Attribute)):
            root = root.func if isinstance(root, ast.Call) else root.value
        inner = self.source.enclosing(node, *_FUNCTIONS, ast.Lambda)
        while inner not in (None, self.scope) and isinstance(root, ast.Name):
            assert isinstance(inner, (*_FUNCTIONS, ast.Lambda))
            names = [n for n in nodes_of(inner) if isinstance(n, (ast.Name, ast.arg))]
            bound = {n.arg if isinstance(n, ast.arg) else n.id for n in names if not _reads(n)}
            if root.id in bound:
                return True
            inner = self.source.enclosing(inner, *_FUNCTIONS, ast.Lambda)
        return False

    def _is_link(self, node: ast.AST) -> TypeGuard[ast.expr]:
        return (
            isinstance(node, (ast.Name, ast.Attribute))
            and isinstance(node.ctx, ast.Load)
            and (self.analysis.is_link(self.analysis.kind(node)) or self._is_used_as_link(node))
        )

    def _is_used_as_link(self, node: ast.Name | ast.Attribute) -> bool:
        """Whether a value that nobody knows is called, and has its gradients cleared: it is a link then."""
        if self.analysis.kind(node) != UNKNOWN:
            return False
        text = ast.unparse(node)
        functions = {ast.unparse(n.func) for n in nodes_of(self.scope) if isinstance(n, ast.Call)}
        return text in functions and any(f"{text}.{name}" in functions for name in ("cleargrads", "zerograds"))


def _reads(node: ast.Name | ast.arg) -> bool:
    return isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)


def _receiver(call: ast.Call) -> str:
    """The name that a cut is called on."""
    value = call.func.value if isinstance(call.func, ast.Attribute) else None
    return value.id if isinstance(value, ast.Name) else ""


def made(name: str) -> str:
    """Under which name a tensor goes on with its graph."""
    return f"{name}_with_graph"


def _has_state(analysis: Analysis, files: list[ModuleInfo]) -> bool:
    """Whether links carry tensors from one call to the next."""
    found = False
    for module in files:
        source = module.source
        names = {n.attr for n in source.of(ast.Attribute)} | {n.id for n in source.of(ast.Name)}
        found = found or bool(names & _WITH_STATE)
        for node in source.of(ast.ClassDef):
            cls = analysis.classes.get(node)
            if cls is None or not analysis.derives(cls, "chainer.Link"):
                continue
            found = found or bool(carried(analysis, source, cls))
    return found


def carried(analysis: Analysis, source: Source, cls: ClassInfo) -> list[ast.Attribute]:
    """Where a link reads ``self.h`` that one of its methods computes: the next call may read the last one's."""
    reads: list[ast.Attribute] = []
    computed: set[str] = set()
    cuts = "unchain_backward" in within(cls.node).attributes
    for name, method in cls.methods.items():
        arguments = method.node.args.args
        if name == "__init__" or method.is_static or method.is_classmethod or not arguments:
            continue
        for node in within(method.node).of(ast.Attribute):
            if not (
                isinstance(node.value, ast.Name)
                and node.value.id == arguments[0].arg
                and any(may_hold_graph(k) for k in options(analysis.kind(node)))
            ):
                continue
            if isinstance(node.ctx, ast.Load):
                if _is_filled(source, node):
                    computed.add(node.attr)
                if cuts or not _made_before(source, method.node, node):
                    reads.append(node)
            elif isinstance(node.ctx, ast.Store) and not _is_array(analysis, source, node):
                computed.add(node.attr)
    others = {node.attr for node in reads if _is_another_object(analysis, source, node)}
    return [n for n in reads if n.attr in computed and n.attr not in others and not asked_only(source, n)]


def _is_filled(source: Source, node: ast.Attribute) -> bool:
    """``self.states.append(h)``, ``self.states['h'] = h``: what is held is put into it."""
    outer: ast.AST | None = source.parents.get(node)
    while isinstance(outer, ast.Subscript) and isinstance(outer.ctx, ast.Load):
        outer = source.parents.get(outer)
    if isinstance(outer, ast.Attribute):
        return outer.attr in FILLING and isinstance(source.parents.get(outer), ast.Call)
    return isinstance(outer, ast.Subscript)


def _is_array(analysis: Analysis, source: Source, target: ast.Attribute) -> bool:
    """Whether an attribute is given what an array module makes of something unknown: it has no graph."""
    statement = source.parents.get(target)
    value = statement.value if isinstance(statement, ast.Assign) and statement.targets == [target] else None
    while isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):  # `xp.mean(t).reshape(1, -1)`
        value = value.func.value
        if analysis.kind(value) in (EITHER, XP):
            return True
    return False


def _is_another_object(analysis: Analysis, source: Source, node: ast.Attribute) -> bool:
    """Whether a member is asked for that neither a Variable has nor what holds some: `self.optimizer.alpha`."""
    asked = source.parents.get(node)
    return (
        isinstance(asked, ast.Attribute)
        and f"chainer.Variable.{asked.attr}" not in analysis.rules.rows
        and not any(hasattr(cls, asked.attr) for cls in (list, tuple, dict, collections.deque))
    )


def _made_before(source: Source, method: ast.AST, read: ast.Attribute) -> bool:
    """Whether the very call of the method that reads an attribute has computed it before, on every way to here."""
    child: ast.AST = read
    for parent in source.ancestors(read):
        if isinstance(parent, ast.Lambda) or isinstance(parent, ast.FunctionDef) and parent is not method:
            return False  # it runs later
        for _, block in ast.iter_fields(parent):
            if isinstance(block, list) and child in block:
                before = block[: block.index(child)]
                if any(_assigns(statement, ast.unparse(read)) for statement in before):
                    return True
        if parent is method:
            return False
        child = parent
    return False


def _assigns(statement: ast.AST, target: str) -> bool:
    """Whether a statement assigns to ``self.h``, alone or among others."""
    return isinstance(statement, ast.Assign) and any(
        isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and ast.unparse(node) == target
        for whole in statement.targets
        for node in nodes_of(whole)
    )
