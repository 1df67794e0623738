"""Ranks and dtypes of arrays and tensors: attributes, methods, and functions of Chainer's that change a shape."""

from __future__ import annotations

import dataclasses

from chainer2torch.analysis.kind_specs import parse_spec
from chainer2torch.analysis.kinds import (
    NONE,
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
from chainer2torch.analysis.models.shapes import (
    axes_in,
    common_dtype,
    dot_rank,
    plus,
    rank_of,
    rank_of_shape,
    reduced_rank,
    squeezed_rank,
)
from chainer2torch.rules.table import Row, Rules


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


def asked(kind: Kind, name: str) -> Kind:
    """A batch that is asked for what no tuple and no dict has is one array: ``x.transpose(0, 2, 3, 1)``."""
    whole = isinstance(kind, Batch) and not hasattr(tuple, name) and not hasattr(dict, name)
    return Tensor(array=True) if whole else kind


def attribute(rules: Rules, of: Tensor | HostArray | Batch, name: str) -> Kind:
    """An attribute of an array or tensor; a method when it is not an attribute."""
    kind = asked(of, name)
    if not isinstance(kind, (Tensor, HostArray)):
        return UNKNOWN
    if name == "shape":
        sized, number = isinstance(kind, Tensor), Scalar("int")
        return Tup((number,) * kind.rank, sized=sized) if kind.rank is not None else Lst(number, sized)
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
        return dataclasses.replace(kind, array=True, either=False)
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
        return Tup(tuple(on_device(k) for k in kind.items), kind.names)
    if isinstance(kind, Dct):
        return Dct(on_device(kind.element), tuple((name, on_device(k)) for name, k in kind.items))
    return Lst(on_device(kind.element)) if isinstance(kind, Lst) else kind


def on_host(kind: Kind) -> Kind:
    """What an array of the device is when it has been brought to the host."""
    if isinstance(kind, Union):
        return join_all([on_host(k) for k in kind.ordered])
    return HostArray(kind.rank, kind.dtype) if isinstance(kind, Tensor) and kind.array else kind


def columns(examples: Kind) -> Kind:
    """``dataset._datasets``: the arrays that a TupleDataset was made of, as those of MNIST and the like."""
    parts = examples.element.items if isinstance(examples, Lst) and isinstance(examples.element, Tup) else ()
    arrays = [part for part in parts if isinstance(part, HostArray)]
    if not arrays or len(arrays) < len(parts):
        return UNKNOWN
    return Tup(tuple(HostArray(None if p.rank is None else p.rank + 1, p.dtype) for p in arrays))


def entering(kind: Kind, layer: bool = False) -> Kind:
    """What a link sees of an argument: host arrays become tensors where they are passed to it.

    What a converter made of a batch may be a tuple, but not if it is handed to a ``layer`` or function of Chainer's.
    """
    kinds = [Tensor() if layer and isinstance(k, Batch) else k for k in options(kind)]
    if isinstance(kind, Lst):
        element = entering(kind.element)
        return kind if element == kind.element or isinstance(kind.element, Lst) else Lst(element)
    if any(isinstance(k, HostArray) for k in kinds) and all(isinstance(k, (HostArray, Tensor)) for k in kinds):
        return join_all([on_device(k) for k in kinds])
    return join_all([entering(k, layer) for k in kind.ordered]) if isinstance(kind, Union) else kind


def as_kept(given: Kind, row: Row | None) -> Kind:
    """What an object of Chainer's keeps of an argument: the parameters of a distribution are Variables, however given.

    None was given for another parameter of which this one is made: ``scale`` of ``Normal(loc, log_scale=s)``.
    """
    if row is not None and row.attribute and row.returns == "device":  # an array of a CooMatrix
        return on_device(given)
    if row is None or not row.attribute or row.returns != "tensor" or isinstance(given, Tensor):
        return given
    return join_all([Tensor(k.rank, k.dtype) if isinstance(k, HostArray) else Tensor() for k in options(given)])


_KEEP = frozenset({"copy", "round", "__neg__", "__abs__", "transpose"})
_REDUCING = frozenset({"sum", "mean", "max", "min", "argmax", "argmin", "prod", "std", "var", "all", "any"})
_RESHAPING = frozenset(
    {"cumsum", "cumprod", "repeat", "take", "dot", "diagonal", "squeeze", "swapaxes", "clip", "trace"}
)


def array_method(kind: Tensor | HostArray, name: str, args: list[Kind], keywords: dict[str, Kind]) -> Kind:
    """The result of a method of an array or tensor, where it does not depend on a rule."""
    if name in ("astype", "view"):
        dtype = dtype_of(args[0] if args else keywords.get("dtype"))
        return dataclasses.replace(kind, dtype=dtype)
    if name in _KEEP:
        return kind
    if name == "reshape":
        shape = args[0] if len(args) == 1 else Tup(tuple(args))
        return dataclasses.replace(kind, rank=rank_of_shape(shape))
    if name in ("ravel", "flatten"):
        return dataclasses.replace(kind, rank=1)
    if name in _REDUCING:
        reduced = _reduced(kind, args, keywords)
        whole = name in ("argmax", "argmin") and keywords.get("axis", args[0] if args else NONE) == NONE
        if whole and isinstance(kind, Tensor) and kind.array:
            return Scalar("int")  # the rule gives a plain number
        return dataclasses.replace(reduced, dtype=_reduced_dtype(kind.dtype, name, keywords))
    if name == "argsort":
        axis = keywords.get("axis", args[0] if args else Const(-1))
        return dataclasses.replace(
            kind, rank=1 if axis == NONE else kind.rank if axes_in(axis) else None, dtype="int64"
        )
    if name in _RESHAPING:
        return reshaped(kind, name, args, keywords)
    if name == "get":
        return HostArray(kind.rank, kind.dtype)
    if name == "nonzero":
        return Lst(dataclasses.replace(kind, rank=1, dtype="int64"))
    if name == "item":
        return Scalar("float" if (kind.dtype or "").startswith("float") else "int" if kind.dtype else "float")
    return _as_lists(kind) if name == "tolist" else UNKNOWN


def _as_lists(kind: Tensor | HostArray) -> Kind:
    """The numbers of an array: one without axes is a number, one with several a list of lists."""
    if kind.rank is None:
        return Lst(UNKNOWN)
    dtype = kind.dtype or ""
    item: Kind = Scalar("float") if dtype.startswith("float") else Scalar("int") if "int" in dtype else UNKNOWN
    for _ in range(kind.rank):
        item = Lst(item)
    return item


def reshaped(kind: Tensor | HostArray, name: str, args: list[Kind], keywords: dict[str, Kind]) -> Tensor | HostArray:
    """The result of a method, or of NumPy's function of that name, that moves or picks elements along axes."""
    first = args[0] if args else None
    rank = kind.rank
    if name == "clip":
        floating = (kind.dtype or "").startswith("float") and all(
            scalar_type(k) in ("int", "float", "NoneType") for k in (*args, *keywords.values())
        )
        return kind if floating else dataclasses.replace(kind, dtype=None)
    if name == "swapaxes":
        return kind
    if name == "squeeze":
        return dataclasses.replace(kind, rank=squeezed_rank(rank, keywords.get("axis", first)))
    if name == "dot":
        other = keywords.get("b", first)
        rank = dot_rank(rank, rank_of(other)) if isinstance(other, (Tensor, HostArray)) else None
        return dataclasses.replace(kind, rank=rank, dtype=common_dtype([kind, other or UNKNOWN]))
    if name in ("diagonal", "trace"):
        dtype = kind.dtype if name == "diagonal" or (kind.dtype or "").startswith("float") else None
        return dataclasses.replace(kind, rank=plus(rank, -1 if name == "diagonal" else -2), dtype=dtype)
    at = 0 if name.startswith("cum") else 1
    axis = keywords.get("axis", args[at] if len(args) > at else NONE)
    if name == "take":
        picked = rank_of(keywords.get("indices", first))
        along = plus(rank, -1) if axes_in(axis) else 0 if axis == NONE else None
        return dataclasses.replace(kind, rank=plus(along, picked))
    return dataclasses.replace(
        kind,
        rank=1 if axis == NONE else rank if axes_in(axis) else None,
        dtype=kind.dtype
        if name == "repeat" or (kind.dtype or "").startswith("float") and not keywords.get("dtype")
        else None,
    )


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
    rank = reduced_rank(kind.rank, axis, keywords.get("keepdims")) if len(args) < 3 else None
    return dataclasses.replace(kind, rank=rank)
