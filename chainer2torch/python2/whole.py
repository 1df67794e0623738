"""Where only an integer fits: a size, a bound, a count. What is divided for such a place is divided as in Python 2.

Python 3 raises there when it is given a fraction. So a file that both versions parse was run by Python 2 where it
comes to such a line, whatever else it may be.
"""

from __future__ import annotations

import ast
from typing import TypeGuard

from chainer2torch.analysis.source import Source
from chainer2torch.python2.certain import FUNCTIONS

_SHAPES = frozenset(
    f"{module}.{name}" for module in ("np", "numpy", "xp", "cupy") for name in ("zeros", "ones", "empty")
)
_RANGES = frozenset({"range", "xrange"})
# layers of Chainer, and which of their first arguments are sizes
_LAYERS = {
    "Linear": 2, "Convolution2D": 2, "Deconvolution2D": 2, "DilatedConvolution2D": 2, "BatchNormalization": 1,
    "EmbedID": 2, "LSTM": 2, "StatelessLSTM": 2, "GRU": 2, "StatefulGRU": 2, "Bilinear": 3, "Maxout": 2,
}  # fmt: skip
_SIZES = frozenset({"in_channels", "out_channels", "in_size", "out_size", "size", "n_units"})
_STEPS = 4  # how often a value may be given a name on its way


def only_an_integer_fits(node: ast.AST, source: Source, steps: int = _STEPS) -> bool:
    """Whether a value ends where Python 3 wants an integer, alone or in a sum or product with others."""
    around = source.parents.get(node)
    if isinstance(around, ast.BinOp):
        whole = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv)
        return isinstance(around.op, whole) and only_an_integer_fits(around, source, steps)
    if isinstance(around, ast.UnaryOp):
        return only_an_integer_fits(around, source, steps)
    if isinstance(around, (ast.Tuple, ast.List)):
        call = source.parents.get(around)
        return isinstance(call, ast.Call) and around in call.args and _takes_a_shape(call, around, source)
    if isinstance(around, ast.Call):
        return isinstance(node, ast.expr) and node in around.args and _takes_integers(around, node, source)
    if isinstance(around, ast.keyword):
        layer = source.parents.get(around)
        return isinstance(layer, ast.Call) and _layer(layer) in _LAYERS and around.arg in _SIZES
    if isinstance(around, ast.Slice):
        return True
    if isinstance(around, ast.Assign) and len(around.targets) == 1 and steps:
        return any(only_an_integer_fits(n, source, steps - 1) for n in _loads(around.targets[0], source))
    return False


def _layer(call: ast.Call) -> str:
    """The layer that a call makes, where its name stands behind Chainer's: ``L.Linear``."""
    module, _, name = ast.unparse(call.func).rpartition(".")
    return name if module in ("L", "F", "links", "chainer.links", "chainer.functions") else ""


def _takes_a_shape(call: ast.Call, shape: ast.expr, source: Source) -> bool:
    """Whether an argument of a call is a shape: ``np.zeros(shape)``, ``x.reshape(shape)``, ``F.reshape(x, shape)``."""
    if ast.unparse(call.func) in _SHAPES:
        return call.args[0] is shape
    if not isinstance(call.func, ast.Attribute) or call.func.attr != "reshape":
        return False
    return any(shape is a for a in call.args[1 if _is_module(call.func.value, source) else 0 :])


def _takes_integers(call: ast.Call, argument: ast.expr, source: Source) -> bool:
    if ast.unparse(call.func) in _RANGES or _takes_a_shape(call, argument, source):
        return True
    if isinstance(call.func, ast.Attribute) and call.func.attr == "repeat":  # of an array: NumPy casts no fraction
        first = 1 if _is_module(call.func.value, source) else 0
        return len(call.args) == first + 1 and call.args[first] is argument and _names_an_axis(call)
    return any(argument is a for a in call.args[: _LAYERS.get(_layer(call), 0)])


def _names_an_axis(call: ast.Call) -> bool:
    return any(k.arg == "axis" for k in call.keywords)


def _is_module(node: ast.expr, source: Source) -> bool:
    """Whether a function is one of a module, which takes the array itself, rather than a method of the array."""
    names = {n.asname or n.name.partition(".")[0] for n in source.of(ast.alias)}
    root = node
    while isinstance(root, ast.Attribute):
        root = root.value
    return isinstance(root, ast.Name) and root.id in names or ast.unparse(node).rpartition(".")[2] in ("xp", "F", "np")


def _loads(target: ast.expr, source: Source) -> list[ast.expr]:
    """Where what is assigned is read: a name in its function, an attribute of ``self`` in its class.

    Nowhere, if it is given something else, too.
    """
    same: list[ast.Name] | list[ast.Attribute] = []
    if isinstance(target, ast.Name):
        function = source.enclosing(target, *FUNCTIONS)
        same = [n for n in source.of(ast.Name) if n.id == target.id and source.enclosing(n, *FUNCTIONS) is function]
    elif _is_of_self(target):
        cls = source.enclosing(target, ast.ClassDef)
        same = [
            n
            for n in source.of(ast.Attribute)
            if n.attr == target.attr and _is_of_self(n) and source.enclosing(n, ast.ClassDef) is cls
        ]
    bound = [n for n in same if not isinstance(n.ctx, ast.Load) and not isinstance(source.parents[n], ast.AugAssign)]
    return [n for n in same if isinstance(n.ctx, ast.Load)] if len(bound) == 1 else []


def _is_of_self(node: ast.expr) -> TypeGuard[ast.Attribute]:
    return isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
