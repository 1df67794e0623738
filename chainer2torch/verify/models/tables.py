"""Inputs that hold several: a table that a method asks for values by name, a pair that it takes apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.verify.models.own_parameters import parameters


def keys(owners: Sequence[ClassInfo]) -> dict[str, dict[str, list[str]]]:
    """For each method that takes tables, as a state by names (``state['h1']``), or several as one (``x, z = pair``):
    its parameters with their keys, or with the numbers of their items.
    """
    found: dict[str, dict[str, list[str]]] = {}
    for owner in owners:
        for name, method in owner.methods.items():
            for parameter in {parameter: None for parameter, _ in parameters(method)}:
                own = list(_keys(method.node, parameter))
                if own:
                    found.setdefault(name, {}).setdefault(parameter, own)
    return found


def _keys(function: ast.AST, name: str) -> Iterator[str]:
    asked = [
        node.slice.value
        for node in ast.walk(function)
        if isinstance(node, ast.Subscript)
        and isinstance(node.ctx, ast.Load)
        and isinstance(node.value, ast.Name)
        and node.value.id == name
        and isinstance(node.slice, ast.Constant)
    ]
    if asked and all(isinstance(key, str) for key in asked):
        yield from dict.fromkeys(str(key) for key in asked)
        return
    uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == name]
    unpacked = [
        len(node.targets[0].elts)
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and node.value in uses and isinstance(node.targets[0], (ast.Tuple, ast.List))
    ]
    if len(uses) != len(asked) + len(unpacked):  # it is something else, too
        return
    numbers = {key for key in asked if type(key) is int}
    count = unpacked[0] if len({*unpacked}) == 1 and not asked else 0
    if not unpacked and numbers == {*asked} == set(range(len(numbers))):
        count = len(numbers)
    yield from map(str, range(count) if count > 1 else ())
