"""What Python's built-in functions return."""

from __future__ import annotations

import ast

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import (
    BOTTOM,
    NONE,
    UNKNOWN,
    Class,
    Const,
    Dct,
    Func,
    HostArray,
    Inst,
    Kind,
    Lst,
    Mod,
    Ref,
    Scalar,
    Stream,
    Tensor,
    Tup,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import element_of, generalized, join_all, unsure
from chainer2torch.analysis.models import array_operators, assigned, chosen_models, computed_children, data, iteration
from chainer2torch.analysis.models import possible
from chainer2torch.analysis.models.array_operators import SLICE

TABLES = frozenset(f"collections.{name}" for name in "ChainMap Counter OrderedDict UserDict defaultdict".split())
TABLES |= {"types.MappingProxyType", "weakref.WeakValueDictionary"}
_TYPES = {
    "int": "int",
    "float": "float",
    "str": "str",
    "bool": "bool",
    "len": "int",
    "round": "int",
    "id": "int",
    "repr": "str",
    "isinstance": "bool",
    "hasattr": "bool",
    "callable": "bool",
    "any": "bool",
    "all": "bool",
}
_ARRAYS = (Tensor, HostArray)
_SIDE_BY_SIDE = (Ref("builtins.enumerate"), Ref("builtins.zip"))
_HOOK_MODULES = (Ref("chainer.optimizer"), Ref("chainer.optimizer_hooks"))
_HOOKS = ("GradientClipping", "GradientHardClipping", "GradientLARS", "Lasso", "WeightDecay")  # noise asks for more


def result(interpreter: Interpreter, name: str, args: list[Kind], node: ast.Call) -> Kind:
    if name in ("super", "type"):
        return _super(interpreter, args) if name == "super" else assigned.classes(interpreter, args)
    if name in _TYPES:
        return _rounded(args[0]) if name == "round" and len(args) > 1 else Scalar(_TYPES[name])
    first = args[0] if args else UNKNOWN
    if name == "slice":
        return SLICE
    if name == "range":
        return Lst(Scalar("int"))
    if name == "map":
        return iteration.mapped(interpreter, args, node)
    if name in ("list", "tuple", "sorted", "reversed", "iter", "set", "frozenset"):
        items = interpreter.iterated(first) if args else BOTTOM if name == "list" else UNKNOWN
        return Stream(_member(items)) if name.endswith("set") else Lst(items)
    if name == "filter" and len(args) > 1:
        return Lst(interpreter.iterated(args[1]))
    if name in ("max", "min") and (isinstance(first, Lst) or len(args) > 1):
        return _largest(args, node)
    if name == "next":
        return data.following(interpreter, first) if isinstance(first, Inst) else element_of(first)
    if name == "enumerate":
        return Lst(Tup((Scalar("int"), interpreter.iterated(first))))
    if name == "zip":
        return data.zipped(interpreter, args, node)
    if name in ("dict", "dict.fromkeys"):
        return _dict(interpreter, args, node) if name == "dict" else Dct(args[1] if len(args) > 1 else NONE)
    if name == "divmod" and len(args) == 2:
        return Tup((interpreter.binary(ast.FloorDiv(), *args), interpreter.binary(ast.Mod(), *args)))
    if name in ("abs", "staticmethod"):
        return _absolute(first) if name == "abs" else first
    walked = [k for k in options(first) if scalar_type(k) is None]  # nobody goes through a number
    if name in ("sum", "max", "min") and len(args) == 1 and walked and all(isinstance(k, _ARRAYS) for k in walked):
        return join_all([element_of(k) for k in walked])  # Python goes through the first axis
    if name == "sum" and walked and all(isinstance(k, (*_ARRAYS, Lst, Tup)) for k in walked):
        return join_all([element_of(k) for k in walked])
    if name == "getattr" and len(args) > 1 and isinstance(args[1], Const) and isinstance(args[1].value, str):
        return join_all([interpreter.attribute(first, args[1].value), *args[2:]])
    if name == "setattr" and len(args) == 3 and not isinstance(args[1], Const):
        computed_children.put(interpreter, first, node.args[1], args[2])
    if name == "vars":
        return possible.table_of(interpreter, first)
    return _by_name(interpreter, first, node.args[1]) if name == "getattr" and len(args) == 2 else UNKNOWN


def table(interpreter: Interpreter, name: str, args: list[Kind], node: ast.Call) -> Kind | None:
    """What a class of dictionaries begins with: ``defaultdict(float)``, ``OrderedDict(table)``; None: who knows."""
    if name.endswith("Counter"):
        return Dct(Scalar("int"))
    if name.endswith("ChainMap"):
        return Dct(join_all([kind.element if isinstance(kind, Dct) else UNKNOWN for kind in args]) if args else BOTTOM)
    if not name.endswith("defaultdict"):
        return Dct(BOTTOM) if not args else _dict(interpreter, args, node) if not node.keywords else None
    made = node.args[0].body if node.args and isinstance(node.args[0], ast.Lambda) else None
    if isinstance(made, ast.Constant) and type(made.value) in (int, float):
        return Dct(Const(made.value))
    if args and isinstance(args[0], Func):
        return Dct(interpreter.call(args[0], [], {}, None))
    begun: dict[str, Kind] = {"builtins.list": Lst(BOTTOM), "builtins.float": Const(0.0), "builtins.int": Const(0)}
    begun |= dict.fromkeys(("builtins.dict", "collections.OrderedDict", "collections.defaultdict"), Dct(BOTTOM))
    begun |= {
        "collections.Counter": Dct(Scalar("int")),
        "collections.deque": Stream(BOTTOM),
        "builtins.set": Lst(BOTTOM),
    }
    return Dct(begun.get(args[0].name, BOTTOM) if args and isinstance(args[0], Ref) else BOTTOM)


def _dict(interpreter: Interpreter, args: list[Kind], node: ast.Call) -> Kind:
    """``dict(a=x)``, ``dict(table)``, ``dict(pairs)``."""
    values = {k.arg: interpreter.facts.get(k.value, UNKNOWN) for k in node.keywords if k.arg}
    if not args and not node.keywords:
        return Dct(BOTTOM)
    tables = options(args[0]) if args and all(k.arg is not None for k in node.keywords) else ()
    if tables and all(isinstance(k, Dct) for k in tables):
        return join_all([_with(k, values) for k in tables if isinstance(k, Dct)])
    pairs = _second_of_pairs(interpreter, args[0], node) if len(args) == 1 else None
    if pairs is not None:
        return Dct(join_all([pairs, *values.values()]))
    return Dct(join_all(list(values.values())), tuple(values.items()))


def _second_of_pairs(interpreter: Interpreter, pairs: Kind, node: ast.Call) -> Kind | None:
    """What stands behind the keys of a list of pairs; None: it is none.

    Elements of an array that is zipped are numbers of NumPy (plan/passes/element_keys.py).
    """
    pair = interpreter.iterated(pairs)
    if pair is BOTTOM or isinstance(pair, Lst):
        return element_of(pair)
    if not isinstance(pair, Tup) or len(pair.items) != 2:
        return None
    value, given = pair.items[1], node.args[0]
    zipped = isinstance(given, ast.Call) and interpreter.facts.get(given.func, UNKNOWN) in _SIDE_BY_SIDE
    columns = given.args if zipped and isinstance(given, ast.Call) else []
    whole = interpreter.facts.get(columns[-1], UNKNOWN) if columns else UNKNOWN
    if isinstance(whole, Tensor) and whole.array and whole.rank == 1:
        return HostArray(0, whole.dtype)
    return value


def _with(table: Dct, more: dict[str, Kind]) -> Dct:
    """A copy of a dictionary, with other keys."""
    items = tuple((key, kind) for key, kind in table.items if key not in more)
    return Dct(join_all([table.element, *more.values()]), (*items, *more.items()) if table.items else ())


def _largest(args: list[Kind], node: ast.Call) -> Kind:
    """``max`` of a list, or of several arguments: one of them, and nobody knows which."""
    if len(args) == 1:
        return element_of(args[0])
    if any(isinstance(a, ast.Starred) for a in node.args):
        return UNKNOWN
    names = [scalar_type(kind) for kind in args]
    return join_all([Scalar(n) if n in ("int", "float", "bool", "str") else k for n, k in zip(names, args)])


def _absolute(value: Kind) -> Kind:
    number = value.value if isinstance(value, Const) else None
    return Const(abs(number)) if isinstance(number, (int, float)) else array_operators.signed(value)


def _member(element: Kind) -> Kind:
    """A member of a set: the number that an element of an array is (plan/passes/element_keys.py)."""
    if not all(isinstance(kind, Tensor) and kind.array for kind in options(element)):
        return element
    dtypes = {str(kind.dtype) for kind in options(element) if isinstance(kind, Tensor)}
    whole = all("int" in dtype for dtype in dtypes)
    return Scalar("int") if whole else Scalar("float") if all("float" in d for d in dtypes) else UNKNOWN


def _by_name(interpreter: Interpreter, owner: Kind, name: ast.expr) -> Kind:
    """``getattr(owner, name)`` of a name that is computed."""
    if owner == Ref("chainer.optimizers"):
        return Ref("chainer.GradientMethod")  # one of its classes; another of its names is no use
    if owner in _HOOK_MODULES:
        return join_all([Ref(f"chainer.optimizer_hooks.{hook}") for hook in _HOOKS])
    if isinstance(owner, Mod):
        return chosen_models.one_of(interpreter, owner) or UNKNOWN
    taken = computed_children.taken(interpreter, owner, name)
    found = taken or computed_children.in_turn(interpreter, owner, name)
    found = found or computed_children.persistents(interpreter, owner)
    return found if found is not UNKNOWN else unsure(*possible.attributes_of(interpreter, owner))


def _super(interpreter: Interpreter, args: list[Kind]) -> Kind:
    cls = interpreter.func.cls if interpreter.func is not None else None
    if cls is None:
        return UNKNOWN
    if args and isinstance(args[0], Class):
        cls = args[0].info  # `super(Base, self)` begins behind Base, wherever it stands
    parents = []
    for base in cls.bases:
        for option in options(base):
            if isinstance(option, Class):
                parents.append(Inst(option.info))
            elif isinstance(option, Ref):
                parents.append(Inst(option.name))
    return parents[0] if parents else UNKNOWN


def _rounded(value: Kind) -> Kind:
    """``round(x, digits)`` is what x is, a float or an array; Python's whole numbers stay whole.

    What is a tensor by then gives its number (``round(y.item(), 3)``).
    """
    if not all(isinstance(kind, (Const, Scalar, Tensor, HostArray)) for kind in options(value)):
        return UNKNOWN
    return join_all([Scalar("float") if isinstance(k, Tensor) else generalized(k) for k in options(value)])
