"""What a ChainList or Sequential holds: the classes of the links that are put into it.

The links come out with the places where they may have been made. What reaches a layer of a list is only trusted when
no link is called in the project of which nobody knows where it is from (`for link in chain.children()`).
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, Func, Inst, Kind, Ref, options
from chainer2torch.analysis.lattice import element_of, join, join_all
from chainer2torch.analysis.models.sequences import SEQUENTIAL
from chainer2torch.analysis.module_index import ClassInfo

_ADDING = {"append": 0, "add_link": 0, "insert": 1, "extend": 0, "__iadd__": 0}
_ITEMS = "*links"
_GIVEN = "*given"  # to constructors of Chainer's: where a class of the project walks over them it does not say which
_ANY = Inst("chainer.Link")


def put(interpreter: Interpreter, receiver: Inst, name: str, args: list[Kind], node: ast.AST | None) -> None:
    """``links.append(L.Linear(...))``, ``links.add_link(...)``, ``super().__init__(L.Linear(...), *more)``."""
    if name == "__init__":
        cls = getattr(interpreter.unit, "cls", None)
        owner: ClassInfo | int = cls if isinstance(cls, ClassInfo) else 0
        added = _arguments(args, node)
    elif name in _ADDING and len(args) == _ADDING[name] + 1:
        owner = receiver.cls if isinstance(receiver.cls, ClassInfo) else receiver.site
        added = [element_of(args[-1])] if name in ("extend", "__iadd__") else [args[-1]]
    else:
        return
    for kind in added:
        _add(interpreter, owner, kind, interpreter.derives(receiver.cls, SEQUENTIAL))


def made(interpreter: Interpreter, site: int, links: list[Kind], node: ast.AST | None, in_order: bool) -> None:
    """``chainer.ChainList(L.Linear(...), *more)``."""
    for kind in _arguments(links, node):
        _add(interpreter, site, kind, in_order)


def constructed(interpreter: Interpreter, made: Inst, links: list[Kind], node: ast.AST | None) -> None:
    """``Branched(policy, value)``, where a class on ChainList has no constructor of its own: it holds what it gets."""
    held = interpreter.derives(made.cls, "chainer.ChainList") and not interpreter.derives(made.cls, SEQUENTIAL)
    if held and isinstance(made.cls, ClassInfo):
        for kind in _arguments(links, node):
            _add(interpreter, made.cls, kind, False, _GIVEN)


def _arguments(args: list[Kind], node: ast.AST | None) -> list[Kind]:
    given = node.args[len(node.args) - len(args) :] if isinstance(node, ast.Call) else []  # not the `self` of a base
    starred = [isinstance(a, ast.Starred) for a in given]
    return [element_of(kind) if i < len(starred) and starred[i] else kind for i, kind in enumerate(args)]


def _add(interpreter: Interpreter, owner: ClassInfo | int, kind: Kind, in_order: bool, name: str = _ITEMS) -> None:
    """Notes a link; what reaches those that are called ``in_order``, by a Sequential, is known: see sequences.py."""
    # a Sequential holds functions, too
    links = [k for k in options(kind) if not isinstance(k, (Ref, Func)) and k is not BOTTOM]
    if not owner or not links:
        return
    kind = join_all([listed(interpreter, k, in_order) for k in links])
    if isinstance(owner, ClassInfo):
        interpreter.set_attribute(owner, name, kind)
        return
    held = interpreter.objects.setdefault(owner, {})
    new = join(held.get(_ITEMS), kind)
    if new != held.get(_ITEMS):
        held[_ITEMS] = new
        interpreter.changed(owner, _ITEMS)


def listed(interpreter: Interpreter, link: Kind, in_order: bool) -> Inst:
    """A link of a list, as it comes out of it."""
    if not isinstance(link, Inst) or not interpreter.is_link(link):
        return _ANY
    if in_order or isinstance(link.cls, ClassInfo):
        return Inst(link.cls)
    interpreter.listed.update(link.sites)
    return Inst(link.cls, among=link.sites)


def item(interpreter: Interpreter, receiver: Inst, walked: bool = False) -> Kind:
    """The kind of the links that are taken out of a list of links; ``walked``: one after the other.

    A class that walks over its links walks over those of its heirs, too.
    """
    held: Kind | None = None
    if isinstance(receiver.cls, ClassInfo):
        heirs = interpreter.heirs(receiver.cls) if walked else []
        for owner in (*interpreter.mro(receiver.cls), *heirs):
            for name in (_ITEMS, _GIVEN) if walked else (_ITEMS,):
                if isinstance(owner, ClassInfo):
                    interpreter.reads(owner, name)
                    held = join(held, owner.attrs[name]) if name in owner.attrs else held
    elif receiver.site:
        interpreter.reads(receiver.site, _ITEMS)
        held = interpreter.objects.get(receiver.site, {}).get(_ITEMS)
    return _ANY if held is None else held


def children(interpreter: Interpreter, receiver: Inst) -> Kind:
    """What ``chain_list.children()`` gives: its links, and those that are attributes of its class."""
    found = item(interpreter, receiver)
    bases = interpreter.mro(receiver.cls) if isinstance(receiver.cls, ClassInfo) else []
    for owner in [base for base in bases if isinstance(base, ClassInfo)]:
        for name in list(owner.attrs):
            interpreter.reads(owner, name)
            links = [k for k in options(owner.attrs[name]) if isinstance(k, Inst) and interpreter.is_link(k)]
            found = join_all([found, *(listed(interpreter, k, False) for k in links if name not in (_ITEMS, _GIVEN))])
    return found
