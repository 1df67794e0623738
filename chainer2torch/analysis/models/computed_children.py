"""Children whose names are computed: ``self.add_link('fc%d' % i, link)``, and ``getattr(self, 'fc%d' % j)`` later.

What such a name begins with tells the children of a class apart, those with a number in the source (``self.fc1``) among
them. They come out with the places where they may have been made, as those of a list of links do.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import DIGITS, NUMBERED, Interpreter
from chainer2torch.analysis.kinds import Inst, Kind, options
from chainer2torch.analysis.lattice import join, join_all
from chainer2torch.analysis.models.link_lists import listed
from chainer2torch.analysis.module_index import ClassInfo


def put(interpreter: Interpreter, receiver: Kind, name: ast.expr | None, child: Kind) -> None:
    """A link that becomes a child under a computed name."""
    begin = _begin(name)
    if not begin or not isinstance(receiver, Inst) or not isinstance(receiver.cls, ClassInfo):
        return
    links = [k for k in options(child) if isinstance(k, Inst) and interpreter.is_link(k)]
    if links and len(links) == len(options(child)) and interpreter.is_link(receiver):
        kind = join_all([listed(interpreter, k, False) for k in links])
        interpreter.set_attribute(receiver.cls, NUMBERED + begin, kind)


def taken(interpreter: Interpreter, receiver: Kind, name: ast.expr | None) -> Kind | None:
    """The children among which a computed name chooses; None where nothing is known of them."""
    return _children(interpreter, receiver, _begin(name), True)


def numbered(interpreter: Interpreter, receiver: Kind | None, name: str) -> Kind | None:
    """``self.fc1`` of children that are put there as ``'fc%d' % i``."""
    begin = name.rstrip(DIGITS)
    return _children(interpreter, receiver, begin, False) if begin != name else None


def _children(interpreter: Interpreter, receiver: Kind | None, begin: str, by_hand: bool) -> Kind | None:
    if not begin or not isinstance(receiver, Inst) or not isinstance(receiver.cls, ClassInfo):
        return None
    held: Kind | None = None
    for owner in interpreter.mro(receiver.cls):
        if not isinstance(owner, ClassInfo):
            continue
        interpreter.reads(owner, NUMBERED + begin)
        for name, kind in list(owner.attrs.items()):
            if name == NUMBERED + begin:
                held = join(held, kind)
            elif by_hand and name != begin and name.rstrip(DIGITS) == begin:
                if not all(isinstance(k, Inst) and interpreter.is_link(k) for k in options(kind)):
                    return None
                held = join(held, join_all([listed(interpreter, k, False) for k in options(kind)]))
    return held


def _begin(name: ast.expr | None) -> str:
    """The literal text with which a name begins: ``'fc'`` of ``'fc%d' % i`` and of ``'{}{}'.format('fc', i)``."""
    while isinstance(name, ast.BinOp) and isinstance(name.op, (ast.Add, ast.Mod)):
        name = name.left
    if isinstance(name, ast.Call) and isinstance(name.func, ast.Attribute) and name.func.attr == "format":
        whole = isinstance(text := name.func.value, ast.Constant) and str(text.value).startswith("{}")
        name = name.args[0] if whole and name.args else text
    if isinstance(name, ast.JoinedStr):
        name = name.values[0] if name.values else None
    if not isinstance(name, ast.Constant) or not isinstance(name.value, str):
        return ""
    return name.value.partition("%")[0].partition("{")[0]
