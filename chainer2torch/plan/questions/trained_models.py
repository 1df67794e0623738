"""Whose gradients a ``backward()`` is for: ``dis.cleargrads(); loss.backward(); optimizer.update()``.

Behind a cut graph the gradients of that model alone are asked for, if those of all others that run in the function are
cleared before they are used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import UNKNOWN, Func, Ref, options
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.paths import is_path

_FREEZING = ("disable_update", "requires_grad", "update_rule")
_CLEARS = frozenset({"cleargrads", "zerograds"})


def trained_model(context: Context, call: ast.Call, cuts: tuple[str, ...]) -> ast.expr | None:
    """The model whose gradients a ``backward()`` is for, which has made nothing of what stands behind the cuts."""
    source = context.source
    statement = source.parents[call]
    scope = source.enclosing(call, ast.FunctionDef, ast.AsyncFunctionDef) or source.tree
    block = [other for other in source.block(statement) if isinstance(other, ast.stmt)]
    if not isinstance(statement, ast.Expr) or statement not in block or context.analysis.once(_freezes):
        return None
    model, updated = _before(block, statement), _behind(block, statement)
    if model is None or updated is None:
        return None
    text = ast.unparse(model)
    calls = [n for n in nodes_of(scope) if isinstance(n, ast.Call)]
    cleared = {ast.unparse(c.func.value) for c in calls if isinstance(c.func, ast.Attribute) and c.func.attr in _CLEARS}
    if not all(_is_of(text, cleared) for text in _models_in(context, scope, set())):
        return None
    if any(_is_update(c) and source.start(c) > source.start(updated) for c in calls):
        return None
    makers = [_maker(scope, name) for name in cuts]
    apart = all(maker in cleared and not _is_part(maker, text) and not _is_part(text, maker) for maker in makers)
    return model if apart else None


def _freezes(analysis: Analysis) -> bool:
    """Whether a file freezes parameters: PyTorch refuses such ones where it is told whose gradients are meant."""
    return any(word in m.source.text for m in analysis.project.modules.values() for word in _FREEZING)


def _before(block: list[ast.stmt], statement: ast.stmt) -> ast.expr | None:
    """``dis`` of ``dis.cleargrads()`` right before a statement, and before others that go backward."""
    others = [s for s in block[: block.index(statement)] if not _goes_backward(s)]
    before = others[-1] if others else None
    call = before.value if isinstance(before, ast.Expr) else None
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute) or call.args or call.keywords:
        return None
    model = call.func.value
    return model if call.func.attr in _CLEARS and is_path(model) and _is_plain(model) else None


def _is_plain(node: ast.AST) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _behind(block: list[ast.stmt], statement: ast.stmt) -> ast.Call | None:
    """``optimizer.update()`` right behind a statement, and behind others that go backward."""
    after = [s for s in block[block.index(statement) + 1 :] if not _goes_backward(s)][:1]
    call = after[0].value if after and isinstance(after[0], ast.Expr) else None
    return call if isinstance(call, ast.Call) and _is_update(call) and not call.args and not call.keywords else None


def _goes_backward(statement: ast.stmt) -> bool:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "backward"


def _is_update(call: ast.Call) -> bool:
    return isinstance(call.func, ast.Attribute) and call.func.attr == "update"


def _models_in(context: Context, scope: ast.AST, seen: set[ast.AST]) -> Iterator[str]:
    """What may run, or be, a model in a function and in those of the project that it calls: how it is written there."""
    seen.add(scope)
    for node in nodes_of(scope):
        if _is_plain(node) and any(context.analysis.is_link(kind) for kind in options(context.kind(node))):
            yield ast.unparse(node)
    bound = {n.id for n in nodes_of(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for call in (n for n in nodes_of(scope) if isinstance(n, ast.Call)):
        owner = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        kinds = options(context.kind(call.func))
        taken = [] if all(isinstance(k, Ref) for k in kinds) else [*call.args, *(k.value for k in call.keywords)]
        for node in (call.func, owner, *taken):
            if _is_plain(node) and _may_be_model(context, node, bound, node in taken):
                yield ast.unparse(node)
        for kind in kinds:
            if isinstance(kind, Func) and kind.info.node not in seen:
                own = _itself(context, kind.info) if isinstance(call.func, ast.Attribute) else ""
                parts = {own, *_parts(kind.info.node, own)} if own else set()
                yield from (t for t in _models_in(context, kind.info.node, seen) if t.split(".")[0] not in parts)


def _itself(context: Context, info: FuncInfo) -> str:
    """What a method of a link calls the link, of which the call says the name; empty for any other function."""
    is_method = info.cls is not None and not info.is_static and context.analysis.derives(info.cls, "chainer.Link")
    first = next(iter(info.node.args.args), None) if is_method else None
    return first.arg if first is not None else ""


def _parts(function: ast.AST, own: str) -> Iterator[str]:
    """The names that loops of a method give to what the link itself holds: ``for layer in self.layers:``."""
    loops = [n for n in nodes_of(function) if isinstance(n, (ast.For, ast.comprehension))]
    for name in {n.id for n in nodes_of(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}:
        stored = [
            n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store)
        ]
        over = [loop.iter for loop in loops if any(n in stored for n in nodes_of(loop.target))]
        if len(over) == len(stored) and all(ast.unparse(i).startswith(f"{own}.") for i in over):
            yield name


def _may_be_model(context: Context, node: ast.expr, bound: set[str], handed: bool) -> bool:
    """Whether a path is a link, or something that nobody knows and that the function has not computed itself.

    A name without an owner that is only ``handed`` on is looked at where it is called.
    """
    kinds = options(context.kind(node))
    if UNKNOWN not in kinds or isinstance(node, ast.Attribute) and not _is_plain_owner(node):
        return False
    return not isinstance(node, ast.Name) or node.id not in bound and not handed


def _is_plain_owner(node: ast.Attribute) -> bool:
    """Whether it is an attribute of the object itself, ``self.gen``: of anything else it is a method or a value."""
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _maker(scope: ast.AST, name: str) -> str:
    """``gen`` of ``fake = gen(z)``, where nothing else gives the name a value; "": it is another expression."""
    name = name.removesuffix("_with_graph")
    values = [
        n.value
        for n in nodes_of(scope)
        if isinstance(n, ast.Assign) and any(isinstance(t, ast.Name) and t.id == name for t in n.targets)
    ]
    calls = [ast.unparse(v.func) for v in values if isinstance(v, ast.Call) and _is_plain(v.func)]
    return calls[0] if len(values) == len(calls) > 0 and len(set(calls)) == 1 else ""


def _is_of(text: str, models: set[str]) -> bool:
    """Whether it is one of some models, or a part of one."""
    return any(_is_part(model, text) for model in models)


def _is_part(one: str, other: str) -> bool:
    return one == other or other.startswith(f"{one}.")


__all__ = ["trained_model"]
