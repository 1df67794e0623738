"""What Python's functions over what can be gone through give: `itertools`, `heapq`, `map`; copies by `pickle`."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from chainer2torch.analysis.kinds import LOADED, NONE, UNKNOWN, Const, Func, Inst, Kind, Lst, Ref, Scalar, Tup
from chainer2torch.analysis.lattice import element_of, join, join_all
from chainer2torch.analysis.models.numpy_functions import numpy_call

if TYPE_CHECKING:
    from chainer2torch.analysis.interpreter import Interpreter

_FIRST = frozenset({"itertools.cycle", "itertools.dropwhile", "itertools.islice", "itertools.takewhile"})
_SECOND = frozenset({"itertools.dropwhile", "itertools.takewhile", "heapq.nlargest", "heapq.nsmallest"})
_IN_EXCHANGE = frozenset({"heapq.heappushpop", "heapq.heapreplace"})
_PUSHING = frozenset({"bisect.insort", "bisect.insort_left", "bisect.insort_right", "heapq.heappush"}) | _IN_EXCHANGE
_SIDE_BY_SIDE = frozenset({"itertools.product", "itertools.zip_longest"})
_CHOSEN = frozenset({"itertools.combinations", "itertools.combinations_with_replacement", "itertools.permutations"})
_MOVING = ("chainer.backends.cuda.to_gpu", "chainer.backends.cuda.to_cpu")
_LOADERS = ("ickle.load", "dill.load", "joblib.load")  # `cPickle`, `six.moves.cPickle`
_SEQUENCES, _NUMBERS = frozenset({"list", "tuple"}), frozenset({"int", "float", "str", "bool"})


def result(interpreter: Interpreter, name: str, args: Sequence[Kind], node: ast.Call) -> Kind | None:
    """What a function gives; None for one that is not known here, or that is called with `*items`."""
    if not args or any(isinstance(a, ast.Starred) for a in node.args):
        return None
    if name.endswith("pickle.loads"):
        return _pickled(interpreter, node.args[0]) or LOADED
    if name.endswith(_LOADERS):
        return LOADED
    elements = [interpreter.iterated(kind) for kind in args]
    if name in _PUSHING and isinstance(args[0], Lst) and len(args) > 1:
        held = join(args[0].element, args[1])
        if name not in _IN_EXCHANGE:
            interpreter.container_grown(node.args[0], Lst(held))
        return NONE if name not in _IN_EXCHANGE else held
    if name == "heapq.heappop":
        return elements[0]
    if name == "functools.reduce":
        return reduced(interpreter, args)
    if name == "itertools.accumulate":
        sums = reduced(interpreter, args[1::-1]) if len(args) == 2 else elements[0]
        return Lst(sums) if sums is not None else None
    if name == "itertools.starmap":
        return star_mapped(interpreter, args)
    if name == "itertools.groupby":
        alone = len(args) == 1 and not node.keywords
        return Lst(Tup((elements[0] if alone else UNKNOWN, Lst(elements[0]))))
    if name == "itertools.chain":
        return Lst(join_all(elements))
    if name == "itertools.chain.from_iterable":
        return Lst(interpreter.iterated(elements[0]))
    if name == "itertools.tee":
        several = args[1].value if len(args) > 1 and isinstance(args[1], Const) else 2
        return Tup((Lst(elements[0]),) * several) if isinstance(several, int) else Lst(Lst(elements[0]))
    if name == "itertools.repeat":
        return Lst(args[0])
    if name in _SIDE_BY_SIDE:
        return Lst(Tup(tuple(elements)))
    if name in _CHOSEN:
        return Lst(Lst(elements[0]))
    if name in _SECOND:
        return Lst(elements[1]) if len(args) > 1 else None
    return Lst(elements[0]) if name in _FIRST else None


def mapped(interpreter: Interpreter, args: Sequence[Kind], node: ast.Call) -> Kind:
    """``map(function, items)``."""
    if len(args) < 2 or any(isinstance(a, ast.Starred) for a in node.args):
        return UNKNOWN
    function, items = args[0], args[1:]
    if isinstance(function, Ref) and len(items) == 1:
        name = function.name.removeprefix("builtins.")
        if name in _NUMBERS:
            return Lst(Scalar(name))
        if name in _SEQUENCES and isinstance(items[0], Tup):  # the columns of `zip(*rows)`
            return Tup(tuple(Lst(interpreter.iterated(item)) for item in items[0].items))
        if name in _SEQUENCES:
            return Lst(Lst(interpreter.iterated(interpreter.iterated(items[0]))))
    elements = [interpreter.iterated(kind) for kind in items]
    if isinstance(function, (Func, Inst)):  # also `operator.itemgetter(1)`
        return Lst(interpreter.call(function, elements, {}, None))
    if isinstance(function, Ref) and function.name.startswith("numpy."):
        return Lst(numpy_call(function.name[6:], elements, {}))
    row = interpreter.rules.rows.get(function.name) if isinstance(function, Ref) else None
    if row is None or row.signature is None or not row.name.startswith(("chainer.functions.", *_MOVING)):
        return UNKNOWN
    if isinstance(items[0], Tup) and len(items) == 1:
        return Tup(tuple(interpreter.row_result(row, [item], {}, None) for item in items[0].items))
    return Lst(interpreter.row_result(row, elements, {}, None))


def star_mapped(interpreter: Interpreter, args: Sequence[Kind]) -> Kind | None:
    """``itertools.starmap(function, rows)`` of a function of the project and rows whose items are known one by one."""
    row = interpreter.iterated(args[1]) if len(args) == 2 else UNKNOWN
    if not isinstance(args[0], (Func, Inst)) or not isinstance(row, Tup):
        return None
    return Lst(interpreter.call(args[0], list(row.items), {}, None))


def reduced(interpreter: Interpreter, args: Sequence[Kind]) -> Kind | None:
    """``functools.reduce(function, items, start)`` of a function of the project."""
    function = args[0]
    if not isinstance(function, Func) or len(args) not in (2, 3):
        return None
    element = interpreter.iterated(args[1])
    start = args[2] if len(args) == 3 else element
    once = join(start, interpreter.call(function, [start, element], {}, None))
    return join(once, interpreter.call(function, [once, element], {}, None))


def _pickled(interpreter: Interpreter, given: ast.expr) -> Kind | None:
    """``pickle.loads(pickle.dumps(x))``: a copy of x."""
    if not isinstance(given, ast.Call) or not given.args:
        return None
    function = interpreter.facts.get(given.func)
    made = isinstance(function, Ref) and function.name.endswith("pickle.dumps")
    return interpreter.facts.get(given.args[0]) if made else None


def part_of(facts: Mapping[ast.AST, Kind], kind: Tup, node: ast.Slice) -> Kind:
    """``shape[1:]``: as long as it is known to be where its bounds are literals."""
    bounds = [Const(None) if part is None else facts[part] for part in (node.lower, node.upper, node.step)]
    if all(isinstance(b, Const) and (b.value is None or type(b.value) is int) for b in bounds):
        lower, upper, step = (b.value for b in bounds if isinstance(b, Const))
        return Tup(kind.items[lower:upper:step], sized=kind.sized) if step != 0 else UNKNOWN
    return Lst(element_of(kind), kind.sized)
