"""What kinds say of a value that is written out: what it holds inside, and what its text shows."""

from __future__ import annotations

from collections.abc import Callable

from chainer2torch.analysis.kinds import Dct, HostArray, Kind, Lst, Perhaps, Tensor, Tup, Union, options, scalar_type

_NUMBERS = ("bool", "float", "int")
_CONTAINERS = (Dct, Lst, Tup)


def is_reported(kind: Kind) -> bool:
    """Whether it is a number, an array or a Variable, as what models report is: ``observation['main/loss']``."""
    kinds = options(kind)
    either = [one for one in kinds if isinstance(one, Tensor) and one.either and one.rank == 0]
    return 0 < len(either) < len(kinds) and all(one in either or scalar_type(one) in _NUMBERS for one in kinds)


def holds_arrays_inside(kind: Kind) -> bool:
    return isinstance(kind, _CONTAINERS) and not _are_arrays(kind) and holds_arrays(kind)


def is_written_anew(kind: Kind) -> bool:
    """Whether one of several things that a value may be is an array or holds some, and another is none of NumPy's."""
    plain = all(
        isinstance(one, HostArray) or isinstance(one, Tensor) and one.array or scalar_type(one) is not None
        for one in options(kind)
    )
    return holds_arrays(kind) and not plain  # else `compat.to_host` does


def _are_arrays(kind: Kind) -> bool:
    """Whether it is a list or tuple of arrays with axes alone, which have a short form."""
    items = (kind.element,) if isinstance(kind, Lst) else kind.items if isinstance(kind, Tup) else ()
    return bool(items) and all(isinstance(one, Tensor) and one.rank for item in items for one in options(item))


def is_array_of_either_side(kind: Kind) -> bool:
    """Whether it is an array that became a tensor on some ways, and one of the host on others."""
    kinds = options(kind)
    arrays = all(isinstance(one, HostArray) or isinstance(one, Tensor) and one.array for one in kinds)
    return arrays and any(isinstance(one, HostArray) for one in kinds)


def is_sized(kind: Kind) -> bool:
    """Whether it is known to be the shape of a tensor, or a tuple of numbers beside one."""
    kinds = options(kind)
    tuples = all(isinstance(one, Tup) and not one.names or isinstance(one, Lst) and one.sized for one in kinds)
    return tuples and any(isinstance(one, (Lst, Tup)) and one.sized for one in kinds)


def holds_shapes(kind: Kind) -> bool:
    """Whether the shape of a tensor is somewhere inside, or is one of the things that it may be."""
    return holds_kind(kind, lambda one: isinstance(one, (Lst, Tup)) and one.sized)


def holds_kind(kind: Kind, is_meant: Callable[[Kind], bool]) -> bool:
    """Whether something is somewhere inside, or is one of the things that a value may be."""
    return is_meant(kind) or any(holds_kind(one, is_meant) for one in _inside(kind))


def _inside(kind: Kind) -> tuple[Kind, ...]:
    """What a container holds, or each of the kinds that a value may be."""
    if isinstance(kind, Union):
        return kind.ordered
    if isinstance(kind, (Lst, Tup)):
        return (kind.element,) if isinstance(kind, Lst) else kind.items
    return (kind.element, *(item for _, item in kind.items)) if isinstance(kind, Dct) else ()


def may_hold_tensors(kind: Kind) -> bool:
    """Whether it is, or holds, a value of which nothing is sure but that it may be a tensor, or the shape of one."""
    return holds_kind(kind, lambda one: isinstance(one, Perhaps) and holds_kind(one.known, _differs))


def _differs(kind: Kind) -> bool:
    """Whether a kind is itself another value after the migration; a container or an array of the host is none."""
    return isinstance(kind, Tensor) or isinstance(kind, (Lst, Tup)) and kind.sized or may_hold_tensors(kind)


def may_be_number(kind: Kind) -> bool:
    """Whether it is an array, or an element of one, or a number in some cases: what is known to have axes is none."""
    kinds = options(kind)
    arrays = [one for one in kinds if isinstance(one, Tensor) and one.array and not one.rank]
    others = [one for one in kinds if one not in arrays and not (isinstance(one, HostArray) and not one.rank)]
    return bool(arrays) and all(scalar_type(one) in _NUMBERS for one in others)


def is_number_at_times(kind: Kind) -> bool:
    """Whether it is a number in some cases and an array without axes in others, as sums are, and means of them."""
    return may_be_number(kind) and any(scalar_type(one) in _NUMBERS for one in options(kind))


def holds_arrays(kind: Kind) -> bool:
    """Whether an array that became a tensor is somewhere inside."""
    return holds_kind(kind, lambda one: isinstance(one, Tensor) and (one.array or one.either))
