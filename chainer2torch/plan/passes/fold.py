"""Conditions on what PyTorch does not have (ChainerX, other devices) or on whether Chainer is there: they are constant,
and their branches fold."""

from __future__ import annotations

import ast

from chainer2torch.analysis import host_copies, versions
from chainer2torch.analysis.absent import TESTS, constant_test
from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Unwrap
from chainer2torch.plan.questions.asked_names import is_name_of_chainer

_OTHER_VERSIONS = frozenset({"chainermn.__version__", "chainer.backends.cuda.cupy.__version__"})
_LOGS = frozenset({"debug", "info", "warning"})
_SHOWN = "what is shown is the version of PyTorch"
_ROOTS = frozenset({"chainer", "chainermn"})
# a program that does without Chainer binds these to None: what it did then is no matter, it has PyTorch now
MODULES = frozenset(
    {"chainer", "chainermn"}
    | {
        f"chainer.{name}"
        for name in (
            "functions",
            "links",
            "optimizers",
            "optimizer",
            "training",
            "training.extensions",
            "cuda",
            "backends",
            "backends.cuda",
            "backend",
            "datasets",
            "dataset",
            "iterators",
            "initializers",
            "serializers",
            "reporter",
            "distributions",
            "function",
            "variable",
            "testing",
            "utils",
        )
    }
)


def run(context: Context) -> Decisions:
    """Decides ``xp is chainerx``, ``isinstance(device, ChainerxDevice)`` and the statements that test them."""
    decisions = Decisions(context)
    seen: set[ast.AST] = set()
    for node in context.source.of(*TESTS):
        value = constant_test(node, context.analysis.kind)
        if value is None:
            value = _is_there(context, node)
        if value is None:
            continue
        assert isinstance(node, ast.expr)
        if _outermost(context, node, value)[0] not in seen:  # each half of `a and b` may decide the whole
            seen.add(_outermost(context, node, value)[0])
            _fold(context, decisions, node, value)
    _asked_modules(context, decisions)
    _versions(context, decisions)
    _others(context, decisions)
    _copies(context, decisions)
    return decisions


def _asked_modules(context: Context, decisions: Decisions) -> None:
    """``hasattr(F, 'average')``, which asks for a version of Chainer."""
    for call in context.source.of(ast.Call):
        if is_name_of_chainer(context, call):
            _fold(context, decisions, call, True)


def _copies(context: Context, decisions: Decisions) -> None:
    """Copies to the host that are made on a GPU only: a tensor has to be copied from wherever it is."""
    for node, truth in context.analysis.once_a_file(host_copies.shapes, context.source).items():
        assert isinstance(node, (ast.If, ast.IfExp))
        if not host_copies.copies(node, truth, context.analysis.kind):
            continue
        if host_copies.of_variable(node, context.source):
            continue
        _tell(context, decisions, node.test)
        if isinstance(node, ast.If):
            _fold_if(context, decisions, node, truth)
        else:
            decisions.replace(node, "value", {"value": context.operand(node.body if truth else node.orelse)})
            decisions.remove(node.orelse if truth else node.body)


def _versions(context: Context, decisions: Decisions) -> None:
    """Tests of Chainer's version, and what else is computed from it."""
    seen: set[ast.AST] = set()
    file = versions.File(context.source, context.kind)
    known = versions.known_names(file)
    named = {node for node, name in context.analysis.names_in(context.source) if name == versions.VERSION}
    for node in context.source.of(ast.Name, ast.Attribute) if named or known else ():
        names_it = node in named and context.names_library(node)
        holds_it = isinstance(node, ast.Name) and node.id in known and isinstance(node.ctx, ast.Load)
        if not (names_it or holds_it):
            continue
        found = versions.computed(file, node, known)
        if found is None and names_it and _is_shown(context, node):
            _show(context, decisions, node)
            continue
        if found is None or found[0] in seen or not names_it and not _decides(context, *found):
            continue  # what is computed from a name stays as it is, but for what decides
        outer, value = found
        seen.add(outer)
        if isinstance(value, bool):
            _fold(context, decisions, outer, value)
        else:
            _tell(context, decisions, outer)
            decisions.replace(outer, repr(value), {})


def _others(context: Context, decisions: Decisions) -> None:
    """The versions of ChainerMN and CuPy, where they are only shown."""
    for node, name in context.analysis.names_in(context.source):
        if name in _OTHER_VERSIONS and context.names_library(node) and _is_shown(context, node):
            _show(context, decisions, node)


def _is_shown(context: Context, node: ast.expr) -> bool:
    """Whether a version goes into a text that is printed or logged, and nowhere else."""
    call: ast.AST = node
    while isinstance(above := context.source.parents.get(call), ast.expr):
        formats = isinstance(above, ast.Call) and isinstance(above.func, ast.Attribute) and above.func.attr == "format"
        joins = isinstance(above, ast.BinOp) and isinstance(above.op, (ast.Mod, ast.Add))
        if not formats and not joins and not isinstance(above, (ast.JoinedStr, ast.FormattedValue, ast.Tuple)):
            break
        call = above
    statement = context.source.parents.get(above) if isinstance(above, ast.Call) else None
    if not isinstance(above, ast.Call) or call not in above.args or not isinstance(statement, ast.Expr):
        return False
    shows = above.func.attr if isinstance(above.func, ast.Attribute) else ""
    return context.kind(above.func) == Ref("builtins.print") or shows in _LOGS


def _show(context: Context, decisions: Decisions, node: ast.expr) -> None:
    """PyTorch's version in the place of another one, which asks a person nothing."""
    name = context.reference(node) or versions.VERSION
    row = context.rules.rows.get(name)
    decisions.replace(node, "torch.__version__", {})
    decisions.use(node)
    decisions.mark(node, row, name, "review", _SHOWN, "C2T090", quiet=True)


def _decides(context: Context, node: ast.expr, value: object) -> bool:
    """Whether a value is the condition of a statement."""
    if not isinstance(value, bool):
        return False
    outer, _ = _outermost(context, node, value)
    parent = context.source.parents.get(outer)
    return isinstance(parent, (ast.If, ast.IfExp)) and parent.test is outer


def _tell(context: Context, decisions: Decisions, outer: ast.expr) -> None:
    """Gives the references inside of a constant expression their state."""
    rows = context.rules
    for part in nodes_of(outer):
        if not isinstance(part, (ast.Name, ast.Attribute)):
            continue
        kind, name = context.kind(part), context.reference(part)
        if name is not None and not name.startswith(versions.VERSION):
            decisions.mark(part, rows.rows.get(name) or rows.python["chainerx"], name, "exact")
            decisions.use(part)
        elif name is not None or isinstance(kind, Ref) and rows.python.get(f"{kind.name.split('.')[0]}.*") is not None:
            row = rows.python[f"{versions.VERSION}.*"]
            decisions.mark(part, row, row.name, "exact")  # what reads the version goes with it
            decisions.use(part)


def _fold(context: Context, decisions: Decisions, node: ast.expr, value: bool) -> None:
    """Puts what is left in the place of a test, and of the statement that makes it."""
    outer, truth = _outermost(context, node, value)
    _tell(context, decisions, outer)
    parent = context.source.parents.get(outer)
    if isinstance(parent, ast.If) and parent.test is outer:
        _fold_if(context, decisions, parent, truth)
    elif isinstance(parent, ast.IfExp) and parent.test is outer:
        decisions.replace(parent, "value", {"value": context.operand(parent.body if truth else parent.orelse)})
        decisions.remove(parent.orelse if truth else parent.body)
    elif isinstance(parent, ast.BoolOp) and len(parent.values) == 2:  # it decides nothing: the other one does
        other = parent.values[parent.values[0] is outer]
        decisions.replace(parent, "value", {"value": context.operand(other)})
    else:
        decisions.replace(outer, str(truth), {})


def _is_there(context: Context, node: ast.AST) -> bool | None:
    """``chainer is None`` where only a failed import makes it None; None: that is not what it asks."""
    if not isinstance(node, ast.Compare) or len(node.ops) != 1 or not isinstance(node.ops[0], (ast.Is, ast.IsNot)):
        return None
    sides = (node.left, node.comparators[0])
    names = [side for side in sides if isinstance(side, ast.Name)]
    if len(names) != 1 or not any(isinstance(s, ast.Constant) and s.value is None for s in sides):
        return None
    kind = context.analysis.kind(names[0])
    if not isinstance(kind, Ref) or kind.name not in MODULES or not _only_imported(context, names[0].id):
        return None
    return isinstance(node.ops[0], ast.IsNot)


def _only_imported(context: Context, name: str) -> bool:
    """Whether a name is bound by imports of Chainer at the top, and else only where such an import has failed."""
    source = context.source
    if any(a.arg == name for a in source.of(ast.arg)) or any(
        n.name == name for n in source.of(ast.FunctionDef, ast.ClassDef, ast.ExceptHandler)
    ):
        return False
    for statement in source.of(ast.Import, ast.ImportFrom):
        if any((a.asname or a.name.split(".")[0]) == name for a in statement.names):
            module = statement.module or "" if isinstance(statement, ast.ImportFrom) else statement.names[0].name
            if (
                isinstance(statement, ast.ImportFrom)
                and statement.level
                or module.split(".")[0] not in _ROOTS
                or any(not isinstance(a, (ast.Module, ast.Try, ast.ExceptHandler)) for a in source.ancestors(statement))
            ):
                return False
    for stored in source.of(ast.Name):
        if stored.id == name and not isinstance(stored.ctx, ast.Load):
            handler = source.enclosing(stored, ast.ExceptHandler)
            if (
                not isinstance(handler, ast.ExceptHandler)
                or not isinstance(handler.type, ast.Name)
                or handler.type.id not in ("ImportError", "ModuleNotFoundError", "Exception")
            ):
                return False
    return True


def _outermost(context: Context, node: ast.expr, value: bool) -> tuple[ast.expr, bool]:
    """The largest expression around a constant that is constant for that reason, and its value."""
    while True:
        parent = context.source.parents.get(node)
        if isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not):
            node, value = parent, not value
        elif isinstance(parent, ast.BoolOp) and value is isinstance(parent.op, ast.Or):
            node = parent
        else:
            return node, value


def _fold_if(context: Context, decisions: Decisions, statement: ast.If, truth: bool) -> None:
    # `elif` is not a statement of its own in the source: its test becomes the constant
    parent = context.source.parents.get(statement)
    is_elif = (
        isinstance(parent, ast.If)
        and parent.orelse == [statement]
        and context.source.text.startswith("elif", context.source.start(statement))
    )
    if is_elif:
        decisions.replace(statement.test, str(truth), {})
        return
    decisions.edit(statement, Unwrap(context.source.start(statement), "body" if truth else "orelse"))
    for gone in statement.orelse if truth else statement.body:
        decisions.remove(gone)
