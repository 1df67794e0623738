"""Walks over the parameters or children of a link whose order does not matter, and that ask for no names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from collections.abc import Set as AbstractSet

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import Class, Inst, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.scoped_functions import is_scope
from chainer2torch.plan.questions.shared_links import shares_parameters

_WALKS = frozenset({"params", "children"})
_KEEP_ORDER = frozenset({"enumerate", "list", "zip"})
_ARRAYS_OF_SETS = frozenset({"gradients", "parameters"})
_NAMES = frozenset({"name", "link", "update_rule"})
# what a comprehension may be handed to, so that nobody sees in which order its items came
_WITHOUT_ORDER = frozenset({"all", "any", "frozenset", "fsum", "len", "max", "min", "set", "sorted", "sum"})
# what does something else at the second call than at the first, and what shows the order
_IN_ORDER = frozenset({"append", "appendleft", "extend", "insert", "next", "pop", "popleft", "print", "write"})


def walks_freely(context: Context, call: ast.Call) -> bool:
    """Whether ``for p in link.params():`` does with each what it does with the others, so that any order will do.

    A parameter that is reached twice comes once from torch: where a project shares links, the answer is no.
    """
    return _loops(context, call, call) and not keeps_order(context, context.source.parents[call])


def pairs_freely(context: Context, call: ast.Call) -> bool:
    """Whether ``for p, q in zip(net.params(), copy.params()):`` pairs the parameters of two links of one class.

    They come in one order from both, whichever it is, and the loop does with each pair what it does with the others.
    """
    outer = context.source.parents.get(call)
    loop = context.source.parents.get(outer) if outer is not None else None
    if not isinstance(outer, ast.Call) or outer.keywords or getattr(outer.func, "id", "") not in ("zip", "izip"):
        return False
    if not isinstance(loop, (ast.For, ast.comprehension)) or not _loops(context, call, outer):
        return False
    classes = {_class_walked(context, walk) for walk in outer.args}
    return len(outer.args) > 1 and len(classes) == 1 and None not in classes and not keeps_order(context, loop)


def _class_walked(context: Context, walk: ast.expr) -> ClassInfo | None:
    """The one class of the project whose parameters ``net.params()`` gives, if all its objects are built alike."""
    method = walk.func if isinstance(walk, ast.Call) and not walk.args and not walk.keywords else None
    if not isinstance(method, ast.Attribute) or method.attr != "params":
        return None
    kinds = options(context.kind(method.value))
    found = {k.cls for k in kinds if isinstance(k, Inst) and isinstance(k.cls, ClassInfo)}
    if len(found) != 1 or not all(isinstance(k, Inst) and k.cls in found for k in kinds):
        return None
    (cls,) = found
    return cls if isinstance(cls, ClassInfo) and not context.analysis.heirs(cls) else None


def arrays_walked_freely(context: Context, node: ast.Attribute) -> bool:
    """Whether any order will do for ``model.parameters`` and ``model.gradients`` of version 1, also zipped."""
    outer = context.source.parents.get(node)
    walked: ast.AST = node
    if isinstance(outer, ast.Call) and _last_name(outer.func) == "zip" and node in outer.args:
        model = ast.unparse(node.value)
        together = all(
            isinstance(a, ast.Attribute) and a.attr in _ARRAYS_OF_SETS and ast.unparse(a.value) == model
            for a in outer.args
        )
        walked = outer if together else node
    elif isinstance(outer, ast.Call) and _last_name(outer.func) == "len" and outer.args == [node]:
        return not context.analysis.once(has_own_ways)
    return _loops(context, node, walked) and not keeps_order(context, context.source.parents[walked])


def walks_in_order(context: Context, call: ast.Call) -> bool:
    """Whether a loop walks freely or, through ``enumerate`` and ``zip``, in an order that both sides share."""
    outer: ast.AST = call
    while isinstance(parent := context.source.parents.get(outer), ast.Call) and outer in parent.args:
        if not isinstance(parent.func, ast.Name) or parent.func.id not in _KEEP_ORDER:
            return False
        outer = parent
    return _loops(context, call, outer)


def _loops(context: Context, call: ast.expr, iterable: ast.AST) -> bool:
    loop = context.source.parents.get(iterable)
    if not isinstance(loop, (ast.For, ast.comprehension)) or loop.iter is not iterable:
        return False
    names = {n.id for n in nodes_of(loop.target) if isinstance(n, ast.Name)}
    inside = nodes_of(loop if isinstance(loop, ast.For) else context.source.statement(call))
    named = any(
        isinstance(n, ast.Attribute) and n.attr in _NAMES and isinstance(n.value, ast.Name) and n.value.id in names
        for n in inside
    )
    return not named and not context.analysis.once(has_own_ways)


def keeps_order(context: Context, loop: ast.AST, met_once: frozenset[str] = frozenset()) -> bool:
    """Whether something is left of the order of a walk: a list, a place that is counted, what is printed.

    ``old = [p.data.copy() for p in model.params()]`` is zipped with another walk later. ``met_once`` are names of
    loops inside of it that are another parameter in each round.
    """
    if not isinstance(loop, ast.For):
        made = context.source.parents[loop]
        taker = context.source.parents.get(made)
        if isinstance(taker, ast.Starred):
            taker = context.source.parents.get(taker)
        name = _last_name(taker.func) if isinstance(taker, ast.Call) and taker.func is not made else ""
        return not isinstance(made, ast.SetComp) and name not in _WITHOUT_ORDER
    body = [n for statement in loop.body for n in nodes_of(statement)]
    if any(isinstance(n, (ast.Break, ast.Yield, ast.YieldFrom)) for n in body):
        return True
    if any(isinstance(n, ast.Return) and not isinstance(n.value, (ast.Constant, type(None))) for n in body):
        return True
    if any(isinstance(n, ast.Call) and _last_name(n.func) in _IN_ORDER for n in body):
        return True
    return _carries(body, {n.id for n in nodes_of(loop.target) if isinstance(n, ast.Name)} | met_once)


def _carries(body: list[ast.AST], own: AbstractSet[str]) -> bool:
    """Whether a round reads what the round before has left: ``i`` of ``v[i:i + p.size]`` before ``i += p.size``."""
    left: dict[str, tuple[int, int]] = {}
    added: set[str] = set()
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        for target in targets:
            for part in nodes_of(target):
                if isinstance(part, (ast.Name, ast.Attribute)) and isinstance(part.ctx, ast.Store):
                    left.setdefault(ast.unparse(part), _end(node))
        if isinstance(node, ast.AugAssign) and isinstance(node.target, (ast.Name, ast.Attribute)):
            added.add(ast.unparse(node.target))
    read = [n for n in body if isinstance(n, (ast.Name, ast.Attribute)) and isinstance(n.ctx, ast.Load)]
    for node in read:
        text = ast.unparse(node)
        if any(isinstance(n, ast.Name) and n.id in own for n in nodes_of(node)):
            continue  # `p.data`, and `held[name]` for the name of this round
        if text in added and text not in left or text in left and (node.lineno, node.col_offset) < left[text]:
            return True
    return False


def _end(node: ast.AST) -> tuple[int, int]:
    return node.end_lineno or 0, node.end_col_offset or 0  # type: ignore[attr-defined]


def _last_name(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def has_own_ways(analysis: Analysis) -> bool:
    """Whether links of the project say themselves what they hold, or a link or parameter has two places."""
    if any(_WALKS & cls.methods.keys() and _may_be_link(analysis, cls) for cls in analysis.classes.values()):
        return True
    modules = analysis.project.modules.values()
    if any(shares_parameters(analysis, module) for module in modules):
        return True
    return any(
        isinstance(value, ast.Attribute) and analysis.is_link(analysis.kind(value))
        for module in modules
        for value in _second_names(analysis, module.source)
    )


def _may_be_link(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether objects of a class, or of one below it, are links: a base that nobody knows may be one."""
    return any(
        analysis.derives(one, "chainer.Link")
        or any(not isinstance(kind, (Class, Ref)) for base in one.bases for kind in options(base))
        for below in (cls, *analysis.heirs(cls))
        for one in analysis.mro(below)
        if isinstance(one, ClassInfo)
    )


def _second_names(analysis: Analysis, source: Source) -> Iterator[ast.expr]:
    """What is assigned to an attribute under which a link may register it."""
    for node in source.of(ast.Assign):
        assert isinstance(node, ast.Assign)
        targets = [target for target in node.targets if isinstance(target, ast.Attribute)]
        if any(_may_register(analysis, source, node, target) for target in targets):
            yield node.value
            if isinstance(node.value, ast.Attribute) and node.value.attr in ("W", "b"):
                yield node.value.value


def _may_register(analysis: Analysis, source: Source, node: ast.Assign, target: ast.Attribute) -> bool:
    """Whether ``target = link`` may register the link: not in what is none, nor where ``__init__`` has no scope."""
    owners = options(analysis.kind(target.value))
    if owners and all(isinstance(k, Inst) and not analysis.derives(k.cls, "chainer.Link") for k in owners):
        return False
    method = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
    constructs = isinstance(method, ast.FunctionDef) and method.name == "__init__" and len(node.targets) == 1
    own = isinstance(target.value, ast.Name) and target.value.id == "self"
    sets = any("__setattr__" in c.methods for k in owners if isinstance(k, Inst) for c in _own_classes(analysis, k))
    return sets or not (constructs and own) or any(is_scope(outer) for outer in source.ancestors(node))


def _own_classes(analysis: Analysis, inst: Inst) -> list[ClassInfo]:
    return [cls for cls in analysis.mro(inst.cls) if isinstance(cls, ClassInfo)]
