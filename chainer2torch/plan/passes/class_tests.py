"""Questions for a class: ``isinstance(x, L.Linear)``, ``type(x) is L.Linear``, methods called on the class itself."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Inst, Ref, Tensor, options
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.torch_classes import BATCH_NORMALIZATION, may_have_axes, torch_classes, words
from chainer2torch.plan.questions.variable_tests import harmless, wraps

_OF_BASE = {"__init__": "__init__", "__call__": "forward", "forward": "forward"}
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
                for cls in tested.elts if isinstance(tested, ast.Tuple) else [tested]:
                    _class_test(context, decisions, cls, node)
        elif isinstance(node, ast.Attribute) and node.attr in _OF_BASE:
            _base_method(context, decisions, node)
        elif isinstance(node, ast.Compare):
            for side in (node.left, *node.comparators):
                for cls in side.elts if isinstance(side, (ast.Tuple, ast.List, ast.Set)) else [side]:
                    _compared(context, decisions, cls)
    _device_tests(context, decisions)
    return decisions


def _class_test(context: Context, decisions: Decisions, node: ast.expr, test: ast.Call) -> None:
    name = context.reference(node)
    row = context.rules.rows.get(name) if name else None
    if _is_cupy_array(context, node):
        decisions.replace(node, "compat.CudaArray", {})
        decisions.use(node)
        if isinstance(node, ast.Attribute) and context.reference(node.value) == _CUPY:  # said once
            decisions.mark(node.value, context.rules.rows[_CUPY], _CUPY, "exact")
        decisions.mark(
            node,
            context.rules.rows[_CUPY_ARRAY],
            _CUPY_ARRAY,
            "review",
            "a tensor on a GPU is one here, also where it was a Variable. Not executed: this needs a GPU",
        )
        return
    if row is None or name is None or row.value is None or row.state == "manual":
        return
    made = list(torch_classes(row)) if name.startswith("chainer.links.") else []
    if name == "chainer.ChainList":
        made = ["compat.Sequential"] if _mentioned(context, "Sequential") else []
        made += [
            str(other.value)
            for other in context.rules.rows.values()
            if other.name.startswith(_LISTS) and other.value and _mentioned(context, other.name.rpartition(".")[2])
        ]
    state, note, new = row.state, "", row.value
    if name == "chainer.Chain":
        new = "compat.AnyChain"
        if context.analysis.once(_bare_links):
            state, note = "review", "a class of yours that derives from chainer.Link counts as a Chain here"
    elif name == "chainer.Variable":
        kinds = options(context.analysis.kind(test.args[0]))
        if not any(k == UNKNOWN or isinstance(k, Tensor) and k.array for k in kinds) or harmless(context.source, test):
            return
        if wraps(context.source, test, lambda made: context.reference(made) == name):
            decisions.replace(test, "compat.is_variable(x)", {"x": context.operand(test.args[0])})
            decisions.use(node)
            decisions.mark(node, row, row.name, "exact")
            return
        state, note = "review", "an array on the model's device is a tensor, too: true for it here, not in Chainer"
    elif not made:
        return
    others = [
        context.rules.rows[other]
        for other in context.rules.rows
        if other.startswith("chainer.links.") and _mentioned(context, other.rpartition(".")[2])
    ]
    also = sorted(
        other.name.rpartition(".")[2]
        for other in others
        if other is not row and other.value and torch_classes(other) & set(made)
    )
    if also:
        state, note = "review", f"{' and '.join(also)} may become the same class"
    if row.tested_as and not (row.name == BATCH_NORMALIZATION and context.analysis.once(may_have_axes)):
        asked = row.tested_as
    else:
        made = [row.tested_as] if row.tested_as else sorted(made)
        asked = f"({', '.join([*made, new])})" if made else new
    decisions.replace(node, asked, {})
    decisions.use(node)
    decisions.mark(node, row, row.name, state, note)


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
    for node in context.source.of(ast.Call):
        if len(node.args) != 2 or node.keywords or context.analysis.kind(node.func) != Ref("builtins.isinstance"):
            continue
        name = context.reference(node.args[1])
        kinds = options(context.analysis.kind(node.args[0]))
        if name in _TYPES and all(k == UNKNOWN or isinstance(k, Inst) for k in kinds):
            decisions.replace(
                node, f"compat.is_device(device, '{_TYPES[name]}')", {"device": context.operand(node.args[0])}
            )
            decisions.use(node.args[1])
            decisions.mark(node.args[1], context.rules.rows[name], name, "exact")
