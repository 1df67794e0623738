"""Values of unknown kind that a model gets from outside of it: ``y = model(pickle.load(file))``.

Chainer's models take arrays of NumPy; a migrated one raises for them. Where the model uses its parameter as a tensor
alone, ``torch.as_tensor(value)`` makes one of an array, and gives a tensor as it is. So it is with what a layer of
Chainer's gets outside of models, and with the labels of a loss.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Func, Inst, Kind, Ref, Tensor, Tup, options
from chainer2torch.analysis.models.sequences import LAYERS, SEQUENTIAL
from chainer2torch.analysis.models.used_parameters import LINKS_OF_LISTS, TENSOR_PARAMETERS
from chainer2torch.analysis.module_index import FuncInfo
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.parts.host_values import wrap
from chainer2torch.plan.questions.called_methods import called_method
from chainer2torch.plan.questions.nones import bound

_DEPTH = 3
# what they are called with first is a state, which may be None, or a list
_OTHER_INPUTS = tuple(
    f"chainer.links.{name}"
    for name in ("Stateless", "ChildSum", "Nary", "CRF1d", "Caffe", "TheanoFunction", "Parameter")
)
_CLASSIFIER = "chainer.links.Classifier"
_LABELLED = frozenset({"chainer.functions.softmax_cross_entropy", "chainer.functions.accuracy"})
_OF_ARRAYS = frozenset({"array", "data", "ndim", "shape", "size"})
# in these classes values come from other modules, or are batches
_OF_TENSORS = ("chainer.Link", "chainer.training.StandardUpdater", "chainer.training.extensions.Evaluator")


def unknown_as_tensors(context: Context, decisions: Decisions, call: ast.Call) -> None:
    """Makes tensors of such arguments of a call, in the native style."""
    arguments = [*call.args, *(k.value for k in call.keywords)]
    if context.choices.style != "native" or context.migrated or not any(_is_open(context, a) for a in arguments):
        return
    cls = context.enclosing_class(call)
    if cls is not None and any(context.analysis.derives(cls, base) for base in _OF_TENSORS):
        return
    infos = [_called(context, kind) for kind in options(context.analysis.kind(call.func))]
    of_library = all(_is_of_library(kind) for kind in options(context.analysis.kind(call.func)))
    if of_library and any(a.name.partition(".")[0] == "torch" for a in context.source.of(ast.alias)):
        return  # what an earlier run has written is not known, either
    for argument in arguments:
        if not _is_open(context, argument):
            continue
        if of_library:
            taken = all(_given_to(context, kind, call, argument) for kind in options(context.analysis.kind(call.func)))
        else:
            taken = all(_takes_tensor(context, info, call, argument) for info in infos)
        if taken:
            wrap(context, decisions, argument, "torch.as_tensor(value)")


def _is_of_library(kind: Kind) -> bool:
    return isinstance(kind, Ref) or isinstance(kind, Inst) and isinstance(kind.cls, str)


def _given_to(context: Context, kind: Kind, call: ast.Call, argument: ast.expr) -> bool:
    """Whether a layer, or a loss whose labels they are, wants an array there."""
    if isinstance(kind, Inst):
        if kind.cls != _CLASSIFIER:
            return _is_layer(context, kind) and call.args[:1] == [argument]
        held = [context.analysis.objects.get(site, {}).get("predictor", UNKNOWN) for site in kind.sites]
        return bool(held) and all(_is_layer(context, part) or _is_of_tensors(context, part) for part in held)
    row = context.rules.rows.get(kind.name) if isinstance(kind, Ref) and kind.name in _LABELLED else None
    return row is not None and row.signature is not None and call.args[1:2] == [argument]


def _is_layer(context: Context, kind: Kind) -> bool:
    """Whether it is a layer of Chainer's, or a stack whose first one is, that takes no lists."""
    first = _first_layer(context, kind) if isinstance(kind, Inst) else kind
    cls = str(first.cls) if isinstance(first, Inst) else ""
    return cls.startswith("chainer.links.") and not cls.startswith((*LINKS_OF_LISTS, *_OTHER_INPUTS, _CLASSIFIER))


def _is_of_tensors(context: Context, kind: Kind) -> bool:
    """Whether a model uses what it is called with as a tensor alone."""
    info = _called(context, kind) if isinstance(kind, Inst) else None
    names = [] if info is None else [argument.arg for argument in info.node.args.args[1:2]]
    return info is not None and bool(names) and _uses_tensor(context, info, names[0], 0)


def _first_layer(context: Context, kind: Inst, depth: int = 0) -> Kind:
    """The layer that gets what a stack of layers gets; a layer by itself."""
    if kind.cls != SEQUENTIAL or depth > _DEPTH:
        return kind
    held = [context.analysis.objects.get(site, {}).get(LAYERS, UNKNOWN) for site in kind.sites]
    first = {layers.items[0] for layers in held if isinstance(layers, Tup) and layers.items}
    one = first.pop() if len(held) == 1 and first else UNKNOWN
    return _first_layer(context, one, depth + 1) if isinstance(one, Inst) else one


def _is_open(context: Context, argument: ast.expr) -> bool:
    return not isinstance(argument, (ast.Starred, ast.Lambda)) and context.analysis.kind(argument) == UNKNOWN


def _called(context: Context, kind: Kind) -> FuncInfo | None:
    """The method of a model that a call runs: ``forward``, or ``__call__``, where it is the model that is called."""
    if isinstance(kind, Func):
        of_model = isinstance(kind.receiver, Inst) and context.analysis.is_link(kind.receiver)
        return kind.info if of_model and _is_plain(kind.info) else None
    if not isinstance(kind, Inst) or not context.analysis.is_link(kind):
        return None
    found = called_method(context.analysis, kind.cls)
    return found if found is not None and _is_plain(found) else None


def _is_plain(info: FuncInfo) -> bool:
    changed = info.is_static or info.is_classmethod or info.is_changed or info.is_property
    return not changed and not isinstance(info.node, ast.Lambda)


def _takes_tensor(context: Context, info: FuncInfo | None, call: ast.Call, argument: ast.expr, depth: int = 0) -> bool:
    """Whether a method uses the parameter as a tensor wherever it names it, once for a function of Chainer's."""
    if info is None or depth > _DEPTH:
        return False
    name = next((name for name, value in bound(info, call) if value is argument), "")
    return _uses_tensor(context, info, name, depth)


def _uses_tensor(context: Context, info: FuncInfo, name: str, depth: int) -> bool:
    ways = [_way(context, info, use, depth) for use in info.uses.get(name, ())]
    return None not in ways and True in ways


def _way(context: Context, info: FuncInfo, use: ast.expr, depth: int) -> bool | None:
    """True for a use that takes tensors and no lists, False for one that any array has, None for another.

    Where nothing is known of the parameter, only what it is handed to tells.
    """
    parent = info.module.source.parents.get(use)
    variable = all(isinstance(k, Tensor) and not k.array for k in options(context.analysis.kind(use)))
    if not variable and (context.analysis.kind(use) != UNKNOWN or not isinstance(parent, ast.Call)):
        return None
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name) and len(parent.targets) == 1:
        name = parent.targets[0].id  # `h = x`: another name of it, which may stand for what was made of it, too
        return True if depth < _DEPTH and _uses_tensor(context, info, name, depth + 1) else None
    if isinstance(parent, ast.Attribute):
        return False if parent.attr in _OF_ARRAYS else None
    if isinstance(parent, ast.Call) and parent.func is not use:
        kinds = options(context.analysis.kind(parent.func))
        return True if all(_takes(context, k, parent, use, depth) for k in kinds) else None
    return False if isinstance(parent, (ast.BinOp, ast.UnaryOp, ast.Return)) else None


def _takes(context: Context, callee: Kind, call: ast.Call, argument: ast.expr, depth: int) -> bool:
    if not isinstance(callee, Ref) and not (isinstance(callee, Inst) and isinstance(callee.cls, str)):
        return _takes_tensor(context, _called(context, callee), call, argument, depth + 1)
    place = call.args.index(argument) if argument in call.args else -1
    if isinstance(callee, Inst):
        cls = str(callee.cls)
        return cls.startswith("chainer.links.") and not cls.startswith(LINKS_OF_LISTS) and place == 0
    row = context.rules.rows.get(callee.name) if callee.name.startswith("chainer.functions.") else None
    if row is None or row.signature is None or not 0 <= place < len(row.signature.parameters):
        return False
    parameter = row.signature.parameters[place]
    return parameter.kind == "positional" and parameter.name in TENSOR_PARAMETERS
