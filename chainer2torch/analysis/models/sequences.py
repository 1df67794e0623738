"""What reaches the layers of a Sequential: each gets what the layer before it gives.

The layers are kept with the place where the Sequential is made (or with the class that derives from it): a tuple while
their order is known, a list once something is put in, taken out, or added from a list of unknown length. Then each may
stand behind each. A Sequential whose layers are taken out is called in ways that are not seen: anything may reach them.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Class, Func, Inst, Kind, Lst, Ref, Tensor, Tup, Union, options
from chainer2torch.analysis.lattice import element_of, join, join_all
from chainer2torch.analysis.models.read_walks import WALKS, only_read
from chainer2torch.analysis.models.shapes import rank_of
from chainer2torch.analysis.module_index import ClassInfo

SEQUENTIAL = "chainer.Sequential"
LAYERS = "*layers"
_REPEATED = "*repeated"
_ADDING = {"append": 0, "insert": 1, "extend": 0, "__iadd__": 0}
# methods that neither call the layers nor hand them out, and after which they are the same in the same order
_HARMLESS = frozenset(
    {
        "__call__",
        "add_hook",
        "cleargrads",
        "copy",
        "copyparams",
        "count",
        "count_by_layer_type",
        "count_params",
        "disable_update",
        "enable_update",
        "forward",
        "index",
        "init_scope",
        "namedparams",
        "params",
        "serialize",
        "to_cpu",
        "to_device",
        "to_gpu",
        "zerograds",
    }
)
_SHORTER = frozenset({"clear", "pop", "remove", "remove_by_layer_type"})
_MAX_ROUNDS = 4


def is_sequential(interpreter: Interpreter, kind: Kind) -> bool:
    return isinstance(kind, Inst) and interpreter.derives(kind.cls, SEQUENTIAL)


def made(interpreter: Interpreter, owner: ClassInfo | int, args: list[Kind], node: ast.AST | None) -> None:
    """``chainer.Sequential(L.Linear(...), F.relu, *more)``, or ``super().__init__(...)`` in a class on it."""
    starred = [isinstance(a, ast.Starred) for a in node.args] if isinstance(node, ast.Call) else []
    layers: list[Kind] = []
    ordered = True
    for i, kind in enumerate(args):
        if not (i < len(starred) and starred[i]):
            layers.append(kind)
        elif isinstance(kind, Tup):
            layers += kind.items
        else:
            ordered = False
            layers.append(element_of(kind))
    _keep(interpreter, owner, Tup(tuple(layers)) if ordered else Lst(_any_of(layers)))
    _through_inner(interpreter, layers if ordered else [])


def repeated(interpreter: Interpreter, owner: int, layer: Kind) -> None:
    """``layer.repeat(3)``: copies of one layer, each behind another. What is called after it was taken out is seen."""
    interpreter.objects.setdefault(owner, {})[_REPEATED] = layer
    _keep(interpreter, owner, Lst(layer))


def method_called(interpreter: Interpreter, receiver: Inst, name: str, args: list[Kind], node: ast.AST | None) -> None:
    """A method of a Sequential: it may add layers, or hand them out."""
    if name == "__init__":
        cls = getattr(interpreter.unit, "cls", None)
        if isinstance(cls, ClassInfo):
            made(interpreter, cls, args, node)
    elif name in _ADDING or name in _SHORTER:
        added = args[_ADDING[name] :] if name in _ADDING else []
        if name in ("extend", "__iadd__"):
            added = [element_of(kind) for kind in added]
        for owner in _owners(receiver):
            held = _held(interpreter, owner)
            if held is not None and (name not in _ADDING or len(added) == 1):
                _keep(interpreter, owner, Lst(_any_of([*_elements(held), *added])))
            elif held is not None:
                opened(interpreter, receiver)
    elif name in ("__iter__", "__getitem__") and _is_repeated(interpreter, receiver):
        pass
    elif name not in _HARMLESS and not (name in WALKS and only_read(interpreter.module.source, node)):
        opened(interpreter, receiver)


def joined(interpreter: Interpreter, *parts: Kind) -> Kind:
    """``Sequential(a) + Sequential(b)`` and ``Sequential(a) * 3``: another that holds their layers."""
    for part in parts:
        if isinstance(part, Inst) and is_sequential(interpreter, part):
            opened(interpreter, part)
    return Inst(SEQUENTIAL)


def opened(interpreter: Interpreter, receiver: Inst) -> None:
    """The layers of a Sequential go where their calls are not seen."""
    for owner in _owners(receiver):
        held = _held(interpreter, owner)
        for layer in _elements(held) if held is not None else []:
            if isinstance(layer, (Inst, Func)):
                interpreter.call(layer, [Tensor()], {}, None)


def called(interpreter: Interpreter, receiver: Inst, args: list[Kind]) -> Kind:
    """What a Sequential gives, after each layer has got what the one before it gave."""
    results: list[Kind] = []
    for owner in _owners(receiver):
        held = _held(interpreter, owner)
        if held is None:
            results.append(Tensor())
        elif isinstance(held, Tup):
            results.append(_in_order(interpreter, list(held.items), args))
        else:
            results.append(_in_any_order(interpreter, _elements(held), args))
    return join_all(results) if results else Tensor()


def _in_order(interpreter: Interpreter, layers: list[Kind], args: list[Kind]) -> Kind:
    for layer in layers:
        result = _call(interpreter, layer, args)
        if result is BOTTOM:
            return BOTTOM
        args = list(result.items) if isinstance(result, Tup) else [result]
    return args[0] if len(args) == 1 else Tup(tuple(args))


def _in_any_order(interpreter: Interpreter, layers: list[Kind], args: list[Kind]) -> Kind:
    """Every layer may get what comes in, and what any other gives."""
    state = args[0] if len(args) == 1 else UNKNOWN
    for _ in range(_MAX_ROUNDS):
        results = [_call(interpreter, layer, [state]) for layer in layers]
        after = join_all([state, *(r for r in results if r is not BOTTOM)])
        if after == state:
            return state
        state = after
    for layer in layers:
        _call(interpreter, layer, [UNKNOWN])
    return UNKNOWN


def _through_inner(interpreter: Interpreter, layers: list[Kind]) -> None:
    """Whoever calls a Sequential: behind a layer that gives one rank always, the next gets that rank."""
    state: Kind = UNKNOWN
    for layer in layers:
        if rank_of(state) is not None:
            state = _call(interpreter, layer, [state])
        else:
            state = _given_anything(interpreter, layer)


def _given_anything(interpreter: Interpreter, layer: Kind) -> Kind:
    """What a layer of Chainer's gives for a tensor of which nothing is known; nothing is noted of this call."""
    if not isinstance(layer, Inst) or not isinstance(layer.cls, str):
        return UNKNOWN
    rules = interpreter.rules
    row = rules.member(layer.cls, "__call__") or rules.member(layer.cls, "forward")
    return interpreter.row_result(row, [Tensor()], {}, layer) if row is not None else UNKNOWN


def _call(interpreter: Interpreter, layer: Kind, args: list[Kind]) -> Kind:
    """The result of a layer: a link, a function of Chainer's or of the project, or a class that wraps the result."""
    results: list[Kind] = []
    for option in options(layer):
        if isinstance(option, Ref):
            row = interpreter.rules.rows.get(option.name)
            results.append(interpreter.row_result(row, args, {}, None) if row is not None else UNKNOWN)
        elif isinstance(option, (Inst, Func, Class)):
            results.append(interpreter.call(option, args, {}, None))
        else:
            results.append(UNKNOWN)
    return join_all(results)


def _any_of(layers: list[Kind]) -> Kind:
    return join_all(layers) if layers else BOTTOM


def _elements(held: Kind) -> list[Kind]:
    """The kinds of all layers, in no order."""
    if isinstance(held, Tup):
        return [layer for part in held.items for layer in _elements(part)]
    if isinstance(held, Lst):
        return _elements(held.element)
    if isinstance(held, Union):
        return [layer for option in held.ordered for layer in _elements(option)]
    return [] if held is BOTTOM else [held]


def _is_repeated(interpreter: Interpreter, receiver: Inst) -> bool:
    owners = _owners(receiver)
    return bool(owners) and all(
        isinstance(owner, int) and _REPEATED in interpreter.objects.get(owner, {}) for owner in owners
    )


def _owners(receiver: Inst) -> list[ClassInfo | int]:
    """Where the layers of a Sequential are kept: with its class, or with each place where it may have been made."""
    return [receiver.cls] if isinstance(receiver.cls, ClassInfo) else list(receiver.sites)


def _held(interpreter: Interpreter, owner: ClassInfo | int) -> Kind | None:
    if isinstance(owner, ClassInfo):
        for cls in interpreter.mro(owner):
            if isinstance(cls, ClassInfo):
                interpreter.reads(cls, LAYERS)
                if LAYERS in cls.attrs:
                    return cls.attrs[LAYERS]
        return None
    interpreter.reads(owner, LAYERS)
    return interpreter.objects.get(owner, {}).get(LAYERS)


def _keep(interpreter: Interpreter, owner: ClassInfo | int, layers: Kind) -> None:
    """Notes the layers; what was noted in another way before may be there instead, in any order."""
    old = _held(interpreter, owner)
    if old is not None and old != layers and not (isinstance(old, Tup) and isinstance(layers, Tup)):
        layers = Lst(_any_of([*_elements(old), *_elements(layers)]))
    if isinstance(owner, ClassInfo):
        interpreter.set_attribute(owner, LAYERS, layers)
        return
    held = interpreter.objects.setdefault(owner, {})
    new = join(held.get(LAYERS), layers)
    if new != held.get(LAYERS):
        held[LAYERS] = new
        interpreter.changed(owner, LAYERS)
