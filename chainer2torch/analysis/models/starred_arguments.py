"""Arguments with a star: ``f(*rows)``."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from chainer2torch.analysis.kinds import UNKNOWN, Batch, HostArray, Kind, Lst, Tensor, Tup, options
from chainer2torch.analysis.lattice import element_of, join_all


def counted(facts: Mapping[ast.AST, Kind], node: ast.Call, args: list[Kind]) -> tuple[list[Kind], Kind | None]:
    """The arguments of a call one by one, as far as they can be counted, and what may follow them (None: nothing)."""
    given: list[Kind] = []
    for argument, kind in zip(node.args, args):
        written_out = argument.value.elts if _is_written_out(argument) else None  # type: ignore[attr-defined]
        if not isinstance(argument, ast.Starred):
            given.append(kind)
        elif isinstance(kind, Tup):
            given += kind.items
        elif written_out is not None:
            given += [facts[element] for element in written_out]
        elif all(isinstance(option, (Batch, HostArray, Lst, Tensor, Tup)) for option in options(kind)):
            return given, join_all([element_of(option) for option in options(kind)])
        else:
            return given, UNKNOWN
    return given, UNKNOWN if any(keyword.arg is None for keyword in node.keywords) else None


def _is_written_out(argument: ast.expr) -> bool:
    """Whether it is ``*[a, b]``: a list as a value has elements of one kind only."""
    if not isinstance(argument, ast.Starred) or not isinstance(argument.value, ast.List):
        return False
    return not any(isinstance(element, ast.Starred) for element in argument.value.elts)
