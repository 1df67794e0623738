"""Calls of Chainer's links and of functions that the project derives from Chainer's."""

from __future__ import annotations

import ast

from chainer2torch.analysis.facts import MORE
from chainer2torch.analysis.interpreter import Interpreter
from chainer2torch.analysis.kinds import BOTTOM, UNKNOWN, Func, HostArray, Inst, Kind, Lst, Ref, Tensor, Tup, options
from chainer2torch.analysis.lattice import join, unsure
from chainer2torch.analysis.models.network_dtypes import of_network
from chainer2torch.analysis.models.sequences import called, is_sequential
from chainer2torch.analysis.module_index import ClassInfo


CLASSIFIER = "chainer.links.Classifier"
_MODES = frozenset({"test", "train"})  # of version 1: the layer is put into the mode, and called with its input


def call_link(
    interpreter: Interpreter, link: Inst, args: list[Kind], keywords: dict[str, Kind], node: ast.Call | None
) -> Kind:
    """The result of calling a link of Chainer's; notes what reaches it."""
    cls = next((c for c in interpreter.mro(link.cls) if isinstance(c, str)), "chainer.Link")
    first = args[0] if args else keywords.get("x", UNKNOWN)
    if is_sequential(interpreter, link):
        return called(interpreter, link, args)
    if not link.sites and node is not None:
        interpreter.calls_of_any.add(node)
    spread = node is not None and any(keyword.arg is None for keyword in node.keywords)
    spread = spread and cls in MORE and interpreter.says_more(cls)
    for site in link.sites:
        # `bn(x, finetune=True)` and `linear(x, n_batch_axes=2)` ask for more than torch's plain layers can do
        more = set(keywords) - (_MODES if interpreter.rules.style == "native" else frozenset())
        plain = cls not in MORE or len(args) == 1 and not more and not spread
        seen = _as_input(first) if plain else UNKNOWN
        interpreter.layer_inputs[site] = join(interpreter.layer_inputs.get(site), seen)
        if node is not None:
            interpreter.layer_calls.setdefault(site, set()).add(node)
        else:  # `map(layer, xs)`: no call of it is written down
            interpreter.called_inside.add(site)
    made = interpreter.objects.get(link.site, {})
    if cls == CLASSIFIER:
        predictor = made.get("predictor")
        if predictor is not None and predictor != UNKNOWN:
            for option in options(predictor):
                interpreter.call(option, args[:-1] or [Tensor()], {}, None)
        return Tensor(0, "floating")
    row = interpreter.rules.member(cls, "__call__") or interpreter.rules.member(cls, "forward")
    if row is not None:
        result = of_network(interpreter.row_result(row, args, keywords, link))
        # L.Linear(x, n_batch_axes=2) keeps more axes than the rule says
        further = "n_batch_axes" in keywords or cls == "chainer.links.Linear" and len(args) > 1
        return of_network(Tensor()) if further else result
    if link == Inst("chainer.Link"):  # of no known class: it may give several values, or an object of the project's own
        return unsure(Tensor())
    return Tensor() if interpreter.rules.is_subclass(cls, "chainer.Link") or cls == "chainer.Link" else UNKNOWN


def can_only_be_link_method(interpreter: Interpreter, call: ast.Call) -> bool:
    """Whether a call on something unknown can only be a link's: ``namedparams()``, or ``params()`` in such a file."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return (
        name in ("namedlinks", "namedparams")
        or name == "params"
        and not call.args
        and not call.keywords
        and any(isinstance(k, Ref) and k.name.startswith("chainer") for k in interpreter.module.env.values())
    )


def is_function(interpreter: Interpreter, cls: str | ClassInfo) -> bool:
    """Whether a class of the project is a function of its own, or changes one of Chainer's: a call runs ``forward``."""
    if interpreter.derives(cls, "chainer.Function"):
        return True
    bases = interpreter.mro(cls) if isinstance(cls, ClassInfo) else []
    return any(isinstance(base, str) and base.startswith("chainer.functions.") for base in bases)


def call_function_object(interpreter: Interpreter, function: Inst) -> Kind:
    """What a call of an old-style function gives: Variables for the arrays that its ``forward`` returns."""
    if not isinstance(function.cls, ClassInfo) or not is_function(interpreter, function.cls):
        return UNKNOWN
    for name in ("forward", "forward_cpu", "forward_gpu"):
        found = interpreter.class_attribute(function.cls, name, function)
        if isinstance(found, Func):
            interpreter.reads(found.info, "return")
            outputs = found.info.returns
            if outputs is None and not interpreter.widened(found.info):
                return BOTTOM
            if isinstance(outputs, Tup) and outputs.items:
                variables = tuple(
                    Tensor(k.rank, k.dtype) if isinstance(k, (Tensor, HostArray)) else Tensor() for k in outputs.items
                )
                return variables[0] if len(variables) == 1 else Tup(variables)
            return UNKNOWN
    return UNKNOWN


def _as_input(kind: Kind) -> Kind:
    return kind if isinstance(kind, Tensor) else Tensor() if not isinstance(kind, (Lst,)) else kind


def is_item(node: ast.AST) -> bool:
    """Whether a call says what a subscript does: ``chain.__getitem__('l1')``."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr == "__getitem__"
        and len(node.args) == 1
        and not node.keywords
        and not isinstance(node.args[0], ast.Starred)
    )
