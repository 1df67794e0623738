"""The devices that updaters and evaluators of the program's own are given: a torch.device in the place of a number.

    updater = MyUpdater(models=(gen, dis), iterator=it, optimizer=opts, device=args.gpu)
    super().__init__(iterator, optimizer, device=device)

The helpers that are their bases take nothing else then. A class whose ``__init__`` has a parameter for the device gets
the number, and its base the device.
"""

from __future__ import annotations

import ast

from chainer2torch.analysis.kinds import UNKNOWN, Class, Ref, options
from chainer2torch.analysis.module_index import ClassInfo, FuncInfo
from chainer2torch.analysis.source import nodes_of
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.concerns import is_native
from chainer2torch.plan.questions.device_specs import device_or_none
from chainer2torch.plan.questions.overridden_methods import is_super

_BASES = ("chainer.training.updaters.StandardUpdater", "chainer.training.extensions.Evaluator")
_DEVICES = frozenset({"device", "input_device"})
_POSITION = 3  # of the device among the arguments


def run(context: Context) -> Decisions:
    """The devices in the calls of a file."""
    decisions = Decisions(context)
    if not is_native(context):
        return decisions
    for call in context.source.of(ast.Call):
        base = _makes_base(context, call)
        if base or _makes_own(context, call):
            for value in _devices(context, call, base):
                template = device_or_none(context, value, "value")
                if template != "value" and not _is_parameter(context, value):
                    decisions.wrap(value, template)
    return decisions


def _devices(context: Context, call: ast.Call, base: bool) -> list[ast.expr]:
    place = _POSITION if base else _own_position(context, call)
    known = place is not None and not any(isinstance(a, ast.Starred) for a in call.args)
    found = call.args[place : place + 1] if known and place is not None else []
    for keyword in call.keywords:
        if keyword.arg in _DEVICES:
            found.append(keyword.value)
        elif keyword.arg is None and isinstance(keyword.value, ast.Name):
            found += _in_dictionary(context, keyword.value)
    return found


def _own_position(context: Context, call: ast.Call) -> int | None:
    """Which argument of a class of the project is its parameter for the device."""
    for kind in options(context.kind(call.func)):
        for owner in context.analysis.mro(kind.info) if isinstance(kind, Class) else ():
            made = owner.methods.get("__init__") if isinstance(owner, ClassInfo) else None
            if made is not None:
                names = [arg.arg for arg in (*made.node.args.posonlyargs, *made.node.args.args)][1:]
                return names.index("device") if "device" in names else None
    return _POSITION


def _in_dictionary(context: Context, spread: ast.Name) -> list[ast.expr]:
    """The devices in ``options = {'device': args.gpu}``, ``options['device'] = 0``; none if something else reads it."""
    scope, found = context.scope(spread, spread.id), []
    for node in context.source.named.get(spread.id, ()):
        if context.scope(node, node.id) is not scope or node is spread:
            continue
        parent = context.source.parents[node]
        outer = context.source.parents[parent]
        if isinstance(parent, ast.Assign) and node in parent.targets:
            found += _values(parent.value)
        elif isinstance(parent, ast.Subscript) and isinstance(parent.slice, ast.Constant):
            if parent.slice.value in _DEVICES:
                if not isinstance(outer, ast.Assign) or parent not in outer.targets:
                    return []
                found.append(outer.value)
        elif not isinstance(parent, ast.keyword):
            return []
    return found


def _values(display: ast.expr) -> list[ast.expr]:
    if isinstance(display, ast.Dict):
        pairs = zip(display.keys, display.values)
        return [value for key, value in pairs if isinstance(key, ast.Constant) and key.value in _DEVICES]
    return [k.value for k in display.keywords if k.arg in _DEVICES] if isinstance(display, ast.Call) else []


def _is_parameter(context: Context, value: ast.expr) -> bool:
    """Whether an ``__init__`` hands on what it is given and nobody knows: its callers may have a torch.device."""
    return isinstance(value, ast.Name) and context.kind(value) == UNKNOWN


def _makes_own(context: Context, call: ast.Call) -> bool:
    """Whether a call makes an updater or evaluator of the project whose ``__init__`` hands its device on unseen."""
    kinds = options(context.kind(call.func))
    return bool(kinds) and all(isinstance(k, Class) and _hands_on(context, k.info) for k in kinds)


def _hands_on(context: Context, cls: ClassInfo) -> bool:
    """Whether the device that a class is made with goes to Chainer's base as it is, and nowhere else."""
    if not any(context.analysis.derives(cls, base) for base in _BASES):
        return False
    for owner in context.analysis.mro(cls):
        if isinstance(owner, str):
            return owner in _BASES
        made = owner.methods.get("__init__")
        if made is not None and not (_hands_all_on(made) or _hands_parameter_on(context, owner, made)):
            return False
    return False


def _hands_all_on(made: FuncInfo) -> bool:
    """``def __init__(self, *args, **kwargs)``, whose ``device`` nothing asks for."""
    a = made.node.args
    named = {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)} & _DEVICES
    return not named and a.kwarg is not None and not _asks(made.node, a.kwarg.arg)


def _hands_parameter_on(context: Context, cls: ClassInfo, made: FuncInfo) -> bool:
    """``def __init__(self, ..., device)`` that gives it to the base; no other class may give a number to this one."""
    a = made.node.args
    if not {arg.arg for arg in (*a.posonlyargs, *a.args, *a.kwonlyargs)} & {"device"} or a.kwarg is not None:
        return False
    names = [n for n in nodes_of(made.node) if isinstance(n, ast.Name) and n.id == "device"]
    bases = [c for c in nodes_of(made.node) if isinstance(c, ast.Call) and _is_base_made(c)]
    given = {id(value) for call in bases for value in (*call.args[_POSITION:], *(k.value for k in call.keywords))}
    derived = [c for c in context.analysis.classes.values() if c is not cls and cls in context.analysis.mro(c)]
    direct = any(Ref(base) in cls.bases for base in _BASES)
    return (
        direct
        and bool(names)
        and all(id(n) in given for n in names)
        and not any("__init__" in c.methods for c in derived)
    )


def _asks(function: ast.AST, kwargs: str) -> bool:
    """Whether a function does anything with the device among its ``**kwargs``."""
    texts = {node.value for node in nodes_of(function) if isinstance(node, ast.Constant)}
    return bool(texts & _DEVICES)


def _makes_base(context: Context, call: ast.Call) -> bool:
    """Whether a call is ``super().__init__(...)`` in a class whose next base is Chainer's, and that has a number."""
    if not _is_base_made(call):
        return False
    outer = context.source.enclosing(call, ast.ClassDef)
    cls = context.analysis.classes.get(outer) if isinstance(outer, ast.ClassDef) else None
    if cls is None or not any(Ref(base) in cls.bases for base in _BASES):
        return False
    made = cls.methods.get("__init__")
    return made is None or not _hands_parameter_on(context, cls, made)


def _is_base_made(call: ast.Call) -> bool:
    function = call.func
    return (
        isinstance(function, ast.Attribute)
        and function.attr == "__init__"
        and isinstance(function.value, ast.Call)
        and is_super(function.value)
    )


__all__ = ["run"]
