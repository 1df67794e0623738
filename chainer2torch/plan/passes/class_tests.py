"""Questions for a class: ``isinstance(x, L.Linear)``, ``type(x) is L.Linear``, methods called on the class itself."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.asked_forms import asked_forms, counted_too
from chainer2torch.plan.questions.sequentials import sequential_classes
from chainer2torch.plan.questions.torch_classes import BATCH_NORMALIZATION, may_have_axes, torch_classes, words
from chainer2torch.plan.parts.fed_arrays import is_fed_arrays
from chainer2torch.plan.questions.type_tests import TypeTest, type_test, variable_asked
from chainer2torch.plan.questions.variable_tests import harmless, refuses, wraps
from chainer2torch.rules.table import Row

_OF_BASE = {"__init__": "__init__", "__call__": "forward", "forward": "forward"}
_REFUSED = "what takes gradients is stopped here, in Chainer every Variable"
_OWN_LINKS = "a class of yours that derives from chainer.Link counts as a Chain here"
_LISTS = ("chainer.links.MLPConvolution2D", "chainer.links.NStep")
_CUPY = "chainer.backends.cuda.cupy"
_CUPY_ARRAY = "chainer.backends.cuda.ndarray"


def run(context: Context) -> Decisions:
    """``isinstance(x, L.Linear)`` asks for every class that such a link may have become."""
    decisions = Decisions(context)
    for node in context.source.of(ast.Call, ast.Attribute, ast.Compare):
        if isinstance(node, ast.Call) and len(node.args) == 2:
            callee = context.analysis.kind(node.func)
            if isinstance(callee, Ref) and callee.name in ("builtins.isinstance", "builtins.issubclass"):
                tested = node.args[1]
                if isinstance(tested, ast.Tuple) and _chain_or_list(context, decisions, tested):
                    continue
                for cls in tested.elts if isinstance(tested, ast.Tuple) else [tested]:
                    _class_test(context, decisions, cls, node)
        elif isinstance(node, ast.Attribute) and node.attr in _OF_BASE:
            _base_method(context, decisions, node)
        elif isinstance(node, ast.Attribute) and node.attr == "ndarray":
            _annotation(context, decisions, node)
        elif isinstance(node, ast.Compare) and not _type_test(context, decisions, node):
            for side in (node.left, *node.comparators):
                for cls in side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]:
                    _compared(context, decisions, cls)
    _device_tests(context, decisions)
    return decisions


def _chain_or_list(context: Context, decisions: Decisions, tested: ast.Tuple) -> bool:
    """Whether ``(chainer.Chain, chainer.ChainList)`` is asked for, which is one class of the helpers then."""
    rows = [context.rules.rows.get(context.reference(cls) or "") for cls in tested.elts]
    if sorted(row.name if row else "" for row in rows) != ["chainer.Chain", "chainer.ChainList"]:
        return False
    bare = context.analysis.once(_bare_links)
    decisions.replace(tested, "compat.AnyChainOrList", {})
    for cls, row in zip(tested.elts, rows, strict=True):
        decisions.use(cls)
        if row is not None and row.name == "chainer.Chain" and bare:
            decisions.mark(cls, row, row.name, "review", _OWN_LINKS, quiet=True)
        elif row is not None:
            decisions.mark(cls, row, row.name, row.state)
    return True


def _class_test(context: Context, decisions: Decisions, node: ast.expr, test: ast.Call) -> None:
    name = context.reference(node)
    row = context.rules.rows.get(name) if name else None
    if _is_cupy_array(context, node):
        if context.choices.style == "native" and (whole := _fetching(context, test)) is not None:
            _fetched(context, decisions, node, test, whole)
            return
        variable = variable_asked(context, test.args[0], test) if node is test.args[1] else None
        if variable is not None:
            decisions.replace(test, "x.is_cuda", {"x": context.operand(variable)})
        elif context.choices.style == "native" and node is test.args[1] and isinstance(test.args[0], ast.Name):
            text = "isinstance(x, torch.Tensor) and x.is_cuda"
            decisions.replace(test, text, {"x": context.operand(test.args[0])})
        else:
            decisions.replace(node, "compat.CudaArray", {})
        _mark_cupy_array(context, decisions, node, variable is not None)
        return
    if row is None or name is None or row.value is None or row.state == "manual":
        return
    forms = asked_forms(context, row.name)
    made = forms or (list(torch_classes(row)) if name.startswith("chainer.links.") else [])
    if name == "chainer.ChainList":
        made = list(sequential_classes(context)) if _mentioned(context, "Sequential") else []
        lists = [other for other in context.rules.rows if other.startswith(_LISTS)]  # only these rows are read
        rows = [context.rules.rows[o] for o in lists if _mentioned(context, o.rpartition(".")[2])]
        made += [str(other.value) for other in rows if other.value]
    if name == "chainer.FunctionNode" and context.choices.style == "native" and _has_function_objects(context):
        made = ["native.FunctionObject"]
    state, note, new, quiet = row.state, "", row.value, False
    if name == "chainer.ChainList" and context.choices.style == "native":
        new = "torch.nn.ModuleList"  # the base of the helper, too
    if name == "chainer.Chain":
        new = "compat.AnyChain"
        if context.analysis.once(_bare_links):
            state, note = "review", _OWN_LINKS
            quiet = True
    elif name == "chainer.Variable":
        kinds = options(context.analysis.kind(test.args[0]))
        may_be_array = any(k == UNKNOWN or isinstance(k, Tensor) and k.array for k in kinds)
        if not (may_be_array or is_fed_arrays(context, test.args[0])) or harmless(context.source, test):
            return
        if wraps(context.source, test, lambda made: context.reference(made) == name):
            decisions.replace(test, "compat.is_variable(x)", {"x": context.operand(test.args[0])})
            decisions.use(node)
            decisions.mark(node, row, row.name, "exact")
            return
        if refuses(context.source, test):
            decisions.replace(test, "compat.is_variable(x)", {"x": context.operand(test.args[0])})
            decisions.use(node)
            arrays = all(isinstance(k, Tensor) and k.array for k in kinds)
            decisions.mark(node, row, row.name, "exact" if arrays else "review", "" if arrays else _REFUSED)
            return
        state, note = "review", "an array on the model's device is a tensor, too: true for it here, not in Chainer"
    elif not made and not counted_too(context, row.name):
        return
    also = _also(context, row, made) if not forms else []
    also += counted_too(context, row.name)
    if also and not _are_asked_for(context, test, also):
        state, note, quiet = "review", f"{' and '.join(also)} may become the same class", False
    decisions.replace(node, _asked(context, row, made[1:], made[0]) if forms else _asked(context, row, made, new), {})
    decisions.use(node)
    decisions.mark(node, row, row.name, state, note, quiet=quiet)


def _mark_cupy_array(context: Context, decisions: Decisions, node: ast.expr, sure: bool = False) -> None:
    """CuPy's array as a class is accounted for; it has been replaced. ``sure``: it was asked of a Variable's array."""
    decisions.use(node)
    if isinstance(node, ast.Attribute) and context.reference(node.value) == _CUPY:  # said once
        decisions.mark(node.value, context.rules.rows[_CUPY], _CUPY, "exact")
    message = "a tensor on a GPU is one here, also where it was a Variable. Not executed: this needs a GPU"
    row, state = context.rules.rows[_CUPY_ARRAY], "exact" if sure else "review"
    decisions.mark(node, row, _CUPY_ARRAY, state, "" if sure else message)


def _has_function_objects(context: Context) -> bool:
    """Whether the project names one of Chainer's function classes: ``ReLU()`` is a FunctionNode there."""
    classes = (
        n for n in context.rules.rows if n.startswith("chainer.functions.") and n.rpartition(".")[2][:1].isupper()
    )
    named = (n for n in classes if _mentioned(context, n.rpartition(".")[2]))
    return any(context.rules.rows[n].base == "chainer.FunctionNode" for n in named)


def _also(context: Context, row: Row, made: list[str]) -> list[str]:
    """Other links that the project names and that become one of the same classes."""
    others = [
        context.rules.rows[other]
        for other in context.rules.rows
        if other.startswith("chainer.links.") and _mentioned(context, other.rpartition(".")[2])
    ]
    return sorted(
        other.name.rpartition(".")[2]
        for other in others
        if other is not row and other.value and torch_classes(other) & set(made)
    )


def _are_asked_for(context: Context, test: ast.Call, others: list[str]) -> bool:
    """Whether the same is done with all that become one class: ``isinstance(x, A) or isinstance(x, B)``, ``(A, B)``."""
    outer = context.source.parents.get(test)
    tests = outer.values if isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.Or) else [test]
    asked: set[str] = set()
    for one in tests:
        if isinstance(one, ast.Call) and len(one.args) == 2 and ast.unparse(one.args[0]) == ast.unparse(test.args[0]):
            classes = one.args[1].elts if isinstance(one.args[1], ast.Tuple) else [one.args[1]]
            asked |= {(context.reference(cls) or "").rpartition(".")[2] for cls in classes}
    return asked.issuperset(others)


def _asked(context: Context, row: Row, made: list[str], new: str) -> str:
    """The classes that such a link may be of here, as the second argument of isinstance."""
    if row.tested_as:
        long = row.name == BATCH_NORMALIZATION and context.analysis.once(may_have_axes)
        return f"({row.tested_as}, compat.BatchNormalization)" if long else row.tested_as
    return f"({', '.join([*sorted(made), new])})" if made else new


def _type_test(context: Context, decisions: Decisions, node: ast.Compare) -> bool:
    """``type(x) == L.Linear`` is ``isinstance(x, nn.Linear)``, if no class of the project derives from that link."""
    test = type_test(context, node)
    if test is None:
        return False
    if _is_cupy_array(context, test.cls):
        _cupy_type(context, decisions, node, test)
        return True
    name = context.reference(test.cls)
    row = context.rules.rows.get(name) if name else None
    if row is None or not row.value:
        return False
    made = list(torch_classes(row)) if row.name.startswith("chainer.links.") else []
    heirs = any(context.analysis.derives(found, row.name) for found in context.analysis.classes.values())
    if not made or heirs or _also(context, row, made):
        return False
    negated = "not " * test.negated
    template = f"{negated}isinstance(x, {_asked(context, row, made, row.value)})"
    decisions.replace(node, template, {"x": context.operand(test.value)})
    decisions.use(test.cls)
    decisions.mark(test.cls, row, row.name, row.state)
    return True


def _cupy_type(context: Context, decisions: Decisions, node: ast.Compare, test: TypeTest) -> None:
    """``type(x) is cuda.ndarray``: an array on a GPU."""
    variable = variable_asked(context, test.value, node)
    template = "isinstance(x, compat.CudaArray)"
    if variable is not None:
        template = "x.is_cuda"
    elif context.choices.style == "native" and isinstance(test.value, ast.Name) and not test.negated:
        template = "isinstance(x, torch.Tensor) and x.is_cuda"
    decisions.replace(node, "not " * test.negated + template, {"x": context.operand(variable or test.value)})
    _mark_cupy_array(context, decisions, test.cls, variable is not None)


def _annotation(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``def f(x: cupy.ndarray) -> cupy.ndarray``: a tensor, on whichever device."""
    top: ast.AST = node
    while isinstance(parent := context.source.parents.get(top), ast.expr):
        top = parent
    stands = (
        isinstance(parent, ast.arg)
        or isinstance(parent, ast.AnnAssign)
        and top is parent.annotation
        or isinstance(parent, (ast.FunctionDef, ast.AsyncFunctionDef))
        and top is parent.returns
    )
    if stands and _is_cupy_array(context, node):
        decisions.replace(node, "torch.Tensor", {})
        _mark_cupy_array(context, decisions, node, True)


def _fetching(context: Context, test: ast.Call) -> ast.expr | None:
    """The condition of ``if isinstance(x, cuda.ndarray): x = cuda.to_cpu(x)``: behind it the array is on the host."""
    parents, tested = context.source.parents, test.args[0]
    whole: ast.expr = test
    outer = parents.get(test)
    if isinstance(outer, ast.BoolOp) and isinstance(outer.op, ast.And) and len(outer.values) == 2:
        if context.reference(outer.values[0]) != "chainer.backends.cuda.available":
            return None
        whole = outer
    statement = parents.get(whole)
    if not isinstance(tested, ast.Name) or not isinstance(statement, ast.If) or len(statement.body) != 1:
        return None
    body, name = statement.body[0], tested.id
    kinds = options(context.kind(tested))
    if statement.orelse or any(isinstance(k, Tensor) and not k.array for k in kinds):  # a Variable goes on as it is
        return None
    if isinstance(body, ast.Assign):
        if len(body.targets) != 1 or not (isinstance(body.targets[0], ast.Name) and body.targets[0].id == name):
            return None
    elif not isinstance(body, ast.Return):
        return None
    value = body.value
    plain = isinstance(value, ast.Call) and len(value.args) == 1 and not value.keywords
    if not plain or not isinstance(value, ast.Call) or not isinstance(value.args[0], ast.Name):
        return None
    kind = context.kind(value.func)
    fetches = isinstance(kind, Ref) and kind.name == "chainer.backends.cuda.to_cpu"
    return whole if fetches and value.args[0].id == name else None


def _fetched(context: Context, decisions: Decisions, node: ast.expr, test: ast.Call, whole: ast.expr) -> None:
    """An array on the CPU is a tensor, too, and what comes behind takes it for NumPy's."""
    if whole is test:
        decisions.replace(node, "torch.Tensor", {})
    else:
        decisions.replace(whole, "isinstance(x, torch.Tensor)", {"x": context.operand(test.args[0])})
        available = whole.values[0] if isinstance(whole, ast.BoolOp) else whole
        decisions.use(available)
        name = "chainer.backends.cuda.available"
        decisions.mark(available, context.rules.rows.get(name), name, "exact")
    decisions.use(node)
    if isinstance(node, ast.Attribute) and context.reference(node.value) == _CUPY:  # said once
        decisions.mark(node.value, context.rules.rows[_CUPY], _CUPY, "exact")
    decisions.mark(node, context.rules.rows[_CUPY_ARRAY], _CUPY_ARRAY, "exact")


def _is_cupy_array(context: Context, node: ast.expr) -> bool:
    """Whether a class is CuPy's array, as Chainer or CuPy itself calls it."""
    if context.reference(node) in (
        _CUPY_ARRAY,
        f"{_CUPY}.ndarray",
        f"{_CUPY}.core.ndarray",
        f"{_CUPY}.core.core.ndarray",
    ):
        return True
    return isinstance(node, ast.Attribute) and node.attr == "ndarray" and context.reference(node.value) == _CUPY


def _bare_links(analysis: Analysis) -> bool:
    """Whether classes of the project derive from chainer.Link itself: they become modules as Chains do."""
    return any(
        next((c for c in analysis.mro(cls) if isinstance(c, str)), "") == "chainer.Link"
        for cls in analysis.classes.values()
    )


def _base_method(context: Context, decisions: Decisions, node: ast.Attribute) -> None:
    """``L.Linear.__call__(self, x)``: a method of the base class, called by its name."""
    name = context.reference(node)
    row = context.rules.rows.get(name.rpartition(".")[0]) if name else None
    call = context.source.parents.get(node)
    if (
        row is None
        or row.value is None
        or row.state == "manual"
        or not isinstance(call, ast.Call)
        or call.func is not node
        or not context.analysis.derives(row.name, "chainer.Link")
    ):
        return
    bare = row.value == "torch.nn.Module"
    if bare and (node.attr != "__init__" or call.keywords or len(call.args) != 1):
        cls = context.enclosing_class(node)  # with links or shapes: `constructor` makes the edit
        if (
            cls is not None
            and node.attr == "__init__"
            and len(call.args) == 1
            and row.name in context.analysis.mro(cls)
            and isinstance(context.source.parents.get(call), ast.Expr)
        ):
            decisions.mark(node, row, f"{row.name}.__init__", row.state)
        return
    decisions.replace(node, f"{row.value}.{_OF_BASE[node.attr]}", {})
    decisions.use(node)
    decisions.mark(node, row, f"{row.name}.{node.attr}", row.state)


def _compared(context: Context, decisions: Decisions, node: ast.expr) -> None:
    """``type(x) is L.Linear``: one class in Chainer, several here."""
    name = context.reference(node)
    row = context.rules.rows.get(name) if name else None
    if row is not None and name == "chainer.Chain":  # one of no class of its own
        decisions.replace(node, "compat.Chain", {})
        decisions.use(node)
        decisions.mark(node, row, row.name, row.state)
        return
    if row is not None and row.value is not None and row.name.startswith("chainer.links.") and torch_classes(row):
        decisions.replace(node, row.value, {})
        decisions.use(node)
        decisions.mark(
            node,
            row,
            row.name,
            "review",
            "such a link may also have become "
            + " or ".join(c.replace("torch.nn", "nn") for c in sorted(torch_classes(row)))
            + ": ask with isinstance for all of them",
        )


def _mentioned(context: Context, name: str) -> bool:
    return name in context.analysis.once(words)


_TYPES = {"chainer.backend.CpuDevice": "cpu", "chainer.backend.GpuDevice": "cuda"}


def _device_tests(context: Context, decisions: Decisions) -> None:
    """``isinstance(device, chainer.backend.GpuDevice)``: devices of torch have one class and a type."""
    asked = Ref("builtins.isinstance")
    for node in context.source.of(ast.Call):
        if len(node.args) != 2 or node.keywords or context.analysis.kind(node.func) != asked:
            continue
        name = context.reference(node.args[1])
        kinds = options(context.analysis.kind(node.args[0]))
        if name in _TYPES and all(k == UNKNOWN or isinstance(k, Inst) for k in kinds):
            decisions.replace(
                node, f"compat.is_device(device, '{_TYPES[name]}')", {"device": context.operand(node.args[0])}
            )
            decisions.use(node.args[1])
            decisions.mark(node.args[1], context.rules.rows[name], name, "exact")
