"""Walks every function of the project with an environment of kinds, until the summaries no longer change.

Each function, module body and class attribute has a summary (parameters joined over the call sites, the joined return
value, attributes joined over all assignments). A unit is visited again when a summary that it read has changed, and a
bounded number of times: the cost is linear in the size of the project.
"""

from __future__ import annotations

import ast
import builtins
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from chainer2torch.analysis.models import protocols
from chainer2torch.analysis.calls import Calls
from chainer2torch.analysis.containers import Containers
from chainer2torch.analysis.decorators import changes_meaning, decorator_name, gives_back, keeps_meaning, passed
from chainer2torch.analysis.expressions import Expressions
from chainer2torch.analysis.kinds import (
    BOTTOM,
    UNKNOWN,
    Class,
    Const,
    Dct,
    Folder,
    Func,
    Inst,
    Kind,
    Lst,
    Mod,
    Ref,
    Tensor,
    Unknown,
    join,
    options,
    parse_spec,
)
from chainer2torch.analysis.libraries import Libraries
from chainer2torch.analysis.mixins import mixed_into_links
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo, Project
from chainer2torch.analysis.statements import Statements
from chainer2torch.rules.table import Rules

Unit = FuncInfo | ModuleInfo
Answer = TypeVar("Answer")
_MAX_VISITS = 10
_BUILTINS = frozenset(dir(builtins))


class Analysis(Statements, Expressions, Calls, Containers):
    """The kinds of all expressions of a project. Run once; then ask :meth:`kind`."""

    def __init__(self, project: Project, rules: Rules, hints: Mapping[str, str] | None = None):
        self.project = project
        self.rules = rules
        self.libraries = Libraries.of(rules.libraries, project.modules)
        self.hints = dict(hints or {})
        self.facts: dict[ast.AST, Kind] = {}
        self.bindings: dict[ast.AST, Kind] = {}  # what each import alias binds
        self.objects: dict[int, dict[str, Kind]] = {}
        self.makers: dict[int, ast.Call] = {}
        self.layer_inputs: dict[int, Kind] = {}
        self.layer_calls: dict[int, set[ast.Call]] = {}
        self.classes: dict[ast.ClassDef, ClassInfo] = {}
        self.functions: dict[ast.AST, FuncInfo] = {}
        self._sites: dict[ast.AST, int] = {}
        self._readers: dict[tuple[object, str], dict[Unit, None]] = {}  # in their order: the same in every run
        self._queue: deque[Unit] = deque()
        self._queued: set[Unit] = set()
        self._visits: dict[Unit, int] = {}
        self._nested: dict[FuncInfo, dict[FuncInfo, None]] = {}  # the functions that are defined in a function
        self._last_env: dict[FuncInfo, dict[str, Kind]] = {}  # and the names that they saw there
        self.too_deep: set[str] = set()  # files with expressions that are nested too deeply
        self.statement_methods = self._methods("_stmt_")
        self.expression_methods = self._methods("_expr_")
        self._answers: dict[Callable[[Analysis], Any], Any] = {}
        self._mros: dict[str | ClassInfo, list[str | ClassInfo]] = {}
        self._derived: dict[tuple[str | ClassInfo, str], bool] = {}
        self.mixed: dict[ClassInfo, str] = {}  # Chainer's class of what the objects of a mixin are
        self.binding = False
        self.unreachable: bool = False  # inside of a branch that never runs
        self.unit: Unit | None = None
        self.module: ModuleInfo
        self.scopes: tuple[dict[str, Kind], ...] = ()
        self.func: FuncInfo | None = None
        self.globals: set[str] = set()

    def _methods(self, prefix: str) -> dict[type[ast.AST], Callable[[Any], Any]]:
        """The methods for the types of nodes, of this class and of those that are mixed in."""
        names = (name.removeprefix(prefix) for name in dir(self) if name.startswith(prefix))
        return {getattr(ast, name): getattr(self, prefix + name) for name in names if hasattr(ast, name)}

    # -- driver ----------------------------------------------------------------------------------------------------

    def run(self) -> Analysis:
        """Visits everything until nothing changes any more."""
        self.binding = True
        for module in self.project.modules.values():
            self.ensure_bound(module)
        self.binding = False
        self.mixed = mixed_into_links(self)
        self._mros.clear()
        self._derived.clear()
        for module in self.project.modules.values():
            self.enqueue(module)
        self._settle()
        # Functions that nobody calls get their parameters from Chainer's protocols, then those in circles of calls.
        for called_too in (False, True):
            for func in [f for f in self.functions.values() if not f.seeded and (called_too or not f.called)]:
                func.seeded = True
                self.enqueue(func)
            self._settle()
        return self

    def _settle(self) -> None:
        while self._queue:
            unit = self._queue.popleft()
            self._queued.discard(unit)
            self._visits[unit] = visits = self._visits.get(unit, 0) + 1
            if visits <= _MAX_VISITS:
                self._visit(unit)

    def kind(self, node: ast.AST) -> Kind:
        """What is known of the value of an expression."""
        kind = self.facts.get(node, UNKNOWN)
        return UNKNOWN if kind is BOTTOM else kind

    def enqueue(self, unit: Unit) -> None:
        """Schedules a visit."""
        if unit not in self._queued:
            self._queued.add(unit)
            self._queue.append(unit)

    def reads(self, owner: object, name: str) -> None:
        """Notes that the unit being visited depends on a summary."""
        if self.unit is not None:
            self._readers.setdefault((owner, name), {})[self.unit] = None

    def changed(self, owner: object, name: str) -> None:
        """Schedules whoever has read a summary that has changed."""
        for unit in self._readers.get((owner, name), ()):
            self.enqueue(unit)

    def ensure_bound(self, module: ModuleInfo) -> None:
        """Runs the body of a module once, so that its names are there for those who import it."""
        if not module.bound:
            module.bound = True
            self._visit(module)

    def widened(self, unit: Unit | None) -> bool:
        """Whether a unit has used up its visits; its results are then no longer trusted."""
        return unit is not None and self._visits.get(unit, 0) >= _MAX_VISITS

    def _visit(self, unit: Unit) -> None:
        saved = (self.unit, getattr(self, "module", None), self.scopes, self.func, self.globals)
        self.unit, self.globals = unit, set()
        try:
            if isinstance(unit, ModuleInfo):
                # The body sees its names in order; functions see any value that a name ever has.
                self.module, self.scopes, self.func = unit, ({}, unit.env), None
                self.block(unit.tree.body)
            else:
                self._visit_function(unit)
        except RecursionError:
            self.too_deep.add(self.module.path)
        finally:
            self.unit, self.module, self.scopes, self.func, self.globals = saved  # type: ignore[assignment]

    def _visit_function(self, func: FuncInfo) -> None:
        self.module, self.func = func.module, func
        env = {**protocols.parameters(self, func), **passed(self, func)}
        self.scopes = (env, *func.scopes)
        if isinstance(func.node, ast.Lambda):
            self.returned(func, self.expr(func.node.body))
        else:
            terminated = self.block(func.node.body)
            if not terminated and not func.is_generator:
                self.returned(func, Const(None))
            if func in self._nested and env != self._last_env.get(func):
                self._last_env[func] = dict(env)
                for inner in self._nested[func]:
                    self.enqueue(inner)

    def returned(self, func: FuncInfo, kind: Kind) -> None:
        """Joins a value into what a function returns."""
        old = func.returns
        new = UNKNOWN if self.widened(func) else join(old, kind)
        if new != old:
            func.returns = new
            self.changed(func, "return")

    # -- names -----------------------------------------------------------------------------------------------------

    def lookup(self, name: str) -> Kind:
        """The kind of a name in the scopes of the current unit."""
        for env in self.scopes:
            if name in env:
                if self.func is None and env is self.scopes[-2] and isinstance(env[name], (Dct, Lst)):
                    self.reads(self.module, name)  # functions may put something in
                    env = self.module.env if name in self.module.grown else env
                elif env is self.module.env:
                    self.reads(self.module, name)
                return env[name]
        for star in self.module.stars:
            dotted = self.rules.canonical(f"{star}.{name}")
            if dotted in self.rules.rows or self.rules.is_namespace(dotted):
                return Ref(dotted)
        if name in _BUILTINS:
            return Ref(f"builtins.{name}")
        self.reads(self.module, name)
        return BOTTOM if self.binding else UNKNOWN

    def store(self, name: str, kind: Kind) -> None:
        """Binds a name in the innermost scope (or the module's, after a ``global`` statement)."""
        at_top = self.func is None and len(self.scopes) == 2
        if name not in self.globals:
            self.scopes[0][name] = kind
        if (at_top or name in self.globals) and not self.unreachable:
            env = self.module.env
            new = join(env.get(name), kind)
            if new != env.get(name):
                env[name] = new
                self.changed(self.module, name)

    def site(self, node: ast.Call) -> int:
        """The number of a call that makes an object."""
        number = self._sites.setdefault(node, len(self._sites) + 1)
        self.makers[number] = node
        return number

    # -- definitions -----------------------------------------------------------------------------------------------

    def _stmt_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        info = self.define(node, None)
        self.store(node.name, self._decorated(node, Func(info)))

    _stmt_AsyncFunctionDef = _stmt_FunctionDef

    def _decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, made: Kind) -> Kind:
        """What the decorators of a function or class make of it; those that register it are called with it."""
        kinds = [self._visited_now(d) for d in node.decorator_list]
        for registering in filter(None, map(gives_back, kinds)):
            self.call_function(registering, None, [made], {}, None)
            if registering in self._queued:  # at once: who asks the registry next must not find it empty
                self._visit(registering)
        if all(
            decorator_name(self, d) is not None or keeps_meaning(self, d, kind)
            for d, kind in zip(node.decorator_list, kinds)
        ):
            return made
        return BOTTOM if BOTTOM in kinds else UNKNOWN  # what makes the decorator has not been visited yet

    def _visited_now(self, decorator: ast.expr) -> Kind:
        """The kind of a decorator; a function of the project that makes it is visited at once."""
        kind = self.expr(decorator)
        maker = self.facts.get(decorator.func) if isinstance(decorator, ast.Call) else None
        if kind is BOTTOM and isinstance(maker, Func) and maker.info in self._queued:
            self._visit(maker.info)
            kind = self.expr(decorator)
        return kind

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, cls: ClassInfo | None) -> FuncInfo:
        """The summary of a function, made at the first sight of its definition."""
        info = self.functions.get(node)
        scopes = self.scopes if cls is None else self.scopes[1:]
        if self.func is None:  # not the names of the module's body in their order: see _visit
            scopes = tuple(scope for scope in scopes if scope is not self.scopes[-2])
        if info is None:
            info = FuncInfo(getattr(node, "name", "<lambda>"), node, self.module, cls, scopes)
            info.is_generator = node in self.module.source.generators
            if not isinstance(node, ast.Lambda):
                names = [d.id if isinstance(d, ast.Name) else getattr(d, "attr", "") for d in node.decorator_list]
                info.is_property = any(name.endswith("property") for name in names)  # cached_property ...
                info.is_static = "staticmethod" in names
                info.is_classmethod = "classmethod" in names
            self.functions[node] = info
            self.enqueue(info)
            if self.func is not None:
                self._nested.setdefault(self.func, {})[info] = None
        elif info.scopes is not scopes:
            info.scopes = scopes
        a = node.args
        for default in [*a.defaults, *filter(None, a.kw_defaults)]:
            self.expr(default)
        for p in [*a.posonlyargs, *a.args, *a.kwonlyargs, *filter(None, [a.vararg, a.kwarg])]:
            if p.annotation is not None:
                self.expr(p.annotation)
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            self.expr(node.returns)
        return info

    def _stmt_ClassDef(self, node: ast.ClassDef) -> None:
        info = self.classes.get(node)
        if info is None:
            info = self.classes[node] = ClassInfo(node.name, node, self.module)
        bases = [self.expr(base) for base in node.bases]
        if bases != info.bases:
            info.bases = bases
            self._mros.clear()
            self._derived.clear()
        for keyword in node.keywords:
            self.expr(keyword.value)
        self.store(node.name, self._decorated(node, Class(info)))
        outer = self.scopes
        body_env: dict[str, Kind] = {}
        self.scopes = (body_env, *outer)
        for statement in node.body:
            if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
                method = self.define(statement, info)
                decorators = [self.expr(decorator) for decorator in statement.decorator_list]
                method.is_changed = any(map(changes_meaning, decorators))
                if statement.name not in info.methods or not _is_setter(statement):
                    info.methods[statement.name] = method
                body_env[statement.name] = Func(method)
            else:
                self.statement(statement)
        self.scopes = outer
        for name, kind in body_env.items():
            if name not in info.methods:
                self.set_attribute(info, name, kind)

    # -- imports ---------------------------------------------------------------------------------------------------

    def _stmt_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            found = self.project.find(alias.name, self.module)
            if alias.asname:
                kind = self.module_kind(found) if found is not None else Ref(self.rules.canonical(alias.name))
                self.store(alias.asname, kind)
            else:
                top = alias.name.split(".")[0]
                first = self.project.find(top, self.module) if found is not None else None
                kind = self.module_kind(first) if first is not None else Ref(self.rules.canonical(top))
                self.store(top, kind)
                if found is not None:
                    self.module_kind(found)
            self.bindings[alias] = kind

    def _stmt_ImportFrom(self, node: ast.ImportFrom) -> None:
        name = node.module or ""
        if node.level:
            found = self.project.find_relative(node.level, name, self.module)
        else:
            found = self.project.find(name, self.module)
        source = self.module_kind(found) if found is not None else None
        for alias in node.names:
            if alias.name == "*":
                self._import_star(source, name, node.level)
                continue
            if source is not None:
                kind = self.attribute(source, alias.name)
            elif node.level:
                kind = UNKNOWN
            else:
                kind = Ref(self.rules.canonical(f"{name}.{alias.name}"))
            self.bindings[alias] = kind
            self.store(alias.asname or alias.name, kind)

    def _import_star(self, source: Kind | None, name: str, level: int) -> None:
        if isinstance(source, Mod):
            self.reads(source.info, "*")
            for key, kind in list(source.info.env.items()):
                if not key.startswith("_"):
                    self.store(key, kind)
            self.module.stars.extend(s for s in source.info.stars if s not in self.module.stars)
        elif not level and name not in self.module.stars:
            self.module.stars.append(name)

    def module_kind(self, found: ModuleInfo | str) -> Kind:
        """A module of the project, with its names bound."""
        if isinstance(found, ModuleInfo):
            self.ensure_bound(found)
            return Mod(found)
        return Folder(found)

    def hint(self, func: FuncInfo, name: str) -> Kind | None:
        """The kind that a trace or a rule's example states for a parameter."""
        qualified = f"{func.cls.name}.{func.name}.{name}" if func.cls else f"{func.name}.{name}"
        traced = self.hints.get(f"{func.module.path}:{qualified}")
        if traced is not None:  # one run of the program: what the code says of other calls counts more
            kind, fed = parse_spec(traced), func.params.get(name)
            return kind if fed is None or isinstance(fed, Unknown) or join(kind, fed) == fed else None
        text = self.hints.get(qualified)
        return parse_spec(text) if text else None

    def once(self, question: Callable[[Analysis], Answer]) -> Answer:
        """The answer to a question about the whole project, which every file asks: found once."""
        if question not in self._answers:
            self._answers[question] = question(self)
        answer: Answer = self._answers[question]
        return answer

    def pending(self, cls: ClassInfo) -> bool:
        """Whether attributes of a class may still be found: not all of its methods have been visited."""
        return any(self._visits.get(m, 0) == 0 for m in cls.methods.values())

    def is_link(self, kind: Kind) -> bool:
        """Whether a value is an instance of chainer.Link (which migrates to torch.nn.Module)."""
        return any(isinstance(k, Inst) and self.derives(k.cls, "chainer.Link") for k in options(kind))

    def derives(self, cls: str | ClassInfo, base: str) -> bool:
        """Whether a class, of the project or of Chainer, derives from a Chainer class."""
        found = self._derived.get((cls, base))
        if found is None:
            found = self._derived[cls, base] = any(
                isinstance(b, str) and self.rules.is_subclass(b, base) for b in self.mro(cls)
            )
        return found

    def mro(self, cls: str | ClassInfo) -> list[str | ClassInfo]:
        """A class and its bases in the order in which attributes are searched (depth first)."""
        if cls in self._mros:
            return self._mros[cls]
        result = self._mros[cls] = []
        stack: list[str | ClassInfo] = [cls]
        while stack:
            current = stack.pop()
            if current in result:
                continue
            result.append(current)
            if isinstance(current, ClassInfo):
                parents = [o for base in current.bases for o in options(base)]
                stack += [
                    p.info if isinstance(p, Class) else p.name for p in reversed(parents) if isinstance(p, (Class, Ref))
                ]
        if isinstance(cls, ClassInfo) and cls in self.mixed:  # behind all others: it stands for what is beside it
            result.append(self.mixed[cls])
        return result


def _is_setter(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(isinstance(d, ast.Attribute) and d.attr in ("setter", "deleter") for d in node.decorator_list)


__all__ = ["Analysis", "Tensor"]
