"""Elements of arrays where Python hashes them: keys, members of sets, what is counted.

An element of a NumPy array is a number, and equal numbers have one hash. An element of a tensor is a tensor, whose hash
is its identity: every one is another key. A whole array has no hash in NumPy, so what stands there in a program that
ran is an element.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Dct,
    HostArray,
    Kind,
    Lst,
    Method,
    Ref,
    Scalar,
    Stream,
    Tensor,
    Tup,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import join_all
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.parts.shapes import is_shape
from chainer2torch.plan.parts.written_kinds import is_sized
from chainer2torch.plan.questions.perhaps import may_be_array, may_hold_elements

_WHOLE = frozenset({"uint8", "int8", "int16", "int32", "int64"})
# what takes the elements of its first argument as members or keys
_COUNTING = frozenset(
    {"builtins.set", "builtins.frozenset", "builtins.dict", "collections.Counter", "collections.OrderedDict"}
)
# what holds the same elements as its first argument
_COPIES = frozenset(Ref(f"builtins.{name}") for name in ("list", "reversed", "sorted", "tuple"))
_ENUMERATE = Ref("builtins.enumerate")
_OF_PAIRS = frozenset({"builtins.dict", "collections.OrderedDict"})
_COUNTERS = frozenset(Ref(name) for name in _COUNTING)
# methods of sets and dictionaries whose first argument is hashed, those that other objects have under the name last
_NUMBERS = frozenset({"bool", "int", "float"})
_OF_SETS = frozenset({"add", "discard"})
_OF_DICTIONARIES = frozenset({"get", "setdefault", "pop", "has_key", "__contains__"})
_UPDATES = frozenset({"update", "subtract"})
_ELEMENTS = frozenset({"fromkeys", "union", "intersection", "difference", "isdisjoint", "issubset", "issuperset"})

_MIXED = "{}item.item() if torch.is_tensor(item) else item for item in value{}"
_ROWS = "[tuple(item.item() if torch.is_tensor(item) else item for item in row) for row in value]"
_ROUNDING = ("AlmostEqual", "AlmostEquals", "assert_almost_equal", "assert_almost_equals", "assert_not_almost_equal")


def run(context: Context) -> Decisions:
    """Puts the number in the place of the tensor."""
    decisions = Decisions(context)
    for node in context.source.of(ast.Dict, ast.Set, ast.SetComp, ast.DictComp, ast.Subscript, ast.Compare):
        kept = not isinstance(node, ast.Compare) and not (
            isinstance(node, ast.Subscript) and _is_looked_up(context, node)
        )
        for key in _keys(context, node):
            _as_number(context, decisions, key, put=kept)
    for call in context.source.of(ast.Call):
        _call(context, decisions, call)
    return decisions


def _keys(context: Context, node: ast.AST) -> Iterator[ast.expr]:
    """What a display, a comprehension, an index or a test of membership hashes."""
    if isinstance(node, ast.Dict):
        yield from (key for key in node.keys if key is not None)
    elif isinstance(node, ast.Set):
        yield from node.elts
    elif isinstance(node, ast.SetComp):
        yield node.elt
    elif isinstance(node, ast.DictComp):
        yield node.key
    elif isinstance(node, ast.Subscript):
        held = context.kind(node.value)
        if isinstance(held, Dct) or held == UNKNOWN and _is_whole(context.kind(node.slice)):
            yield node.slice
    elif isinstance(node, ast.Compare) and isinstance(node.ops[-1], (ast.In, ast.NotIn)) and len(node.ops) == 1:
        if not _is_array(context.kind(node.comparators[0])):  # a list compares, with a number as well
            yield node.left


def _is_looked_up(context: Context, node: ast.Subscript) -> bool:
    """Whether a key is only looked up, and not put there: ``table[key].append(x)`` may do that."""
    return isinstance(node.ctx, ast.Load) and not isinstance(context.source.parents.get(node), ast.Attribute)


def _call(context: Context, decisions: Decisions, call: ast.Call) -> None:
    callee = context.kind(call.func)
    if not call.args:
        return
    if isinstance(callee, Ref) and callee.name == "builtins.hash":
        _as_number(context, decisions, call.args[0])
    elif _rounds(call, callee):
        for value in call.args[:2]:
            if all(isinstance(k, Tensor) and k.array and not k.rank for k in options(context.kind(value))):
                wrap(context, decisions, value, "value.item()")
    elif isinstance(callee, Ref) and callee.name in _COUNTING:
        _as_list(context, decisions, call.args[0], pairs=callee.name in _OF_PAIRS)
    elif isinstance(call.func, ast.Attribute):
        receiver, name = context.kind(call.func.value), call.func.attr
        if name in _UPDATES and isinstance(receiver, (Dct, Lst)):
            of_pairs = isinstance(receiver, Dct) and receiver.element != Scalar("int")  # no Counter
            _as_list(context, decisions, call.args[0], pairs=of_pairs)
        if name in _ELEMENTS and (isinstance(receiver, (Lst, Dct)) or receiver in _COUNTERS or receiver == UNKNOWN):
            _as_list(context, decisions, call.args[0])
        elif name in _OF_SETS and _is_member(receiver, context.kind(call.args[0]), call):
            _as_number(context, decisions, call.args[0], put=True)
        elif name in _OF_DICTIONARIES and isinstance(receiver, Dct):
            _as_number(context, decisions, call.args[0], put=name == "setdefault")
        elif name == "get" and isinstance(callee, Method) and isinstance(callee.receiver, Dct):
            _as_number(context, decisions, call.args[0])


def _rounds(call: ast.Call, callee: Kind) -> bool:
    """``assertAlmostEqual(loss.data, 0.5)`` rounds the difference, which Python asks a tensor for in vain."""
    if isinstance(callee, Ref):
        return callee.name.startswith("nose.tools.") and callee.name.endswith(_ROUNDING)
    return isinstance(call.func, ast.Attribute) and call.func.attr.endswith(_ROUNDING)


def _is_member(receiver: Kind, added: Kind, call: ast.Call) -> bool:
    """Whether `receiver.add(added)` puts one element into a set.

    The analysis takes a set for a list, and a list has no such method. What is not known may be anything with a method
    of that name: there only a value that is known to be one number is taken for an element.
    """
    if len(call.args) != 1 or call.keywords:
        return False
    one = all(isinstance(k, Tensor) and k.rank == 0 for k in options(added))
    return isinstance(receiver, Lst) or receiver == UNKNOWN and one


def _as_number(context: Context, decisions: Decisions, node: ast.expr, *, put: bool = False) -> None:
    """An element as a number; of a tuple each of its items, also of one that was made before.

    ``put``: it becomes a key, which may be written some day; there a shape is a plain tuple.
    """
    for part in node.elts if isinstance(node, ast.Tuple) else [node]:
        if put and (is_shape(context, part) or is_sized(context.analysis.kind(part))):
            wrap(context, decisions, part, "tuple(value)")
            continue
        kind = context.kind(part)
        if _is_element(kind):
            wrap(context, decisions, part, "value.item()")
        elif _may_be_element(kind) or may_be_array(context, part):
            simple = isinstance(part, ast.Name)
            template = "(value.item() if torch.is_tensor(value) else value)" if simple else "compat.shown(value)"
            wrap(context, decisions, part, template)
        elif isinstance(part, ast.Call) and context.kind(part.func) in _COPIES and part.args:
            _as_list(context, decisions, part.args[0])
        elif isinstance(kind, Lst) and not isinstance(kind, Stream) and _is_element(kind.element):
            wrap(context, decisions, part, "tuple(item.item() for item in value)")
        elif isinstance(kind, Lst) and not isinstance(kind, Stream) and _may_be_element(kind.element):
            wrap(context, decisions, part, _MIXED.format("tuple(", ")"))
        elif isinstance(kind, Tup) and any(map(_is_element, kind.items)):
            wrap(context, decisions, part, _MIXED.format("tuple(", ")"))


def _as_list(context: Context, decisions: Decisions, node: ast.expr, *, pairs: bool = False) -> None:
    """The elements of an array as numbers; of what is zipped or enumerated, those of each array; of pairs the first."""
    callee = context.kind(node.func) if isinstance(node, ast.Call) else None
    parts: list[ast.expr] = [node]
    starred = isinstance(node, ast.Call) and any(isinstance(a, ast.Starred) for a in node.args)
    if isinstance(node, ast.Call) and not starred and callee in (Ref("builtins.zip"), _ENUMERATE):
        parts = [a for a in node.args if not pairs or a is node.args[0] or _is_vector(context.kind(a))]
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        key = node.elt.elts[0] if pairs and isinstance(node.elt, ast.Tuple) and node.elt.elts else node.elt
        _as_number(context, decisions, key)
        return
    elif isinstance(node, (ast.List, ast.Tuple)) and not pairs:
        for item in node.elts:
            _as_number(context, decisions, item)
        return
    for part in parts:
        kind = _walked(context.kind(part))
        if pairs and (part is not parts[0] or callee == _ENUMERATE) and _is_vector(kind):
            wrap(context, decisions, part, "value.cpu().numpy()")  # the values stay NumPy's numbers
        elif isinstance(part, ast.Starred):
            pass
        elif _is_element(kind):
            wrap(context, decisions, part, "value.tolist()")
        elif may_hold_elements(context, part):
            wrap(context, decisions, part, "compat.shown(value)")
        elif isinstance(part, ast.Call) and context.kind(part.func) == Ref("builtins.map") and len(part.args) == 2:
            if context.kind(part.args[0]) == Ref("builtins.tuple"):
                _as_list(context, decisions, part.args[1])
        elif isinstance(part, ast.Call) and context.kind(part.func) in _COPIES and part.args:
            _as_list(context, decisions, part.args[0])
        elif isinstance(kind, Lst) and _is_element(kind.element):
            wrap(context, decisions, part, "[item.item() for item in value]")
        elif isinstance(kind, Lst) and _may_be_element(kind.element):
            wrap(context, decisions, part, _MIXED.format("[", "]"))
        elif not pairs and isinstance(kind, Tup) and any(map(_is_number, kind.items)):
            wrap(context, decisions, part, _MIXED.format("[", "]"))
        elif pairs and isinstance(kind, Lst) and isinstance(kind.element, Tup) and len(kind.element.items) == 2:
            if _is_element(kind.element.items[0]):
                wrap(context, decisions, part, "[(key.item(), item) for key, item in value]")
        elif not pairs and isinstance(kind, Lst) and _is_row(kind.element):
            wrap(context, decisions, part, _ROWS)


def _walked(kind: Kind) -> Kind:
    """The kind of what is walked over: numbers beside it, as in ``[*[v], 1][0]``, would raise."""
    found = [k for k in options(kind) if scalar_type(k) not in _NUMBERS]
    return join_all(found) if found else kind


def _is_element(kind: Kind) -> bool:
    """Whether a value is an array on the device, or an element of one; Variables have no hash in Chainer.

    So where it may be either it is no Variable. What may be NumPy's as well, or one of its elements, has ``item()`` and
    ``tolist()``, too.
    """
    kinds = options(kind)
    arrays = all(isinstance(k, HostArray) or isinstance(k, Tensor) and (k.array or k.either) for k in kinds)
    return arrays and any(isinstance(k, Tensor) for k in kinds)


def _is_row(kind: Kind) -> bool:
    """Whether a value is a tuple with elements of arrays in it: a row of ``zip(*columns)``."""
    items = kind.items if isinstance(kind, Tup) else (kind.element,) if isinstance(kind, Lst) else ()
    return any(map(_is_number, items))


def _is_number(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and k.array and k.rank == 0 for k in options(kind))


def _may_be_element(kind: Kind) -> bool:
    """Whether a value is an element of an array on some ways, and something else on others: ``[0] + [y.argmax()]``."""
    kinds = options(kind)
    tensors = [k for k in kinds if isinstance(k, Tensor)]
    return 0 < len(tensors) < len(kinds) and any((k.array or k.either) and not k.rank for k in tensors)


def _is_vector(kind: Kind) -> bool:
    return all(isinstance(k, Tensor) and k.rank == 1 for k in options(kind))


def _is_whole(kind: Kind) -> bool:
    """Whether a value is one whole number: as an index it means the same in whatever is indexed."""
    return all(isinstance(k, Tensor) and k.array and k.dtype in _WHOLE and k.rank == 0 for k in options(kind))


def _is_array(kind: Kind) -> bool:
    return any(isinstance(k, (Tensor, HostArray)) for k in options(kind))
