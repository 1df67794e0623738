"""Every Chainer reference of a file gets exactly one state, and an edit where it changes."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable
from typing import Any

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Func,
    Inst,
    Kind,
    Ref,
    Tensor,
    Union,
    options,
)
from chainer2torch.analysis.module_index import ClassInfo, ModuleInfo
from chainer2torch.analysis.scopes import Scope
from chainer2torch.plan.passes import older_versions, operators, overridden_methods, starred, values
from chainer2torch.plan.edits import Comment, Operand, Replace, Site, StatementEdit, Wrap
from chainer2torch.plan.passes.flatten import flatten_input, flattens
from chainer2torch.plan.passes.graphs import GraphUse, graph_use
from chainer2torch.plan.match import (
    UNDECIDED,
    Question,
    Undecided,
    choose,
    constant,
    constants_of,
    names_of,
    parsed,
    renames,
)
from chainer2torch.plan.file_names import FileNames
from chainer2torch.plan.members import Members
from chainer2torch.plan.residue import imported_by_call
from chainer2torch.plan.skips import Skipped
from chainer2torch.plan.stages import MODELS, Stages, later
from chainer2torch.rules.table import Row
from chainer2torch.rules.signature import BindError, Bound

Edit = Replace | StatementEdit
HardCase = Callable[["Plan", ast.AST, Row], None]


@dataclasses.dataclass
class Options:
    """What the user may choose."""

    init: str = "chainer"
    chainer_version: int | None = None  # the major version that the files were written for; None: their words tell
    pinned: int | None = None  # the major version that the project's requirements ask for, for files without a sign
    kinds: bool = False  # also list what was inferred
    parallel_updater: str = "ddp"  # or "single": what divides a batch over devices works on the first of them
    only: frozenset[str] = frozenset()  # the parts of the project that are migrated; none named: all


class Plan(FileNames, Members):
    """The decisions for one file."""

    def __init__(self, analysis: Analysis, module: ModuleInfo, hard_cases: dict[str, HardCase], choices: Options):
        self.analysis = analysis
        self.rules = analysis.rules
        self.module = module
        self.source = module.source
        self.choices = choices
        self.hard_cases = hard_cases
        self.skipped = Skipped.of(module.source)  # what the user keeps as it is
        self.edits: dict[ast.AST, Edit] = {}
        self.wraps: dict[ast.AST, Wrap] = {}
        self.initialized: set[ast.AST] = set()  # layers that a line of their own initialises
        self.extra_edits: list[StatementEdit] = []
        self.sites: dict[ast.AST, Site] = {}
        self.stages = Stages.of(analysis, choices.only)
        self.with_models = MODELS in self.stages.chosen  # tensors, functions and links change in this run
        self.kept: dict[ast.AST, Site] = {}  # references that another stage migrates
        self.consumed: set[ast.AST] = set()  # root names of references that the edits replace
        self.needed: set[tuple[Scope, str]] = set()  # names that texts use which run as code
        self.removed: set[ast.AST] = set()  # subtrees that disappear with an edit
        self.graphs: dict[ast.AST, dict[ast.AST, GraphUse]] = {}  # what each function does with its graphs
        self.templates: dict[ast.AST, str] = {}  # the case chosen for a call
        self.taken: frozenset[str] = frozenset()  # names that other files go on importing from this one

    # -- recording -------------------------------------------------------------------------------------------------

    def mark(self, node: ast.AST, row: Row | None, symbol: str, state: str, message: str = "", code: str = "") -> None:
        """Gives a reference its state; the first decision stands. Nothing is exact without a rule that says so."""
        if node in self.sites:
            return
        assert state != "exact" or row or self.rules.of_symbol(symbol, code), f"{symbol} is exact, and no rule says so"
        self.sites[node] = Site.at(node, symbol, state, code or (row.code if row else "C2T090"), message)
        if state in ("manual", "review"):
            self._comment(node, symbol, code or (row.code if row else "C2T090"), message, row)

    def _comment(self, node: ast.AST, symbol: str, code: str, message: str, row: Row | None) -> None:
        what = message or "look at this line"
        if row is not None and row.next and row.next not in what:
            what = f"{what.rstrip('.')}; {row.next}"
        text = f"# TODO(chainer2torch {code}): {symbol}: {' '.join(what.split())}"
        at = self.source.span(node)[0] if hasattr(node, "end_lineno") else None
        self.extra_edits.append(Comment(self.source.start(self._commented(node)), text, at))

    def _commented(self, node: ast.AST) -> ast.stmt:
        """The statement above which a marker can stand: a definition's decorators come before it."""
        return self.source.line_statement(node)

    def use(self, node: ast.expr) -> None:
        """The edit replaces this reference: its root name no longer keeps the import alive."""
        root: ast.AST = node
        while isinstance(root, (ast.Attribute, ast.Call, ast.Subscript)):
            root = root.func if isinstance(root, ast.Call) else root.value
        self.consumed.add(root)

    # -- context ---------------------------------------------------------------------------------------------------

    def training(self, node: ast.AST) -> str:
        """How code at this place learns whether it is training.

        A function that a constructor makes goes along when the module is copied, and would still ask the first one.
        """
        inner = False
        for ancestor in self.source.ancestors(node):
            inner = inner or isinstance(ancestor, ast.Lambda)
            if isinstance(ancestor, (ast.FunctionDef, ast.AsyncFunctionDef)):
                info = self.analysis.functions.get(ancestor)
                if info is None or info.cls is None:
                    inner = True
                else:
                    if inner and ancestor.name == "__init__":
                        break
                    if (
                        not info.is_static
                        and not info.is_classmethod
                        and ancestor.args.args
                        and self.analysis.derives(info.cls, "chainer.Link")
                    ):
                        return f"{ancestor.args.args[0].arg}.training"
                    break
        return "compat.is_training()"

    def enclosing_class(self, node: ast.AST) -> ClassInfo | None:
        """The class of the project in whose body the node stands."""
        found = self.source.enclosing(node, ast.ClassDef)
        return self.analysis.classes.get(found) if isinstance(found, ast.ClassDef) else None

    def is_instance(self, kind: Kind, base: str) -> bool | Undecided:
        """Three-valued ``isinstance`` for guards."""
        if isinstance(kind, Inst):
            return self.analysis.derives(kind.cls, base)
        return UNDECIDED if kind == UNKNOWN else False

    # -- walking ---------------------------------------------------------------------------------------------------

    def run(self) -> Plan:
        """Visits every expression of the file."""
        for node in self.source.nodes:
            if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
                visit = _OPERATIONS.get(type(node))
                if visit is not None and self.with_models:
                    visit(self, node)
                continue
            kind = self.analysis.kind(node)
            reference = self.reference(node, kind) if isinstance(kind, Ref) else None
            if reference is not None:
                self._reference(node, reference)
            elif isinstance(kind, Union) and isinstance(node, (ast.Name, ast.Attribute)):
                self._ambiguous(node, kind)
                if isinstance(node, ast.Attribute):
                    self._member(node)
            elif isinstance(node, ast.Attribute):
                self._member(node)
            elif isinstance(node, ast.Call) and self.with_models:
                self._object_call(node)
        return self

    def reference(self, node: ast.AST, kind: Kind | None = None) -> str | None:
        """The dotted Chainer name that a Name or Attribute is, when no larger expression around it is one."""
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return None
        kind = self.analysis.kind(node) if kind is None else kind
        if not isinstance(kind, Ref) or kind.name not in self.analysis.libraries:
            return None
        if isinstance(node.ctx, ast.Store):
            return (
                kind.name
                if isinstance(node, ast.Attribute) and isinstance(self.analysis.kind(node.value), Ref)
                else None
            )
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.Attribute) and parent.value is node:
            outer = self.analysis.kind(parent)
            if isinstance(outer, Ref) and outer.name in self.analysis.libraries:
                return None
        return kind.name if self.names_library(node) else None

    def _ambiguous(self, node: ast.Name | ast.Attribute, kind: Union) -> None:
        """A name that is bound more than once, to something of Chainer's among others."""
        names = self.chainer_names(kind)
        parent = self.source.parents.get(node)
        inner = isinstance(parent, ast.Attribute) and self.chainer_names(self.analysis.kind(parent))
        if names and not inner and isinstance(node.ctx, ast.Load) and self.names_library(node):
            self.mark(
                node,
                self.rules.rows.get(names[0]),
                names[0],
                "manual",
                f"the name stands for different things: {' or '.join(names)}, or something else",
            )

    # -- references by name ----------------------------------------------------------------------------------------

    def _reference(self, node: ast.expr, name: str) -> None:
        if node in self.sites:
            return
        row = self.rules.rows.get(name)
        if later(self, node, row, name):
            return
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.pattern):  # a pattern is no expression: nothing can be put in its place
            self.mark(node, row, name, "manual", "in a pattern of `match`; write this case as an `if`", "C2T011")
            return
        if row is None:
            library = self.rules.library(name)
            if library is None:
                asked = (
                    isinstance(parent, ast.Call)
                    and len(parent.args) > 1
                    and parent.args[0] is node
                    and self.analysis.kind(parent.func) == Ref("builtins.getattr")
                )
                self.mark(node, None, name, "manual", _BY_NAME if asked else "no rule for this name")
            else:
                self.mark(node, None, name, "manual", library.advice, "C2T091")
            return
        if (
            row.state == "review"
            and isinstance(parent, ast.Call)
            and node in parent.args
            and self.analysis.kind(parent.func) == Ref("builtins.hasattr")
        ):
            self.mark(node, None, name, "manual", "which names it has depends on the version", row.code)
            return
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Del):
            self.mark(node, None, name, "manual", "deleted here; nothing of PyTorch's is deleted instead", row.code)
            return
        if row.function is not None:
            self.hard_cases[row.function](self, node, row)
        elif isinstance(parent, ast.Call) and parent.func is node and row.signature is not None:
            self.call(parent, row, node)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            self._store(node, row)
        elif row.signature is None and row.cases:
            self._constant(node, row)
        else:
            self.value(node, row)

    def _constant(self, node: ast.expr, row: Row) -> None:
        self.replace(node, row.cases[0].torch, {})
        self.use(node)
        self.mark(node, row, row.name, row.state, row.note)

    def value(self, node: ast.expr, row: Row) -> None:
        """A name that is passed on as a value: a base class, an activation, a loss function."""
        if row.value is None:
            reason = (
                row.note
                if row.state == "manual"
                else "passed as a value; no torch object means the same for every call"
            )
            self.mark(node, row, row.name, "manual", reason)
            return
        self.as_value(node, node, row)

    def as_value(self, node: ast.expr, site: ast.expr, row: Row) -> None:
        """What stands for the name itself; ``site`` is where it is told."""
        old = self.rules.old.get(row.name)
        changed = old if old is not None and self.version <= old.until else None
        other = changed is None and old is not None and older_versions.differs_as_value(self, row, old)
        changed = old if other else changed
        self.replace(node, (changed and changed.value) or row.value or "", {})
        self.use(site)
        if changed is None or changed.value is not None and not other:
            self.mark(site, row, row.name, row.state, row.note)
        else:  # its template says what is different, a bare name does not
            self.mark(
                site,
                changed,
                row.name,
                "review",
                changed.note
                or "in version 1 this had other defaults; see to what it is called with, and in which mode",
            )

    # -- calls -----------------------------------------------------------------------------------------------------

    def call(self, call: ast.Call, row: Row, site: ast.expr, receiver: ast.expr | None = None) -> None:
        """A call of a name that has a rule."""
        assert row.signature is not None
        symbol = row.name
        if row.state == "manual":
            self.mark(site, row, symbol, "manual", row.note)
            return
        try:
            reading = older_versions.read(self, call, row, receiver)
        except BindError as error:
            self.mark(site, row, symbol, "manual", f"the call does not fit Chainer's signature: {error}", "C2T010")
            return
        if reading.doubt:
            self.mark(site, row, symbol, "manual", reading.doubt, "C2T010")
            return
        row, bound = reading.row, reading.bound
        assert row.signature is not None
        if bound.starred:
            starred.call(self, call, row, site, receiver)
            return
        question = Question(
            row, bound, self.analysis.kind, self.is_instance, self.input_kind(call), lambda: graph_use(self, call)
        )
        template, undecided = choose(question)
        if template is None:
            if row.cases or row.fallback:
                why = (
                    "what it becomes depends on arguments that are not known here"
                    if undecided
                    else "these arguments have no counterpart"
                )
                self.mark(site, row, symbol, "manual", f"{why}. {row.note}".strip())
            else:
                self.mark(site, row, symbol, row.state, row.note)
                if row.value is not None and receiver is None:  # same call under another name
                    self.replace(call.func, row.value, {})
                    self.use(site)
            return
        lost = [name for name in bound.variadic(row.signature) if name not in names_of(template)]
        if lost and not self._keeps_spelling(call, template, receiver):
            self.mark(site, row, symbol, "manual", f"the rule has no place for what is passed as `{lost[0]}`", "C2T010")
            return
        self.templates[call] = template
        if (
            receiver is None
            and row.value is not None
            and reading.as_written
            and renames(template, row.value, frozenset(bound.given))
        ):
            self.edits[call] = Replace(self.source.span(call), row.value, {}, callee_only=True)
        elif not self._keeps_spelling(call, template, receiver):
            self.edits[call] = self._replacement(call, row, template, question)
        if receiver is None:
            self.use(site)
        self.mark(site, row, symbol, row.state, row.note if row.state != "exact" else "")

    @staticmethod
    def _keeps_spelling(call: ast.Call, template: str, receiver: ast.expr | None) -> bool:
        """Whether the template is the very call of the source: same method, same arguments under the same names."""
        if (
            receiver is None
            or not isinstance(call.func, ast.Attribute)
            or not template.startswith(f"self.{call.func.attr}(")
        ):
            return False
        tree = parsed(template)
        if not isinstance(tree, ast.Call) or ast.unparse(tree.func) != f"self.{call.func.attr}":
            return False
        plain = all(isinstance(a.value if isinstance(a, ast.Starred) else a, ast.Name) for a in tree.args)
        same = {k.arg for k in tree.keywords if isinstance(k.value, ast.Name) and k.value.id == k.arg}
        return (
            plain
            and len(same) == len(tree.keywords)
            and all(k.arg in same for k in call.keywords)
            and (len(call.args) <= len(tree.args) or any(isinstance(a, ast.Starred) for a in tree.args))
        )

    def input_kind(self, call: ast.Call) -> Kind | None:
        """What reaches the layer that this call makes."""
        number = self.analysis.site(call)
        if flattens(self.analysis, number):
            return Tensor(2)  # its calls flatten
        return self.analysis.layer_inputs.get(number)

    def _replacement(self, call: ast.Call, row: Row, template: str, q: Question) -> Replace:
        assert row.signature is not None
        operands = {name: Operand(self.source.span(node)) for name, node in q.bound.given.items()}
        for name, default in row.signature.defaults.items():
            operands.setdefault(name, Operand(code=default))
        if (held := overridden_methods.instance(self, q.bound.given.get("self"), template)) is not None:
            operands["self"] = held
        constants = {}
        for text in constants_of(template):
            value = constant(text, q)
            if value is not UNDECIDED:
                constants[text] = repr(round(value, 12) if isinstance(value, float) else value)
        long = frozenset(
            n for n in q.bound.given if all(isinstance(k, Tensor) and k.dtype == "int64" for k in q.kinds(n))
        )
        return Replace(
            self.source.span(call),
            template,
            operands,
            row.drop,
            constants,
            long,
            self.training(call),
            self._needs_parentheses(call),
            extra=tuple(Operand(self.source.span(a)) for a in q.bound.extra_args),
            extra_keywords=tuple((k, Operand(self.source.span(v))) for k, v in q.bound.extra_keywords),
        )

    def replace(self, node: ast.expr, template: str, operands: dict[str, Operand]) -> None:
        """Replaces an expression by a template."""
        self.edits[node] = Replace(
            self.source.span(node),
            template,
            operands,
            training=self.training(node),
            parenthesize=self._needs_parentheses(node),
        )

    def _needs_parentheses(self, node: ast.AST) -> bool:
        parent = self.source.parents.get(node)
        if isinstance(parent, ast.Call):
            return parent.func is node
        return not isinstance(parent, (ast.stmt, ast.keyword, ast.Tuple, ast.List, ast.Dict, ast.Starred))

    def operand(self, node: ast.AST) -> Operand:
        """A node of the source as an operand of a template."""
        return Operand(self.source.span(node))

    def _object_call(self, node: ast.Call) -> None:
        """Calls of objects (a layer, a model) and conversions of a tensor to a number."""
        callee = self.analysis.kind(node.func)
        if isinstance(callee, Ref) and callee.name in ("builtins.float", "builtins.int"):
            values.to_number(self, node, callee.name[9:])
        elif self.era == 1 and callee == Ref("builtins.len"):
            older_versions.number_of_elements(self, node)
        elif imported := imported_by_call(node, self.analysis.libraries):
            self.mark(node, None, imported, "manual", "imported by name at run time; its uses are not known here")
        else:
            if any(isinstance(k, Inst) and flattens(self.analysis, k.site) for k in options(callee)):
                flatten_input(self, node)
            older_versions.call_of_link(self, node)


_BY_NAME = (
    "which of its names is wanted is known at run time only; write a dict of those that may be, "
    "`{'relu': F.relu, ...}[name]`: each of them is migrated then"
)
_OPERATIONS: dict[type[ast.AST], Callable[[Plan, Any], None]] = {
    ast.BinOp: operators.operator,
    ast.AugAssign: operators.in_place,
    ast.Assign: operators.store,
}


__all__ = ["Func", "Options", "Plan", "Bound"]
