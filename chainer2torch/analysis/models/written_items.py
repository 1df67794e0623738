"""What a function writes into a dictionary or list of its own, from which the children of a link are taken.

``layers = {}``, ``if bn: layers['bn'] = L.BatchNormalization(n)``, ``super().__init__(**layers)``: what only some ways
of the function put there is not among the items that its kind is sure to have. ``links += [('bn', layer)]`` and
``for link in links: self.add_link(*link)`` are the same with a list of pairs.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence

from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import Kind
from chainer2torch.analysis.lattice import join
from chainer2torch.analysis.source import nodes_of


@dataclasses.dataclass(frozen=True)
class Written:
    """Values by their keys; those whose keys are computed, with the keys; whether that is all that is held."""

    items: Mapping[str, Kind]
    computed: Sequence[tuple[ast.expr, Kind]]
    complete: bool


_NOTHING = Written({}, (), False)
_Pair = tuple[ast.expr, ast.expr]
_Read = Callable[[Interpreter, ast.expr], list[_Pair] | None]


def written(interpreter: Interpreter, dictionary: ast.expr) -> Written:
    """The statements ``name[key] = value`` of the function that a dictionary's name stands in."""
    uses = _uses(interpreter, dictionary)
    found = _all(interpreter, uses, _key_and_value)
    if isinstance(dictionary, ast.Attribute):  # other functions may know it, too
        everywhere = [n for n in interpreter.module.source.of(ast.Attribute) if n.attr == dictionary.attr]
        return dataclasses.replace(found, complete=found.complete and len(everywhere) == len(uses or ()) + 1)
    return found


def written_pairs(interpreter: Interpreter, call: ast.Call) -> Written:
    """What ``links`` is made of, where a loop calls ``self.add_link(*link)`` or ``self.add_link(name, link)``."""
    loop = next((a for a in interpreter.module.source.ancestors(call) if isinstance(a, ast.For)), None)
    given = [a.value if isinstance(a, ast.Starred) else a for a in call.args]
    target = loop.target if loop is not None else None
    parts = target.elts if isinstance(target, ast.Tuple) and len(call.args) == 2 else [target]
    same = [getattr(part, "id", "") for part in parts] == [getattr(value, "id", None) for value in given]
    if loop is None or not same or len(given) == 1 and not isinstance(call.args[0], ast.Starred):
        return _NOTHING
    return _all(interpreter, _uses(interpreter, loop.iter), _pairs_put)


def _uses(interpreter: Interpreter, held: ast.expr) -> list[ast.expr] | None:
    """The other places of a function that have the name of a dictionary or list; None where it is not its own."""
    source = interpreter.module.source
    function = next((a for a in source.ancestors(held) if isinstance(a, ast.FunctionDef)), None)
    root = held.value if isinstance(held, ast.Attribute) else held
    if function is None or not isinstance(root, ast.Name):
        return None
    text = ast.unparse(held)
    parameters = {a.arg for a in nodes_of(function.args) if isinstance(a, ast.arg)}
    if held is root and text in parameters:
        return None
    alike = [n for n in nodes_of(function) if isinstance(n, type(held)) and n is not held]
    return [n for n in alike if isinstance(n, (ast.Name, ast.Attribute)) and ast.unparse(n) == text]


def _all(interpreter: Interpreter, uses: list[ast.expr] | None, read: _Read) -> Written:
    """What the uses of a name put there."""
    items: dict[str, Kind] = {}
    computed: list[tuple[ast.expr, Kind]] = []
    complete = uses is not None
    for use in uses or ():
        pairs = read(interpreter, use)
        complete = complete and pairs is not None
        for key, node in pairs or ():
            value = interpreter.facts.get(node)
            if value is None:
                complete = False
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                items[key.value] = join(items.get(key.value), value)
            else:
                computed.append((key, value))
    return Written(items, computed, complete)


def _key_and_value(interpreter: Interpreter, use: ast.expr) -> list[_Pair] | None:
    """What ``layers[key] = value`` puts there; None where a use may do anything."""
    place = interpreter.module.source.parents.get(use)
    statement = interpreter.module.source.parents.get(place) if place is not None else None
    if isinstance(place, ast.Subscript) and use is place.value:
        if isinstance(place.ctx, ast.Load):
            return []
        made = isinstance(statement, ast.Assign) and place in statement.targets
        return [(place.slice, statement.value)] if isinstance(statement, ast.Assign) and made else None
    return [] if isinstance(place, ast.Assign) and _is_empty(place.value) else None


def _pairs_put(interpreter: Interpreter, use: ast.expr) -> list[_Pair] | None:
    """What ``links = [(key, value)]``, ``+=``, ``append`` and ``extend`` put there."""
    source = interpreter.module.source
    place = source.parents.get(use)
    if isinstance(place, (ast.Assign, ast.AugAssign)):
        return _pairs(place.value)
    call = source.parents.get(place) if isinstance(place, ast.Attribute) else None
    if isinstance(place, ast.Attribute) and isinstance(call, ast.Call) and call.func is place and len(call.args) == 1:
        if place.attr in ("append", "extend"):
            return _pairs(call.args[0] if place.attr == "extend" else ast.List([call.args[0]]))
    return [] if isinstance(place, ast.For) and place.iter is use else None


def _pairs(node: ast.expr) -> list[_Pair] | None:
    found = list(_each(node.elts if isinstance(node, (ast.List, ast.Tuple)) else [node]))
    pairs = [pair for pair in found if pair is not None]
    return pairs if len(pairs) == len(found) else None


def _each(nodes: Sequence[ast.expr]) -> Iterator[_Pair | None]:
    for node in nodes:
        yield (node.elts[0], node.elts[1]) if isinstance(node, ast.Tuple) and len(node.elts) == 2 else None


def _is_empty(node: ast.expr) -> bool:
    """``{}``, ``dict()``."""
    if isinstance(node, ast.Call):
        named = isinstance(node.func, ast.Name) and node.func.id in ("dict", "OrderedDict")
        return named and not (node.args or node.keywords)
    return isinstance(node, ast.Dict) and not node.keys


__all__ = ["Written", "written", "written_pairs"]
