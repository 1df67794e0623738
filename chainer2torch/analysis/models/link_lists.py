"""What a ChainList or Sequential holds: the classes of the links that are put into it.

The links come out without the place where they were made: not every call of theirs can be seen (`for link in
chain.children()`), and what reaches a layer is only trusted when all of its calls are.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import Func, Inst, Kind, Ref, options
from chainer2torch.analysis.lattice import element_of, join, join_all
from chainer2torch.analysis.module_index import ClassInfo

_ADDING = {"append": 0, "add_link": 0, "insert": 1, "extend": 0, "__iadd__": 0}
_ITEMS = "*links"
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
        _add(interpreter, owner, kind)


def made(interpreter: Interpreter, site: int, links: list[Kind], node: ast.AST | None) -> None:
    """``chainer.ChainList(L.Linear(...), *more)``."""
    for kind in _arguments(links, node):
        _add(interpreter, site, kind)


def _arguments(args: list[Kind], node: ast.AST | None) -> list[Kind]:
    starred = [isinstance(a, ast.Starred) for a in node.args] if isinstance(node, ast.Call) else []
    return [element_of(kind) if i < len(starred) and starred[i] else kind for i, kind in enumerate(args)]


def _add(interpreter: Interpreter, owner: ClassInfo | int, kind: Kind) -> None:
    links = [k for k in options(kind) if not isinstance(k, (Ref, Func))]  # a Sequential holds functions, too
    if not owner or not links:
        return
    kind = join_all([Inst(k.cls) if isinstance(k, Inst) and interpreter.is_link(k) else _ANY for k in links])
    if isinstance(owner, ClassInfo):
        interpreter.set_attribute(owner, _ITEMS, kind)
        return
    held = interpreter.objects.setdefault(owner, {})
    new = join(held.get(_ITEMS), kind)
    if new != held.get(_ITEMS):
        held[_ITEMS] = new
        interpreter.changed(owner, _ITEMS)


def item(interpreter: Interpreter, receiver: Inst) -> Kind:
    """The kind of the links that are taken out of a list of links."""
    held: Kind | None = None
    if isinstance(receiver.cls, ClassInfo):
        for owner in interpreter.mro(receiver.cls):
            if isinstance(owner, ClassInfo):
                interpreter.reads(owner, _ITEMS)
                held = join(held, owner.attrs[_ITEMS]) if _ITEMS in owner.attrs else held
    elif receiver.site:
        interpreter.reads(receiver.site, _ITEMS)
        held = interpreter.objects.get(receiver.site, {}).get(_ITEMS)
    return _ANY if held is None else held
