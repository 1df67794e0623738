"""``if device < 0:`` in a converter: some updaters give it a torch.device, where Chainer gave the number.

Up to version 5 of Chainer the device was the number of a GPU, -1 for none; a program that ran compares it with 0.
Those of the program's own call ``self.converter(batch, self.device)``, and their ``self.device`` is a torch.device now.
Those of the library go on giving plain functions the number. What asks such an updater for its device gets that, too.
"""

from __future__ import annotations

import ast
import enum

from chainer2torch.analysis.facts import Facts
from chainer2torch.analysis.kinds import Const, Inst, Scalar, options
from chainer2torch.analysis.module_index import ClassInfo
from chainer2torch.analysis.source import Source
from chainer2torch.plan.collector import Decisions
from chainer2torch.plan.context import Context
from chainer2torch.plan.native.concerns import is_native
from chainer2torch.plan.native.flows import references

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
# comparisons of a number of that time, by what they ask: whether it is none
_NO_GPU = frozenset({("Lt", 0), ("LtE", -1), ("Eq", -1)})
_A_GPU = frozenset({("GtE", 0), ("Gt", -1), ("NotEq", -1)})
_HOLDERS = ("chainer.training.updaters.StandardUpdater", "chainer.training.extensions.Evaluator")
_TURNED = {"Lt": "Gt", "Gt": "Lt", "LtE": "GtE", "GtE": "LtE"}


class _Given(enum.Enum):
    """What a converter gets as its device."""

    NUMBER = "number"
    DEVICE = "device"
    EITHER = "either"
    ITS_OWN = "its own"  # of a function that calls itself


def run(context: Context) -> Decisions:
    """Replaces such comparisons."""
    decisions = Decisions(context)
    if context.migrated:  # the updaters of the output are none of Chainer's
        return decisions
    for test in context.source.of(ast.Compare):
        assert isinstance(test, ast.Compare)
        found = _asked(test)
        if found is None:
            continue
        device, is_gpu = found
        if isinstance(device, ast.Name):
            given = _of_converter(context, context.source, device)
        else:
            given = _of_holder(context, device)
        if given is None or given is _Given.NUMBER:
            continue
        asked = "device.type" if given is _Given.DEVICE else "native.get_device(device).type"
        template = f"{asked} {'!=' if is_gpu else '=='} 'cpu'"
        decisions.replace(test, template, {"device": context.operand(device)})
    return decisions


def _asked(test: ast.Compare) -> tuple[ast.Name | ast.Attribute, bool] | None:
    """What is compared with a number, and whether that asks for a GPU."""
    if len(test.ops) != 1:
        return None
    left, right, op = test.left, test.comparators[0], type(test.ops[0]).__name__
    if isinstance(right, (ast.Name, ast.Attribute)):
        left, right, op = right, left, _TURNED.get(op, op)
    number = _number(right)
    if not isinstance(left, (ast.Name, ast.Attribute)) or number is None:
        return None
    return (left, (op, number) in _A_GPU) if (op, number) in _A_GPU | _NO_GPU else None


def _number(node: ast.expr) -> int | None:
    sign = -1 if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else 1
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    plain = isinstance(value, ast.Constant) and type(value.value) is int
    return sign * value.value if plain else None  # type: ignore[attr-defined]


def _of_holder(context: Context, device: ast.Attribute) -> _Given | None:
    """``self.device``, ``trainer.updater.device``: helpers that stand in for them keep a torch.device."""
    kinds = options(context.kind(device.value))
    if device.attr != "device" or not is_native(context) or not all(isinstance(kind, Inst) for kind in kinds):
        return None
    classes = [kind.cls for kind in kinds if isinstance(kind, Inst)]
    held = all(any(context.analysis.derives(cls, base) for base in _HOLDERS) for cls in classes)
    own = any(
        isinstance(owner, ClassInfo) and (device.attr in owner.attrs or device.attr in owner.methods)
        for cls in classes
        for owner in context.analysis.mro(cls)
    )
    return _Given.DEVICE if held and not own else None


def _of_converter(
    context: Context, source: Source, name: ast.Name, seen: frozenset[ast.AST] = frozenset()
) -> _Given | None:
    """What the converter gets whose device a name is, also where it hands that on to functions; None: it is none."""
    function = source.enclosing(name, *_FUNCTIONS)
    while isinstance(function, _FUNCTIONS):
        arguments = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
        if name.id in arguments:
            info = context.analysis.functions.get(function)
            if info is None or isinstance(function, ast.Lambda) or function in seen:
                return None
            position, used = arguments.index(name.id), list(references(context, info))
            given = {_by(context, parent) for parent, _ in used if position == 1 and _is_converter(parent)}
            calls = [parent for parent, node in used if isinstance(parent, ast.Call) and parent.func is node]
            given |= {_handed(context, call, position, name.id, seen | {function}) for call in calls}
            given.discard(_Given.ITS_OWN)
            if given <= {_Given.NUMBER}:
                return None
            return given.pop() if len(given) == 1 else _Given.EITHER
        function = source.enclosing(function, *_FUNCTIONS)
    return None


def _handed(context: Context, call: ast.Call, position: int, name: str, seen: frozenset[ast.AST]) -> _Given:
    """What a call hands on as its device."""
    source = _source_of(context, call)
    named = next((keyword.value for keyword in call.keywords if keyword.arg == name), None)
    value = call.args[position] if position < len(call.args) else named
    if not isinstance(value, ast.Name):
        return _Given.NUMBER
    if source.enclosing(call, *_FUNCTIONS) in seen:
        return _Given.ITS_OWN
    return _of_converter(context, source, value, seen) or _Given.NUMBER


def _source_of(context: Context, node: ast.AST) -> Source:
    sources = [module.source for module in context.analysis.project.modules.values()]
    return next(source for source in sources if node in source.parents)


def _is_converter(parent: ast.AST | None) -> bool:
    return isinstance(parent, ast.keyword) and parent.arg == "converter"


def _by(context: Context, keyword: ast.AST | None) -> _Given:
    """What the updater or evaluator gives a converter that is made with a keyword."""
    assert keyword is not None
    call = _source_of(context, keyword).parents[keyword]
    kinds = options(context.analysis.kind(call))
    if not isinstance(call, ast.Call) or not all(isinstance(kind, Inst) for kind in kinds):
        return _Given.EITHER
    classes = [kind.cls for kind in kinds if isinstance(kind, Inst)]
    if all(_calls_converter(context.analysis, cls) for cls in classes):
        return _Given.DEVICE
    device = next((each.value for each in call.keywords if each.arg == "device"), None)
    number = device is None or all(_is_number(kind) for kind in options(context.analysis.kind(device)))
    return _Given.NUMBER if number and not any(isinstance(cls, ClassInfo) for cls in classes) else _Given.EITHER


def _is_number(kind: object) -> bool:
    return kind == Scalar("int") or isinstance(kind, Const) and type(kind.value) is int


def _calls_converter(analysis: Facts, cls: str | ClassInfo) -> bool:
    """Whether a class of the program's own calls its converter itself."""
    owners = [owner for owner in analysis.mro(cls) if isinstance(owner, ClassInfo)]
    return any(
        isinstance(node, ast.Attribute) and node.attr == "converter" and isinstance(node.ctx, ast.Load)
        for owner in owners
        for node in ast.walk(owner.node)
    )
