"""Updaters that make themselves: classes on StandardUpdater whose ``__init__`` calls that of no base.

def __init__(self, iterator, opt_gen, opt_dis, device):
    self._iterators = {'main': iterator}
    self._optimizers = {'gen': opt_gen, 'dis': opt_dis}
    self.converter, self.device = convert.concat_examples, device
    self.iteration = 0

They say what Chainer's ``__init__`` says, in their own words. The short base asks nobody for more than that; it counts
no iterations, so the statement that begins to count goes.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Ref
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.context import Context

_INIT, _COUNTER = "__init__", "iteration"
_KEPT = frozenset({"_iterators", "_optimizers"})
_UPDATER = "chainer.training.updaters.StandardUpdater"


def init_of(cls: ClassInfo) -> ast.FunctionDef | None:
    """The ``__init__`` of a class that calls no other one."""
    method = cls.methods.get(_INIT)
    node = method.node if method is not None else None
    if not isinstance(node, ast.FunctionDef):
        return None
    inits = (n for n in nodes_of(node) if isinstance(n, ast.Attribute) and n.attr == _INIT)
    return None if any(inits) else node


def first_counts(cls: ClassInfo) -> list[ast.stmt]:
    """The statements ``self.iteration = 0`` with which a class begins to count; [] where it does more with the number.

    What the class only reads later on is what its base has counted.
    """
    init = init_of(cls)
    inside = list(nodes_of(init)) if init is not None else []
    named = [n for n in nodes_of(cls.node) if isinstance(n, ast.Attribute) and n.attr == _COUNTER]
    stores = [n for n in named if not isinstance(n.ctx, ast.Load)]
    begins = [n for n in inside if isinstance(n, ast.Assign) and _begins(n)]
    targets = [n.targets[0] for n in begins]
    early = any(n in inside and isinstance(n.ctx, ast.Load) for n in named)
    return [*begins] if len(stores) == len(targets) and not early else []


def _begins(statement: ast.Assign) -> bool:
    target, value = statement.targets[0], statement.value
    counter = isinstance(target, ast.Attribute) and target.attr == _COUNTER and len(statement.targets) == 1
    own = counter and isinstance(target.value, ast.Name) and target.value.id == "self"  # type: ignore[attr-defined]
    return own and isinstance(value, ast.Constant) and value.value == 0 and not isinstance(value.value, bool)


def kept_optimizers(cls: ClassInfo, call: ast.Call) -> dict[str, ast.expr]:
    """The optimizers that such an ``__init__`` keeps of the arguments of a call, by name; {} where that is not written.

    ``self._optimizers = {'gen': opt_gen, 'dis': opt_dis}``, of parameters that get no other value.
    """
    init = init_of(cls)
    stores = [] if init is None else _stores(init, "_optimizers")
    display = stores[0].value if len(stores) == 1 else None
    if init is None or not isinstance(display, ast.Dict):
        return {}
    given = _arguments(init, call)
    names = {
        str(getattr(key, "value", None)): getattr(value, "id", "") for key, value in zip(display.keys, display.values)
    }
    named = len(names) == len(display.keys) and all(isinstance(key, ast.Constant) for key in display.keys)
    return {key: given[name] for key, name in names.items()} if named and given.keys() >= {*names.values()} else {}


def main_iterator(cls: ClassInfo, call: ast.Call) -> ast.expr | None:
    """What an ``__init__`` names the main one of several iterators: ``{'main': iterator_a, 'second': iterator_b}``."""
    method = cls.methods.get(_INIT)
    init = method.node if method is not None else None
    if not isinstance(init, ast.FunctionDef):
        return None
    given = _arguments(init, call)
    displays = (n for n in nodes_of(init) if isinstance(n, ast.Dict))
    named = [
        (k, v) for d in displays for k, v in zip(d.keys, d.values) if isinstance(k, ast.Constant) and k.value == "main"
    ]
    found = {getattr(value, "id", "") for _, value in named} & given.keys()
    return given[found.pop()] if len(found) == 1 == len(named) else None


def _stores(init: ast.FunctionDef, name: str) -> list[ast.Assign]:
    """The statements that give an attribute of ``self`` its value; [] where it gets one otherwise, too."""
    inside = list(nodes_of(init))
    stored = [n for n in inside if isinstance(n, ast.Attribute) and n.attr == name and not isinstance(n.ctx, ast.Load)]
    found = [n for n in inside if isinstance(n, ast.Assign) and n.targets[0] in stored and len(n.targets) == 1]
    return found if len(found) == len(stored) else []


def _arguments(init: ast.FunctionDef, call: ast.Call) -> dict[str, ast.expr]:
    """What a call gives to the parameters of an ``__init__`` that get no other value, by name."""
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return {}
    a = init.args
    names = [p.arg for p in (*a.posonlyargs, *a.args)][1:]
    stored = {n.id for n in nodes_of(init) if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
    given = {**dict(zip(names, call.args)), **{k.arg: k.value for k in call.keywords if k.arg}}
    return {name: value for name, value in given.items() if name not in stored}


def keeps(context: Context, assign: ast.Assign, display: ast.expr) -> bool:
    """Whether a dictionary is what such an ``__init__`` keeps: ``self._optimizers = {'gen': opt_gen}``.

    Also ``iterator = {'main': iterator}``, a parameter that is only asked what it is and kept so.
    """
    node = context.source.enclosing(assign, ast.ClassDef)
    info = context.analysis.classes.get(node) if isinstance(node, ast.ClassDef) else None
    init = init_of(info) if info is not None and context.analysis.derives(info, _UPDATER) else None
    if init is None or assign.value is not display or len(assign.targets) != 1:
        return False
    inside, target = list(nodes_of(init)), assign.targets[0]
    if assign not in inside or not isinstance(display, ast.Dict):
        return False
    if not isinstance(target, ast.Name):
        return isinstance(target, ast.Attribute) and target.attr in _KEPT
    parents = context.source.parents
    loads = [parents[n] for n in inside if isinstance(n, ast.Name) and n.id == target.id and isinstance(n.ctx, ast.Load)]
    return all(parent is display or _is_kept(parent) or _is_test(context, parent) for parent in loads)


def _is_kept(statement: ast.AST) -> bool:
    """``self._iterators = iterator``."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return len(targets) == 1 and isinstance(targets[0], ast.Attribute) and targets[0].attr in _KEPT


def _is_test(context: Context, call: ast.AST) -> bool:
    return isinstance(call, ast.Call) and context.kind(call.func) == Ref("builtins.isinstance")


__all__ = ["first_counts", "init_of", "keeps", "kept_optimizers", "main_iterator"]
