"""``/`` of two integers: Python 2 gave an integer, Python 3 gives a fraction.

What the operands are is asked of the analysis, over the text in which every ``/`` is a ``//``: that has the types that
Python 2 computed with (two integers give an integer, a float beside anything gives a float; see ``as_it_was``).
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Collection

from chainer2torch.analysis.kinds import Const, HostArray, Kind, Ref, Tensor, options, scalar_type
from chainer2torch.analysis.source import Source
from chainer2torch.python2.arrays import is_array
from chainer2torch.python2.certain import FUNCTIONS, certain, stored_before, value_before
from chainer2torch.python2.whole import only_an_integer_fits

_FLOATING = ("float", "complex")
_WHOLE = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"})
_OF_NUMPY = (
    "arccos arcsin arctan cos exp log log10 log1p log2 sin sqrt tan tanh mean average std var float16 float32 float64"
)
# Functions of Chainer that take floating Variables alone, and give such
_OF_CHAINER = frozenset(
    f"chainer.functions.{name}"
    for name in "softmax log_softmax sigmoid tanh relu leaky_relu elu softplus exp log sqrt dropout "
    "softmax_cross_entropy sigmoid_cross_entropy mean_squared_error mean_absolute_error gaussian_kl_divergence "
    "bernoulli_nll gaussian_nll batch_l2_norm_squared".split()
)
# Those that give what they get
_SAME_OF_CHAINER = frozenset(f"chainer.functions.{name}" for name in ("sum", "mean", "average", "reshape", "absolute"))
# What gives floating numbers of whatever it gets (math.floor and math.ceil did so in Python 2, too)
_FLOAT_FUNCTIONS = frozenset({"float", "round"}) | frozenset(
    f"{module}.{name}"
    for module, functions in {
        "math": "acos asin atan atan2 ceil cos exp fabs floor fmod log log10 log1p pow sin sqrt tan tanh",
        "np": _OF_NUMPY,
        "numpy": _OF_NUMPY,
        "time": "time clock",
        "random": "random uniform gauss normalvariate",
    }.items()
    for name in functions.split()
)
# What gives numbers of the type that it gets
_SAME = frozenset({"abs", "np.abs", "numpy.abs", "np.absolute", "numpy.absolute", "np.sign", "numpy.sign"})
_KEEP_FLOATS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)
# In Python 2 these gave floats; the analysis knows them as they are in Python 3.
_FLOAT_ONCE = re.compile(r"(?<![\w.])(?:round|math\.floor|math\.ceil)(?=[ \t]*\()")


@dataclasses.dataclass(frozen=True)
class Division:
    """One ``/`` or ``/=``: its node, where the sign stands, and its operands."""

    node: ast.AST
    sign: int
    operands: tuple[ast.expr, ast.expr]


def divisions(source: Source) -> list[Division]:
    """All divisions of a text, in the order of its nodes."""
    found = []
    for node in source.of(ast.BinOp, ast.AugAssign):
        if not isinstance(node.op, (ast.Div, ast.FloorDiv)):
            continue
        left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.target, node.value)
        found.append(Division(node, _sign(source, source.span(left)[1]), (left, right)))
    return found


def true_ones(source: Source) -> list[Division]:
    """Those that are written ``/``."""
    return [found for found in divisions(source) if isinstance(getattr(found.node, "op", None), ast.Div)]


def changed_meaning(source: Source) -> bool:
    """Whether there are divisions, and the file does not ask for those of Python 3 itself."""
    asks = any(
        node.module == "__future__" and any(alias.name == "division" for alias in node.names)
        for node in source.of(ast.ImportFrom)
    )
    return not asks and bool(true_ones(source))


def floored(source: Source, which: Callable[[Division], bool] = lambda division: True) -> str:
    """The text in which these divisions are written ``//``."""
    text = source.text
    for place in sorted((found.sign for found in true_ones(source) if which(found)), reverse=True):
        text = text[:place] + "/" + text[place:]
    return text


def as_it_was(source: Source) -> str:
    """A text with the same nodes that has the types of Python 2 when it is analysed as Python 3."""
    return _FLOAT_ONCE.sub(lambda found: "float" if found[0] == "round" else "math.sqrt", floored(source))


def meant(division: Division, source: Source, kind: Callable[[ast.AST], Kind]) -> str:
    """What Python 2 computed: ``true``, ``floor``, or ``unknown``; ``loud``: Python 3 refuses it with integers."""
    left, right = (_number(operand, source, kind) for operand in division.operands)
    if "float" in (left, right):
        return "true"
    if left == right == "int" or only_an_integer_fits(division.node, source):
        return "floor"
    if isinstance(division.node, ast.AugAssign) and is_array(division.operands[0], source, kind):
        return "loud"
    return "unknown"


def run_by_python2(source: Source, divisions: Collection[Division]) -> set[Division]:
    """Those of some divisions that Python 2 has run: Python 3 does not get through the functions around them.

    There one of the divisions is for a place where only an integer fits. What stands beside them at the top of a file
    counts by itself.
    """
    whole = {one for one in divisions if only_an_integer_fits(one.node, source)}
    functions = {source.enclosing(one.node, *FUNCTIONS) for one in whole} - {None}
    return {one for one in divisions if one in whole or source.enclosing(one.node, *FUNCTIONS) in functions}


def _number(node: ast.expr, source: Source, kind: Callable[[ast.AST], Kind]) -> str:
    if isinstance(node, ast.Constant):
        return {float: "float", complex: "float", int: "int", bool: "int"}.get(type(node.value), "")
    if certain(node, source):
        return "int"
    kinds = options(kind(node))
    found = {
        _of_kind(one) for one in kinds if len(kinds) == 1 or one != Const(0)
    }  # `loss = 0`: nothing, however divided
    if len(found) == 1 and (only := found.pop()):
        return only
    return _by_form(node, source, kind)


def _of_kind(kind: Kind) -> str:
    """``int``, ``float`` or nothing: whole numbers, floating ones, or nobody knows."""
    if isinstance(kind, Tensor) and not kind.array:
        return "float"  # Chainer divides Variables of floating numbers only
    if isinstance(kind, (Tensor, HostArray)):
        dtype = kind.dtype or ""
        return "float" if dtype.startswith(_FLOATING) else "int" if dtype in _WHOLE else ""
    scalar = scalar_type(kind)
    return "int" if scalar in ("int", "bool") else "float" if scalar in _FLOATING else ""


def _by_form(node: ast.expr, source: Source, kind: Callable[[ast.AST], Kind]) -> str:
    """What the form alone tells where the analysis knows nothing."""
    if isinstance(node, ast.Name):
        value = value_before(node, source)
        return _number(value, source, kind) if value is not None else ""
    if isinstance(node, (ast.Subscript, ast.Attribute)):
        value = stored_before(node, source)
        if value is not None:
            return _number(value, source, kind)
        arrays = isinstance(node, ast.Attribute) and node.attr in ("data", "array")
        return "float" if arrays and _is_floating(node.value, source, kind) else ""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        return _number(node.operand, source, kind)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _KEEP_FLOATS):
        # a float beside anything that can be counted with gives a float
        return "float" if "float" in (_number(part, source, kind) for part in (node.left, node.right)) else ""
    if isinstance(node, ast.Call):
        name = ast.unparse(node.func)
        if name in _FLOAT_FUNCTIONS or isinstance(node.func, ast.Attribute) and _to_float(node):
            return "float"
        if name in _SAME and node.args:
            return _number(node.args[0], source, kind)
    return ""


def _is_floating(variable: ast.expr, source: Source, kind: Callable[[ast.AST], Kind]) -> bool:
    """Whether a Variable has floating numbers: gradients begin there, or a function gives it that takes no other."""
    if isinstance(variable, ast.Call):
        called = kind(variable.func)
        if isinstance(called, Ref) and called.name in _SAME_OF_CHAINER and variable.args:
            return _is_floating(variable.args[0], source, kind)
        return isinstance(called, Ref) and called.name in _OF_CHAINER
    if not isinstance(variable, (ast.Name, ast.Attribute)):
        return False
    function = source.enclosing(variable, *FUNCTIONS)
    return any(
        call.attr == "backward"
        and source.enclosing(call, *FUNCTIONS) is function
        and ast.unparse(call.value) == ast.unparse(variable)
        for call in source.of(ast.Attribute)
    )


def _to_float(call: ast.Call) -> bool:
    """``x.astype(float)`` and its like."""
    asked = call.args[0] if call.args else None
    text = asked.value if isinstance(asked, ast.Constant) else ast.unparse(asked) if asked is not None else ""
    return getattr(call.func, "attr", "") == "astype" and str(text).rpartition(".")[2].startswith(("float", "f4", "f8"))


def _sign(source: Source, at: int) -> int:
    """Where the first ``/`` behind an operand stands: brackets, blanks and comments may lie between."""
    text = source.text
    while text[at] != "/":
        if text[at] == "#":
            at = min(found for end in "\r\n" if (found := text.find(end, at)) >= 0)
        at += 1
    return at
