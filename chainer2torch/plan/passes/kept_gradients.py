"""Gradients of values between the parameters and the loss: ``loss.backward(retain_grad=True)`` and then ``h.grad``.

Chainer keeps all of them if it is asked to. PyTorch keeps those of the tensors that were named before the backward():
they are looked for among what the function reads a ``grad`` of.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.graphs import may_hold_graph
from chainer2torch.analysis.kinds import Const, Inst, Kind, Lst, Tup, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Claim, Part
from chainer2torch.plan.edits import ReplaceStatement

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_NAMES = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.expr_context)
_ELSEWHERE = "only gradients that this function reads are kept; for others call retain_grad() on the tensor before"


def run(context: Context) -> Decisions:
    """Asks for the gradients that are read in the function of a ``backward(retain_grad=True)``."""
    decisions = Decisions(context)
    if not context.imports_chainer:
        return decisions
    reads = [
        node
        for node in context.source.of(ast.Attribute)
        if node.attr in ("grad", "grad_var") and isinstance(node.ctx, ast.Load) and _may_be_result(context, node.value)
    ]
    calls = [
        call
        for call in context.source.of(ast.Call)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "backward"
        and _keeps_all(context, call)
        and any(may_hold_graph(k) for k in options(context.analysis.kind(call.func.value)))
    ]
    named = {call: {node: text for node in reads if (text := _name(context, call, node))} for call in calls}
    reached = {node for found in named.values() for node in found}
    for call, found in named.items():
        _ask(context, decisions, call, [node for node in reads if node in found or node not in reached], found)
    return decisions


def _name(context: Context, call: ast.Call, node: ast.Attribute) -> str:
    """The name that the tensor of a read has where a backward() stands; empty if it has none.

    ``hs[i]`` is one of ``hs`` where nobody knows ``i`` yet: that asks for all of them.
    """
    scope = context.source.enclosing(call, *_FUNCTIONS)
    known = _known_before(context, scope, call)
    if not _is_reached(context, node, scope) or not all(isinstance(part, _NAMES) for part in nodes_of(node.value)):
        return ""
    if {n.id for n in nodes_of(node.value) if isinstance(n, ast.Name)} <= known:
        return ast.unparse(node.value)
    item = node.value
    if isinstance(item, ast.Subscript) and isinstance(item.value, ast.Name) and item.value.id in known:
        if all(isinstance(kind, (Lst, Tup)) for kind in options(context.analysis.kind(item.value))):
            return item.value.id
    return ""


def _ask(
    context: Context, decisions: Decisions, call: ast.Call, reads: list[ast.Attribute], named: dict[ast.Attribute, str]
) -> None:
    """``y.backward()`` becomes ``compat.retain_grad(h)`` and ``y.backward()``."""
    scope = context.source.enclosing(call, *_FUNCTIONS)
    places: dict[str, list[Claim]] = {}
    for node, text in named.items():
        parts = [(Part.EDIT, part) for part in nodes_of(node.value) if isinstance(part, ast.expr)]
        places.setdefault(text, []).extend(parts)
    # a name stands in the output as it is, unless one of its parts has an edit
    with decisions.provided(free=tuple(claim for claims in places.values() for claim in claims)):
        _ask_for(context, decisions, call, scope, reads, named)
    for changed, claims in places.items():
        rest = {node: text for node, text in named.items() if text != changed}
        others = tuple(claim for name, found in places.items() if name != changed for claim in found)
        with decisions.provided(taken=tuple(claims), free=others):
            _ask_for(context, decisions, call, scope, reads, rest)


def _ask_for(
    context: Context,
    decisions: Decisions,
    call: ast.Call,
    scope: ast.AST | None,
    reads: list[ast.Attribute],
    named: dict[ast.Attribute, str],
) -> None:
    """Asks for the gradients of what has a name; what else is read is for a person."""
    names = {text for text in named.values() if "[" not in text or text.partition("[")[0] not in named.values()}
    all_named = all(
        node in named or isinstance(node.value, ast.Name) and context.source.enclosing(node, *_FUNCTIONS) is not scope
        for node in reads
    )
    statement = context.source.parents.get(call)
    if names and isinstance(statement, ast.Expr):
        with decisions.provided(taken=((Part.EDIT, statement),)):
            decisions.refine(call.func, None, "review", _ELSEWHERE, "C2T300")
        with decisions.provided(free=((Part.EDIT, statement),)):
            decisions.edit(
                statement,
                ReplaceStatement(
                    context.source.start(statement),
                    f"compat.retain_grad({', '.join(sorted(names))})\ncall",
                    {"call": context.operand(call)},
                ),
            )
    else:
        all_named = False
    if not all_named:
        decisions.refine(call.func, None, "review", _ELSEWHERE, "C2T300")


def _is_reached(context: Context, node: ast.Attribute, scope: ast.AST | None) -> bool:
    """Whether what a gradient is read of has its name in a function too: it is read there, or from ``self``."""
    own = context.source.enclosing(node, *_FUNCTIONS)
    if own is scope:
        return True
    root = node.value
    while isinstance(root, ast.Attribute):
        root = root.value
    cls = context.source.enclosing(node, ast.ClassDef)
    return (
        isinstance(own, _FUNCTIONS)
        and isinstance(scope, _FUNCTIONS)
        and isinstance(root, ast.Name)
        and cls is not None
        and own in cls.body  # type: ignore[attr-defined]
        and scope in cls.body  # type: ignore[attr-defined]
        and all(f.args.args[:1] and f.args.args[0].arg == root.id for f in (own, scope))
    )


def _may_be_result(context: Context, value: ast.expr) -> bool:
    """Whether ``value`` may be the result of a computation: it is no parameter of a link."""
    if isinstance(value, ast.Attribute) and context.analysis.is_link(context.analysis.kind(value.value)):
        if not _is_kept_by(context, context.analysis.kind(value.value), value.attr):
            return False
    return any(may_hold_graph(k) for k in options(context.analysis.kind(value)))


def _is_kept_by(context: Context, link: Kind, name: str) -> bool:
    """Whether methods of a link keep a result under a name: ``self.features = F.relu(h)`` in its forward."""
    classes = [cls for kind in options(link) if isinstance(kind, Inst) for cls in context.analysis.mro(kind.cls)]
    methods = [m for c in classes if isinstance(c, ClassInfo) for m in c.methods.values() if m.name != "__init__"]
    return any(
        isinstance(target, ast.Attribute)
        and target.attr == name
        and isinstance(target.value, ast.Name)
        and method.node.args.args[:1]
        and target.value.id == method.node.args.args[0].arg
        and any(may_hold_graph(kind) for kind in options(context.analysis.kind(assign.value)))
        for method in methods
        if isinstance(method.node, _FUNCTIONS)
        for assign in method.inside.of(ast.Assign)
        for target in assign.targets
    )


def _known_before(context: Context, scope: ast.AST | None, call: ast.Call) -> set[str]:
    """The names that have a value where ``call`` stands."""
    start = context.source.start(call)
    arguments = scope.args if isinstance(scope, _FUNCTIONS) else ast.arguments([], [], None, [], [], None, [])
    return {
        node.id
        for node in context.source.of(ast.Name)
        if isinstance(node.ctx, ast.Store)
        and context.source.start(node) < start
        and context.source.enclosing(node, *_FUNCTIONS, *_COMPREHENSIONS) is scope
    } | {a.arg for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}


def _keeps_all(context: Context, call: ast.Call) -> bool:
    given = [*call.args[:1], *(k.value for k in call.keywords if k.arg == "retain_grad")]
    if not given or call.args and isinstance(given[0], ast.Call):  # it makes the gradient that PyTorch's takes
        return False
    return context.analysis.kind(given[0]) != Const(False)
