"""Lists and dictionaries that grow: what is put into them is joined to what they hold, wherever their name is from."""

from __future__ import annotations

import ast
import dataclasses

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kind_specs import REPORTED
from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dct,
    HostArray,
    Kind,
    Lst,
    Mod,
    Scalar,
    Stream,
    Tensor,
    Tup,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import element_of, join, says_more
from chainer2torch.analysis.models import filled, observations, own_dictionaries, possible, sent
from chainer2torch.analysis.models.array_kinds import on_host
from chainer2torch.analysis.models.host_lists import host_lists, is_host_list
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source, nodes_of

_PUTTING = frozenset({"append", "appendleft", "insert", "extend", "extendleft", "put", "put_nowait"})
_TAKING = frozenset({"pop", "popleft", "get", "get_nowait", "send", "__next__"})
_DEPTH = 4  # of lists in lists


class Containers(Interpreter):
    """Methods of the analysis for what containers hold."""

    def list_method(self, receiver: Lst, name: str, args: list[Kind], node: ast.Call | None) -> Kind:
        """The result of a method of a list, which may have grown by it."""
        if name in _PUTTING and args and node is not None and isinstance(node.func, ast.Attribute):
            new = element_of(args[-1]) if name.startswith("extend") else args[0 if name.startswith("put") else -1]
            if self.rules.style == "native" and name == "append" and self._is_host_list(node.func.value):
                new = on_host(new)
            self.container_grown(node.func.value, dataclasses.replace(receiver, element=join(receiver.element, new)))
            return NONE
        if name == "send" and args:  # to a generator, which may go on with it
            sent.to_generator(self, args[0])
        return receiver.element if name in _TAKING else UNKNOWN

    def _is_host_list(self, node: ast.expr) -> bool:
        """Whether a name is that of a list which only the host reads."""
        source = self.module.source
        return is_host_list(source, node, self.once_a_file(host_lists, source))

    def dict_method(
        self, receiver: Dct, name: str, args: list[Kind], keywords: dict[str, Kind], node: ast.Call | None
    ) -> Kind:
        """The result of a method of a dictionary, which may have grown by it."""
        if name == "copy":
            return receiver
        element = self.not_yet() if receiver.element is BOTTOM else receiver.element  # filled out of sight
        if name == "items":
            return Stream(Tup((Scalar("str"), element)))
        if name in ("get", "pop") and args and isinstance(args[0], Const):
            known = next((kind for key, kind in receiver.items if Const(key) == args[0]), None)
            if known is not None:
                known = self.held_under(args[0].value, known)
                return join(known, args[1]) if len(args) > 1 else known
        if name == "popitem":
            return Tup((UNKNOWN, element))
        if name in ("values", "get", "pop"):
            default = args[1] if name != "values" and len(args) > 1 else None
            takes = isinstance(default, (Tensor, HostArray)) or isinstance(default, (Lst, Tup)) and default.sized
            if default is not None and (receiver.element is BOTTOM or takes):
                return default if receiver.element is BOTTOM else join(element, default)
            return Stream(element) if name == "values" else element
        if name in ("setdefault", "update") and node is not None and isinstance(node.func, ast.Attribute):
            new = args[1:2] if name == "setdefault" else [*keywords.values(), *map(self._values_of, args)]
            grown = Dct(receiver.element)
            for kind in new:
                grown = Dct(join(grown.element, kind))
            self.container_grown(node.func.value, grown)
            return NONE if name == "update" else self.not_yet() if grown.element is BOTTOM else grown.element
        return UNKNOWN

    def _values_of(self, table: Kind) -> Kind:
        """The values of a dictionary or of pairs that another one takes."""
        pair = self.iterated(table) if isinstance(table, Lst) else UNKNOWN
        of_pair = pair.items[1] if isinstance(pair, Tup) and len(pair.items) == 2 else UNKNOWN
        return table.element if isinstance(table, Dct) else of_pair

    def item_set(self, target: ast.Subscript, kind: Kind) -> None:
        """``x[key] = value``: the dictionary or list itself has changed."""
        container = self.facts.get(target.value)
        own_dictionaries.put(self, container, kind)
        if not isinstance(target.value, (ast.Name, ast.Attribute, ast.Subscript)):
            return
        if isinstance(container, Tup):
            place = self.facts.get(target.slice)
            at = place.value if isinstance(place, Const) and type(place.value) is int else None
            if at is not None and -len(container.items) <= at < len(container.items):
                parts = list(container.items)
                parts[at] = join(parts[at], kind)
                self.container_grown(target.value, dataclasses.replace(container, items=tuple(parts)))
        elif isinstance(container, Dct):
            key = self.facts.get(target.slice)
            items = tuple((k, v) for k, v in container.items if not isinstance(key, Const) or k != key.value)
            if not isinstance(key, Const):
                items = ()
            elif container.items or container.element is BOTTOM:
                items += ((key.value, kind),)
            self.container_grown(target.value, Dct(join(container.element, kind), items))
        elif isinstance(container, Lst) and not isinstance(target.slice, ast.Slice):
            self.container_grown(target.value, dataclasses.replace(container, element=join(container.element, kind)))
        elif isinstance(container, Unknown) and scalar_type(self.facts.get(target.slice, UNKNOWN)) == "str":
            possible.fill(self, target.value, Dct(kind))

    def grown_in_loop(self, name: ast.expr, kind: Kind) -> None:
        """A list that a loop has a name for holds more: so does what the loop goes through.

        ``for words, k in zip(hypotheses, best): words.append(k)``
        """
        held = _held_by(self.module.source, name) if isinstance(name, ast.Name) and _depth(kind) < _DEPTH else None
        container = self.facts.get(held) if held is not None else None
        if held is None:
            return
        if isinstance(container, Lst):
            self.container_grown(held, dataclasses.replace(container, element=join(container.element, kind)))
        elif isinstance(container, Dct):
            self.container_grown(held, Dct(join(container.element, kind)))

    def observed(self, call: ast.Call) -> None:
        """``with report_scope(observation):`` what a model reports inside is put into the dictionary.

        A block that says itself what it reports is looked at behind it (``observations.put_by_block``).
        """
        node, block = call.args[0], self.module.source.parents.get(self.module.source.parents.get(call, call))
        if isinstance(block, (ast.With, ast.AsyncWith)) and observations.said_inside(block) is not None:
            return
        container = self.facts.get(node)
        if isinstance(container, Dct) and isinstance(node, (ast.Name, ast.Attribute)):
            self.container_grown(node, Dct(join(container.element, REPORTED)))

    def _grown_in_class(self, target: ast.Attribute, kind: Kind) -> None:
        """``cls.plugins.append(cls)`` fills the list of the class that holds it, also where ``cls`` is one below."""
        for owner in options(self.facts.get(target.value, UNKNOWN)):
            if isinstance(owner, Class):
                bases = [base for base in self.mro(owner.info)[1:] if isinstance(base, ClassInfo)]
                if target.attr not in owner.info.attrs and any(target.attr in base.attrs for base in bases):
                    self.set_attribute(next(base for base in bases if target.attr in base.attrs), target.attr, kind)

    def container_grown(self, target: ast.expr, kind: Kind) -> None:
        """A container has become another kind: in the scope that its name is of, for all who read it there."""
        if isinstance(target, ast.Call):  # `groups.setdefault(key, []).append(value)`
            function = target.func
            table = self.facts.get(function.value) if isinstance(function, ast.Attribute) else None
            if isinstance(function, ast.Attribute) and isinstance(table, Dct) and function.attr == "setdefault":
                self.container_grown(function.value, Dct(join(table.element, kind)))
            return
        self.grown_in_loop(target, kind)
        if isinstance(target, ast.Attribute):
            self._grown_in_class(target, kind)
        if isinstance(target, ast.Name) and target.id not in self.scopes[0]:
            env = next((env for env in self.scopes if target.id in env), None)
            module = self.module
        elif isinstance(target, ast.Attribute) and isinstance(owner := self.facts.get(target.value), Mod):
            module, env = owner.info, owner.info.env
        else:
            env = None
        if env is None:
            if isinstance(target, ast.Name):
                filled.put_into_parameter(self, target.id, kind)
            self.assign(target, kind)
            return
        name = target.id if isinstance(target, ast.Name) else target.attr  # type: ignore[attr-defined]
        joined = join(env.get(name), kind)
        if env is not module.env:
            filled.put_inside(self, name, joined)
        if says_more(joined, env.get(name)):
            env[name] = joined
            if env is module.env:
                module.grown.add(name)
                self.changed(module, name)


def _held_by(source: Source, name: ast.Name) -> ast.expr | None:
    """What a loop around a name goes through, where the name stands for its items."""
    for loop in source.ancestors(name):
        if isinstance(loop, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)):
            return None
        if isinstance(loop, ast.For) and any(
            isinstance(n, ast.Name) and n.id == name.id for n in nodes_of(loop.target)
        ):
            held = _part(loop.target, loop.iter, name.id)
            return held if isinstance(held, (ast.Name, ast.Attribute, ast.Subscript)) else None
    return None


def _part(target: ast.expr, items: ast.expr, name: str) -> ast.expr | None:
    """Of ``zip(...)``, ``enumerate(...)`` and ``table.items()`` that part whose items get the name."""
    if isinstance(items, ast.Call) and isinstance(items.func, ast.Attribute) and items.func.attr in ("items", "values"):
        last = target.elts[-1] if isinstance(target, ast.Tuple) and items.func.attr == "items" else target
        return items.func.value if isinstance(last, ast.Name) and last.id == name else None
    if isinstance(target, ast.Name):
        return items
    called = items.func.id if isinstance(items, ast.Call) and isinstance(items.func, ast.Name) else ""
    if isinstance(items, ast.Call) and isinstance(target, ast.Tuple) and called in ("enumerate", "zip"):
        given = items.args if called == "zip" else [items, *items.args[:1]]
        for part, held in zip(target.elts, given):
            if any(isinstance(n, ast.Name) and n.id == name for n in nodes_of(part)):
                return _part(part, held, name)
    return None


def _depth(kind: Kind) -> int:
    return 1 + _depth(kind.element) if isinstance(kind, (Dct, Lst)) else 0
