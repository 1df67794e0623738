"""How children, parameters and buffers become attributes of a link: ``add_link``, ``add_param``, ``__init__``."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import (
    BOTTOM,
    UNKNOWN,
    Const,
    Dct,
    HostArray,
    Inst,
    Kind,
    Ref,
    Tensor,
    Tup,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import generalized, join, join_all, unsure
from chainer2torch.analysis.models import computed_children
from chainer2torch.analysis.models.array_kinds import on_device
from chainer2torch.analysis.models.written_items import Written, written, written_pairs
from chainer2torch.analysis.module_index import ClassInfo


NAMESPACE = "types.SimpleNamespace"
PLAIN_OBJECTS = frozenset({"chainer.Chain", "chainer.ChainList", "chainer.Link", NAMESPACE})
PLAIN_CHAINS = frozenset({"chainer.Chain", "chainer.ChainList", "chainer.Link"})
CLASSIFIER = "chainer.links.Classifier"
_CONVOLUTION, _LINEAR = "chainer.links.Convolution2D", "chainer.links.Linear"
_NORMALIZATION = "chainer.links.BatchNormalization"
_GATES = dict.fromkeys("W_r U_r W_z U_z W U".split(), _LINEAR)
_STEP = {"upward": _LINEAR, "lateral": _LINEAR}
_INCEPTION_BN = "conv1 proj3 conv3 proj33 conv33a conv33b poolp".split()
# The layers of Chainer's links that are made of layers. Of an Inception `proj3` is one, though an argument has that
# name, too.
_MADE_OF = {
    "chainer.links.Inception": dict.fromkeys("conv1 proj3 conv3 proj5 conv5 projp".split(), _CONVOLUTION),
    "chainer.links.InceptionBN": dict.fromkeys(_INCEPTION_BN, _CONVOLUTION)
    | {f"{name}n": _NORMALIZATION for name in _INCEPTION_BN},
    "chainer.links.LSTM": _STEP,
    "chainer.links.StatelessLSTM": _STEP,
    "chainer.links.GRU": _GATES,
    "chainer.links.StatefulGRU": _GATES,
    "chainer.links.StatelessGRU": _GATES,
    "chainer.links.Highway": {"plain": _LINEAR, "transform": _LINEAR},
    "chainer.links.Maxout": {"linear": _LINEAR},
}


def of_blocks(cls: str) -> dict[str, Kind]:
    """The layers that a link of Chainer's is made of, by their names."""
    return {name: Inst(layer) for name, layer in _MADE_OF.get(cls, {}).items()}


def register(interpreter: Interpreter, receiver: Inst, name: str, args: list[Kind], node: ast.AST | None) -> None:
    """``self.add_link('l1', L.Linear(...))`` and ``super().__init__(l1=L.Linear(...))`` set attributes."""
    if name == "__init__":
        cls = getattr(interpreter.unit, "cls", None)
        if isinstance(node, ast.Call) and isinstance(cls, ClassInfo) and receiver.cls == CLASSIFIER:
            hold_predictor(
                interpreter,
                cls,
                args,
                {k.arg: interpreter.facts.get(k.value, UNKNOWN) for k in node.keywords if k.arg is not None},
            )
        if (
            isinstance(node, ast.Call)
            and isinstance(cls, ClassInfo)
            and receiver.cls in ("chainer.Chain", "chainer.Link")
        ):
            for dictionary in (k.value for k in node.keywords if k.arg is None and receiver.cls == "chainer.Chain"):
                _spread(interpreter, cls, dictionary)
            for child, kind in _given_by_keyword(interpreter, node):
                interpreter.set_attribute(cls, child, kind if receiver.cls == "chainer.Chain" else parameter_of(kind))
    elif name == "add_link" and isinstance(node, ast.Call) and _add_pairs(interpreter, receiver, node):
        return
    elif name == "add_link" and len(args) == 2 and not isinstance(args[0], Const):
        computed_children.put(interpreter, receiver, node.args[0] if isinstance(node, ast.Call) else None, args[1])
    elif name == "add_persistent" and len(args) == 2 and not _names(interpreter, args[0], node):
        computed_children.put_persistent(interpreter, receiver, _persistent(args[1]))
    elif args and (len(args) > 1 or name == "add_param") and (names := _names(interpreter, args[0], node)):
        if name == "add_persistent":
            kind = _persistent(args[1])
        else:
            given = args[1] if len(args) > 1 else _shape_by_keyword(interpreter, node)
            kind = given if name == "add_link" else parameter_of(given)
        for child in names:
            if isinstance(receiver.cls, ClassInfo):
                interpreter.set_attribute(receiver.cls, child, kind)
            else:  # a Chain of no class of its own
                hold(interpreter, receiver, child, kind)


def _spread(interpreter: Interpreter, cls: ClassInfo, dictionary: ast.expr) -> None:
    """``super().__init__(**layers)``: children under the keys that are written, or computed."""
    held = interpreter.facts.get(dictionary, UNKNOWN)
    if not _put(interpreter, cls, written(interpreter, dictionary)):
        computed_children.put(interpreter, Inst(cls), None, held.element if isinstance(held, Dct) else held)


def _add_pairs(interpreter: Interpreter, receiver: Inst, call: ast.Call) -> bool:
    """``for link in links: self.add_link(*link)`` of pairs that the function writes; gives whether these are all."""
    own = written_pairs(interpreter, call) if isinstance(receiver.cls, ClassInfo) else None
    return own is not None and isinstance(receiver.cls, ClassInfo) and _put(interpreter, receiver.cls, own)


def _put(interpreter: Interpreter, cls: ClassInfo, own: Written) -> bool:
    """Makes children of what a function has written down; gives whether that is all."""
    for child, kind in own.items.items():
        interpreter.set_attribute(cls, child, kind)
    for key, kind in own.computed if own.complete else ():
        computed_children.put(interpreter, Inst(cls), key, kind)
    return own.complete


def _persistent(first: Kind) -> Kind:
    """What a persistent is, by its first value: a buffer, or a number, which one object may have and not another.

    Of a value that nobody knows it may be a buffer.
    """
    kinds = [one for k in options(first) for one in _saved(k)]
    numbers = ("bool", "float", "int")
    known = all(k is BOTTOM or isinstance(k, (HostArray, Tensor)) or scalar_type(k) in numbers for k in kinds)
    return join_all(kinds) if known else unsure(Tensor(array=True), *kinds)


def _saved(kind: Kind) -> tuple[Kind, ...]:
    """What is kept of a value: an array becomes a tensor, a number of NumPy's (or an array without axes) may stay."""
    if not isinstance(kind, (HostArray, Tensor)):
        return (generalized(kind),)
    return (kind, on_device(kind)) if isinstance(kind, HostArray) and kind.rank == 0 else (on_device(kind),)


def _names(interpreter: Interpreter, name: Kind, node: ast.AST | None) -> list[str]:
    """What ``add_param(name)`` calls it: the text, or those that a loop gives the name in turn."""
    if isinstance(name, Const):
        return [str(name.value)]
    return computed_children.names_in_turn(interpreter, node.args[0] if isinstance(node, ast.Call) else None) or []


def _given_by_keyword(interpreter: Interpreter, node: ast.Call) -> Iterator[tuple[str, Kind]]:
    """``fc=L.Linear(...)``, and of ``**links`` what is known to be in the dictionary."""
    for keyword in node.keywords:
        kind = interpreter.facts.get(keyword.value, UNKNOWN)
        if keyword.arg is not None:
            yield keyword.arg, kind
        elif isinstance(kind, Dct):
            yield from ((name, held) for name, held in kind.items if isinstance(name, str))


def hold(interpreter: Interpreter, receiver: Inst, child: str, kind: Kind) -> None:
    """Joins a value into an attribute of a link that has no class of its own, known by the call that made it."""
    for site in receiver.sites:
        made = interpreter.objects.setdefault(site, {})
        new = join(made.get(child), kind)
        if new != made.get(child):
            made[child] = new
            interpreter.changed(site, child)


def _shape_by_keyword(interpreter: Interpreter, node: ast.AST | None) -> Kind:
    """The shape that ``self.add_param('b', shape=n)`` states; without one nothing is known of it."""
    keywords = node.keywords if isinstance(node, ast.Call) else []
    return next((interpreter.facts.get(k.value, UNKNOWN) for k in keywords if k.arg == "shape"), UNKNOWN)


def register_persistent(interpreter: Interpreter, receiver: Inst, name: Kind, node: ast.AST | None) -> None:
    """An array that ``self.register_persistent('mean')`` names becomes a buffer: a tensor; a loop may give the name."""
    if not isinstance(receiver.cls, ClassInfo):
        return
    for attribute in _names(interpreter, name, node):
        for kind in options(interpreter.attribute(receiver, attribute)):
            if isinstance(kind, HostArray):
                interpreter.set_attribute(receiver.cls, attribute, Tensor(kind.rank, kind.dtype, array=True))
            elif isinstance(kind, Unknown):
                interpreter.set_attribute(receiver.cls, attribute, unsure(kind, Tensor(array=True)))


def hold_predictor(interpreter: Interpreter, cls: ClassInfo, args: list[Kind], keywords: dict[str, Kind]) -> None:
    """A class on L.Classifier holds the model that its base is made with as ``self.predictor``."""
    predictor = args[0] if args else keywords.get("predictor", UNKNOWN)
    if not isinstance(predictor, Unknown):
        interpreter.set_attribute(cls, "predictor", predictor)


def parameter_of(shape: Kind) -> Kind:
    """The parameter that is made from a shape."""
    if shape is BOTTOM:
        return BOTTOM
    if isinstance(shape, Tup) and not any(isinstance(n, (Tup, Ref)) for n in shape.items):
        return Tensor(len(shape.items))
    return Tensor(1) if scalar_type(shape) == "int" else Tensor()
