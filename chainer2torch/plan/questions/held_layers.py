"""Layers in a list of which a link of the project is made: ``block=Tower([('conv', L.Convolution2D(...)), ...])``.

Where the class adds each of them to itself, and makes none of its own, one loop over its modules gives them Chainer's
first values.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.kinds import Class, Inst, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.questions.choice import chosen
from chainer2torch.plan.questions.layers import needs_first_values

_ADDS = frozenset({"add_link", "add_module"})


def held_layers(context: Context, node: ast.expr) -> list[ast.Call]:
    """The layers that a link holds which a call makes, if it holds all that stand in the call and these begin alike."""
    if not isinstance(node, ast.Call) or _class_of(context, node) is None:
        return []
    found = list(_parts(context, node))
    calls = [call for call in found if call is not None]
    if len(calls) < len(found) or not all(needs_first_values(context, c) or _is_no_layer(context, c) for c in calls):
        return []
    return [call for call in calls if needs_first_values(context, call)]


def _parts(context: Context, node: ast.Call) -> Iterator[ast.Call | None]:
    """The calls that make Chainer's links, inside one of a class of the project; None: something is not held."""
    cls = _class_of(context, node)
    pairs = _pairs(node)
    init = cls.methods.get("__init__") if cls is not None else None
    if cls is None or pairs is None or init is None or _makes_links(context, cls):
        yield None
        return
    for name, value in pairs:
        if not isinstance(value, ast.Call):
            if any(isinstance(k, Inst) and context.analysis.is_link(k) for k in options(context.kind(value))):
                yield None
        elif not _adds(init.node, name):
            yield None
        elif _class_of(context, value) is not None:
            yield from _parts(context, value)
        else:
            yield value if chosen(context, value) is not None else None


def _is_no_layer(context: Context, call: ast.Call) -> bool:
    """Whether a loop over layers with weights passes over what a call makes."""
    choice = context.ask(chosen, call)
    return choice is not None and (choice.template or "").startswith("torch.nn.BatchNorm")


def _class_of(context: Context, node: ast.Call) -> ClassInfo | None:
    kinds = options(context.kind(node.func))
    kind = kinds[0] if len(kinds) == 1 else None
    return kind.info if isinstance(kind, Class) and context.analysis.derives(kind.info, "chainer.Chain") else None


def _pairs(node: ast.Call) -> list[tuple[str, ast.expr]] | None:
    """``[('conv', value), ...]`` as the one argument of a call."""
    if len(node.args) != 1 or node.keywords or not isinstance(node.args[0], ast.List):
        return None
    found = [
        (item.elts[0].value, item.elts[1])
        for item in node.args[0].elts
        if isinstance(item, ast.Tuple)
        and len(item.elts) == 2
        and isinstance(item.elts[0], ast.Constant)
        and isinstance(item.elts[0].value, str)
    ]
    return found if len(found) == len(node.args[0].elts) else None


def _makes_links(context: Context, cls: ClassInfo) -> bool:
    """Whether the class, or a class of the project that it derives from, makes links itself."""
    return any(
        isinstance(k, ClassInfo)
        and any(
            any(isinstance(kind, Inst) and context.analysis.is_link(kind) for kind in options(context.analysis.kind(n)))
            for n in nodes_of(k.node)
            if isinstance(n, ast.Call) and not (isinstance(n.func, ast.Name) and n.func.id in ("super", "getattr"))
        )
        for k in context.analysis.mro(cls)
    )


def _adds(init: ast.AST, name: str) -> bool:
    """Whether ``for name, link in links:`` of a constructor adds what has a name."""
    if not isinstance(init, ast.FunctionDef):
        return False
    given = [a.arg for a in init.args.args[1:]]
    loops = [n for n in init.body if isinstance(n, ast.For)]
    stored = {n.id for n in nodes_of(init) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    if len(given) != 1 or len(loops) != 1 or given[0] in stored or loops[0].orelse:
        return False
    target = loops[0].target
    if not (
        isinstance(loops[0].iter, ast.Name)
        and loops[0].iter.id == given[0]
        and isinstance(target, ast.Tuple)
        and [type(e) for e in target.elts] == [ast.Name, ast.Name]
    ):
        return False
    key, link = (e.id for e in target.elts if isinstance(e, ast.Name))
    return _reaches(loops[0].body, key, link, name)


def _reaches(body: Sequence[ast.stmt], key: str, link: str, name: str) -> bool:
    """Whether the one statement of a loop adds a link under its name."""
    if len(body) != 1:
        return False
    statement = body[0]
    if isinstance(statement, ast.If):
        return not statement.orelse and _holds(statement.test, key, name) and _reaches(statement.body, key, link, name)
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr in _ADDS
        and [ast.unparse(a) for a in call.args] == [key, link]
    )


def _holds(test: ast.expr, key: str, name: str) -> bool:
    """Whether a test of a name is true: ``not name.startswith('_')``; what is not understood is not."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _is_understood(test.operand, key) and not _holds(test.operand, key, name)
    if not _is_understood(test, key):
        return False
    assert isinstance(test, ast.Call) and isinstance(test.func, ast.Attribute)
    assert isinstance(test.args[0], ast.Constant)
    text = str(test.args[0].value)
    return name.startswith(text) if test.func.attr == "startswith" else name.endswith(text)


def _is_understood(test: ast.expr, key: str) -> bool:
    return (
        isinstance(test, ast.Call)
        and isinstance(test.func, ast.Attribute)
        and test.func.attr in ("startswith", "endswith")
        and isinstance(test.func.value, ast.Name)
        and test.func.value.id == key
        and len(test.args) == 1
        and isinstance(test.args[0], ast.Constant)
        and isinstance(test.args[0].value, str)
    )


__all__ = ["held_layers"]
