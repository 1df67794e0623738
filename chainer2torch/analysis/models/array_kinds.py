"""Ranks and dtypes of arrays and tensors: attributes, methods, and functions of Chainer's that change a shape."""

from __future__ import annotations

import dataclasses

from chainer2torch.analysis.kind_specs import parse_spec
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
    Scalar,
    Tensor,
    Tup,
    Union,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import join_all
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


# attributes of a Variable that are arrays, not Variables
_ARRAY_OF = frozenset({"data", "array", "raw_array", "grad"})


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


_KEEP = frozenset({"copy", "round", "__neg__", "__abs__"})


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
