"""How an updater of the project's own draws its batch, and the parameters that could stand for it.

def get_batch(self):                                     def get_batch(self, batch):
    batch = next(self.get_iterator('main'))                  return self.converter(batch, self.device)
    return self.converter(batch, self.device)

def update_core(self):                                   def update_core(self, batch):
    x = self.get_batch()                                     x = self.get_batch(batch=batch)

No epoch is counted by an iterator of another name, so its batches stay drawn where they are:

    other = next(self.get_iterator('target'))                other = self.next_batch('target')

Nor does a parameter do where an update takes several batches of the main one. It draws them itself, and the manager
counts:

    for _ in range(self.n_dis):                              for _ in range(self.n_dis):
        batch = self.get_iterator('main').next()                 batch = self.next_batch()
"""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.native.own_inits import init_of

HOLDERS = frozenset({"get_iterator", "_iterators"})
_CORE = "update_core"
_NEXT = frozenset({"next", "__next__"})
_SAME = frozenset({"batch_size", "dataset"})  # attributes of a DataLoader, too
_BATCH = "batch"
NEXT_BATCH = "next_batch"
_OF_THE_BASE = frozenset({NEXT_BATCH, "_batches"})  # names of the base that draws


@dataclasses.dataclass(frozen=True, eq=False)
class Drawing:
    """How a method draws the batch: the calls that draw, the names of the iterator, and the name of the batch.

    ``binds``: whether each draw is a statement that gives the batch this name. ``passes``: the calls of other such
    methods, with the names of their parameters.
    """

    method: ast.FunctionDef
    draws: tuple[ast.Call, ...]
    names: tuple[ast.Assign, ...]
    batch: str
    binds: bool
    passes: tuple[tuple[ast.Call, str], ...] = ()


def drawings_of(cls: ClassInfo) -> list[Drawing] | None:
    """How ``update_core`` of a class, and what it calls, draw the batch; None: not so that a parameter could do."""
    methods = {n.name: n for n in cls.node.body if isinstance(n, ast.FunctionDef)}
    parents, nodes = cls.module.source.parents, list(nodes_of(cls.node))
    idle = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in _SAME and isinstance(n.ctx, ast.Load)}
    apart = idle | {_drawn_from(call) for call, _ in further_draws(cls)}
    held = [n for n in _holders(cls, nodes) if parents[n] not in apart]
    said = cls.module.source.attributes
    found: dict[str, Drawing] = {}
    for name, method in methods.items():
        inside = list(nodes_of(method))
        holding = [n for n in inside if n in held]
        held = [n for n in held if n not in holding]
        if holding and (name == _CORE or name in said):  # what nobody calls stays as it is: a loader has no `next`
            lookups = [n for n in inside if _is_main(n) and n not in idle]
            drawing = _drawing_of(method, lookups)
            if drawing is None or len(lookups) != len(holding):
                return None
            found[name] = drawing
    if held:
        return None
    return _handed_on(cls, methods, found)


def _holders(cls: ClassInfo, nodes: list[ast.AST]) -> list[ast.Attribute]:
    """Where a class names what holds its iterators, but for an ``__init__`` that fills it itself."""
    filling = (
        {id(n.targets[0]) for n in nodes_of(init) if isinstance(n, ast.Assign)} if (init := init_of(cls)) else set()
    )
    return [n for n in nodes if isinstance(n, ast.Attribute) and n.attr in HOLDERS and id(n) not in filling]


def further_draws(cls: ClassInfo) -> list[tuple[ast.Call, ast.expr]]:
    """The calls in a class that draw from an iterator other than the main one, each with the name of that iterator.

    There are none where something in the file already has the name of the method that would take their place.
    """
    calls = (n for n in nodes_of(cls.node) if isinstance(n, ast.Call))
    found = [(call, name) for call in calls if (name := _other_name(_drawn_from(call))) is not None]
    return found if found and not _is_taken(cls) else []


def own_draws(cls: ClassInfo) -> list[Drawing] | None:
    """The methods of a class that draw of the main iterator; None: one does more with it than to draw."""
    if _is_taken(cls):
        return None
    parents, nodes = cls.module.source.parents, list(nodes_of(cls.node))
    idle = {n.value for n in nodes if isinstance(n, ast.Attribute) and n.attr in _SAME and isinstance(n.ctx, ast.Load)}
    apart = idle | {_drawn_from(call) for call, _ in further_draws(cls)}
    held = [n for n in _holders(cls, nodes) if parents[n] not in apart]
    found: list[Drawing] = []
    for method in (n for n in cls.node.body if isinstance(n, ast.FunctionDef)):
        inside = list(nodes_of(method))
        lookups = [n for n in inside if _is_main(n) and n not in idle]
        holding = [n for n in held if n in inside]
        drawing = _draws_in(method, lookups) if lookups else None
        if len(lookups) != len(holding) or lookups and drawing is None:
            return None
        held = [n for n in held if n not in inside]
        found += [drawing] if drawing is not None else []
    return None if held else found


def _is_taken(cls: ClassInfo) -> bool:
    names = (getattr(n, "attr", getattr(n, "name", None)) for n in nodes_of(cls.module.source.tree))
    return not _OF_THE_BASE.isdisjoint(names)


def _handed_on(cls: ClassInfo, methods: dict[str, ast.FunctionDef], found: dict[str, Drawing]) -> list[Drawing] | None:
    """The same with the methods that call those, from ``update_core`` on; None: others call them, too."""
    todo = [name for name in found if name != _CORE]
    while todo:
        name = todo.pop()
        mentions = [n for n in nodes_of(cls.module.source.tree) if isinstance(n, ast.Attribute) and n.attr == name]
        calls = {n.func: n for n in nodes_of(cls.node) if isinstance(n, ast.Call)}
        if not all(node in calls and is_self(node.value) for node in mentions):
            return None
        for caller, method in methods.items():
            passed = tuple((calls[n], found[name].batch) for n in mentions if n in set(nodes_of(method)))
            if not passed:
                continue
            if caller not in found:
                if not _may_be_handed(method):
                    return None
                found[caller] = Drawing(method, (), (), _free(method), False)
                todo += [caller] * (caller != _CORE)
            found[caller] = dataclasses.replace(found[caller], passes=found[caller].passes + passed)
    return list(found.values()) if _CORE in found else None


def _drawing_of(method: ast.FunctionDef, lookups: list[ast.AST]) -> Drawing | None:
    return _draws_in(method, lookups) if _may_be_handed(method) else None


def _draws_in(method: ast.FunctionDef, lookups: list[ast.AST]) -> Drawing | None:
    """What a method draws, if it only draws from what it looks up."""
    inside = list(nodes_of(method))
    named = [n for n in inside if isinstance(n, ast.Assign) and n.value in lookups]
    iterators = {n.targets[0].id for n in named if len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)}
    stores = [n for n in inside if isinstance(n, ast.Name) and n.id in iterators and isinstance(n.ctx, ast.Store)]
    loads = [n for n in inside if isinstance(n, ast.Name) and n.id in iterators and isinstance(n.ctx, ast.Load)]
    draws = [n for n in inside if isinstance(n, ast.Call) and _drawn_from(n) in (*lookups, *loads)]
    drawn = [_drawn_from(n) for n in draws]
    if len(stores) != len(named) or not all(node in drawn for node in loads) or not draws:
        return None
    if not all(node in drawn or any(node is n.value for n in named) for node in lookups):
        return None
    name, binds = _batch_name(method, draws)
    return Drawing(method, tuple(draws), tuple(named), name, binds)


def _may_be_handed(method: ast.FunctionDef) -> bool:
    """Whether a method may get one more parameter: ``update_core`` has none of its own."""
    a = method.args
    alone = len(a.args) == 1 or method.name != _CORE
    plain = not (a.posonlyargs or a.vararg or a.kwonlyargs or a.kwarg or a.defaults or method.decorator_list)
    return alone and plain and bool(a.args) and a.args[0].arg == "self"


def is_self(node: ast.AST) -> bool:
    """Whether an expression is the object whose method it stands in."""
    return isinstance(node, ast.Name) and node.id == "self"


def _is_main(node: ast.AST) -> bool:
    """``self.get_iterator('main')`` or ``self._iterators['main']``."""
    name = _iterator_name(node)
    return name is not None and name.value == "main"


def _other_name(node: ast.AST | None) -> ast.expr | None:
    """The name in ``self.get_iterator('target')``; None where it is the main one, or not in the text."""
    name = None if node is None else _iterator_name(node)
    return name if name is not None and isinstance(name.value, str) and name.value != "main" else None


def _iterator_name(node: ast.AST) -> ast.Constant | None:
    """The name in ``self.get_iterator('main')`` or ``self._iterators['main']``."""
    if isinstance(node, ast.Call):
        holder, names, form = node.func, node.args, "get_iterator"
        if node.keywords:
            return None
    elif isinstance(node, ast.Subscript):
        holder, names, form = node.value, [node.slice], "_iterators"
    else:
        return None
    if not isinstance(holder, ast.Attribute) or holder.attr != form or not is_self(holder.value):
        return None
    return names[0] if len(names) == 1 and isinstance(names[0], ast.Constant) else None


def _drawn_from(call: ast.Call) -> ast.expr | None:
    """The iterator in ``iterator.next()`` and ``next(iterator)``."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in _NEXT and not call.args and not call.keywords:
        return call.func.value
    if isinstance(call.func, ast.Name) and call.func.id == "next" and len(call.args) == 1 and not call.keywords:
        return call.args[0]
    return None


def _batch_name(method: ast.FunctionDef, draws: list[ast.Call]) -> tuple[str, bool]:
    """The name of the parameter, and whether the statements that draw only give the batch this name."""
    names = [n for n in nodes_of(method) if isinstance(n, (ast.Name, ast.arg))]
    bound = {
        n.targets[0].id: n
        for n in nodes_of(method)
        if isinstance(n, ast.Assign) and n.value in draws and len(n.targets) == 1 and isinstance(n.targets[0], ast.Name)
    }
    count = sum(isinstance(n, ast.Assign) and n.value in draws for n in nodes_of(method))
    if len(bound) == 1 and count == len(draws):
        ((name, _),) = bound.items()
        first = min(draw.lineno for draw in draws)
        if not any(isinstance(n, ast.Name) and n.id == name and n.lineno < first for n in names):
            return name, True
    return _free(method), False


def _free(method: ast.FunctionDef) -> str:
    """A name for the parameter that nothing has in the method."""
    taken = {n.arg if isinstance(n, ast.arg) else n.id for n in nodes_of(method) if isinstance(n, (ast.Name, ast.arg))}
    return next(n for n in (_BATCH, *(f"{_BATCH}_{i}" for i in range(1, len(taken) + 2))) if n not in taken)


__all__ = ["HOLDERS", "NEXT_BATCH", "Drawing", "drawings_of", "further_draws", "is_self", "own_draws"]
