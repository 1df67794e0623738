"""Whether some layer or parameter of a program may wait for its first input to get its shape."""

from __future__ import annotations

import ast

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.kinds import NONE, UNKNOWN, Inst, Ref, options
from chainer2torch.analysis.source import Source
from chainer2torch.plan.questions.nones import parameters_of_none

_LINKS = "chainer.links."
_PARAMETERS = frozenset({"chainer.Parameter", "chainer.variable.Parameter"})
_SIZED_LATER = frozenset({"add_param", "add_uninitialized_param"})
_SIZES = frozenset({"in_channels", "in_size", "size"})
_NEVER_WAITING = ("EmbedID", "NStep", "Scale", "Bias", "PReLU", "CRF1d")
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def may_be_lazy(analysis: Analysis) -> bool:
    """Whether a program makes a layer whose first size is left out or may be None, or a parameter without a shape.

    Assigning to ``.data`` of a parameter of torch that waits for its shape is forgotten with the first input.
    """
    if any(
        isinstance(base, str) and _is_sized(base) for cls in analysis.classes.values() for base in analysis.mro(cls)
    ):
        return True
    sources = [module.source for module in analysis.project.modules.values()]
    return bool(analysis.once(_waiting)) or any(
        _is_value(analysis, source, node) for source in sources for node in source.of(ast.Attribute, ast.Name)
    )


def has_its_size(analysis: Analysis, layer: ast.expr) -> bool:
    """Whether each layer that stands here was made with the sizes of its parameters."""
    kinds = options(analysis.kind(layer))
    waiting = analysis.once(_waiting)
    return all(
        isinstance(k, Inst)
        and isinstance(k.cls, str)
        and k.sites
        and not waiting & {analysis.makers[s] for s in k.sites}
        for k in kinds
    )


def _waiting(analysis: Analysis) -> frozenset[ast.Call]:
    """The calls that make layers or parameters without their whole shape."""
    sources = [module.source for module in analysis.project.modules.values()]
    return frozenset(call for source in sources for call in source.of(ast.Call) if _waits(analysis, source, call))


def _is_value(analysis: Analysis, source: Source, node: ast.AST) -> bool:
    """Whether a class of layers is handed on, so that calls that nobody sees make some: ``partial(L.Linear, None)``."""
    if not any(isinstance(k, Ref) and _is_sized(k.name) for k in options(analysis.kind(node))):
        return False
    parent = source.parents.get(node)
    called = isinstance(parent, ast.Call) and parent.func is node
    if isinstance(parent, ast.Tuple):
        parent = source.parents.get(parent)
    tested = isinstance(parent, ast.Call) and ast.unparse(parent.func) in ("isinstance", "issubclass")
    return not (tested or called or isinstance(parent, (ast.Attribute, ast.Compare)))


def _is_sized(link: str) -> bool:
    """Whether a link of Chainer's takes the size of its input first, which it may wait for."""
    name = link.rpartition(".")[2]
    return (
        link.startswith(_LINKS) and name[:1].isupper() and not _is_whole(link) and not name.startswith(_NEVER_WAITING)
    )


def _waits(analysis: Analysis, source: Source, call: ast.Call) -> bool:
    if isinstance(call.func, ast.Attribute) and call.func.attr in _SIZED_LATER:
        return len(call.args) < 2 and not any(k.arg == "shape" for k in call.keywords)
    names = [k.name for k in options(analysis.kind(call.func)) if isinstance(k, Ref) and not _is_whole(k.name)]
    if any(name in _PARAMETERS for name in names):
        return len(call.args) < 2 and not any(k.arg == "shape" for k in call.keywords)
    if not any(name.startswith(_LINKS) for name in names):
        return False
    if any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords):
        return True
    sizes = [*call.args[:1], *(k.value for k in call.keywords if k.arg in _SIZES)]
    stated = len(call.args) + len(call.keywords)
    return (
        not sizes
        or any(stated < _stated_at_least(name) for name in names)
        or any(_may_be_none(analysis, source, value) for value in sizes)
    )


def _stated_at_least(link: str) -> int:
    """How many arguments a link of Chainer's has where its first one is the size of the input."""
    name = link.rpartition(".")[2]
    return 3 if "onvolution" in name else 1 if "Norm" in name else 2


def _is_whole(link: str) -> bool:
    """Whether a link of Chainer's holds others that have their sizes: ``VGG16Layers``, ``Classifier``."""
    return link.startswith(_LINKS) and link.endswith(("Layers", ".Classifier", ".CaffeFunction"))


def _may_be_none(analysis: Analysis, source: Source, value: ast.expr) -> bool:
    kinds = options(analysis.kind(value))
    if any(k == NONE for k in kinds):
        return True
    if isinstance(value, ast.Name):
        return (source.enclosing(value, *_FUNCTIONS), value.id) in analysis.once(parameters_of_none)
    return UNKNOWN in kinds and not isinstance(value, (ast.BinOp, ast.Constant))
