"""What a text says about array modules (``xp``): the parts of their helper that it needs.

An array module may have any name. What is certainly none is not asked: NumPy itself, where a file imports it and binds
the name to nothing else; Python's ``random``; ``self``; a queue that is given one value to ``put``.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from chainer2torch.analysis.source import Nodes
from chainer2torch.vendor.said_in_training import last

MODULES_COMPARED = "modules_compared"  # said where ``==`` may ask whether an array module is NumPy, or another one
VIEWS_OF_MODULES = "views_of_modules"  # said where a function of an array module may give a view of its argument
WRITTEN = "written_by_modules"  # said where a function of an array module may write into its argument
DRAWN_AS = "drawn_as"  # said where random numbers are drawn with a ``dtype``, which NumPy's generators do not take
# members of an array module that are said where a text names them of what may be one
_MEMBERS: Mapping[str, str] = MappingProxyType(
    {
        "asarray": "asarray_of_modules",
        "at": "at_of_modules",
        "ndarray": "ndarray_of_modules",
        "reduce": "reduce_of_modules",
        "shuffle": "shuffled_by_modules",
        **dict.fromkeys(("random", "linalg", "testing"), "parts_of_modules"),
    }
)
OF_ARRAY_MODULES = frozenset({MODULES_COMPARED, VIEWS_OF_MODULES, WRITTEN, DRAWN_AS, *_MEMBERS.values()})
_VIEWS = frozenset({"broadcast_to", "expand_dims", "ravel", "reshape", "swapaxes", "transpose"})
# what writes into its first argument, with how many arguments it takes at least
_WRITING: Mapping[str, int] = MappingProxyType(
    {"copyto": 2, "fill_diagonal": 2, "place": 3, "put": 3, "put_along_axis": 4, "putmask": 3}
)
_OF_ONE = frozenset(
    """
    abs absolute arccos arccosh arcsin arcsinh arctan arctanh bitwise_not ceil conj conjugate cos cosh deg2rad degrees
    exp exp2 expm1 fabs floor invert isfinite isinf isnan log log10 log1p log2 logical_not negative positive rad2deg
    radians reciprocal rint sign signbit sin sinh sqrt square tan tanh trunc
    """.split()
)
_OF_MORE = frozenset(
    """
    append arange array_module beta choice clip concatenate einsum eye full full_like gamma get_array_module linspace
    max mean min moveaxis normal pad randint randn rand repeat roll rollaxis scatter_add split stack std sum swapaxes
    tensordot transpose uniform var where zeros ones
    """.split()
)
_OF_TWO = frozenset(
    """
    add arctan2 bitwise_and bitwise_or bitwise_xor copysign divide equal floor_divide fmax fmin fmod greater
    greater_equal hypot ldexp left_shift less less_equal logaddexp logaddexp2 logical_and logical_or logical_xor
    maximum minimum mod multiply nextafter not_equal power remainder right_shift subtract true_divide
    """.split()
)
_ARRAY_MODULES = frozenset({"np", "numpy", "cp", "cupy", "N"})
_GIVE_MODULES = frozenset({"array_module", "get_array_module", "xp_of"})
_XP = re.compile(r"(^|_)xp(_|\d|$)")  # not `exp`, `expected`
_NO_OBJECTS_OF_ANYBODY = frozenset({"self", "cls", "compat"})
_LIBRARIES = frozenset(
    {"functools", "logging", "math", "os", "pickle", "scipy", "sys", "torch"}
)  # that hold no array module


class ArrayModules:
    """The array modules of a text, by their names; ``own``: of a program, not of a helper."""

    def __init__(self, nodes: Nodes, own: bool) -> None:
        self.numpy = _imported(nodes, "numpy") | (frozenset() if own else frozenset({"np"}))
        self.random = _imported(nodes, "random")
        self.libraries = _imported(nodes, *_LIBRARIES) | (frozenset() if own else _LIBRARIES)
        self.own = own
        self.names = self._module_names(nodes)

    def compares(self, node: ast.Compare) -> bool:
        """Whether something that may be an array module is compared for equality, and not with a plain value."""
        sides = (node.left, *node.comparators)
        if not any(isinstance(operator, (ast.Eq, ast.NotEq, ast.In, ast.NotIn)) for operator in node.ops):
            return False
        if any(isinstance(side, (ast.Constant, ast.JoinedStr)) for side in sides):
            return False
        return any(self._is_module(side) for side in sides)

    def said_by_members(self, nodes: Nodes, texts: Collection[object]) -> Iterator[str]:
        """What a text names of array modules, as a member or in a string."""
        for name, word in _MEMBERS.items():
            if name in texts or not all(map(self._is_no_module, nodes.attributes.get(name, ()))):
                yield word

    def said_by_call(self, call: ast.Call, function: ast.Attribute) -> Iterator[str]:
        """What a call asks of an array module, if it is one of its functions."""
        args = call.args
        if function.attr.lower().startswith("assert") and any(map(self._is_module, args)):
            yield MODULES_COMPARED  # `self.assertEqual(xp, array_module(x))`
        short = len(args) < 1 or len(args) == 1 and args[0].__class__ is not ast.Starred
        if short and not call.keywords and function.attr not in _VIEWS and function.attr not in _WRITING:
            return  # whatever it belongs to
        if self._is_no_module(function) or not self.own and not self._is_module(function.value):
            return
        base = function.value.func if isinstance(function.value, ast.Call) else function.value
        of_module = self._is_module(function.value)
        named = {keyword.arg for keyword in call.keywords}
        spread = None in named or any(isinstance(arg, ast.Starred) for arg in call.args)
        if function.attr in _VIEWS and of_module:
            yield VIEWS_OF_MODULES
        if last(base) == "random" and function.attr != "randint" and ("dtype" in named or spread):
            yield DRAWN_AS
        positions = 1 if function.attr in _OF_ONE else 2
        counted = function.attr in _OF_ONE or function.attr in _OF_TWO  # one more is the result, whatever the base
        enough = spread or len(call.args) + len(call.keywords) >= _WRITING.get(function.attr, 0)
        if function.attr in _WRITING and enough or "out" in named or spread and (counted or of_module):
            yield WRITTEN
        elif len(call.args) > positions and (counted or function.attr not in _OF_MORE and of_module):
            yield WRITTEN

    def _is_no_module(self, function: ast.Attribute) -> bool:
        """Whether a function belongs to what is no array module for certain; classes have none of NumPy's names."""
        root: ast.expr = function.value
        while isinstance(root, ast.Attribute):
            root = root.value
        if isinstance(root, (ast.Constant, ast.JoinedStr)) or function.attr[:1].isupper():
            return True
        if not isinstance(root, ast.Name):
            return False
        alone = function.value is root and root.id in _NO_OBJECTS_OF_ANYBODY
        certain = alone or root.id in self.numpy or root.id in self.libraries
        return certain or root.id in self.random and function.value is root

    def _is_module(self, node: ast.expr) -> bool:
        return _may_be_module(node, self.names)

    def _module_names(self, nodes: Nodes) -> frozenset[str]:
        """Names that hold array modules without being named so: ``lib = array_module(x)``, parameters given one."""
        found: set[str] = set()
        functions = {node.name: node.args for node in nodes.of(ast.FunctionDef, ast.AsyncFunctionDef)}
        pairs = [(last(t), n.value) for n in nodes.of(ast.Assign) for t in n.targets]
        for call in nodes.of(ast.Call):
            pairs += [(k.arg, k.value) for k in call.keywords if k.arg]
            taken = functions.get(last(call.func))
            if taken is not None:
                names = [arg.arg for arg in (*taken.posonlyargs, *taken.args)]
                names = names[isinstance(call.func, ast.Attribute) and names[:1] in (["self"], ["cls"]) :]
                pairs += zip(names, call.args, strict=False)
        before = -1
        while before < len(found):
            before = len(found)
            found.update(name for name, value in pairs if _may_be_module(value, found))
        return frozenset(found) - {""}


def _may_be_module(node: ast.expr, modules: Collection[str]) -> bool:
    """Whether an expression may be an array module: what gives one, or something that is named as they are named."""
    if isinstance(node, ast.IfExp):
        return _may_be_module(node.body, modules) or _may_be_module(node.orelse, modules)
    name = last(node.func if isinstance(node, ast.Call) else node)
    if isinstance(node, ast.Call) and (name in _GIVE_MODULES or name in _ARRAY_MODULES):
        return name in _GIVE_MODULES  # `x.numpy()` is an array
    return name in modules or _is_named_as_module(name)


@functools.lru_cache(maxsize=4096)
def _is_named_as_module(name: str) -> bool:
    return name in _ARRAY_MODULES or bool(_XP.search(name)) or "module" in name


def _imported(nodes: Nodes, *modules: str) -> frozenset[str]:
    """The names that ``import module as name`` binds, and nothing else in the text."""
    found, others = set[str](), set[str]()
    for statement in nodes.of(ast.Import):
        for alias in statement.names:
            root = alias.name.split(".")[0]
            (found if root in modules else others).add(alias.asname or root)
    if not found:
        return frozenset()
    others.update(alias.asname or alias.name for node in nodes.of(ast.ImportFrom) for alias in node.names)
    others.update(node.arg for node in nodes.of(ast.arg))
    others.update(node.id for node in nodes.of(ast.Name) if not isinstance(node.ctx, ast.Load))
    return frozenset(found - others)


__all__ = ["DRAWN_AS", "MODULES_COMPARED", "OF_ARRAY_MODULES", "VIEWS_OF_MODULES", "WRITTEN", "ArrayModules"]
