"""Updaters of the program's own that fill what StandardUpdater keeps, without calling its ``__init__``.

    def __init__(self, iterator, opt_gen, opt_dis, device):
        self._iterators = {'main': iterator}
        self._optimizers = {'gen': opt_gen, 'dis': opt_dis}

They need nothing more of their base than those whose base is made with the two dictionaries.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Class, Ref, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.objects import Use
from chainer2torch.plan.native.own_inits import init_of
from chainer2torch.plan.native.places import is_rebound

_UPDATER = "chainer.training.updaters.StandardUpdater"
_FILLED = ("_iterators", "_optimizers")
_ASKED = frozenset({"chainer.dataset.Iterator", "builtins.dict"})


def is_filled_in(use: Use) -> bool:
    """Whether an object goes into such a dictionary, and whatever is taken out of it again is known."""
    context, display = use.context, use.parent
    statement = context.source.parents[display] if isinstance(display, ast.Dict) else None
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if isinstance(target, ast.Name):
        target = _filled_from(context, target)
    if not isinstance(target, ast.Attribute) or not _is_own(context, target):
        return False
    loads = [node for node in context.source.attributes[target.attr] if isinstance(node.ctx, ast.Load)]
    parents = [context.source.parents[node] for node in loads]
    return all(isinstance(p, ast.Subscript) and context.kind(p) != UNKNOWN for p in parents)


def _filled_from(context: Context, name: ast.Name) -> ast.expr | None:
    """The attribute that gets ``iterator = {'main': iterator}`` in the same function."""
    function = context.source.enclosing(name, ast.FunctionDef)
    body = function.body if isinstance(function, ast.FunctionDef) else []
    stores = [s for s in body if isinstance(s, ast.Assign) and isinstance(s.value, ast.Name) and s.value.id == name.id]
    return stores[0].targets[0] if len(stores) == 1 else None


def is_drawn_inside(use: Use) -> bool:
    """``self._iterators['main'].next()`` in such an updater."""
    held = use.node.value if isinstance(use.node, ast.Subscript) else None
    return held is not None and _is_own(use.context, held) and getattr(held, "attr", "") == _FILLED[0]


def is_asked(use: Use) -> bool:
    """``isinstance(it, chainer.dataset.Iterator)``, ``isinstance(it, dict)`` in such an updater: the answer stays."""
    call, context = use.parent, use.context
    if not isinstance(call, ast.Call) or len(call.args) != 2 or call.args[0] is not use.node:
        return False
    if not _is_in_updater(context, call):
        return False
    asked = context.kind(call.args[1])
    return context.kind(call.func) == Ref("builtins.isinstance") and isinstance(asked, Ref) and asked.name in _ASKED


def filled(context: Context, call: ast.Call, name: str) -> dict[str, ast.expr] | None:
    """What a call that makes an updater puts into ``_iterators`` or ``_optimizers``, by name; None: not known."""
    kinds = options(context.kind(call.func))
    owner = kinds[0].info if len(kinds) == 1 and isinstance(kinds[0], Class) else None
    made = init_of(owner) if isinstance(owner, ClassInfo) else None
    if made is None or made.args.vararg is not None:
        return None
    body = [node for statement in made.body for node in nodes_of(statement)]
    stores = [s for s in body if isinstance(s, ast.Assign) and _fills(s, name)]
    if len(stores) != 1:
        return None
    display, wrapping = stores[0].value, None
    if isinstance(display, ast.Name):  # iterator = {'main': iterator}
        wrapping = next((s for s in body if isinstance(s, ast.Assign) and _wraps(s, display.id)), None)
        display = wrapping.value if wrapping is not None else display
    if not isinstance(display, ast.Dict):
        return None
    names = [a.arg for a in (*made.args.posonlyargs, *made.args.args)][1:]
    given: dict[str | None, ast.expr] = {**dict(zip(names, call.args)), **{k.arg: k.value for k in call.keywords}}
    others = [node for node in body if wrapping is None or node is not wrapping.targets[0]]
    found = dict[str, ast.expr]()
    for key, value in zip(display.keys, display.values):
        handed = given.get(value.id) if isinstance(value, ast.Name) else None
        if not isinstance(key, ast.Constant) or handed is None or is_rebound(value, others):
            return None
        found[str(key.value)] = handed
    return found


def _wraps(statement: ast.Assign, name: str) -> bool:
    """``iterator = {'main': iterator}``."""
    value = statement.value.values if isinstance(statement.value, ast.Dict) else []
    return [getattr(node, "id", "") for node in (*statement.targets, *value)] == [name, name]


def _fills(statement: ast.Assign, name: str) -> bool:
    target = statement.targets[0]
    own = isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == "self"
    return own and getattr(target, "attr", "") == name


def _is_own(context: Context, node: ast.AST) -> bool:
    """Whether an expression is one of the two attributes of ``self`` in an updater of the program's own."""
    if not isinstance(node, ast.Attribute) or node.attr not in _FILLED:
        return False
    return isinstance(node.value, ast.Name) and node.value.id == "self" and _is_in_updater(context, node)


def _is_in_updater(context: Context, node: ast.AST) -> bool:
    around = context.source.enclosing(node, ast.ClassDef)
    info = context.analysis.classes.get(around) if isinstance(around, ast.ClassDef) else None
    return info is not None and context.analysis.derives(info, _UPDATER)


__all__ = ["filled", "is_asked", "is_drawn_inside", "is_filled_in"]
