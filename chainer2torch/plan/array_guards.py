"""Guards about arrays: what dtypes an argument names, and whether a list holds arrays or tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from chainer2torch.analysis.kinds import HostArray, Inst, Kind, Lst, Stream, Tensor, Tup, options, scalar_type
from chainer2torch.analysis.models.array_kinds import DTYPES, dtype_of
from chainer2torch.plan.question import UNDECIDED, Question


def dtype_named(name: str, q: Question) -> str | None:
    """The dtype that an argument (or its default) names; None: it is not known here."""
    if name not in q.bound.given and q.row.signature is not None:
        return DTYPES.get(q.row.signature.defaults.get(name, "").strip("'"))
    named = {dtype_of(kind) for kind in q.kinds(name)}
    return named.pop() if len(named) == 1 else None


def _is_dtype(name: str, q: Question) -> Any:
    """Whether a dtype is known by its name, or is torch's own already."""
    return True if dtype_named(name, q) is not None or is_torch_dtype(name, q) else UNDECIDED


def is_torch_dtype(name: str, q: Question) -> bool:
    """Whether an argument is a dtype of torch: ``x.dtype`` of a tensor."""
    return name in q.bound.given and all(isinstance(k, Inst) and k.cls == "torch.dtype" for k in q.kinds(name))


def _is_floating(name: str, q: Question) -> Any:
    """Whether an array holds floats."""
    dtypes = {getattr(k, "dtype", None) for k in q.kinds(name)}
    return UNDECIDED if None in dtypes else all(str(d).startswith("float") for d in dtypes)


def _are_tensors(name: str, q: Question) -> Any:
    """Whether a list or tuple holds tensors, all of one dtype."""
    kinds = [
        item
        for k in q.kinds(name)
        for part in ((k.element,) if isinstance(k, Lst) else k.items if isinstance(k, Tup) else (k,))
        for item in options(part)
        if isinstance(k, (Lst, Tup)) or not isinstance(k, Tensor)
    ]
    if any(isinstance(k, Stream) for k in q.kinds(name)):
        return UNDECIDED  # torch takes lists and tuples only
    if not kinds or not all(isinstance(k, Tensor) for k in kinds):
        return UNDECIDED
    dtypes = {k.dtype for k in kinds if isinstance(k, Tensor)}
    return True if len(dtypes) == 1 and None not in dtypes else UNDECIDED


def _are_arrays(name: str, q: Question) -> Any:
    """Whether a list or tuple holds arrays of NumPy's and numbers, at any depth."""
    return True if all(isinstance(k, (Lst, Tup)) and _on_host(k) for k in q.kinds(name)) else UNDECIDED


def _on_host(kind: Kind) -> bool:
    if isinstance(kind, (Lst, Tup)):
        items = (kind.element,) if isinstance(kind, Lst) else kind.items
        return all(_on_host(one) for item in items for one in options(item))
    return isinstance(kind, HostArray) or scalar_type(kind) in ("int", "float", "bool")


ARRAY_TESTS: Mapping[str, Callable[[str, Question], Any]] = {
    "is_dtype": _is_dtype,
    "is_floating": _is_floating,
    "are_arrays": _are_arrays,
    "are_tensors": _are_tensors,
}

__all__ = ["ARRAY_TESTS", "dtype_named", "is_torch_dtype"]
