"""The dtype of what NumPy's functions make of numbers and of arrays whose dtypes are known: float64, wherever one is.

Beside a Variable such an array counts as one of the Variable's dtype; a tensor would make a result of float64.
Source: the promotion of NumPy 2, each function called (tests/engine/test_made_dtypes.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from chainer2torch.analysis.kinds import NONE, HostArray, Kind, Lst, Tensor, Tup, options, scalar_type

# of whatever numbers they are given
_ALWAYS = frozenset({"bartlett", "blackman", "geomspace", "hamming", "hanning", "interp", "kaiser", "logspace", "tri"})
# of whole numbers they make float64 as well
_FLOATING = frozenset(
    """
    arccos arccosh arcsin arcsinh arctan arctan2 arctanh cbrt cos cosh deg2rad degrees exp exp2 expm1 hypot log log10
    log1p log2 logaddexp rad2deg radians sin sinc sinh sqrt tan tanh
    """.split()
)
# so many of the first arguments are values, the others say how
_KEEPING = {
    name: count
    for count, names in {
        1: "absolute abs around atleast_1d atleast_2d atleast_3d broadcast_to ceil cumprod cumsum diag diagflat "
        "diagonal expand_dims fabs flip fliplr flipud floor moveaxis nan_to_num negative pad ravel repeat reshape "
        "rint roll rollaxis rot90 round round_ sign sort square squeeze swapaxes take tile trace transpose trunc "
        "reciprocal",
        2: "add convolve copysign cross dot fmax fmin fmod heaviside inner kron matmul maximum minimum mod multiply "
        "outer power remainder subtract tensordot vdot",
        3: "clip",
    }.items()
    for name in names.split()
}
_WHOLE = frozenset({"bool", "int", "int32", "int64", "uint8"})
_SHORT = frozenset({"bool", "uint8"})  # alone they make a short float
_FLOATS = frozenset({"float", "float64"})


def made_dtype(name: str, args: Sequence[Kind], keywords: Mapping[str, Kind]) -> str | None:
    """The dtype of ``numpy.<name>(...)``: float64, or None where it is not known, or another one."""
    if {"dtype", "out"} & keywords.keys():
        return None
    if name in _ALWAYS:
        return "float64"
    if name == "where":
        values = [*args[1:3]] if len(args) == 3 else []
    elif name == "einsum":
        values = [*args[1:]]
    elif name in _FLOATING:
        values = [*args[:2]]
    else:
        values = [*args[: _KEEPING.get(name, 0)]]
    found = {each for kind in values for each in _contributes(kind)}
    if not found or not found <= _WHOLE | _FLOATS:
        return None
    return "float64" if found & _FLOATS or name in _FLOATING and found - _SHORT else None


def _contributes(kind: Kind) -> set[str]:
    """What a value says about the dtype of a result: dtypes and types of numbers; empty texts for what is not known."""
    found: set[str] = set()
    for option in options(kind):
        if isinstance(option, (HostArray, Tensor)):
            found.add(option.dtype or "" if isinstance(option, HostArray) or option.array else "")
        elif isinstance(option, Lst):
            found |= _contributes(option.element)
        elif isinstance(option, Tup):
            found |= {each for item in option.items for each in _contributes(item)} or {""}
        elif option != NONE:
            found.add(scalar_type(option) or "")
    return found


__all__ = ["made_dtype"]
