"""``copy.copy`` and ``copy.deepcopy`` of models, whose tensors with a graph and tables of children need care."""

from __future__ import annotations

import ast
import re

from chainer2torch.analysis.flow import Analysis
from chainer2torch.analysis.graphs import may_hold_graph
from chainer2torch.analysis.kinds import UNKNOWN, Class, Dct, Inst, Kind, Lst, Perhaps, Ref, Tensor, Tup, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.decision import Part
from chainer2torch.plan.parts.written_kinds import may_hold_tensors
from chainer2torch.plan.questions.torch_classes import words

_HELPERS = {"copy.copy": "copy_object", "copy.deepcopy": "deepcopy"}
_CODE = "C2T200"
# links of Chainer's that keep what they computed (those with a state know how to be copied), or hold links that may
_KEEPING = ("chainer.links.Classifier", "chainer.ChainList", "chainer.Sequential")
_WITH_STATE = frozenset({"chainer.links.LSTM", "chainer.links.GRU", "chainer.links.StatefulGRU"})
_NAMES_OF_KEEPING = frozenset({"Classifier", *(name.rpartition(".")[2] for name in _WITH_STATE)})
_NOTE = {
    "copy_object": "The copy of a module gets a table of children of its own.",
    "deepcopy": "PyTorch copies no tensor that has a graph; the copy of the module holds its values.",
}


def run(context: Context) -> Decisions:
    """Calls of the copy module on links, and on what may be one."""
    decisions = Decisions(context)
    for call in context.source.of(ast.Call):
        callee = context.analysis.kind(call.func)
        name = _HELPERS.get(callee.name) if isinstance(callee, Ref) else None
        if (
            name is None
            or not call.args
            or call.keywords
            or len(call.args) > 2
            or any(isinstance(a, ast.Starred) for a in call.args)
            or _is_repeated(context, call)
        ):
            continue
        kinds = options(context.analysis.kind(call.args[0]))
        if name == "copy_object":
            wanted = len(call.args) == 1 and any(context.analysis.is_link(k) for k in kinds)
        else:
            wanted = any(_keeps(context, k, set()) for k in kinds) and not _is_fresh(context, call.args[0])
            if wanted and context.choices.style == "native":  # else PyTorch refuses the copy of what has a graph
                told = kinds != (UNKNOWN,) or may_hold_tensors(kinds[0])
                wanted = told and not context.migrated and not _is_being_made(context, call)
        if wanted:
            operands = {"x": context.operand(call.args[0])}
            if len(call.args) == 2:
                operands["memo"] = context.operand(call.args[1])
            with decisions.provided(free=((Part.EDIT, call),)):
                decisions.replace(call, f"compat.{name}({', '.join(operands)})", operands)
                decisions.mark(call.func, None, f"copy.{name.removesuffix('_object')}", "exact", _NOTE[name], _CODE)
    return decisions


def _is_repeated(context: Context, call: ast.Call) -> bool:
    """Whether an earlier run has written it: ``nn.Sequential(*(copy.deepcopy(layer) for _ in range(n)))``."""
    outer = context.source.enclosing(call, ast.Starred)
    made = context.source.parents.get(outer) if outer is not None else None
    return isinstance(made, ast.Call) and context.analysis.kind(made.func) == Ref("torch.nn.Sequential")


def _is_fresh(context: Context, value: ast.expr) -> bool:
    """Whether a function makes an object itself and does nothing but hand it on: it has computed nothing yet."""
    scope = context.source.enclosing(value, ast.FunctionDef)
    if not isinstance(value, ast.Name) or scope is None:
        return False
    uses = [node for node in nodes_of(scope) if isinstance(node, ast.Name) and node.id == value.id]
    parents = [context.source.parents.get(node) for node in uses]
    made = [parent.value for parent in parents if isinstance(parent, ast.Assign) and parent.value not in uses]
    return len(made) == 1 and all(
        isinstance(parent, ast.Assign)
        and isinstance(parent.value, ast.Call)
        and isinstance(context.analysis.kind(parent.value.func), Class)
        or isinstance(parent, ast.Call)
        and parent.func is not node
        and isinstance(context.analysis.kind(parent.func), (Class, Ref))
        for node, parent in zip(uses, parents)
    )


def _is_being_made(context: Context, call: ast.Call) -> bool:
    """Whether the constructor of a link copies a link that it is handed: ``self.ema = copy.deepcopy(target)``."""
    method, cls = context.source.enclosing(call, ast.FunctionDef), context.enclosing_class(call)
    named = isinstance(method, ast.FunctionDef) and method.name == "__init__"
    return named and cls is not None and context.analysis.derives(cls, "chainer.Link")


def _keeps(context: Context, kind: Kind, seen: set[ClassInfo]) -> bool:
    """Whether an object may hold a tensor that has a graph."""
    if isinstance(kind, Tup):
        return any(_keeps(context, item, seen) for item in kind.items)
    if isinstance(kind, (Lst, Dct)):
        return kind.element != UNKNOWN and any(_keeps(context, item, seen) for item in options(kind.element))
    if isinstance(kind, Tensor):
        return not kind.array
    if isinstance(kind, Perhaps) and any(_keeps(context, one, seen) for one in options(kind.known)):
        return True
    if kind == UNKNOWN:  # where it has a graph after all, PyTorch refuses the copy
        return context.imports_chainer and context.holds_tensors and context.analysis.once(_some_model_keeps)
    if not isinstance(kind, Inst):
        return False
    if isinstance(kind.cls, str):
        return context.analysis.is_link(kind) and _library_link_keeps(context, kind.cls)
    if kind.cls in seen:
        return False
    seen.add(kind.cls)
    return any(
        _library_link_keeps(context, owner) if isinstance(owner, str) else _class_keeps(context, owner, seen)
        for owner in context.analysis.mro(kind.cls)
    )


def _some_model_keeps(analysis: Analysis) -> bool:
    """Whether some model of the project keeps, for sure, a tensor that it computes between two calls."""
    if analysis.once(words) & _NAMES_OF_KEEPING:
        return True
    return any(
        isinstance(node, ast.Attribute)
        and isinstance(node.ctx, ast.Store)
        and any(_has_graph(k) for k in options(analysis.kind(node)))
        for cls in analysis.classes.values()
        if analysis.derives(cls, "chainer.Link")
        for name, method in cls.methods.items()
        if name != "__init__"
        for node in nodes_of(method.node)
    )


def _has_graph(kind: Kind) -> bool:
    return kind != UNKNOWN and kind != Lst(UNKNOWN) and may_hold_graph(kind)


def _library_link_keeps(context: Context, name: str) -> bool:
    if context.choices.style == "native" and name in _WITH_STATE:
        return True
    return any(context.rules.is_subclass(name, base) for base in _KEEPING)


def _is_plain_layer(context: Context, cls: ClassInfo, target: ast.Attribute) -> bool:
    """Whether a layer of torch.nn is stored, which keeps nothing of what it computes."""
    parent = cls.module.source.parents.get(target)
    value = parent.value if isinstance(parent, ast.Assign) else None
    callee = context.analysis.kind(value.func) if isinstance(value, ast.Call) else None
    return isinstance(callee, Ref) and re.fullmatch(r"torch\.nn\.[A-Z]\w*", callee.name) is not None


def _class_keeps(context: Context, cls: ClassInfo, seen: set[ClassInfo]) -> bool:
    """What methods store in it, and what it holds."""
    made = cls.methods.get("__init__")
    for method in cls.methods.values():
        for node in nodes_of(method.node):
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.ctx, ast.Store)
                and method is not made
                and not _is_plain_layer(context, cls, node)
                and any(may_hold_graph(k) for k in options(context.analysis.kind(node)))
            ):
                return True
    return any(
        _keeps(context, k, seen)
        for kind in cls.attrs.values()
        for k in options(kind)
        if isinstance(k, (Inst, Tup, Lst, Dct))
    )
