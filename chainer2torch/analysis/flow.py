"""The analysis: an abstract interpreter that visits every function of a project until nothing changes any more.

Each function, module body and class attribute has a summary (parameters joined over the call sites, the joined return
value, attributes joined over all assignments). A unit is visited again when a summary that it read has changed, and a
bounded number of times: the cost is linear in the size of the project.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

from chainer2torch.analysis.calls import Calls
from chainer2torch.analysis.containers import Containers
from chainer2torch.analysis.decorators import passed
from chainer2torch.analysis.definitions import Definitions
from chainer2torch.analysis.expressions import Expressions
from chainer2torch.analysis.import_statements import ImportStatements
from chainer2torch.analysis.interpreter import MAX_VISITS, Environment, Unit
from chainer2torch.analysis.kinds import UNKNOWN, Const, Kind
from chainer2torch.analysis.lattice import says_more
from chainer2torch.analysis.mixins import mixed_into_links
from chainer2torch.analysis.models.fixtures import fixtures
from chainer2torch.analysis.models.parameters import parameters
from chainer2torch.analysis.module_index import FuncInfo, ModuleInfo, Project
from chainer2torch.analysis.seeding import Named, first
from chainer2torch.analysis.statements import Statements
from chainer2torch.rules.table import Rules


class Analysis(Statements, Expressions, Calls, Containers, Definitions, ImportStatements):
    """The kinds of all expressions of a project. Call :meth:`run` once; then ask the methods of ``Facts``."""

    def __init__(self, project: Project, rules: Rules, hints: Mapping[str, str] | None = None):
        super().__init__(project, rules, hints)
        # for a function that defines others: its names as those functions last saw them
        self._last_env: dict[FuncInfo, Environment] = {}

    def run(self) -> Analysis:
        """Visits everything until nothing changes any more."""
        self.binding = True
        for module in self.project.modules.values():
            self.ensure_bound(module)
        self.binding = False
        self.mixed = mixed_into_links(self)
        self.forget_hierarchy()
        for module in self.project.modules.values():
            self.enqueue(module)
        self._settle()
        # Functions that nobody calls get their parameters from Chainer's protocols, then those in circles of calls.
        names: Named = {}
        while waiting := [f for f in self.functions.values() if not f.seeded and not f.called]:
            self._seed(first(waiting, names))
        self._seed([f for f in self.functions.values() if not f.seeded])
        self.patient = False
        for unit in self.waiting:
            self.enqueue(unit)
        self._settle()
        self.settle_kinds()
        return self

    def _seed(self, functions: list[FuncInfo]) -> None:
        for func in functions:
            func.seeded = True
            self.enqueue(func)
        self._settle()

    def _settle(self) -> None:
        while self._queue:
            unit = self._queue.popleft()
            self.queued.discard(unit)
            self._visits[unit] = visits = self._visits.get(unit, 0) + 1
            if visits <= MAX_VISITS:
                self.visit(unit)

    def ensure_bound(self, module: ModuleInfo) -> None:
        if not module.bound:
            module.bound = True
            self.visit(module)

    def visit(self, unit: Unit) -> None:
        """Runs the body of a function or module, with the state of the visit around it restored afterwards."""
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
        env = {**parameters(self, func), **passed(self, func), **fixtures(self, func)}
        self.scopes = (env, *func.scopes)
        if isinstance(func.node, ast.Lambda):
            self.returned(func, self.expr(func.node.body))
        else:
            terminated = self.block(func.node.body)
            if not terminated and not func.is_generator:
                self.returned(func, Const(None))
            if func in self.nested and env != self._last_env.get(func):
                self._last_env[func] = dict(env)
                for inner in self.nested[func]:
                    self.enqueue(inner)

    def forget(self) -> None:
        """Takes everything apart when nobody asks any more: it hangs together in circles, which are not freed alone."""
        for unit in (*self.functions.values(), *self.classes.values(), *self.project.modules.values()):
            vars(unit).clear()
        vars(self).clear()

    def returned(self, func: FuncInfo, kind: Kind, statement: ast.Return | None = None) -> None:
        old, held = func.returns, func.gives.get(statement) if statement is not None else None
        new = UNKNOWN if self.widened(func) else self.grown(func, old, kind)
        one = UNKNOWN if self.widened(func) else self.grown(func, held, kind)
        if statement is not None:
            func.gives[statement] = one
        if says_more(new, old) or statement is not None and says_more(one, held):
            func.returns = new
            self.changed(func, "return")
