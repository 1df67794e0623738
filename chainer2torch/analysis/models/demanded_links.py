"""Values of unknown kind that must be links, since the program asks them for what only Chainer's links have.

``gen = self.models['gen']``, ``gen.cleargrads()``: everything else in the function that is asked of ``gen`` is asked of
a link, too. An object that is none raises in both frameworks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.source import Source, nodes_of

Place = tuple[ast.AST, str]  # the function, or the class, and the name (or the attribute of its objects)

# Methods of links that nothing else has (an optimizer of version 1 has zero_grads); the others take no arguments there
_OF_LINKS = frozenset({"addgrads", "cleargrads", "copyparams", "namedlinks", "namedparams", "zerograds"})
_BY_OTHERS_TOO = frozenset({"links", "params"})
_MEMBERS = _OF_LINKS | _BY_OTHERS_TOO
_ASKING = frozenset({"callable", "getattr", "hasattr", "isinstance", "issubclass", "type"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def is_demanded(facts: Facts, source: Source, node: ast.Name | ast.Attribute) -> bool:
    """Whether a name, or an attribute of ``self``, of which nothing is known stands for a link."""
    found = facts.once_a_file(_demanded, source)
    if not found or (node.id if isinstance(node, ast.Name) else node.attr) not in facts.once_a_file(_names, source):
        return False
    place = _place(source, node)
    return place in found and found[place].isdisjoint(facts.once(_own_methods))


def _names(source: Source) -> frozenset[str]:
    """The names in the places of a file."""
    return frozenset(name for _, name in _demanded(source))


def _own_methods(facts: Facts) -> frozenset[str]:
    """The methods of links that classes of the project have as well which are none, or may be none."""
    return frozenset(
        name for cls in facts.classes.values() if not facts.derives(cls, "chainer.Link") for name in cls.methods
    ) & frozenset(_MEMBERS)


def _demanded(source: Source) -> dict[Place, frozenset[str]]:
    """The places in a file with the methods that they are asked for."""
    found: dict[Place, frozenset[str]] = {}
    for call in source.of(ast.Call):
        owner = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in _MEMBERS else None
        if not isinstance(owner, (ast.Name, ast.Attribute)) or not _fits(call):
            continue
        place = _place(source, owner)
        if place is not None:
            found[place] = found.get(place, frozenset()) | {call.func.attr}  # type: ignore[attr-defined]
    asked = {_place(source, node) for node in _asked(source)} if found else set()
    return {place: names for place, names in found.items() if place not in asked}


def _fits(call: ast.Call) -> bool:
    """Whether a link takes a call: ``links(1)`` is one of something else."""
    name = call.func.attr  # type: ignore[attr-defined]
    if name in ("copyparams", "addgrads"):
        return bool(call.args)
    return not call.args and all(k.arg in ("include_uninit", "skipself") for k in call.keywords)


def _asked(source: Source) -> Iterator[ast.Name | ast.Attribute]:
    """What a test asks for its kind: it is not the same everywhere."""
    for call in source.of(ast.Call):
        if isinstance(call.func, ast.Name) and call.func.id in _ASKING and call.args:
            if isinstance(call.args[0], (ast.Name, ast.Attribute)):
                yield call.args[0]


def _place(source: Source, node: ast.Name | ast.Attribute) -> Place | None:
    """Where a name is bound, once; the class of ``self.name``. None for anything else."""
    if isinstance(node, ast.Attribute):
        if not isinstance(node.value, ast.Name) or node.value.id != "self":
            return None
        cls = source.enclosing(node, ast.ClassDef)
        return None if cls is None else (cls, node.attr)
    for scope in source.ancestors(node):
        if isinstance(scope, (ast.Lambda, ast.ClassDef, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)):
            if node.id in _bound_inside(scope):
                return None
        if isinstance(scope, (*_FUNCTIONS, ast.Module)):
            times = _times_bound(source, scope, node.id)
            if times or isinstance(scope, ast.Module):
                return (scope, node.id) if times == 1 else None
    return None


def _bound_inside(scope: ast.AST) -> set[str]:
    """The names of a lambda's parameters, of a comprehension, of a class body."""
    return {n.arg for n in nodes_of(scope) if isinstance(n, ast.arg)} | {
        n.id for n in nodes_of(scope) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }


def _times_bound(source: Source, scope: ast.AST, name: str) -> int:
    """How often a scope binds a name, as a parameter or in statements."""
    times = 0
    if isinstance(scope, _FUNCTIONS):
        a = scope.args
        times += sum(p.arg == name for p in (*a.posonlyargs, *a.args, *a.kwonlyargs))
        times += 2 * sum(p is not None and p.arg == name for p in (a.vararg, a.kwarg))
    for node in source.named.get(name, ()):
        if not isinstance(node.ctx, ast.Load):
            if source.enclosing(node, *_FUNCTIONS, ast.Lambda) is (scope if isinstance(scope, _FUNCTIONS) else None):
                times += 1
    return times


__all__ = ["is_demanded"]
