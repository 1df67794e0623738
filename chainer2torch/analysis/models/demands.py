"""What a value must be because the program uses it so: anything else would have raised in Chainer.

A map that goes into a two-dimensional convolution has four axes, and only Chainer's variables have an ``array``.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.interpreter import COMPUTED
from chainer2torch.analysis.kinds import Dct, HostArray, Inst, Kind, Lst, Method, Ref, Tensor, Tup, Union, scalar_type
from chainer2torch.analysis.models.link_children import of_blocks
from chainer2torch.analysis.models.xp_modules import MODULE_OF, XP
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source, nodes_of
from chainer2torch.rules.table import Rules

_VARIABLES = ("chainer.Variable", "chainer.Parameter", "numpy.ndarray")
_OF_ARRAYS = ("chainer", "cupy", "numpy", "typing.", "builtins.object")
_BY_AXES = {3: "1D", 4: "2D", 5: "3D"}
_LINKS: Mapping[str, int] = {
    **{f"chainer.links.Convolution{name}": rank for rank, name in _BY_AXES.items()},
    **{f"chainer.links.Deconvolution{name}": rank for rank, name in _BY_AXES.items()},
    **{
        f"chainer.links.{name}": 4
        for name in (
            "DeformableConvolution2D",
            "DepthwiseConvolution2D",
            "DilatedConvolution2D",
            "Inception",
            "InceptionBN",
            "LocalConvolution2D",
            "MLPConvolution2D",
        )
    },
}
_LINKS_ND = ("chainer.links.ConvolutionND", "chainer.links.DeconvolutionND")
_FUNCTIONS: Mapping[str, int] = {
    f"chainer.functions.{name}_{n}d": rank
    for rank, n in ((3, 1), (4, 2), (5, 3))
    for name in ("average_pooling", "convolution", "deconvolution", "max_pooling", "unpooling")
} | {
    f"chainer.functions.{name}": 4
    for name in (
        "depth2space",
        "depthwise_convolution_2d",
        "dilated_convolution_2d",
        "im2col",
        "resize_images",
        "shift",
        "space2depth",
        "spatial_pyramid_pooling_2d",
        "spatial_transformer_sampler",
        "upsampling_2d",
    )
}
_POOLINGS_ND = frozenset(f"chainer.functions.{name}_pooling_nd" for name in ("average", "max"))
# what they give has the axes of what they get
_SAME_RANK = _POOLINGS_ND | {"chainer.functions.resize_images", "chainer.functions.shift"} | set(_LINKS_ND)
_MODULES = frozenset({"np", "numpy", "xp", "cupy", "cp"})
_LIKE = frozenset({"ones_like", "zeros_like", "empty_like", "full_like"})
_MOVES = frozenset({"chainer.backends.cuda.to_cpu", "chainer.backends.cuda.to_gpu"})
_NAMING = ("namedtuple", "setattr", "make_dataclass", "NamedTuple")


def rank_demanded(callee: Kind, call: ast.Call, made: Callable[[int], ast.AST | None]) -> int | None:
    """The rank that the first argument of a call must have; ``made`` gives the call that made an object."""
    if isinstance(callee, Inst) and isinstance(callee.cls, str):
        if callee.cls in _LINKS_ND:
            found = {_axes(made(site)) for site in callee.sites}
            return found.pop() if len(found) == 1 else None
        return _LINKS.get(callee.cls)
    if isinstance(callee, Ref) and callee.name in _POOLINGS_ND:
        windows = [*call.args[1:4], *(k.value for k in call.keywords if k.arg in ("ksize", "stride", "pad"))]
        lengths = {len(w.elts) + 2 for w in windows if isinstance(w, ast.Tuple) and not _is_unpacked(w)}
        return lengths.pop() if len(lengths) == 1 else None
    return _FUNCTIONS.get(callee.name) if isinstance(callee, Ref) else None


def keeps_rank(callee: Kind) -> bool:
    """Whether what a call gives has as many axes as its first argument must have."""
    name = callee.cls if isinstance(callee, Inst) else callee.name if isinstance(callee, Ref) else None
    return name in _SAME_RANK


def _axes(made: ast.AST | None) -> int | None:
    """The rank that a layer takes whose constructor is told ``ndim`` first."""
    if not isinstance(made, ast.Call):
        return None
    told = [*made.args[:1], *(k.value for k in made.keywords if k.arg == "ndim")]
    value = told[0].value if told and isinstance(told[0], ast.Constant) else None
    return value + 2 if isinstance(value, int) else None


def _is_unpacked(windows: ast.Tuple) -> bool:
    return any(isinstance(item, ast.Starred) for item in windows.elts)


def only_of_variables(facts: Facts, source: Source, node: ast.Attribute) -> bool:
    """Whether ``x.array`` of an unknown x can only be a Variable's: no class of the project has such a member.

    So is ``x.data`` where it goes to a function that takes arrays of a device. A comparison with None is left out: it
    asks whether a parameter has a shape yet.
    """
    parent = source.parents.get(node)
    of_layer = isinstance(node.value, ast.Attribute) and node.value.attr == "W"  # a parameter
    if node.attr == "data":
        read = of_layer and isinstance(node.ctx, ast.Load) and not _asks_for_none(parent)
        return (read or _is_taken_as_array(facts, parent, node)) and not facts.once(_has_own_data)
    if node.attr == "grad":
        return of_layer and isinstance(node.ctx, ast.Load) and not _asks_for_none(parent)
    return (
        node.attr == "array"
        and isinstance(node.ctx, ast.Load)
        and not (isinstance(node.value, ast.Name) and node.value.id in _MODULES)
        and not (isinstance(parent, ast.Call) and parent.func is node)
        and not _asks_for_none(parent)
        and not facts.once(_has_own_array)
        and not is_of_another_library(facts, source, node.value)
    )


def _asks_for_none(node: ast.AST | None) -> bool:
    """Whether it is ``x.array is None``, or another comparison with None."""
    return isinstance(node, ast.Compare) and any(
        isinstance(side, ast.Constant) and side.value is None for side in (node.left, *node.comparators)
    )


def is_of_another_library(facts: Facts, source: Source, node: ast.expr) -> bool:
    """Whether a name stands for an object that no Variable is: its annotation says so, or what else it is asked for."""
    function = source.enclosing(node, ast.FunctionDef, ast.AsyncFunctionDef)
    if not isinstance(node, ast.Name) or not isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return False
    a = function.args
    said = [p.annotation for p in (*a.posonlyargs, *a.args, *a.kwonlyargs) if p.arg == node.id and p.annotation]
    kinds = [facts.facts.get(annotation) for annotation in said]
    if any(isinstance(kind, Ref) and not kind.name.startswith(_OF_ARRAYS) for kind in kinds):
        return True
    asked = (n for n in nodes_of(function) if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name))
    names = {n.attr for n in asked if n.value.id == node.id}  # type: ignore[attr-defined]
    return any(all(facts.rules.member(owner, name) is None for owner in _VARIABLES) for name in names)


def _is_taken_as_array(facts: Facts, call: ast.AST | None, node: ast.Attribute) -> bool:
    """Whether the array of a Variable is handed to what refuses all that is no array."""
    if not isinstance(call, ast.Call) or node not in call.args:
        return False
    callee = facts.facts.get(call.func)
    if isinstance(callee, Method):
        return callee.receiver == XP and callee.name in _LIKE
    return isinstance(callee, Ref) and callee.name in MODULE_OF | _MOVES


def _has_own_array(facts: Facts) -> bool:
    """Whether a class of the project has a member that is called ``array``."""
    return _has_own(facts, "array")


def _has_own_data(facts: Facts) -> bool:
    return _has_own(facts, "data")


def _has_own(facts: Facts, name: str) -> bool:
    return any(
        _makes(node, name)
        for module in facts.project.modules.values()
        for node in module.source.of(ast.Attribute, ast.ClassDef, ast.Call)
    )


def _text_end(node: ast.expr) -> str:
    """The end of an expression's text: the last name of a path."""
    return (
        node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ast.unparse(node)
    )


def _makes(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr == name and isinstance(node.ctx, ast.Store) and getattr(node.value, "id", "") == "self"
    if isinstance(node, ast.ClassDef):
        return any(
            getattr(part, "name", "") == name
            or isinstance(part, (ast.Assign, ast.AnnAssign))
            and any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Store) for n in nodes_of(part))
            for part in node.body
        )
    if isinstance(node, ast.Call) and _text_end(node.func).endswith(_NAMING):
        texts = [n.value for n in nodes_of(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)]
        return any(name in re.findall(r"\w+", text) for text in texts)
    return False


def options_with(kind: Union, name: str, rules: Rules) -> Sequence[Kind]:
    """The kinds of a value that may have an attribute: a dictionary or a text beside a Variable has no `array`, and a
    layer of Chainer's beside a link of the program (`self[-1].conv`) no layers that the other one has.
    """
    lacking: tuple[type[Kind], ...] = ()
    if not any(hasattr(cls, name) for cls in (OrderedDict, defaultdict, Counter)):
        lacking += (Dct,)
    if not any(hasattr(cls, name) for cls in (list, tuple, deque, set)):
        lacking += (Lst, Tup)
    texts, own = hasattr(str, name), any(isinstance(k, Inst) and isinstance(k.cls, ClassInfo) for k in kind.ordered)
    return [
        option
        for option in kind.ordered
        if not isinstance(option, lacking)
        and (texts or scalar_type(option) != "str")
        and not (own and _is_layer_without(option, name, rules))
    ] or kind.ordered


def _is_layer_without(kind: Kind, name: str, rules: Rules) -> bool:
    if not isinstance(kind, Inst) or not isinstance(kind.cls, str) or not kind.cls.startswith("chainer.links."):
        return False
    return rules.member(kind.cls, name) is None and name not in of_blocks(kind.cls)


def lacks_member(facts: Facts, kind: Kind, name: str) -> bool:
    """Whether a value has no such attribute: an array, or an object whose classes and Chainer's do not know it."""
    if isinstance(kind, (Tensor, HostArray)):
        owners = ("chainer.Variable", "numpy.ndarray")
        return not any(facts.rules.member(owner, name) for owner in owners)
    if not isinstance(kind, Inst) or not isinstance(kind.cls, ClassInfo):
        return False
    return all(
        not ({name, "__getattr__", "__getattribute__"} & owner.methods.keys() or {name, COMPUTED} & owner.attrs.keys())
        if isinstance(owner, ClassInfo)
        else owner == "builtins.object" or owner.startswith("chainer.") and facts.rules.member(owner, name) is None
        for owner in facts.mro(kind.cls)
    )


def is_number_without(kind: Kind, name: str) -> bool:
    """Whether it is a number of Python's, which has no attribute of that name."""
    return scalar_type(kind) in ("int", "float", "bool") and not hasattr(float, name) and not hasattr(int, name)
