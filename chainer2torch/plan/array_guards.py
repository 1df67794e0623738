"""Guards about arrays: what dtypes an argument names, and whether a list holds arrays or tensors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any

from chainer2torch.analysis.kinds import (
    Batch,
    HostArray,
    Inst,
    Kind,
    Lst,
    Ref,
    Stream,
    Tensor,
    Tup,
    Unknown,
    options,
    scalar_type,
)
from chainer2torch.analysis.lattice import MIXED, NETWORK, element_of
from chainer2torch.analysis.models.array_kinds import DTYPES, dtype_of
from chainer2torch.analysis.models.host_libraries import ONLY_NUMPY_READS
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.argument_guards import is_path
from chainer2torch.plan.question import UNDECIDED, Question


def property_of(kind: Kind, name: str) -> Any:
    """The rank or dtype of an array or tensor; that of a network is some floating one."""
    value = getattr(kind, name, None) if isinstance(kind, (Tensor, HostArray)) else None
    return "floating" if value == NETWORK else None if value == MIXED else value


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
    dtypes = {property_of(k, "dtype") for k in q.kinds(name)}
    return UNDECIDED if None in dtypes else all(str(d).startswith("float") for d in dtypes)


def _are_tensors(name: str, q: Question) -> Any:
    """Whether a list or tuple holds tensors whose dtypes torch joins as NumPy does: not whole numbers with floats."""
    kinds = [
        item
        for k in q.kinds(name)
        for part in ((k.element,) if isinstance(k, Lst) else k.items if isinstance(k, Tup) else (k,))
        for item in options(part)
        if isinstance(k, (Lst, Tup)) or not isinstance(k, Tensor)
    ]
    if any(isinstance(k, Stream) for k in q.kinds(name)) or _is_iterator(q.bound.given.get(name), q):
        return UNDECIDED  # torch takes lists and tuples only
    if not kinds or not all(isinstance(k, Tensor) for k in kinds):
        return UNDECIDED
    shown = q.bound.given.get(name)
    if isinstance(shown, (ast.List, ast.Tuple)):  # the kind of a list has what its items have in common
        parts = [
            element_of(q.kind(item.value)) if isinstance(item, ast.Starred) else q.kind(item) for item in shown.elts
        ]
        items = [k for part in parts for k in options(part)]
        kinds = items if all(isinstance(k, Tensor) for k in items) else kinds
    dtypes = {k.dtype or "" for k in kinds if isinstance(k, Tensor)}
    alike = all(d.startswith("float") for d in dtypes) or dtypes <= WHOLE
    return True if alike or _made_alike(q.bound.given.get(name), q.kind) else UNDECIDED


def _hold_tensors(name: str, q: Question) -> Any:
    """Whether a list holds tensors alone, and nobody knows that some are whole numbers and others are not.

    What they have in common is cast to another dtype then: so whether one is float32 or float64 makes no difference.
    """
    if not all(isinstance(k, (Lst, Tup)) for k in q.kinds(name)):
        return UNDECIDED
    parts = [
        part
        for k in q.kinds(name)
        for part in ((k.element,) if isinstance(k, Lst) else k.items if isinstance(k, Tup) else ())
    ]
    items = [item for part in parts for item in options(part)]
    if not items or not all(isinstance(item, Tensor) for item in items):
        return UNDECIDED
    whole = {item.dtype in WHOLE for item in items if isinstance(item, Tensor) and item.dtype}
    return True if len(whole) < 2 else UNDECIDED


def _made_alike(node: ast.expr | None, kind: Callable[[ast.AST], Kind]) -> bool:
    """Whether one expression makes all items of a list: ``[x] * n``, ``[x[i] for i in indices]``."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        sides = [side for side in (node.left, node.right) if isinstance(side, (ast.List, ast.Tuple))]
        return len(sides) == 1 and _made_alike(sides[0], kind)
    if isinstance(node, (ast.List, ast.Tuple)):
        return len(node.elts) == 1 and not isinstance(node.elts[0], ast.Starred)
    if not isinstance(node, ast.ListComp):
        return False
    targets = {n.id for c in node.generators for n in nodes_of(c.target) if isinstance(n, ast.Name)}
    root = node.elt
    while True:  # `x[i].mean(0)` is of the dtype that x gives it, whichever the index is
        if isinstance(root, ast.Call) and isinstance(root.func, ast.Attribute) and not _names_in(root.args, targets):
            root = root.func.value
        elif isinstance(root, (ast.Attribute, ast.Subscript)):
            root = root.value
        else:
            own = isinstance(root, ast.Name) and root.id not in targets
            return own and all(isinstance(k, Tensor) for k in options(kind(root)))


def _names_in(nodes: list[ast.expr], names: set[str]) -> bool:
    return any(isinstance(n, ast.Name) and n.id in names for node in nodes for n in nodes_of(node))


WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64"})


def _are_arrays(name: str, q: Question) -> Any:
    """Whether a list or tuple holds arrays of NumPy's and numbers, at any depth."""
    return True if all(isinstance(k, (Lst, Tup)) and _on_host(k) for k in q.kinds(name)) else UNDECIDED


def _is_read_by_numpy(name: str, q: Question) -> Any:
    """Whether a value is what NumPy makes an array of and PyTorch no tensor: a picture of PIL's, a table of pandas'."""
    return True if all(isinstance(k, Inst) and k.cls in ONLY_NUMPY_READS for k in q.kinds(name)) else UNDECIDED


def _on_host(kind: Kind) -> bool:
    if isinstance(kind, (Lst, Tup)):
        items = (kind.element,) if isinstance(kind, Lst) else kind.items
        return all(_on_host(one) for item in items for one in options(item))
    return isinstance(kind, HostArray) or scalar_type(kind) in ("int", "float", "bool")


_OF_ARRAYS = frozenset({"astype", "reshape", "transpose", "ravel", "flatten", "swapaxes", "squeeze", "repeat", "clip"})
_KEEPING = frozenset({"copy"})


def is_array(node: ast.expr, kind: Callable[[ast.AST], Kind]) -> bool:
    """Whether a value is an array or a tensor, whatever else is not known of it: ``image[None]``, ``x.reshape(3)``.

    Lists have neither axes nor those methods.
    """
    kinds = options(kind(node))
    if all(isinstance(k, (HostArray, Tensor)) for k in kinds):
        return True
    if any(isinstance(k, (Lst, Tup)) or scalar_type(k) is not None for k in kinds):
        return False
    if isinstance(node, ast.Subscript):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        return len(parts) > 1 or _is_new_axis(parts[0]) if parts else False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in _OF_ARRAYS or node.func.attr in _KEEPING and is_array(node.func.value, kind)
    return False


def _is_new_axis(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Constant)
        and node.value is None
        or isinstance(node, ast.Attribute)
        and (node.attr == "newaxis")
    )


def is_stream(name: str, q: Question) -> Any:
    """Whether torch, which takes lists and tuples, has to be given a tuple; what is not known is taken for a list."""
    kinds = q.kinds(name)
    if kinds and all(isinstance(k, (HostArray, Stream)) or _is_one_array(k) for k in kinds):
        return True
    return _is_iterator(q.bound.given.get(name), q)


def _is_one_array(kind: Kind) -> bool:
    """Whether a value is one array for sure; a parameter that is only taken for a tensor may be a list of them."""
    return isinstance(kind, Tensor) and kind.rank is not None


def _is_iterator(node: ast.expr | None, q: Question) -> bool:
    """A generator, ``map(f, xs)`` and the like, or ``table.values()``."""
    if isinstance(node, ast.GeneratorExp):
        return True
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr in _VIEWS and not (node.args or node.keywords) and isinstance(q.kind(node), Unknown)
    function = q.kind(node.func)
    return isinstance(function, Ref) and function.name in _ITERATORS


def widths(name: str, q: Question) -> tuple[int, ...] | None:
    """The widths of a padding as torch's ``pad`` lists them, from the last axis on: ((0, 0), (0, 1)) is (0, 1).

    None where the call does not state a pair of numbers for each of several axes; one pair alone is for every axis.
    """
    pairs = q.literal(name)
    if not isinstance(pairs, (tuple, list)) or len(pairs) < _SEVERAL:
        return None
    if not all(isinstance(p, (tuple, list)) and len(p) == _PAIR and all(type(n) is int for n in p) for p in pairs):
        return None
    listed = [n for pair in reversed(pairs) for n in pair]
    while len(listed) > _PAIR and listed[-_PAIR:] == [0, 0]:
        del listed[-_PAIR:]
    return tuple(listed)


def _is_on_device(name: str, q: Question) -> Any:
    """Whether an argument is a tensor, or a batch of them, which is moved there."""
    return True if all(isinstance(k, (Tensor, Batch)) for k in q.kinds(name)) else UNDECIDED


def _is_no_bias(name: str, q: Question) -> Any:
    """Whether a parameter's own name says that it is no bias: that of a lazy layer has values in Chainer, not here."""
    given = q.bound.given.get(name)
    return isinstance(given, ast.Attribute) and given.attr not in BIASES


def _is_own_device(name: str, q: Question) -> Any:
    """Whether a device is that of the call's ``x`` itself: ``F.copy(h, cuda.get_device_from_array(h.data).id)``."""
    node, array = q.bound.given.get(name), q.bound.given.get("x")
    if isinstance(node, ast.Attribute) and node.attr == "id":
        node = node.value
    found = isinstance(node, ast.Call) and q.kind(node.func) in _FINDING and len(node.args) == 1 and not node.keywords
    asked = node.args[0] if found and isinstance(node, ast.Call) else None
    if isinstance(asked, ast.Attribute) and asked.attr in ("array", "data"):
        asked = asked.value
    return asked is not None and array is not None and is_path(array) and ast.dump(asked) == ast.dump(array)


def _are_widths(name: str, q: Question) -> Any:
    return widths(name, q) is not None


_SEVERAL = _PAIR = 2
BIASES = frozenset({"b", "beta"})  # of Chainer's layers
_FINDING = (Ref("chainer.backends.cuda.get_device_from_array"), Ref("chainer.backend.get_device_from_array"))
_VIEWS = frozenset({"items", "keys", "values"})
_ITERATORS = frozenset(f"builtins.{name}" for name in ("enumerate", "filter", "iter", "map", "reversed", "zip"))
ARRAY_TESTS: Mapping[str, Callable[[str, Question], Any]] = {
    "is_dtype": _is_dtype,
    "is_floating": _is_floating,
    "are_arrays": _are_arrays,
    "are_tensors": _are_tensors,
    "is_read_by_numpy": _is_read_by_numpy,
    "hold_tensors": _hold_tensors,
    "are_widths": _are_widths,
    "is_on_device": _is_on_device,
    "is_no_bias": _is_no_bias,
    "is_own_device": _is_own_device,
    "is_stream": is_stream,
}

__all__ = ["ARRAY_TESTS", "BIASES", "WHOLE", "dtype_named", "is_array", "is_torch_dtype", "property_of", "widths"]
