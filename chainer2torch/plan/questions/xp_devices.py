"""Which array modules become a ``torch.device`` in the native style, and what they are the module of.

``xp = cuda.get_array_module(x)`` is read as "the device of x" where everything that is done with ``xp`` has a form in
torch: ``xp.zeros(3)`` is ``torch.zeros(3, dtype=torch.float64, device=device)``. All uses of one variable change
together or none does; ``xp`` that goes elsewhere, as an argument or an attribute, keeps the helper.
"""

from __future__ import annotations

import ast
import dataclasses
import posixpath

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Kind, Ref, Tensor, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.models.xp_modules import CUPY, XP
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Operand
from chainer2torch.plan.match import Question, evaluate, parsed
from chainer2torch.plan.questions.reading import read
from chainer2torch.plan.questions.rows import row_of_kind
from chainer2torch.rules.row import Case
from chainer2torch.rules.signature import BindError, Bound
from chainer2torch.rules.table import Row

_MODULE_OF = frozenset({"chainer.backends.cuda.get_array_module", "chainer.backend.get_array_module"})
_REGISTERING = frozenset({"init_scope", "add_link", "add_param", "append", "insert", "extend"})
_HOST = "torch.device('cpu')"
_ARRAYS = frozenset({"data", "array"})


@dataclasses.dataclass(frozen=True, eq=False)
class Origin:
    """An expression that gives an array module, as the device that it becomes."""

    node: ast.expr
    template: str  # the device, an expression of `x`
    of: ast.expr | None = None  # what `x` stands for
    told: tuple[tuple[ast.expr, str], ...] = ()  # the references that are answered with it, and their rows

    def operands(self, context: Context) -> dict[str, Operand]:
        """What the names of the template stand for."""
        return {} if self.of is None else {"x": context.operand(self.of)}


@dataclasses.dataclass(frozen=True, eq=False)
class Variable:
    """A name that holds array modules, with all its places."""

    stores: tuple[tuple[ast.Assign, Origin], ...]
    loads: tuple[ast.Name, ...]
    needed: tuple[ast.Name, ...]  # the loads whose form names the device


def origin_of(context: Context, node: ast.expr) -> Origin | None:
    """What an expression is the array module of; None where it is none, or that is not known."""
    if isinstance(node, ast.Call):
        return _of_call(context, node)
    if isinstance(node, ast.IfExp):
        return _of_choice(context, node)
    reference = context.reference(node)
    if reference in CUPY:
        return Origin(node, "torch.device('cuda')", None, ((node, str(reference)),))
    if isinstance(node, ast.Attribute) and node.attr == "xp" and isinstance(node.ctx, ast.Load):
        return _of_attribute(context, node)
    return None


def _of_call(context: Context, node: ast.Call) -> Origin | None:
    symbol = context.reference(node.func)
    if symbol not in _MODULE_OF or context.kind(node) != XP or not node.args or node.keywords:
        return None
    first = node.args[0]
    if isinstance(first, ast.Starred):
        return None
    told: tuple[tuple[ast.expr, str], ...] = ((node.func, symbol),)
    if isinstance(first, ast.Attribute) and first.attr in _ARRAYS and _are_tensors(context, first.value):
        return Origin(node, "x.device", first.value, (*told, (first, f"chainer.Variable.{first.attr}")))
    return Origin(node, "x.device", first, told) if _are_tensors(context, first) else None


def _of_attribute(context: Context, node: ast.Attribute) -> Origin | None:
    if context.kind(node) != XP:
        return None
    owner = node.value
    if isinstance(owner, ast.Call):
        return None
    kinds = options(context.kind(owner))
    if _are_tensors(context, owner):
        return Origin(node, "x.device", owner, ((node, "chainer.Variable.xp"),))
    if all(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.backend.Device") for k in kinds):
        return Origin(node, "x", owner, ((node, "chainer.backend.Device.xp"),))
    if kinds == (UNKNOWN,) and not context.analysis.once(_own_xp):
        return Origin(node, "native.device_of(x)", owner, ((node, "?.xp"),))
    if all(isinstance(k, Inst) and context.analysis.derives(k.cls, "chainer.Link") for k in kinds):
        method = context.source.enclosing(node, ast.FunctionDef)
        if isinstance(method, ast.FunctionDef) and method.name == "__init__":
            return None  # there may be no parameters yet
        template = "native.device_of(x)" if _may_lack_parameters(context, kinds) else "next(x.parameters()).device"
        return Origin(node, template, owner, ((node, "chainer.Link.xp"),))
    return None


def _may_lack_parameters(context: Context, kinds: tuple[Kind, ...]) -> bool:
    """Whether a class of the project registers nothing but arrays, as far as it and its bases show."""
    infos = [k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)]
    return any(info in context.analysis.once(_without_parameters) for info in infos)


def _without_parameters(analysis: Analysis) -> frozenset[ClassInfo]:
    return frozenset(
        cls
        for cls in analysis.classes.values()
        if analysis.derives(cls, "chainer.Link")
        and not any(
            isinstance(node, ast.Attribute) and node.attr in _REGISTERING or _hands_links_on(node)
            for base in analysis.mro(cls)
            if isinstance(base, ClassInfo)
            for node in ast.walk(base.node)
        )
        and not any(isinstance(base, str) and base.startswith("chainer.links.") for base in analysis.mro(cls))
    )


def _hands_links_on(node: ast.AST) -> bool:
    """``super().__init__(l1=L.Linear(...))``, and ``__init__(*links)`` of a list."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute) or node.func.attr != "__init__":
        return False
    return bool(node.args[1:] or node.keywords or [a for a in node.args if not isinstance(a, ast.Name)])


def _own_xp(analysis: Analysis) -> bool:
    """Whether some class of the project has an `xp` of its own."""
    return any(
        node.attr == "xp" and isinstance(node.ctx, ast.Store)
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Attribute)
    )


def _of_choice(context: Context, node: ast.IfExp) -> Origin | None:
    """``cuda.cupy if gpu >= 0 else numpy``."""
    body, orelse = context.kind(node.body), context.kind(node.orelse)
    if context.kind(node) != XP or not (isinstance(body, Ref) and isinstance(orelse, Ref)):
        return None
    first, second = ("cuda", "cpu") if body.name in CUPY else ("cpu", "cuda")
    told = tuple((n, k.name) for n, k in ((node.body, body), (node.orelse, orelse)) if k.name in CUPY)
    return Origin(node, f"torch.device('{first}' if x else '{second}')", node.test, told)


def _host(context: Context, node: ast.expr) -> Origin | None:
    """``xp = numpy`` of a variable that holds CuPy elsewhere."""
    return Origin(node, _HOST) if context.kind(node) == Ref("numpy") else None


def _are_tensors(context: Context, node: ast.expr) -> bool:
    return all(isinstance(k, Tensor) for k in options(context.kind(node)))


def module_in(node: ast.expr) -> ast.expr:
    """The array module itself in what a function is read from: ``xp`` of ``xp.random``."""
    return node.value if isinstance(node, ast.Attribute) and node.attr in ("random", "linalg") else node


def is_device(context: Context, node: ast.AST) -> bool:
    """Whether an array module stands as a device in the output, with all its uses."""
    if context.choices.style != "native" or not context.with_models or not isinstance(node, ast.expr):
        return False
    if isinstance(node, ast.Name):
        return variable(context, node) is not None
    return context.ask(_alone, node)


def _alone(context: Context, node: ast.expr) -> bool:
    """Whether an array module that no name holds is used in a way that has a form."""
    if origin_of(context, node) is None:
        return False
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Assign) and parent.value is node:
        return (
            len(parent.targets) == 1
            and isinstance(parent.targets[0], ast.Name)
            and variable(context, parent.targets[0]) is not None
        )
    return used(context, node) is not None


def variable(context: Context, name: ast.Name) -> Variable | None:
    """The variable of a name, if all that it holds are array modules and all that is done with them has a form."""
    scope = context.scopes.get(name)
    if not isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef)) and not (
        isinstance(scope, ast.Module) and _is_script(context)
    ):
        return None
    found = context.ask(_variables, scope)
    return found.get(name.id)


def _is_script(context: Context) -> bool:
    """Whether nothing in the project imports a file: the names in it are its own."""
    own = posixpath.basename(context.module.path).removesuffix(".py")
    return own not in context.analysis.once(_imported_words)


def _imported_words(analysis: Facts) -> frozenset[str]:
    """Every part of every module and name that some file of the project imports."""
    return frozenset(
        word
        for module in analysis.project.modules.values()
        for node in module.source.of(ast.Import, ast.ImportFrom)
        for dotted in [getattr(node, "module", None) or "", *(alias.name for alias in node.names)]
        for word in dotted.split(".")
    )


def _variables(context: Context, scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.Module) -> dict[str, Variable]:
    places: dict[str, list[ast.Name]] = {}
    others: set[str] = set()  # names that something else binds: imports, definitions, handlers
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and context.scopes.get(node) is scope:
            places.setdefault(node.id, []).append(node)
        elif isinstance(node, ast.alias):
            others.add(node.asname or node.name.split(".")[0])
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler)):
            others.add(node.name or "")
    arguments = [] if isinstance(scope, ast.Module) else ast.walk(scope.args)
    parameters = {a.arg for a in arguments if isinstance(a, ast.arg)}
    declared = {n for d in ast.walk(scope) if isinstance(d, (ast.Global, ast.Nonlocal)) for n in d.names}
    found = {}
    for name, nodes in places.items():
        if name not in parameters | declared | others and (made := _variable(context, nodes)) is not None:
            found[name] = made
    return found


def _variable(context: Context, nodes: list[ast.Name]) -> Variable | None:
    stores, loads, needed = [], [], []
    for node in nodes:
        if isinstance(node.ctx, ast.Load):
            need = used(context, node) if context.kind(node) == XP else None
            if need is None:
                return None
            loads.append(node)
            needed += [node] if need else []
            continue
        statement = context.source.parents.get(node)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1 or statement.targets[0] is not node:
            return None
        origin = origin_of(context, statement.value) or _host(context, statement.value)
        if origin is None:
            return None
        stores.append((statement, origin))
    if all(origin.template == _HOST for _, origin in stores):
        return None  # NumPy itself
    return Variable(tuple(stores), tuple(loads), tuple(needed)) if stores else None


def used(context: Context, node: ast.expr) -> bool | None:
    """Whether what is done with an array module names its device afterwards; None: it has no form in torch."""
    parent = context.source.parents.get(node)
    if isinstance(parent, ast.Compare):
        return True if _asks_for_host(context, parent, node) else None
    if not isinstance(parent, ast.Attribute) or not isinstance(parent.ctx, ast.Load):
        return None
    part = parent
    if part.attr in ("random", "linalg"):
        outer = context.source.parents.get(part)
        if not isinstance(outer, ast.Attribute):
            return None
        part = outer
    row = row_of(context, part)
    case = _native_case(context, part, row) if row is not None else None
    return None if case is None else "self" in {n.id for n in ast.walk(parsed(case.torch)) if isinstance(n, ast.Name)}


def row_of(context: Context, part: ast.Attribute) -> Row | None:
    """The row of a function or constant of an array module: ``xp.zeros``, ``cuda.cupy.random.seed``."""
    kind = context.kind(part.value)
    if isinstance(kind, Ref) and kind.name in CUPY and context.is_called(part):
        kind = XP  # what is no call asks for CuPy itself: `isinstance(x, cuda.cupy.ndarray)`
    return row_of_kind(context, kind, part.attr) if isinstance(kind, Inst) else None


def _asks_for_host(context: Context, compare: ast.Compare, node: ast.expr) -> bool:
    """``xp is numpy``, ``xp != cuda.cupy``."""
    if len(compare.ops) != 1 or not isinstance(compare.ops[0], (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
        return False
    other = compare.comparators[0] if compare.left is node else compare.left
    kind = context.kind(other)
    return isinstance(kind, Ref) and kind.name in CUPY | {"numpy"}


def is_drawn(row: Row) -> bool:
    """Whether a row is of a function that draws random numbers, whatever its arguments are."""
    return row.name.startswith("xp.Random.") and row.name not in ("xp.Random.seed", "xp.Random.shuffle")


def _native_case(context: Context, part: ast.Attribute, row: Row) -> Case | None:
    """The case of the native style that a function or constant of the module takes."""
    call = context.source.parents.get(part)
    bound = Bound({"self": part.value})
    if row.signature is not None:
        if not isinstance(call, ast.Call) or call.func is not part:
            return None
        try:
            reading = read(context, call, row, part.value)
        except BindError:
            return None
        if reading.bound.starred and is_drawn(row):
            return Case(None, "self")
        if reading.doubt or reading.bound.starred:
            return None
        bound = reading.bound
    question = Question(row, bound, context.kind, context.is_instance, on_device=True)
    for case in row.cases:
        if case.native and case.when is not None and evaluate(parsed(case.when), question) is True:
            return case
    return None
