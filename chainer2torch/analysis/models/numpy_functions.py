"""What functions of NumPy return: ranks and dtypes."""

from __future__ import annotations


from chainer2torch.analysis.kinds import (
    NONE,
    UNKNOWN,
    Const,
    HostArray,
    Kind,
    Lst,
    Ref,
    Scalar,
    Tensor,
    Tup,
    Union,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import element_of, join_all
from chainer2torch.analysis.models import numpy_results
from chainer2torch.analysis.models.array_kinds import array_method, dtype_of
from chainer2torch.analysis.models.array_operators import broadcast
from chainer2torch.analysis.models.made_dtypes import made_dtype
from chainer2torch.analysis.models.numpy_shapes import shaped
from chainer2torch.analysis.models.shapes import rank_of_shape


_CONSTRUCTORS = frozenset({"zeros", "ones", "empty", "full", "ndarray"})
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
REDUCTIONS = frozenset(
    {"sum", "mean", "max", "min", "amax", "amin", "prod", "std", "var", "all", "any", "argmax", "argmin"}
)


# of a list of arrays they make what they make of the stacked array
_OF_LISTS = _FLOAT_UNARY | _UNARY | _BINARY | _PREDICATES | _COMPARISONS | REDUCTIONS | {"clip", "copy", "flip", "sort"}

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
_CONVERT = frozenset({"array", "asanyarray", "asarray", "ascontiguousarray", "asfortranarray"})


def numpy_call(name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind:
    """The result of ``numpy.<name>(...)`` on the host."""
    made = _called(name, args, keywords)
    if not isinstance(made, HostArray) or (made.dtype or "").startswith("float"):
        return made
    dtype = made_dtype(name, args, keywords)
    return made if dtype is None else HostArray(made.rank, dtype)


def _called(name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind:
    mixed = [i for i, kind in enumerate(args[:2]) if isinstance(kind, Union) and _holds_array(kind)]
    if mixed:  # an array of the host or of the device: NumPy gives one of the host
        at = mixed[0]
        return join_all([numpy_call(name, [*args[:at], one, *args[at + 1 :]], keywords) for one in options(args[at])])
    if name in _OF_LISTS:
        args = [_array_of(kind) for kind in args]
    dtype = dtype_of(keywords.get("dtype"))
    first = args[0] if args else UNKNOWN
    if name in _CONSTRUCTORS:
        at = 2 if name == "full" else 1
        if dtype is None and "dtype" not in keywords:
            given = args[at] if len(args) > at else None
            dtype = dtype_of(given) if given is not None else _filled_dtype(name, args, keywords)
        return HostArray(rank_of_shape(keywords.get("shape", first)), dtype)
    if name in _LIKE:
        if isinstance(first, (HostArray, Tensor)):
            return HostArray(first.rank, dtype or first.dtype)
        return HostArray(None, dtype) if name.endswith("_like") else UNKNOWN  # of whatever it is, NumPy makes an array
    if name in _CONVERT:
        if dtype is None and len(args) > 1:
            dtype = dtype_of(args[1])
        return convert(first, dtype, guess=len(args) < 2 and "dtype" not in keywords)
    if name == "arange":
        return HostArray(1, dtype or _arange_dtype(args, keywords))
    if name in REDUCTIONS and isinstance(first, (HostArray, Tensor)):
        method = {"amax": "max", "amin": "min"}.get(name, name)
        return array_method(HostArray(first.rank, first.dtype), method, args[1:], keywords)
    if (scalar := dtype_of(Ref(f"numpy.{name}"))) is not None and len(args) == 1:  # `np.float32(x)`
        several = isinstance(first, (HostArray, Tensor)) and first.rank != 0 or isinstance(first, (Lst, Tup))
        return convert(first, scalar) if several else _numpy_number(first, scalar)
    elementwise = _elementwise(name, args)
    if elementwise is not None:
        # `np.exp(x, out=y)` is y, of whatever shape and dtype that is
        return (
            HostArray()
            if {"out", "dtype"} & keywords.keys() or name not in _BINARY | _COMPARISONS and len(args) > 1
            else elementwise
        )
    joined = shaped(name, args, keywords)
    found = joined if joined is not None else _drawn(name, args, keywords, dtype)
    return found if found != UNKNOWN else numpy_results.result(name, args, keywords)


def _array_of(kind: Kind) -> Kind:
    """What NumPy makes of a list or tuple that holds arrays, before it computes with it."""
    if isinstance(kind, (Lst, Tup)) and numpy_results.holds_arrays(kind):
        return convert(kind, None)
    return kind


def _holds_array(kind: Union) -> bool:
    """Whether all that a value may be are arrays and numbers."""
    found = options(kind)
    return any(isinstance(k, HostArray) for k in found) and all(
        isinstance(k, HostArray) or isinstance(k, Tensor) or scalar_type(k) is not None for k in found
    )


def _filled_dtype(name: str, args: list[Kind], keywords: dict[str, Kind]) -> str | None:
    """The dtype of ``zeros(shape)``, and of ``full(shape, value)``, which is that of the value."""
    if name != "full":
        return "float64"
    value = keywords.get("fill_value", args[1] if len(args) > 1 else UNKNOWN)
    if isinstance(value, (HostArray, Tensor)):
        return value.dtype
    if isinstance(value, (Lst, Tup)):
        value = _number_in(value)
    found = {_OF_NUMBERS.get(scalar_type(kind) or "") for kind in options(value)}
    return found.pop() if len(found) == 1 else None


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
    """Random numbers, and what is made of numbers."""
    if name == "random.permutation":
        first = args[0] if args else UNKNOWN
        if isinstance(first, HostArray):
            return first
        return HostArray(1, "int64" if scalar_type(first) == "int" else None)
    if name == "random.choice":
        size = keywords.get("size", args[1] if len(args) > 1 else None)
        return HostArray(rank_of_shape(size)) if size is not None else UNKNOWN
    if name in ("random.rand", "random.randn"):
        if not args:
            return Scalar("float")
        plain = all(k == UNKNOWN or scalar_type(k) == "int" for k in args)  # not `*shape`
        return HostArray(len(args) if plain else None, dtype or "float64")
    if name in ("eye", "identity"):
        return HostArray(2, dtype or (None if "dtype" in keywords or len(args) > 1 else "float64"))
    if name in ("linspace", "logspace"):
        plain = len(args) <= 3 and not keywords.keys() - {"start", "stop", "num", "endpoint"}
        return HostArray(1 if plain else None, dtype or ("float64" if plain else None))
    if name in _DRAWS:
        at = _DRAWS[name]
        size = keywords.get("size", args[at] if len(args) > at else None)
        floating = name not in _DRAWN_INTEGERS
        if size is None or size == NONE:
            plain = all(scalar_type(k) in ("int", "float") for k in (*args, *keywords.values()))
            return Scalar("float" if floating else "int") if plain else UNKNOWN
        return HostArray(rank_of_shape(size), dtype or ("float64" if floating else None))
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


def _numpy_number(value: Kind, dtype: str) -> Kind:
    """``np.float32(0)`` of a literal counts as that number does: sums begin with it. Others keep their own dtype."""
    family = dtype.rstrip("0123456789").lstrip("u")
    known = isinstance(value, Const) and {scalar_type(value), family} <= _OF_NUMBERS.keys()
    return Scalar(family) if known else UNKNOWN


_OF_NUMBERS = {"float": "float64", "int": "int64", "bool": "bool"}


def _number_in(value: Kind) -> Kind:
    """What all numbers in nested lists and tuples have in common."""
    while isinstance(value, (Lst, Tup)):
        value = element_of(value)
    return value
