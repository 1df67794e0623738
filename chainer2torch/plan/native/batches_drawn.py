"""How many batches of the main iterator one update draws: an epoch has as many iterations only where it is one.

An epoch of n batches has n / m iterations where each of them draws m.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass

_NEXT = frozenset({"next", "__next__"})
_LOOPS = (ast.For, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LEAVES: tuple[type[ast.stmt], ...] = (ast.Break, ast.Continue, ast.Return)
_MOST = 99  # draws, or ways, that are told apart


@dataclass(frozen=True)
class Draws:
    """A number of batches, and attributes of the updater that are added to it, one for each time."""

    number: int = 0
    attributes: tuple[str, ...] = ()

    def __add__(self, other: Draws) -> Draws:
        if _UNKNOWN in (self, other):
            return _UNKNOWN
        found = Draws(self.number + other.number, tuple(sorted(self.attributes + other.attributes)))
        return found if found.number + len(found.attributes) <= _MOST else _UNKNOWN

    def written(self, updater: str) -> str:
        """The number as code."""
        numbers = [str(self.number)] if self.number or not self.attributes else []
        return " + ".join(numbers + [f"{updater}.{name}" for name in self.attributes])


_UNKNOWN, _NONE, ONE = Draws(-1), Draws(), Draws(1)


def draws_one(analysis: Analysis, cls: ClassInfo) -> bool:
    """Whether every way through ``update_core`` of an updater draws just one batch, as far as the text tells."""
    return draws_of(analysis, cls) == ONE


def draws_of(analysis: Analysis, cls: ClassInfo) -> Draws | None:
    """How many batches each way through ``update_core`` of an updater draws; None: not always as many, or not known.

    ``for _ in range(self.n)`` draws as many as the attribute says, which only ``__init__`` sets.
    """
    methods, again = dict[str, FuncInfo](), set[str]()
    for owner in analysis.mro(cls):
        for name, method in owner.methods.items() if isinstance(owner, ClassInfo) else ():
            again |= {name} & methods.keys()
            methods.setdefault(name, method)
    if "update_core" not in methods:
        return ONE
    if analysis.once(names_one_twice):
        return None
    fixed = analysis.once(_fixed)
    ways = _Walk(methods, again).of(methods["update_core"].node, frozenset())
    (found,) = ways if len(ways) == 1 else (_UNKNOWN,)
    # a function that gets the iterators may draw where no call shows it; nobody means an epoch without batches
    known = found not in (_UNKNOWN, _NONE) and all(map(fixed.__contains__, found.attributes))
    return found if known else None


def draws_as_code(analysis: Analysis, classes: Sequence[ClassInfo | str], updater: str, unknown: bool) -> str | None:
    """How many batches an update of one of some classes draws, as code; "": one, None: not known.

    ``updater`` is the path of the updater. ``unknown``: it may be of yet another class.
    """
    found = {draws_of(analysis, cls) if isinstance(cls, ClassInfo) else ONE for cls in classes}
    others = found - {ONE}
    if not others:
        return ""
    (draws,) = others if len(others) == 1 else (None,)
    if draws is None or unknown and not draws.attributes:
        return None
    if ONE not in found:
        return draws.written(updater)
    if len(draws.attributes) != 1 or draws.number or _has(analysis, classes, draws.attributes[0]):
        return None
    return f"getattr({updater}, {draws.attributes[0]!r}, 1)"


def _has(analysis: Analysis, classes: Sequence[ClassInfo | str], name: str) -> bool:
    """Whether an updater that draws one batch for an update may have an attribute."""
    single = [cls for cls in classes if isinstance(cls, ClassInfo) and draws_of(analysis, cls) == ONE]
    owners = {owner for cls in single for owner in analysis.mro(cls) if isinstance(owner, ClassInfo)}
    return any(name in owner.attrs or name in owner.methods for owner in owners) or any(
        getattr(node, "attr", "") == name for owner in owners for node in nodes_of(owner.node)
    )


def names_one_twice(analysis: Analysis) -> bool:
    """Whether a dictionary has one iterator under two names, ``{'main': it, 'other': it}``: both draw from it."""
    for module in analysis.project.modules.values():
        same = {
            node.targets[0].id: node.value.id
            for node in module.source.of(ast.Assign)
            if isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Name)
        }
        for node in module.source.of(ast.Dict):
            names = [same.get(value.id, value.id) for value in node.values if isinstance(value, ast.Name)]
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            if "main" in keys and len(set(names)) < len(names):
                return True
    return False


def _fixed(analysis: Analysis) -> frozenset[str]:
    """The attributes that nothing but the ``__init__`` of their own object sets."""
    set_once, changed = set[str](), set[str]()
    for module in analysis.project.modules.values():
        for node in module.source.of(ast.Attribute):
            if not isinstance(node.ctx, ast.Load):
                method = module.source.enclosing(node, ast.FunctionDef)
                own = isinstance(node.value, ast.Name) and node.value.id == "self"
                once = own and isinstance(method, ast.FunctionDef) and method.name == "__init__"
                (set_once if once else changed).add(node.attr)
        changed.update(
            str(call.args[1].value)
            for call in module.source.of(ast.Call)
            if isinstance(call.func, ast.Name)
            and call.func.id in ("setattr", "delattr")
            and len(call.args) > 1
            and isinstance(call.args[1], ast.Constant)
        )
    return frozenset(name for name in set_once - changed if not name.startswith("__"))


class _Walk:
    """The numbers of batches that pieces of code may draw."""

    def __init__(self, methods: dict[str, FuncInfo], again: Collection[str]):
        self.methods, self.again = methods, again  # ``again``: what several classes of the program's own define
        self.names: dict[str, list[ast.expr]] = {}  # of the function that is walked through: what they stand for

    def of(self, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda, inside: frozenset[str]) -> set[Draws]:
        around, self.names = self.names, _named(function)
        found = self._sum([function.body] if isinstance(function, ast.Lambda) else function.body, inside)
        self.names = around
        return found

    def _drawn(self, iterator: ast.expr) -> Draws:
        """The batches of the main iterator in ``iterator.next()``."""
        if isinstance(iterator, ast.Name) and iterator.id in self.names:
            meant = {_drawn_of(value) for value in self.names[iterator.id]}
            return meant.pop() if len(meant) == 1 else _UNKNOWN
        return _NONE if _of_another(iterator) else ONE

    def _sum(self, nodes: Iterable[ast.AST], inside: frozenset[str]) -> set[Draws]:
        total, left = {_NONE}, False
        for node in nodes:
            drawn = self._count(node, inside)
            if left and drawn != {_NONE}:
                return {_UNKNOWN}  # it may return before it draws
            total, left = _sums(total, drawn), left or _may_be_left(node, (ast.Return,))
        return total

    def _count(self, node: ast.AST, inside: frozenset[str]) -> set[Draws]:
        if isinstance(node, (ast.If, ast.IfExp)):
            branches = [b if isinstance(b, list) else [b] for b in (node.body, node.orelse)]
            either = set().union(*(self._sum(branch, inside) for branch in branches))
            return _sums(self._count(node.test, inside), either)
        if isinstance(node, ast.For) and (times := _times(node)) is not None:
            each = self._sum(node.body, inside)
            return each if each == {_NONE} else {_repeated(each, times)}
        below = self._sum(ast.iter_child_nodes(node), inside)
        if isinstance(node, ast.Try) and node.handlers and below != {_NONE}:
            return {_UNKNOWN}  # part of it may be done, and the update goes on
        if isinstance(node, _LOOPS):
            return {_NONE} if below == {_NONE} else {_NONE, _UNKNOWN}
        if not isinstance(node, ast.Call):
            return below
        return _sums(below, self._called(node, inside))

    def _called(self, call: ast.Call, inside: frozenset[str]) -> set[Draws]:
        function = call.func
        if isinstance(function, ast.Name):
            return {self._drawn(call.args[0])} if function.id == "next" and call.args else {_NONE}
        if not isinstance(function, ast.Attribute):
            return {_NONE}
        if function.attr in _NEXT:
            return {self._drawn(function.value)}
        owner = function.value
        if function.attr == "reset":
            return {_UNKNOWN}  # an epoch begins anew
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
            chainers = {ONE} if function.attr == "update_core" else {_NONE}
            return {_UNKNOWN} if function.attr in self.again else chainers
        own = isinstance(owner, ast.Name) and owner.id == "self"
        if not own or function.attr not in self.methods or function.attr in inside:
            return {_NONE}
        return self.of(self.methods[function.attr].node, inside | {function.attr})


def _sums(some: set[Draws], others: set[Draws]) -> set[Draws]:
    found = {a + b for a in some for b in others}
    return found if len(found) <= _MOST else {_UNKNOWN}


def _times(loop: ast.For) -> Draws | None:
    """How often a loop over ``range(5)`` or ``range(self.n)`` runs, which nothing leaves; None: not known."""
    call = loop.iter
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name) or call.func.id not in ("range", "xrange"):
        return None
    if len(call.args) != 1 or call.keywords or loop.orelse or _may_be_left(loop):
        return None
    size = call.args[0]
    if isinstance(size, ast.Constant) and isinstance(size.value, int):
        return Draws(max(size.value, 0))
    if isinstance(size, ast.Attribute) and isinstance(size.value, ast.Name) and size.value.id == "self":
        return Draws(0, (size.attr,))
    return None


def _may_be_left(part: ast.AST, by: tuple[type[ast.stmt], ...] = _LEAVES) -> bool:
    """Whether a statement ends a round, a loop or a function before its end."""
    if isinstance(part, (ast.FunctionDef, ast.Lambda)):
        return False
    return isinstance(part, by) or any(_may_be_left(inner, by) for inner in ast.iter_child_nodes(part))


def _repeated(each: set[Draws], times: Draws) -> Draws:
    """What a loop draws in all, where each of its rounds draws as many batches as the others."""
    (one,) = each if len(each) == 1 else (_UNKNOWN,)
    if one == _UNKNOWN or one.attributes or one.number * (times.number + 1) > _MOST:
        return _UNKNOWN
    return Draws(one.number * times.number, times.attributes * one.number)


def _named(function: ast.AST) -> dict[str, list[ast.expr]]:
    """What a function gives to its variables: ``it = self.get_iterator('main')``, ``a, b = self.a, self.b``."""
    found: dict[str, list[ast.expr]] = {}
    for node in nodes_of(function):
        for target in node.targets if isinstance(node, ast.Assign) else []:
            value = node.value  # type: ignore[attr-defined]
            pairs = [(target, value)]
            if isinstance(target, ast.Tuple):
                several = value.elts if isinstance(value, ast.Tuple) else []
                pairs = list(zip(target.elts, several if len(several) == len(target.elts) else [value] * 99))
            for name, given in pairs:
                if isinstance(name, ast.Name):
                    found.setdefault(name.id, []).append(given)
    return found


def _drawn_of(iterator: ast.expr) -> Draws:
    """The batches of the main iterator that a value gives, which a variable stands for."""
    if _of_another(iterator):
        return _NONE
    return ONE if _of_another(iterator, False) else _UNKNOWN


def _of_another(iterator: ast.expr, another: bool = True) -> bool:
    """Whether an iterator is asked for by another name than `main`, so that no epoch is counted by it.

    Else whether it is asked for by that name.
    """
    if isinstance(iterator, ast.Subscript):
        holder, form, name = iterator.value, "_iterators", iterator.slice
    elif isinstance(iterator, ast.Call) and iterator.args:
        holder, form, name = iterator.func, "get_iterator", iterator.args[0]
    else:
        return False
    known = getattr(holder, "attr", "") == form
    return known and isinstance(name, ast.Constant) and (name.value != "main") is another


__all__ = ["Draws", "draws_as_code", "draws_of", "draws_one", "names_one_twice"]
