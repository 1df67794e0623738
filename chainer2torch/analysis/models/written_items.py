"""What a function writes into a dictionary of its own, before it hands that on as ``**layers``.

``layers = {}``, ``if bn: layers['bn'] = L.BatchNormalization(n)``, ``super().__init__(**layers)``: what only some ways
of the function put there is not among the items that its kind is sure to have.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Mapping, Sequence

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import Kind
from chainer2torch.analysis.lattice import join
from chainer2torch.analysis.source import nodes_of


@dataclasses.dataclass(frozen=True)
class Written:
    """Values by their keys; those whose keys are computed, with the keys; whether that is all the dictionary holds."""

    items: Mapping[str, Kind]
    computed: Sequence[tuple[ast.expr, Kind]]
    complete: bool


def written(interpreter: Interpreter, dictionary: ast.expr) -> Written:
    """The statements ``name[key] = value`` of the function that a dictionary's name stands in."""
    items: dict[str, Kind] = {}
    computed: list[tuple[ast.expr, Kind]] = []
    function = next(
        (a for a in interpreter.module.source.ancestors(dictionary) if isinstance(a, ast.FunctionDef)), None
    )
    if not isinstance(dictionary, ast.Name) or function is None:
        return Written(items, computed, False)
    uses = [n for n in nodes_of(function) if isinstance(n, ast.Name) and n.id == dictionary.id and n is not dictionary]
    complete = dictionary.id not in {a.arg for a in nodes_of(function.args) if isinstance(a, ast.arg)}
    for use in uses:
        place = interpreter.module.source.parents.get(use)
        statement = interpreter.module.source.parents.get(place) if place is not None else None
        if isinstance(place, ast.Subscript) and use is place.value:
            if not isinstance(place.ctx, ast.Store):
                continue
            value = interpreter.facts.get(statement.value) if isinstance(statement, ast.Assign) else None
            if value is None or not isinstance(statement, ast.Assign) or place not in statement.targets:
                complete = False
            elif isinstance(place.slice, ast.Constant) and isinstance(place.slice.value, str):
                items[place.slice.value] = join(items.get(place.slice.value), value)
            else:
                computed.append((place.slice, value))
        else:
            complete = complete and isinstance(place, ast.Assign) and _is_empty(place.value)
    return Written(items, computed, complete)


def _is_empty(node: ast.expr) -> bool:
    """``{}``, ``dict()``."""
    called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("dict", "OrderedDict")
    return called and not (node.args or node.keywords) or isinstance(node, ast.Dict) and not node.keys


__all__ = ["Written", "written"]
