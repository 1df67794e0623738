"""What a text says about the arguments of helpers that it gives by position: they need the parameters up to there.

A row of the rules names what it hands to a helper. A class of the program that has a helper for its base does not:
``super().__init__(in_size, out_size, lateral_init)`` says no name of the helper's. Nor does ``compat.LSTM(*sizes)``.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator

from chainer2torch.analysis.source import Nodes, nodes_of
from chainer2torch.vendor.said_in_training import last

_ALL = 9  # more than any marked parameter's place
_FAITHFUL = "faithful_"


def by_position(nodes: Nodes) -> Iterator[str]:
    """``LSTM(4)`` for each helper of which a text may give the fourth argument by position, and so on down to 1."""
    for cls in nodes.of(ast.ClassDef):
        bases = {last(base).removeprefix(_FAITHFUL) for base in cls.bases} - {"", "object", "Module"}
        count = max((_given(call) for call in nodes_of(cls) if isinstance(call, ast.Call)), default=0) if bases else 0
        yield from (f"{base}({place})" for base in bases for place in range(1, count + 1))
    for call in nodes.of(ast.Call):
        name = last(call.func).removeprefix(_FAITHFUL)
        if name[:1].isupper() and any(isinstance(argument, ast.Starred) for argument in call.args):
            yield from (f"{name}({place})" for place in range(1, _ALL + 1))


def _given(call: ast.Call) -> int:
    """How many arguments a call of a base's constructor may give by position."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "__init__":
        return 0
    bound = isinstance(call.func.value, ast.Call)  # `super()`; else `Base.__init__(self, ...)`
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return _ALL
    return min(len(call.args) - (0 if bound else 1), _ALL)


def named_by_position(node: ast.stmt, marked: Collection[ast.AST], said: Collection[str]) -> Iterator[str]:
    """What ``LSTM(4)`` says of a helper: the names of its marked parameters up to there; or ``LSTMGates(4)``, where
    the constructor is that of its base.
    """
    if not isinstance(node, ast.ClassDef):
        return
    count = max((place for place in range(1, _ALL + 1) if f"{node.name}({place})" in said), default=0)
    if not count:
        return
    made = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
    if not made:
        yield from (f"{last(base)}({place})" for base in node.bases for place in range(1, count + 1))
    for parameter in made[0].args.args[1 : count + 1] if made else ():
        if parameter in marked:
            yield from (parameter.arg, f"{parameter.arg}=")
