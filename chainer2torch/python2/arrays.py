"""Which values are arrays, as the lines around them tell: ``/=`` on an array of integers raises in Python 3.

So nothing can go wrong in silence there: an array of floating numbers divides as it did, one of integers stops.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from chainer2torch.analysis.kinds import HostArray, Kind, Tensor, options
from chainer2torch.analysis.source import Source
from chainer2torch.python2.certain import FUNCTIONS, value_before

_MAKE = frozenset(
    f"{module}.{name}"
    for module in ("np", "numpy", "xp", "cupy", "cuda.cupy")
    for name in "array asarray zeros ones empty zeros_like ones_like concatenate hstack vstack stack".split()
)
_METHODS = frozenset({"reshape", "flatten"})  # a table of pandas lacks them, and divides integers as Python 3 does


def is_array(node: ast.expr, source: Source, kind: Callable[[ast.AST], Kind]) -> bool:
    """Whether a value is an array of NumPy or of CuPy, or there is none and the line fails anyway."""
    if all(isinstance(one, HostArray) or isinstance(one, Tensor) and one.array for one in options(kind(node))):
        return True
    if not isinstance(node, ast.Name):
        return False
    value = value_before(node, source)
    if isinstance(value, ast.Call) and ast.unparse(value.func) in _MAKE:
        return True
    return _is_used_as_one(node, source)


def _is_used_as_one(name: ast.Name, source: Source) -> bool:
    """Whether a name that is bound once is indexed along several axes (``x[i, :, :]``), or has its shape changed."""
    function = source.enclosing(name, *FUNCTIONS)
    same = [n for n in source.of(ast.Name) if n.id == name.id and source.enclosing(n, *FUNCTIONS) is function]
    bound = [n for n in same if not isinstance(n.ctx, ast.Load)]
    given = [n for n in bound if not isinstance(source.parents[n], ast.AugAssign)]
    parameters = _parameters(function)
    if len(given) + (name.id in parameters) != 1:
        return False
    return any(_is_use_of_one(source.parents[n], n) for n in same if isinstance(n.ctx, ast.Load))


def _parameters(function: ast.AST | None) -> set[str]:
    if not isinstance(function, FUNCTIONS):
        return set()
    return {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}


def _is_use_of_one(around: ast.AST, name: ast.Name) -> bool:
    if isinstance(around, ast.Subscript) and around.value is name:
        index = around.slice
        return isinstance(index, ast.Tuple) and any(isinstance(item, ast.Slice) for item in index.elts)
    return isinstance(around, ast.Attribute) and around.attr in _METHODS
