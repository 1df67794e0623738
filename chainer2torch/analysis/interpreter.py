"""The interface that the parts of the abstract interpreter share: its state, its worklist and its operations.

Evaluating an expression can call a function, which feeds parameters, which needs the kinds of attributes, and so on:
the operations need each other. They are declared here without bodies. ``statements.py``, ``expressions.py``,
``calls.py`` and others implement them, ``flow.py`` puts those parts together, and the models of Chainer's classes
(``models/``) get an :class:`Interpreter` and use the same operations.
"""

from __future__ import annotations

import abc
import ast
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from typing import Any

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Dct, Inst, Kind, Lst, Ref, Unknown
from chainer2torch.analysis.lattice import join, join_all, unsure, says_more
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo, ModuleInfo, Project
from chainer2torch.rules.row import Row
from chainer2torch.rules.table import Rules

Unit = FuncInfo | ModuleInfo
"""What is visited as a whole: the body of a function or of a module."""
Environment = dict[str, Kind]
"""The kinds of the names of one scope."""
MAX_VISITS = 24
_SETTLED = 10
_PUT = "put under a key"
COMPUTED = "%"
"""The summary of what a class has under all names: ``getattr(self, 'fc%d' % i)`` reads it."""


class Interpreter(Facts, abc.ABC):
    """The state of the walk over a project, and the operations on it.

    The worklist holds the units to be visited. A unit that reads a summary (a parameter, a return value, an attribute,
    a global name) is visited again when that summary changes.
    """

    def __init__(self, project: Project, rules: Rules, hints: Mapping[str, str] | None = None):
        super().__init__(project, rules)
        self.hints = dict(hints or {})
        # the unit that is being visited, with its scopes (innermost first)
        self.unit: Unit | None = None
        self.module: ModuleInfo
        self.func: FuncInfo | None = None
        self.scopes: tuple[Environment, ...] = ()
        # names that a `global` statement of the unit declares
        self.globals: set[str] = set()
        # during the first walk, which only binds the names of all modules
        self.binding = False
        # until all else is settled, what nothing has reached so far may still come; then it is unknown
        self.patient = True
        self.waiting: dict[Unit, None] = {}
        # inside of a branch that never runs
        self.unreachable: bool = False
        # loops that are being run, innermost last: the names at each `break`, and at each `continue`
        self.loops: list[tuple[list[dict[str, Kind]], list[dict[str, Kind]]]] = []
        self._queue: deque[Unit] = deque()
        self.queued: set[Unit] = set()
        # the functions that are defined inside of a function
        self.nested: dict[FuncInfo, dict[FuncInfo, None]] = {}
        self._visits: dict[Unit, int] = {}
        # who reads a summary; dictionaries instead of sets keep the order, so every run gives the same
        self._put_keys: dict[object, Kind] = {}
        # what is put under the name of an attribute of objects whose class is not known
        self.on_others: dict[str, Kind] = {}
        self._readers: defaultdict[tuple[object, str], dict[Unit, None]] = defaultdict(dict)
        self._sites: dict[ast.AST, int] = {}
        self.joined: set[tuple[ClassInfo, str, Ref]] = set()  # names of libraries that are in an attribute already
        self.statement_methods = self._methods("_stmt_")
        self.expression_methods = self._methods("_expr_")

    def _methods(self, prefix: str) -> dict[type[ast.AST], Callable[[Any], Any]]:
        """The methods for the types of nodes, of all parts of the interpreter."""
        names = (name.removeprefix(prefix) for name in dir(self) if name.startswith(prefix))
        return {getattr(ast, name): getattr(self, prefix + name) for name in names if hasattr(ast, name)}

    # -- worklist --------------------------------------------------------------------------------------------------

    def enqueue(self, unit: Unit) -> None:
        """Schedules a visit."""
        if unit not in self.queued:
            self.queued.add(unit)
            self._queue.append(unit)

    def reads(self, owner: object, name: str) -> None:
        """Notes that the unit being visited depends on a summary."""
        if self.unit is not None:
            self._readers[owner, name][self.unit] = None

    def changed(self, owner: object, name: str) -> None:
        """Schedules all units that have read a summary, because it has changed."""
        for unit in self._readers.get((owner, name), ()):
            self.enqueue(unit)

    def not_yet(self) -> Kind:
        """What is taken out of something empty, or computed from it: it may still be filled.

        An unknown kind would reach parameters and attributes, which never become certain again.
        """
        if not self.patient or self.unit is None:
            return UNKNOWN
        self.waiting[self.unit] = None
        return BOTTOM

    def put_key(self, key: object, kind: Kind) -> None:
        """Notes what the program puts under a key of some dictionary; None: under a key that is not known.

        A dictionary may be known under several names. So it is noted of names (dtypes, functions) for all of them.
        """
        new = join(self._put_keys.get(key), kind) if isinstance(kind, Ref) else None
        if new is not None and new != self._put_keys.get(key):
            self._put_keys[key] = new
            self.changed(_PUT, str(key))

    def held_under(self, key: object, kind: Kind) -> Kind:
        """The value of a key of a dictionary that is written out, with what may have been put there since."""
        if not isinstance(kind, Ref):
            return kind
        self.reads(_PUT, str(key))
        self.reads(_PUT, str(None))
        put = [self._put_keys[k] for k in (key, None) if k in self._put_keys]
        return join_all([kind, *put])

    def bind_in(self, module: ModuleInfo, name: str, kind: Kind) -> None:
        """Joins a value into a name of a module, as those see it that do not run its body."""
        old = module.env.get(name)
        new = join(old, kind)
        if says_more(new, old):
            module.env[name] = new
            self.changed(module, name)

    def grown(self, unit: FuncInfo, old: Kind | None, kind: Kind) -> Kind:
        """A parameter or a result of a unit with one more kind.

        What still changes after many visits becomes UNKNOWN, so that the walk ends; what does not stays as it is. At
        the last visit nothing is certain any more.
        """
        visits = self._visits.get(unit, 0)
        new = join(old, kind)
        if visits >= MAX_VISITS:
            return new if old in (None, kind) else unsure(new)
        return unsure(new) if visits >= _SETTLED and old is not None and new != old else new

    def widened(self, unit: Unit | None) -> bool:
        """Whether a unit has used up its visits: nothing that it gives is known then."""
        return unit is not None and self._visits.get(unit, 0) >= MAX_VISITS

    def pending(self, cls: ClassInfo) -> bool:
        """Whether attributes of a class may still be found: not all of its methods have been visited."""
        return any(self._visits.get(m, 0) == 0 for m in cls.methods.values())

    @abc.abstractmethod
    def visit(self, unit: Unit) -> None:
        """Runs the body of a function or module now."""

    # -- summaries -------------------------------------------------------------------------------------------------

    def site(self, node: ast.Call) -> int:
        """The construction site of a call: the number that identifies the object that it makes."""
        number = self._sites.setdefault(node, len(self._sites) + 1)
        self.makers[number] = node
        return number

    def hint(self, func: FuncInfo, name: str) -> Kind | None:
        """The kind that a trace or a rule's example states for a parameter."""
        if not self.hints:
            return None
        qualified = f"{func.cls.name}.{func.name}.{name}" if func.cls else f"{func.name}.{name}"
        traced = self.hints.get(f"{func.module.path}:{qualified}")
        if traced is not None:  # a trace shows one run only: a call in the code that says otherwise counts more
            kind, fed = parse_spec(traced), func.params.get(name)
            return kind if fed is None or isinstance(fed, Unknown) or join(kind, fed) == fed else None
        text = self.hints.get(qualified)
        return parse_spec(text) if text else None

    @abc.abstractmethod
    def ensure_bound(self, module: ModuleInfo) -> None:
        """Runs the body of a module once, so that its names are known to those who import it."""

    @abc.abstractmethod
    def returned(self, func: FuncInfo, kind: Kind, statement: ast.Return | None = None) -> None:
        """Joins a value into what a function returns."""

    @abc.abstractmethod
    def feed(self, func: FuncInfo, name: str, kind: Kind) -> None:
        """Joins an argument into a parameter."""

    @abc.abstractmethod
    def escape(self, kind: Kind) -> None:
        """Handles a value that goes where its uses cannot be seen: its parameters may then be anything."""

    @abc.abstractmethod
    def set_attribute(self, cls: ClassInfo, name: str, kind: Kind) -> None:
        """Joins a value into an attribute of a class of the project."""

    # -- names and definitions -------------------------------------------------------------------------------------

    @abc.abstractmethod
    def lookup(self, name: str) -> Kind:
        """The kind of a name in the scopes of the current unit."""

    @abc.abstractmethod
    def store(self, name: str, kind: Kind) -> None:
        """Binds a name in the innermost scope (or in the module's, after a ``global`` statement)."""

    @abc.abstractmethod
    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, cls: ClassInfo | None) -> FuncInfo:
        """The summary of a function, made when its definition is visited for the first time."""

    @abc.abstractmethod
    def module_kind(self, found: ModuleInfo | str) -> Kind:
        """A module (or namespace folder) of the project as a value, with its names bound."""

    # -- statements ------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def block(self, body: list[ast.stmt]) -> bool:
        """Runs statements in order; True when control does not reach the end."""

    @abc.abstractmethod
    def statement(self, node: ast.stmt) -> bool:
        """Runs one statement; True when control does not go on after it."""

    @abc.abstractmethod
    def narrow(self, test: ast.expr, truth: bool) -> dict[str, Kind]:
        """Makes the kinds of local names as exact as the answer to a condition allows; gives what they were."""

    @abc.abstractmethod
    def assign(self, target: ast.expr, kind: Kind) -> None:
        """Binds the target of an assignment: a name, a tuple of targets, an attribute or an item."""

    # -- expressions -----------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def expr(self, node: ast.expr) -> Kind:
        """Evaluates an expression and keeps its kind in ``facts``."""

    @abc.abstractmethod
    def binary(self, op: ast.operator, a: Kind, b: Kind) -> Kind:
        """The kind of ``a op b``."""

    @abc.abstractmethod
    def iterated(self, kind: Kind) -> Kind:
        """The kind of the elements when a value is iterated over by ``for``."""

    @abc.abstractmethod
    def item(self, receiver: Kind, node: ast.expr, index: Kind) -> Kind:
        """The kind of ``receiver[node]``."""

    @abc.abstractmethod
    def attribute(self, kind: Kind, name: str) -> Kind:
        """The kind of ``value.name``."""

    @abc.abstractmethod
    def class_attribute(self, cls: ClassInfo, name: str, receiver: Inst | None) -> Kind:
        """An attribute or method of a class of the project, searched through its bases."""

    # -- calls -----------------------------------------------------------------------------------------------------

    @abc.abstractmethod
    def call(
        self,
        callee: Kind,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None = None,
    ) -> Kind:
        """The result of calling a value. ``rest`` is the kind of further arguments (``*batch``, ``**options``)."""

    @abc.abstractmethod
    def call_function(
        self,
        func: FuncInfo,
        receiver: Kind | None,
        args: list[Kind],
        keywords: dict[str, Kind],
        node: ast.Call | None,
        rest: Kind | None = None,
    ) -> Kind:
        """Feeds the parameters of a function of the project and gives what is known of its return value."""

    @abc.abstractmethod
    def method_result(
        self,
        receiver: Inst,
        name: str,
        args: list[Kind],
        node: ast.AST | None,
        keywords: dict[str, Kind] | None = None,
    ) -> Kind:
        """The result of a method of an object outside the project (or inherited from outside)."""

    @abc.abstractmethod
    def row_result(self, row: Row, args: list[Kind], keywords: dict[str, Kind], receiver: Kind | None) -> Kind:
        """What a rule's row says about the result of a call."""

    @abc.abstractmethod
    def list_method(self, receiver: Lst, name: str, args: list[Kind], node: ast.Call | None) -> Kind:
        """The result of a method of a list, which the method may have extended."""

    @abc.abstractmethod
    def dict_method(
        self, receiver: Dct, name: str, args: list[Kind], keywords: dict[str, Kind], node: ast.Call | None
    ) -> Kind:
        """The result of a method of a dictionary, which the method may have extended."""

    @abc.abstractmethod
    def item_set(self, target: ast.Subscript, kind: Kind) -> None:
        """Handles ``x[key] = value``: the dictionary or list ``x`` has changed."""

    @abc.abstractmethod
    def observed(self, call: ast.Call) -> None:
        """Handles ``report_scope(observation)``: the dictionary gets what a model reports."""

    @abc.abstractmethod
    def grown_in_loop(self, name: ast.expr, kind: Kind) -> None:
        """A list that a loop has a name for holds more: so does what the loop goes through."""

    @abc.abstractmethod
    def container_grown(self, target: ast.expr, kind: Kind) -> None:
        """A list or dictionary has become another kind, for all who read it under its name."""

    def imports_chainer(self) -> bool:
        """Whether the module being visited has names of Chainer's."""
        if self.module.stars:
            return True
        names = self.module.env
        if names.of_chainer is None:  # asked at each call, and many files have none
            names.of_chainer = any(map(_is_of_chainer, names.values()))
        return names.of_chainer


def _is_of_chainer(kind: Kind | None) -> bool:
    return isinstance(kind, Ref) and kind.name.split(".")[0] == "chainer"
