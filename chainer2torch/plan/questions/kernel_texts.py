"""CUDA kernels that are written as text: the formulas of those that do nothing but compute element by element.

``cuda.elementwise('T x, T e', 'T y', 'y = x / (x + e)', 'name')`` is an expression of ``x`` and ``e``. A kernel that
indexes (``raw``), loops, counts in whole numbers or calls code of its own is not read.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Mapping
from types import MappingProxyType

from chainer2torch.analysis.source import nodes_of
from chainer2torch.analysis.values import dataclass

# types of numbers with a point; T is that of the arguments
_TYPES = frozenset({"T", "float", "float32", "float64", "double"})
_FUNCTIONS = MappingProxyType(
    {name: name for name in "exp log sqrt rsqrt tanh sin cos abs floor ceil log1p expm1".split()} | {"fabs": "abs"}
)
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_CAST = re.compile(r"\(\s*T\s*\)\s*|\bT\s*(?=\()|static_cast<\s*T\s*>\s*(?=\()")
_STATEMENT = re.compile(
    r"(?P<local>(?:const\s+)?T\s+)?(?P<name>[A-Za-z_]\w*)\s*(?P<op>[-+*/]?)=(?!=)\s*(?P<value>.+)", re.DOTALL
)
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div)
_COMPARISONS = (ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE)


@dataclass(frozen=True)
class Line:
    """``name = value`` or, with an ``op``, ``name += value``."""

    name: str
    op: str
    value: ast.expr
    local: bool


@dataclass(frozen=True)
class Kernel:
    """A kernel whose formulas are known."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    lines: tuple[Line, ...]

    @property
    def changes(self) -> bool:
        """Whether it reads what its outputs were, which its callers hand it."""
        made: set[str] = set()
        for line in self.lines:
            if line.op and not line.local or (_names(line.value) & set(self.outputs)) - made:
                return True
            made.add(line.name)
        return False

    def results(self) -> tuple[ast.expr, ...] | None:
        """The outputs as expressions of the inputs alone; None if one would be written out several times."""
        known: dict[str, ast.expr] = {}
        for line in self.lines:
            if line.op:
                return None
            for name in _names(line.value) & known.keys():
                if _times(line.value, name) > 1 and not isinstance(known[name], ast.Name):
                    return None
            known[line.name] = put_in(line.value, known)
        results = tuple(known[name] for name in self.outputs if not isinstance(known.get(name), (ast.Name, type(None))))
        return results if len(results) == len(self.outputs) else None  # a kernel makes arrays of its own


def read_kernel(texts: tuple[str, str, str]) -> Kernel | None:
    """The kernel that the first three arguments of ``elementwise`` describe, if it is one of these."""
    inputs, outputs = _parameters(texts[0]), _parameters(texts[1])
    if inputs is None or outputs is None or not outputs:
        return None
    lines: list[Line] = []
    known = {*inputs, *outputs}
    for text in _COMMENT.sub(" ", texts[2]).split(";"):
        if not text.strip():
            continue
        match = _STATEMENT.fullmatch(text.strip())
        value = _expression(match["value"], known) if match else None
        if match is None or value is None or isinstance(value, ast.Compare):  # a Boolean there, a T here
            return None
        name = match["name"]
        if match["local"] and name in known or not match["local"] and (name not in outputs or not _names(value)):
            return None  # no array is made of a number
        known.add(name)
        lines.append(Line(name, match["op"], value, bool(match["local"])))
    named = {line.name for line in lines}
    return Kernel(inputs, outputs, tuple(lines)) if lines and set(outputs) <= named else None


def put_in(value: ast.expr, known: Mapping[str, ast.expr]) -> ast.expr:
    """An expression with others in the place of names."""

    class Put(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return copy.deepcopy(known[node.id]) if node.id in known else node

    changed: ast.expr = Put().visit(copy.deepcopy(value))
    return changed


def functions_of(value: ast.expr) -> list[set[str]]:
    """For every function in an expression: the names in its argument, or in those that `torch.where` chooses from."""
    calls = [n for n in nodes_of(value) if isinstance(n, ast.Call)]
    return [set().union(*map(_names, call.args[-2:])) for call in calls]


def _parameters(text: str) -> tuple[str, ...] | None:
    names: list[str] = []
    for part in filter(None, map(str.strip, text.split(","))):
        words = part.split()
        if len(words) != 2 or words[0] not in _TYPES or not words[1].isidentifier():
            return None
        names.append(words[1])
    return tuple(names)


def _expression(text: str, known: set[str]) -> ast.expr | None:
    """An expression of C as one of torch; None if it is more than arithmetic, a choice and functions of one number."""
    text = _CAST.sub("", text).strip()
    if "?" in text:
        condition, _, rest = text.partition("?")
        first, _, second = rest.partition(":")
        parts = [_expression(part, known) for part in (first, second)]
        asked = _condition(condition, known)
        if "?" in rest or None in parts or asked is None:
            return None
        found = [part for part in parts if part is not None]
        if not any(map(_names, found)):
            return None  # of numbers alone it has another dtype than T
        return _call("where", [asked, *found])
    if re.search(r"\*\*|//|[&|!%~^]|'|\"", text.replace("!=", "==")):
        return None
    try:
        tree = ast.parse(" ".join(text.split()), mode="eval").body
    except SyntaxError:
        return None
    return _checked(tree, known)


def _condition(text: str, known: set[str]) -> ast.expr | None:
    """A comparison, or several of which all or one hold: of truths ``&`` is what ``&&`` is."""
    if "!" in text.replace("!=", ""):
        return None
    spelled = re.sub(r"&&?", " and ", re.sub(r"\|\|?", " or ", text))
    try:
        tree = ast.parse(" ".join(spelled.split()), mode="eval").body
    except SyntaxError:
        return None
    return _truth(tree, known)


def _truth(node: ast.expr, known: set[str]) -> ast.expr | None:
    if isinstance(node, ast.BoolOp):
        parts = [_truth(part, known) for part in node.values]
        joined: ast.expr | None = parts[0]
        for part in parts[1:]:
            if joined is None or part is None:
                return None
            operator = ast.BitAnd() if isinstance(node.op, ast.And) else ast.BitOr()
            joined = ast.BinOp(joined, operator, part)
        return joined
    found = _checked(node, known)
    return found if isinstance(found, ast.Compare) and _names(found) else None


def _checked(node: ast.expr, known: set[str]) -> ast.expr | None:
    if isinstance(node, ast.Name):
        return node if node.id in known else None
    if isinstance(node, ast.Constant):
        return node if type(node.value) in (int, float) else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
        inner = _checked(node.operand, known)
        return ast.UnaryOp(node.op, inner) if inner is not None else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, _OPERATORS):
        left, right = _checked(node.left, known), _checked(node.right, known)
        if left is None or right is None or ast.Compare in (type(left), type(right)):  # a Boolean is no T
            return None
        if isinstance(node.op, ast.Div) and _is_whole(left) and _is_whole(right):  # in C, 1 / 2 is 0
            return None
        return ast.BinOp(left, node.op, right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and isinstance(node.ops[0], _COMPARISONS):
        left, right = _checked(node.left, known), _checked(node.comparators[0], known)
        return ast.Compare(left, node.ops, [right]) if left is not None and right is not None else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and not node.keywords:
        arguments = [_checked(argument, known) for argument in node.args]
        given = [argument for argument in arguments if argument is not None]
        if len(given) < len(arguments) or not any(_names(argument) for argument in given):
            return None
        if node.func.id == "pow" and len(given) == 2:
            return ast.BinOp(given[0], ast.Pow(), given[1])
        if node.func.id in _FUNCTIONS and len(given) == 1:
            return _call(_FUNCTIONS[node.func.id], given)
    return None


def _is_whole(node: ast.expr) -> bool:
    """Whether an expression is made of whole numbers alone."""
    parts = [n for n in nodes_of(node) if isinstance(n, (ast.Name, ast.Constant))]
    return all(isinstance(n, ast.Constant) and type(n.value) is int for n in parts)


def _call(name: str, arguments: list[ast.expr]) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("torch", ast.Load()), name, ast.Load()), arguments, [])


def _names(node: ast.AST) -> set[str]:
    return {n.id for n in nodes_of(node) if isinstance(n, ast.Name)} - {"torch"}


def _times(node: ast.AST, name: str) -> int:
    return sum(isinstance(n, ast.Name) and n.id == name for n in nodes_of(node))


__all__ = ["Kernel", "Line", "functions_of", "put_in", "read_kernel"]
