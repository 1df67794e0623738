"""Extensions of the program's own: functions, with ``make_extension`` or without, and classes on Extension."""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import Func, Inst, Kind, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.edits import Replace
from chainer2torch.plan.native.calls import bound_extend
from chainer2torch.plan.native.objects import Objects

_TRAINER = "chainer.training.Trainer"
_BASE = "chainer.training.Extension"
_DECORATOR = "chainer.training.make_extension"
_ARGUMENTS = frozenset({"trigger", "default_name", "priority", "initializer"})  # Chainer's finalizer gets no argument
_OTHERS = frozenset({"finalize", "serialize", "on_error"})  # methods that get other arguments


def unclear(objects: Objects, kind: Kind) -> str:
    """Why an extension of the program's own is not understood; "" if it is."""
    if isinstance(kind, Func):
        decorator = _decorator(kind.info)
        known = decorator is None or not decorator.args and {k.arg for k in decorator.keywords} <= _ARGUMENTS
        return "" if known and _knows_its_trainer(objects, kind.info, kind.receiver is not None) else _UNKNOWN
    if isinstance(kind, Inst) and isinstance(kind.cls, ClassInfo) and objects.analysis.derives(kind.cls, _BASE):
        for owner in objects.analysis.mro(kind.cls):
            if isinstance(owner, str):
                return "" if owner == _BASE else _UNKNOWN
            if _OTHERS & owner.methods.keys() or len(owner.node.bases) != 1:
                return f"`{owner.name}` is an extension with methods that get other arguments"
            called = [owner.methods[name] for name in ("__call__", "initialize") if name in owner.methods]
            if not all(_knows_its_trainer(objects, method, True) for method in called):
                return _UNKNOWN
    return _UNKNOWN


_UNKNOWN = "an extension that is not known"


def _decorator(function: FuncInfo) -> ast.Call | None:
    """The call of ``make_extension`` above a function."""
    if isinstance(function.node, ast.Lambda):
        return None
    return next((d for d in function.node.decorator_list if isinstance(d, ast.Call)), None)


def _knows_its_trainer(objects: Objects, info: FuncInfo, bound: bool) -> bool:
    """Whether a function's first parameter is known to be a Trainer, so that what it does with it is judged."""
    args = [*info.node.args.posonlyargs, *info.node.args.args][bound:]
    if not args:
        return False
    context = objects.context(info.module)
    loads = [n for n in nodes_of(info.node) if isinstance(n, ast.Name) and n.id == args[0].arg]
    kinds = [k for load in loads if isinstance(load.ctx, ast.Load) for k in options(context.kind(load))]
    return all(isinstance(k, Inst) and objects.analysis.derives(k.cls, _TRAINER) for k in kinds)


def emit(objects: Objects, context: Context, decisions: Decisions) -> None:
    """The decorators and bases of this file whose extensions a native Trainer gets."""
    extended = objects.once(_extended)
    for node in context.source.of(ast.FunctionDef):
        info = context.analysis.functions.get(node)
        decorator = _decorator(info) if info is not None else None
        if (
            decorator is None
            or context.kind(decorator.func) != Ref(_DECORATOR)
            or not any(isinstance(k, Func) and k.info is info for k in extended)
        ):
            continue
        torch = "pytorch_pfn_extras.training.make_extension"
        decisions.edit(decorator, Replace(context.source.span(decorator), torch, {}, callee_only=True))
        _tell(context, decisions, decorator.func, _DECORATOR)
    for cls in context.source.of(ast.ClassDef):
        for base in cls.bases:
            if context.kind(base) == Ref(_BASE) and any(
                isinstance(k, Inst) and context.analysis.classes.get(cls) in objects.analysis.mro(k.cls)
                for k in extended
            ):
                decisions.replace(base, "pytorch_pfn_extras.training.Extension", {})
                _tell(context, decisions, base, _BASE)


def _extended(objects: Objects) -> list[Kind]:
    """What native Trainers are extended with."""
    found: list[Kind] = []
    for uses in objects.uses.values():
        for use in uses:
            if use.member == "extend" and use.call is not None and not objects.reason_at(use):
                extension = (bound_extend(use.call) or {}).get("extension")
                found += options(use.context.kind(extension)) if extension is not None else ()
    return found


def _tell(context: Context, decisions: Decisions, node: ast.expr, symbol: str) -> None:
    decisions.use(node)
    decisions.mark(node, context.rules.rows[symbol], symbol, "exact")


__all__ = ["emit", "unclear"]
