"""Ranks and dtypes of arrays and tensors: indexing, broadcasting, constructors, shape functions."""

from __future__ import annotations

import dataclasses

from chainer2torch.analysis.models.array_operators import broadcast
from chainer2torch.analysis.kinds import (
    UNKNOWN,
    Batch,
    Const,
    Dct,
    HostArray,
    Inst,
    Kind,
    Lst,
    Method,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
    element_of,
    join_all,
    options,
    parse_spec,
    scalar_type,
)
from chainer2torch.rules.table import Rules

DTYPES = {
    "f": "float32",
    "d": "float64",
    "e": "float16",
    "i": "int32",
    "l": "int64",
    "b": "int8",
    "B": "uint8",
    "?": "bool",
    "float": "float64",
    "int": "int64",
    "f4": "float32",
    "f8": "float64",
    "i4": "int32",
    "i8": "int64",
}
_NAMES = frozenset(
    {
        "float16",
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "bool",
    }
)


def dtype_of(kind: Kind | None) -> str | None:
    """The dtype that an argument names: ``np.float32``, ``'f'``, ``'int32'``, ``float``."""
    if isinstance(kind, Const) and isinstance(kind.value, str):
        return kind.value if kind.value in _NAMES else DTYPES.get(kind.value)
    spelled = kind.cls if isinstance(kind, Inst) and isinstance(kind.cls, str) else getattr(kind, "name", "")
    name = spelled.rsplit(".", 1)
    if len(name) == 2 and name[0] in ("numpy", "cupy", "builtins"):
        known = {"float": "float64", "int": "int64", "bool_": "bool"}
        return known.get(name[1], name[1] if name[1] in _NAMES else None)
    return None


def rank_of_shape(kind: Kind | None) -> int | None:
    """The rank of an array whose shape is this value."""
    if isinstance(kind, Tup):
        return len(kind.items)
    if scalar_type(kind) == "int" if kind is not None else False:
        return 1
    return None


def attribute(rules: Rules, kind: Tensor | HostArray, name: str) -> Kind:
    """An attribute of an array or tensor; a method when it is not an attribute."""
    if name == "shape":
        return Tup((Scalar("int"),) * kind.rank) if kind.rank is not None else Lst(Scalar("int"))
    if name in ("ndim", "size"):
        return Scalar("int")
    if isinstance(kind, HostArray):
        return kind if name == "T" else Method(kind, name) if name != "dtype" else UNKNOWN
    owner = "numpy.ndarray" if kind.array else "chainer.Variable"
    row = rules.member(owner, name)
    if row is None:
        other = rules.member("chainer.Variable" if kind.array else "numpy.ndarray", name)
        return Method(kind, name) if other is not None else UNKNOWN  # no array has it: this is something else
    if name in _ARRAY_OF:
        return dataclasses.replace(kind, array=True)
    if row.attribute or row.signature is None:
        return parse_spec(row.returns, {"self": kind})
    return Method(kind, name)


# attributes of a Variable that are arrays, not Variables
_ARRAY_OF = frozenset({"data", "array", "raw_array", "grad"})


XP = Inst("xp.Module")  # an array module on the device side: tensors in, tensors out
EITHER = Inst("xp.Either")  # NumPy or that, decided when the program runs
CUPY = frozenset({"cupy", "chainer.backends.cuda.cupy"})
_MODULE_OF = frozenset({"chainer.backends.cuda.get_array_module", "chainer.backend.get_array_module"})
_MODULE_OF_OBJECT = frozenset({"chainer.Link.xp", "chainer.Variable.xp", "chainer.backend.Device.xp"})


def row_kind(name: str, args: list[Kind], keywords: dict[str, Kind], receiver: Kind | None) -> Kind | None:
    """The results of array modules and of what finds them; None: the row's ``returns`` says it."""
    if name in _MODULE_OF:
        return module_of([k for a in args for k in options(a)])
    if not name.startswith("xp.") or not isinstance(receiver, Inst):
        return None
    if receiver == EITHER:
        return UNKNOWN
    function = name.split(".", 2)[-1]
    prefix = {"xp.Random": "random.", "xp.LinearAlgebra": "linalg."}.get(str(receiver.cls), "")
    return on_device(numpy_call(prefix + function, args, keywords))


def member_kind(name: str, receiver: Kind) -> Kind | None:
    """An attribute that leads to an array module, or a part of one; None: the row's ``returns`` says it."""
    if name in _MODULE_OF_OBJECT:
        return XP
    return UNKNOWN if receiver == EITHER and name in ("xp.Module.random", "xp.Module.linalg") else None


def module_of(args: list[Kind]) -> Kind:
    """The array module of these values: NumPy if all are host arrays, not known if that is not known."""
    if any(isinstance(k, (Tensor, Batch)) for k in args):
        return XP
    return Ref("numpy") if args and all(isinstance(k, (HostArray, Const, Scalar)) for k in args) else EITHER


def on_device(kind: Kind) -> Kind:
    """What a function of NumPy's returns when it is called on the device side."""
    if isinstance(kind, HostArray):
        return Tensor(kind.rank, kind.dtype, array=True)
    if isinstance(kind, Union):
        return join_all([on_device(k) for k in kind.ordered])
    if isinstance(kind, Tup):
        return Tup(tuple(on_device(k) for k in kind.items))
    if isinstance(kind, Dct):
        return Dct(on_device(kind.element), tuple((name, on_device(k)) for name, k in kind.items))
    return Lst(on_device(kind.element)) if isinstance(kind, Lst) else kind


def entering(kind: Kind, layer: bool = False) -> Kind:
    """What a link sees of an argument: host arrays become tensors where they are passed to it.

    What a converter made of a batch may be a tuple, but not if it is handed to a ``layer`` or function of Chainer's.
    """
    kinds = [Tensor() if layer and isinstance(k, Batch) else k for k in options(kind)]
    if isinstance(kind, Lst):
        return Lst(entering(kind.element)) if not isinstance(kind.element, Lst) else kind
    if any(isinstance(k, HostArray) for k in kinds) and all(isinstance(k, (HostArray, Tensor)) for k in kinds):
        return join_all([on_device(k) for k in kinds])
    return join_all([entering(k, layer) for k in kind.ordered]) if isinstance(kind, Union) else kind


_CONSTRUCTORS = frozenset({"zeros", "ones", "empty", "full"})
_LIKE = frozenset(
    {
        "zeros_like",
        "ones_like",
        "empty_like",
        "full_like",
        "clip",
        "sort",
        "copy",
        "flip",
        "fliplr",
        "flipud",
        "rot90",
        "roll",
    }
)
_FLOAT_UNARY = frozenset(
    {
        "exp",
        "log",
        "log2",
        "log10",
        "log1p",
        "expm1",
        "sqrt",
        "tanh",
        "sin",
        "cos",
        "tan",
        "arctan",
        "arcsin",
        "arccos",
        "sinh",
        "cosh",
    }
)
_UNARY = frozenset({"abs", "absolute", "square", "sign", "negative", "floor", "ceil", "rint", "trunc"})
_BINARY = frozenset(
    {
        "maximum",
        "minimum",
        "add",
        "subtract",
        "multiply",
        "divide",
        "true_divide",
        "power",
        "mod",
        "remainder",
        "floor_divide",
        "fmax",
        "fmin",
    }
)
_PREDICATES = frozenset({"isnan", "isinf", "isfinite", "logical_not", "signbit"})
_COMPARISONS = frozenset(
    {"equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or", "logical_xor"}
)
_REDUCTIONS = frozenset(
    {"sum", "mean", "max", "min", "amax", "amin", "prod", "std", "var", "all", "any", "argmax", "argmin"}
)
# the position of `size`
_DRAWS = {
    "random.uniform": 2,
    "random.normal": 2,
    "random.randint": 2,
    "random.integers": 2,
    "random.binomial": 2,
    "random.standard_normal": 0,
    "random.random_sample": 0,
    "random.random": 0,
    "random.gumbel": 2,
    "random.laplace": 2,
    "random.logistic": 2,
    "random.beta": 2,
    "random.gamma": 2,
    "random.exponential": 1,
    "random.poisson": 1,
    "random.geometric": 1,
}
_DRAWN_INTEGERS = frozenset(
    {"random.randint", "random.integers", "random.binomial", "random.poisson", "random.geometric"}
)
# objects with the methods of the module numpy.random
GENERATORS = frozenset({"numpy.random.RandomState", "numpy.random.default_rng", "numpy.random.Generator"})
_CONVERT = frozenset({"array", "asarray", "ascontiguousarray"})


def numpy_call(name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind:
    """The result of ``numpy.<name>(...)`` on the host."""
    dtype = dtype_of(keywords.get("dtype"))
    first = args[0] if args else UNKNOWN
    if name in _CONSTRUCTORS:
        at = 2 if name == "full" else 1
        if dtype is None and "dtype" not in keywords:
            dtype = dtype_of(args[at]) if len(args) > at else "float64" if name != "full" else None
        return HostArray(rank_of_shape(keywords.get("shape", first)), dtype)
    if name in _LIKE:
        return HostArray(first.rank, dtype or first.dtype) if isinstance(first, (HostArray, Tensor)) else UNKNOWN
    if name in _CONVERT:
        if dtype is None and len(args) > 1:
            dtype = dtype_of(args[1])
        return convert(first, dtype, guess=len(args) < 2 and "dtype" not in keywords)
    if name in _RESHAPED and isinstance(first, (HostArray, Tensor)):
        return HostArray(None, first.dtype)
    if name == "arange":
        return HostArray(1, dtype or _arange_dtype(args, keywords))
    if name in _REDUCTIONS and isinstance(first, (HostArray, Tensor)):
        method = {"amax": "max", "amin": "min"}.get(name, name)
        return array_method(HostArray(first.rank, first.dtype), method, args[1:], keywords)
    elementwise = _elementwise(name, args)
    if elementwise is not None:
        # `np.exp(x, out=y)` is y, of whatever shape and dtype that is
        return (
            HostArray()
            if {"out", "dtype"} & keywords.keys() or name not in _BINARY | _COMPARISONS and len(args) > 1
            else elementwise
        )
    return _drawn(name, args, keywords, dtype)


def _arange_dtype(args: list[Kind], keywords: dict[str, Kind]) -> str | None:
    types = {scalar_type(k) for k in args}
    return (
        None
        if "dtype" in keywords or not types
        else "int64"
        if types == {"int"}
        else "float64"
        if types <= {"int", "float"}
        else None
    )


def _elementwise(name: str, args: list[Kind]) -> Kind | None:
    arrays = [HostArray(k.rank, k.dtype) if isinstance(k, Tensor) else k for k in args]
    if not any(isinstance(k, HostArray) for k in arrays):
        return None
    if name in _FLOAT_UNARY | _UNARY | _PREDICATES and isinstance(arrays[0], HostArray):
        first = arrays[0]
        if name in _PREDICATES:
            return HostArray(first.rank, "bool")
        floating = name in _UNARY or (first.dtype or "").startswith("float")
        return first if floating else HostArray(first.rank)
    if name in _BINARY | _COMPARISONS and len(arrays) == 2:
        kind = broadcast(*arrays)
        assert isinstance(kind, HostArray)
        if name in _COMPARISONS:
            return HostArray(kind.rank, "bool")
        return kind if (kind.dtype or "").startswith("float") else HostArray(kind.rank)
    return None


def _drawn(name: str, args: list[Kind], keywords: dict[str, Kind], dtype: str | None) -> Kind:
    """Random numbers, joined arrays, and what else has a result of which little is known."""
    if name == "random.permutation":
        return args[0] if args and isinstance(args[0], HostArray) else HostArray(1)
    if name == "random.choice":
        size = keywords.get("size", args[1] if len(args) > 1 else None)
        return HostArray(rank_of_shape(size)) if size is not None else UNKNOWN
    if name in ("random.rand", "random.randn"):
        plain = all(k == UNKNOWN or scalar_type(k) == "int" for k in args)  # not `*shape`
        return HostArray(len(args) if plain else None, dtype or "float64") if args else UNKNOWN
    if name in ("eye", "identity"):
        return HostArray(2, dtype or (None if "dtype" in keywords or len(args) > 1 else "float64"))
    if name in ("linspace", "logspace"):
        plain = len(args) <= 3 and not keywords.keys() - {"start", "stop", "num", "endpoint"}
        return HostArray(1 if plain else None, dtype or ("float64" if plain else None))
    if name in _DRAWS:
        at = _DRAWS[name]
        size = keywords.get("size", args[at] if len(args) > at else None)
        floating = name not in _DRAWN_INTEGERS
        if size is None:
            return UNKNOWN
        return HostArray(rank_of_shape(size), dtype or ("float64" if floating else None))
    if name in (
        "concatenate",
        "stack",
        "vstack",
        "hstack",
        "transpose",
        "dot",
        "matmul",
        "tensordot",
        "tile",
        "repeat",
        "broadcast_to",
        "reshape",
        "expand_dims",
        "squeeze",
        "cumsum",
        "argsort",
        "ravel",
        "ascontiguousarray",
        "outer",
        "einsum",
        "loadtxt",
        "genfromtxt",
        "fromfile",
        "frombuffer",
        "delete",
        "append",
        "insert",
        "diff",
        "tril",
        "triu",
        "random.multivariate_normal",
        "random.multinomial",
        "random.dirichlet",
    ):
        return HostArray()
    if name == "where":
        return HostArray() if len(args) == 3 else Lst(HostArray(1, "int64"))
    if name in ("split", "array_split", "nonzero"):
        return Lst(HostArray())
    return UNKNOWN


def convert(value: Kind, dtype: str | None, guess: bool = True) -> Kind:
    """``numpy.array(value)``; without ``guess`` its dtype is ``dtype``, known or not."""
    if isinstance(value, (HostArray, Tensor)):
        return HostArray(value.rank, dtype or (value.dtype if guess else None))
    rank, element = 0, value
    while isinstance(element, (Lst, Tup)):
        rank += 1
        element = element.element if isinstance(element, Lst) else element.items[0] if element.items else UNKNOWN
    if isinstance(element, (HostArray, Tensor)) and element.rank is not None:
        return HostArray(rank + element.rank, dtype or (element.dtype if guess else None))
    if scalar_type(element) is not None:
        return HostArray(rank, dtype or (_OF_NUMBERS.get(scalar_type(_number_in(value)) or "") if guess else None))
    return HostArray(None, dtype)


_OF_NUMBERS = {"float": "float64", "int": "int64", "bool": "bool"}


def _number_in(value: Kind) -> Kind:
    """What all numbers in nested lists and tuples have in common."""
    while isinstance(value, (Lst, Tup)):
        value = element_of(value)
    return value


_KEEP = frozenset({"copy", "round", "__neg__", "__abs__"})
_RESHAPED = frozenset({"broadcast_to", "expand_dims", "ravel", "repeat", "reshape", "squeeze", "tile", "transpose"})


def array_method(kind: Tensor | HostArray, name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind:
    """The result of a method of an array or tensor, where it does not depend on a rule."""
    if name == "astype":
        dtype = dtype_of(args[0] if args else keywords.get("dtype"))
        return dataclasses.replace(kind, dtype=dtype)
    if name in _KEEP:
        return kind
    if name in ("reshape", "view"):
        shape = args[0] if len(args) == 1 else Tup(tuple(args))
        return dataclasses.replace(kind, rank=rank_of_shape(shape))
    if name == "transpose":
        return kind
    if name in ("ravel", "flatten"):
        return dataclasses.replace(kind, rank=1)
    if name in ("sum", "mean", "max", "min", "argmax", "argmin", "prod", "std", "var", "all", "any"):
        reduced = _reduced(kind, args, keywords)
        if name in ("argmax", "argmin") and isinstance(kind, Tensor) and kind.array and reduced.rank == 0:
            return Scalar("int")  # the rule gives a plain number
        return dataclasses.replace(reduced, dtype=_reduced_dtype(kind.dtype, name, keywords))
    if name in ("cumsum", "argsort", "clip", "repeat", "take", "swapaxes", "dot", "diagonal"):
        return dataclasses.replace(kind, rank=None, dtype=None)
    if name == "get":
        return HostArray(kind.rank, kind.dtype)
    if name == "nonzero":
        return Lst(dataclasses.replace(kind, rank=1, dtype="int64"))
    if name in ("item",):
        return Scalar("float" if (kind.dtype or "").startswith("float") else "int" if kind.dtype else "float")
    if name == "tolist":
        return Lst(UNKNOWN)
    if name == "squeeze":
        return dataclasses.replace(kind, rank=None)
    return UNKNOWN


def _reduced_dtype(dtype: str | None, name: str, keywords: dict[str, Kind]) -> str | None:
    if name in ("argmax", "argmin", "all", "any"):
        return "int64" if name[:3] == "arg" else "bool"
    if "dtype" in keywords:
        return dtype_of(keywords["dtype"])
    if dtype is None or name in ("max", "min") or dtype.startswith("float"):
        return dtype
    return "float64" if name in ("mean", "std", "var") else "int64" if dtype != "uint8" else None


def _reduced(kind: Tensor | HostArray, args: list[Kind], keywords: dict[str, Kind]) -> Tensor | HostArray:
    axis = keywords.get("axis", args[0] if args else None)
    keepdims = keywords.get("keepdims")
    if isinstance(keepdims, Const) and keepdims.value:
        return kind
    if axis is None or axis == Const(None):
        return dataclasses.replace(kind, rank=0)
    gone = len(axis.items) if isinstance(axis, Tup) else 1 if scalar_type(axis) == "int" else None
    if kind.rank is None or gone is None or keepdims is not None:
        return dataclasses.replace(kind, rank=None)
    return dataclasses.replace(kind, rank=kind.rank - gone)


def shape_function(name: str, bound: dict[str, Kind]) -> Kind | None:
    """The rank of the results of chainer.functions that change it; None: the row's ``returns`` says it."""
    x = bound.get("x", bound.get("xs", UNKNOWN))
    if isinstance(x, (Lst, Tup)):
        x = x.element if isinstance(x, Lst) else x.items[0] if x.items else UNKNOWN
    rank = x.rank if isinstance(x, (Tensor, HostArray)) else None
    dtype = x.dtype if isinstance(x, (Tensor, HostArray)) else None
    if name == "broadcast":  # one value comes back by itself
        values = bound.get("args")
        single = isinstance(values, Tup) and len(values.items) == 1
        return parse_spec("like x", {"x": values.items[0]}) if single else None  # type: ignore[union-attr]
    if name in ("reshape", "broadcast_to"):
        return Tensor(rank_of_shape(bound.get("shape")), dtype)
    if name in ("concat", "pad", "flip", "repeat", "tile", "copy", "rollaxis", "swapaxes", "transpose", "cast"):
        return Tensor(rank, dtype if name != "cast" else dtype_of(bound.get("typ")))
    if name in ("expand_dims", "stack"):
        return Tensor(rank + 1 if rank is not None else None, dtype)
    if name in ("sum", "mean", "average", "max", "min", "prod", "logsumexp"):
        reduced = _reduced(Tensor(rank, dtype), [], {k: bound[k] for k in ("axis", "keepdims") if k in bound})
        return reduced
    return None
